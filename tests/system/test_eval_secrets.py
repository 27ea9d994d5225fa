"""What must not get out, and what must not get in: the key, the answer key, code of the pack, a pack that was edited.

Rule: evaluation.md §3, §5, §13, §15.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest

from bfcl.evaluate.scripted.server import Conduct
from tests.evaluate.scripted.served import served
from tests.system.evaluation import CALLS, KEY, KEY_VARIABLE, TRACE, Bench, Edits, Evaluation, Log
from tests.system.project import Ended, descendants

QUIET: Final[Edits] = {("limits", "max_retries"): 0}
MODULES: Final = """
import sys
from bfcl.__main__ import main
try:
    main()
finally:
    for name, module in sorted(sys.modules.items()):
        print("module", name, getattr(module, "__file__", None))
"""


def _holding(directory: Path, text: str) -> list[str]:
    """Files below a directory that hold a text, and names that do."""
    return [
        str(path.relative_to(directory))
        for path in sorted(directory.rglob("*"))
        if text in path.name or (path.is_file() and text.encode() in path.read_bytes())
    ]


def _process(pid: int, name: str) -> bytes:
    """A file of `/proc`; empty for a process that has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _untold(measured: Evaluation, ended: Ended) -> None:
    assert KEY not in ended.out + ended.err
    assert _holding(measured.config.parent, KEY) == []


# --- the key --------------------------------------------------------------------------------------------------------


def test_key_is_in_no_file_output_or_process_listing(tiny: Bench, tmp_path: Path) -> None:
    with served(tiny.candidate, conduct=Conduct(key=KEY, latency_s=0.2)) as serving:
        measured = tiny.evaluation(tmp_path, serving.base_url, ["scripted-gold"])
        running = measured.start()
        own = "\0".join(measured.command()).encode()
        listed: dict[bytes, bytes] = {}

        def over() -> bool:
            for pid in (running.process.pid, *descendants(running.process.pid)):
                # In this order: a process is a copy of its parent until it has become another one.
                command, surroundings = _process(pid, "cmdline"), _process(pid, "environ")
                # One that is about to become another, or has ended, has no name.
                if command:
                    listed[command] = listed.get(command, b"") + surroundings
            return len(measured.completions()) == sum(len(script.turns) for script in tiny.scripts.values())

        running.until(over)
        ended = running.end()
    assert ended.status == 0, ended.err
    assert [command for command in listed if KEY.encode() in command] == []
    assert [command for command, seen in listed.items() if KEY.encode() in seen and own not in command] == []
    assert [command for command, seen in listed.items() if b"oracle/child.py" in command and b"PATH=" in seen] != []
    _untold(measured, ended)
    assert measured.report()["candidates"][0]["successful_tasks"] == len(tiny.rows)


class Echo(BaseHTTPRequestHandler):
    """Sends back what it was sent: key and all, in body, header and reason, under the status that the path names."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        seen = self.headers["Authorization"]
        reply = {"index": 0, "message": {"role": "assistant", "content": seen}, "finish_reason": "stop"}
        body = json.dumps({"error": {"message": f"{seen} is not welcome"}, "choices": [reply]}).encode()
        self.send_response(int(self.path.split("/")[1]), f"Refused {seen}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Seen", seen)
        self.send_header("Location", f"/{seen.split()[-1]}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 named so by its base class
        """Nothing."""


@contextmanager
def echoing() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("status", "exit_status"), [(200, 0), (302, 3), (401, 5), (503, 3)])
def test_key_that_a_provider_sends_back_is_kept_nowhere(
    tiny: Bench, tmp_path: Path, status: int, exit_status: int
) -> None:
    with echoing() as base_url:
        measured = tiny.evaluation(tmp_path, f"{base_url}/{status}", ["scripted-gold"], TRACE, QUIET)
        ended = measured.run(PYTHONDEVMODE="1", PYTHONWARNINGS="default", HTTPX_LOG_LEVEL="trace")
    assert ended.status == exit_status, ended.err
    _untold(measured, ended)


@pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY}\u00e9"])
def test_key_that_no_header_can_carry_is_refused_unseen(tiny: Bench, tmp_path: Path, key: str) -> None:
    with served(tiny.candidate) as serving:
        measured = tiny.evaluation(tmp_path, serving.base_url, ["scripted-gold"], TRACE)
        ended = dataclasses.replace(measured, key=key).run()
        assert serving.requests == 0
    assert ended.status == 5
    assert "eval_candidate_credentials_missing" in ended.err
    assert KEY_VARIABLE in ended.err
    _untold(measured, ended)


# --- the endpoint ---------------------------------------------------------------------------------------------------


def test_key_that_is_turned_away_stops_all_tasks_in_flight(tiny: Bench, tmp_path: Path) -> None:
    with served(tiny.candidate) as serving:
        models = ["scripted-gold", "scripted-unauthorized"]
        measured = tiny.evaluation(tmp_path, serving.base_url, models, TRACE)
        ended = measured.run()
        gold = 2 * len(tiny.rows)
        assert gold < serving.requests <= gold + len(tiny.rows)
    assert ended.status == 5
    assert "eval_candidate_authentication_failed" in ended.err
    assert {one["payload"]["candidate_alias"] for one in measured.records() if one["record_type"] == "request"} == {
        "scripted-gold"
    }


# --- the pack -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["assertions.py", "tools.json"])
def test_one_edited_comment_of_the_pack_stops_before_any_request(tiny: Bench, tmp_path: Path, file: str) -> None:
    bench = tiny.copy(tmp_path / "project")
    log = Log()
    with served(bench.candidate, conduct=Conduct(record=log)) as serving:
        measured = bench.evaluation(tmp_path / "eval", serving.base_url, ["scripted-gold"])
        bench.project.append(bench.pack / file, "\n" if file == "tools.json" else "# Edited.\n")
        ended = measured.run()
        assert (serving.requests, log.bodies) == (0, [])
    assert ended.status == 3
    assert "eval_source_oracle_" in ended.err
    assert file in ended.err
    assert "Traceback" not in ended.err
    assert not (measured.out / CALLS).exists()
    refused = json.loads((measured.out / "source_verification_failure.json").read_bytes())
    assert file in json.dumps(refused)


def test_evaluator_holds_no_module_of_the_pack(tiny: Bench, tmp_path: Path) -> None:
    with served(tiny.candidate) as serving:
        measured = tiny.evaluation(tmp_path, serving.base_url, ["scripted-gold"])
        ended = dataclasses.replace(measured, program=("-c", MODULES)).run()
    assert ended.status == 0, ended.err
    modules = [line.split(" ", 2)[1:] for line in ended.out.splitlines() if line.startswith("module ")]
    assert "bfcl.evaluate.drive.live" in {name for name, _ in modules}
    own = {path.name for path in tiny.pack.rglob("*.py")}
    assert own >= {"backend.py", "assertions.py"}
    assert [name for name, file in modules if Path(file).name in own or str(tiny.pack) in file] == []
    assert {row["assertions_passed"] for row in measured.results()} == {True}
