"""Finished evaluations on disk: the real engine over a published release, candidates on the loopback.

    done = finish(site, {"potter": gold, "novice": instead({2: words("No.")})})
    open_finished(done)

A conduct says what a candidate answers: it gets the task's script, the number of the turn and the messages.
"""

from __future__ import annotations

import functools
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.records import Script
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.outcome import Completed
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.exports.decode_row import decode_row
from bfcl.exports.row import ExportRow
from tests.evaluate.driven import Message, as_expected
from tests.evaluate.source.builder import Site, site_of
from tests.system.project import write_project

Conduct = Callable[[Script, int], Message | int]
"""The message of a reply, or an HTTP status."""
Data = dict[str, Any]
Edit = Callable[[Data], None]

KEY = "canary-71ab"


def gold(script: Script, turn: int) -> Message:
    """As expected."""
    return as_expected(script.turns[turn])


def departing(change: Callable[[Data], None]) -> Conduct:
    """As expected, but for the first turn of calls, whose message `change` edits."""

    def conduct(script: Script, turn: int) -> Message | int:
        message: Data = json.loads(json.dumps(gold(script, turn)))
        if turn == next((one.index for one in script.turns if one.calls), None):
            change(message)
        return message

    return conduct


def first_arguments(change: Callable[[Data], Json]) -> Callable[[Data], None]:
    """Edits the arguments of the first call; what `change` returns is sent, a text as it is."""

    def edit(message: Data) -> None:
        function = message["tool_calls"][0]["function"]
        told = change(json.loads(function["arguments"]))
        function["arguments"] = told if isinstance(told, str) else json.dumps(told)

    return edit


def renamed(message: Data) -> None:
    message["tool_calls"][0]["function"]["name"] = "open_hatch"


def without_ids(message: Data) -> None:
    for call in message["tool_calls"]:
        call["id"] = "same"


def truncated(message: Data) -> None:
    message["finish_reason"] = "length"


lower_case = first_arguments(
    lambda arguments: {name: one.lower() if isinstance(one, str) else one for name, one in arguments.items()}
)
DEPARTURES: Mapping[str, Conduct] = {
    "gold": gold,
    "lower": departing(lower_case),
    "broken": departing(first_arguments(lambda _: "{")),
    "renamed": departing(renamed),
    "same-ids": departing(without_ids),
    "truncated": departing(truncated),
    "mute": lambda script, turn: {"content": " ", "finish_reason": "stop"},
    "gone": lambda script, turn: 503,
    "eager": lambda script, turn: as_expected(max(script.turns, key=lambda one: len(one.calls) and one.index)),
}
"""Candidates by alias, each with a way of its own to depart."""


def scripts_of(site: Site) -> list[Script]:
    """In publication order."""
    rows = [decode_row(row) for row in site.rows()]
    return [read_script(row) for row in rows if isinstance(row, ExportRow)]


@contextmanager
def serving(scripts: Sequence[Script], manners: Mapping[str, Conduct]) -> Iterator[str]:
    """The API root of candidates that answer by their conduct; the model's name is the alias."""
    by_seed = {canonical_text(script.seed_messages): script for script in scripts}
    seeds = max(len(script.seed_messages) for script in scripts)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            messages = body["messages"]
            script = next(
                by_seed[key] for count in range(seeds, 0, -1) if (key := canonical_text(messages[:count])) in by_seed
            )
            turn = sum(message["role"] == "assistant" for message in messages)
            answer = manners[body["model"]](script, turn)
            if isinstance(answer, int):
                self._send(answer, b"{}")
                return
            told = {"role": "assistant", **{key: one for key, one in answer.items() if key != "finish_reason"}}
            choice = {"index": 0, "message": told, "finish_reason": answer.get("finish_reason")}
            usage = {"prompt_tokens": 10 + turn, "completion_tokens": 3}
            self._send(200, json.dumps({"id": "r", "choices": [choice], "usage": usage}).encode())

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def config(site: Site, aliases: Sequence[str], base_url: str, out: Path, *, executable: bool) -> Data:
    """A whole scoring configuration."""
    oracle = {
        "kind": "python",
        "pack_manifest": str(site.pack / "manifest.yaml"),
        "resource": str(site.pack / "backend.py"),
    }
    return {
        "schema_version": "1.2",
        "config_status": "resolved",
        "source_run_manifest": str(site.manifest_path),
        "source_oracle": oracle if executable else None,
        "translation_manifest": None,
        "eval": {"mode": ["trace", "executable"] if executable else ["trace"]},
        "scoring": {
            "contract": str(site.root / "contract.json"),
            "argument_matching": "schema_then_canonical",
            "insert_declared_defaults": True,
            "respect_call_order": True,
            "respect_call_group": True,
            "allow_llm_repair": False,
            "task_success": "all_applicable_gates",
        },
        "limits": {
            "max_turns": 12,
            "max_parallel_tasks": 4,
            "max_retries": 0,
            "tool_timeout_s": 10,
            "candidate_timeout_s": 20,
            "episode_timeout_s": 60,
        },
        "candidates": [
            {
                "alias": alias,
                "model": alias,
                "provider": "vendor",
                "provider_api_version": "v1",
                "api": {"base_url": base_url, "api_key_env": "VENDOR_KEY"},
                "model_identity": {"source": "hub", "model": f"org/{alias}", "revision": "ab" * 20},
                "inference": {"temperature": 0, "top_p": 1, "max_tokens": 64, "seed": 3, "tool_choice": "auto"},
            }
            for alias in aliases
        ],
        "contamination": {"enforce": True, "on_violation": "fail_run", "comparison_set": "common_intersection"},
        "publication": {"requested": True, "require_same_task_ids": True},
        "outputs": {
            "output_dir": str(out),
            "write_task_results": True,
            "write_eval_manifest": True,
            "cache_candidate_responses": True,
            "cache_tool_results": True,
        },
    }


def finish(
    site: Site, manners: Mapping[str, Conduct], *edits: Edit, name: str = "out", executable: bool = False
) -> Path:
    """Evaluate to the end; returns the output directory `name`."""
    out = site.root / name
    with serving(scripts_of(site), manners) as base_url:
        data = config(site, list(manners), base_url, out, executable=executable)
        for edit in edits:
            edit(data)
        path = site.root / f"{name}.yaml"
        path.write_text(yaml.safe_dump(data))
        environment = {**os.environ, "VENDOR_KEY": KEY}
        done = evaluate(
            Envelope(path=path, eval_config_path=path),
            load_settings(path),
            How(environment=environment, eval_run_id=f"run-{name}"),
        )
    assert isinstance(done, Completed)
    return out


class Evaluated(NamedTuple):
    """Finished evaluations of one benchmark; who changes one copies its directory first."""

    site: Site
    trace: Path
    """gold, lower, mute, gone."""
    executable: Path
    """Every departure."""
    solo: Path
    """lower alone, as in `trace`, under the alias solo."""
    repeated: Path
    """gold and unsteady, three trials of every task."""


def repeating(data: Data) -> None:
    data["schema_version"] = "1.3"
    data["repeats"] = {"trials": 3, "seed_policy": "increment"}
    # Trials in order, so that what is unsteady is so in the same way each time.
    data["limits"]["max_parallel_tasks"] = 1


def unsteady() -> Conduct:
    """As expected, but for the second time that each task is begun."""
    begun: dict[str, int] = {}

    def conduct(script: Script, turn: int) -> Message | int:
        begun[script.task_id] = begun.get(script.task_id, 0) + (turn == 0)
        return {"content": " ", "finish_reason": "stop"} if begun[script.task_id] == 2 else gold(script, turn)

    return conduct


@functools.cache
def evaluated_once(base: Path) -> Evaluated:
    """The same for every test of a session, whose base directory this is."""
    root = base / "evaluated"
    project = write_project(root / "project")
    project.generate()
    site = site_of(project, root / "site")
    some = {alias: DEPARTURES[alias] for alias in ("gold", "lower", "mute", "gone")}
    return Evaluated(
        site=site,
        trace=finish(site, some, name="trace"),
        executable=finish(site, DEPARTURES, name="executable", executable=True),
        solo=finish(site, {"solo": DEPARTURES["lower"]}, name="solo"),
        repeated=finish(site, {"gold": gold, "unsteady": unsteady()}, repeating, name="repeated"),
    )
