"""`bfcl serve-candidate`: refusals in this process, the server in one of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bfcl.canonical import canonical_json
from bfcl.cli.serve_candidate import warn
from bfcl.evaluate.scripted.behaviours import BEHAVIOURS
from bfcl.evaluate.scripted.candidate import ScriptedCandidate
from tests.cli.conftest import Ended
from tests.evaluate.scripted.rows import conversation, row, valve_row
from tests.exports.staged import decoded, edited
from tests.release import samples

Command = Callable[..., Ended]
REPOSITORY = Path(__file__).resolve().parents[2]
CANARY = "canary-5f1d"
BODY: dict[str, Any] = {"model": "scripted-gold", "messages": conversation(row(1), 2), "tools": decoded(row(1)).tools}


@pytest.fixture
def run(project: Path) -> Path:
    """A published run of the project."""
    return samples.published(project / "runs" / "demo", 3, rejected=(2,))


@contextmanager
def started(project: Path, *arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command in a process of its own and its first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bfcl", "serve-candidate", *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def ended(process: subprocess.Popen[str]) -> Ended:
    """How it ended by itself."""
    assert process.stdout is not None
    assert process.stderr is not None
    # Not `communicate`: it would not see what was read ahead with the first line.
    out, err = process.stdout.read(), process.stderr.read()
    return Ended(process.wait(), out, err)


def ask(base_url: str, key: str | None = None) -> int:
    """The status of a completion."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    content = canonical_json(BODY)
    return httpx.post(f"{base_url}/chat/completions", content=content, headers=headers, trust_env=False).status_code


def test_published_run_is_served_until_a_signal_ends_it(project: Path, run: Path) -> None:
    arguments = ("runs/demo", "--require-key", "CANDIDATE_KEY", "--log", "asked.jsonl", "--latency-ms", "1")
    with started(project, *arguments, CANDIDATE_KEY=CANARY) as (process, line):
        told: dict[str, Any] = json.loads(line)
        port = told["port"]
        assert told == {
            "schema_version": "1.0",
            "status": "serving",
            "run": "runs/demo",
            "tasks": 2,
            "base_url": f"http://127.0.0.1:{port}/v1",
            "host": "127.0.0.1",
            "port": port,
        }
        assert [ask(told["base_url"], key) for key in (CANARY, "other", None)] == [200, 401, 401]
        process.send_signal(signal.SIGTERM)
        assert ended(process) == (0, "", "")
    log = project / "asked.jsonl"
    assert log.read_bytes() == canonical_json(BODY) + b"\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_person_is_told_where_it_listens_and_ends_it_by_ctrl_c(project: Path, run: Path) -> None:
    with started(project, "runs/demo", "--format", "text") as (process, line):
        told, _, base_url = line.rstrip("\n").rpartition(" ")
        assert told == "serving runs/demo, 2 tasks, at"
        assert ask(base_url) == 200
        process.send_signal(signal.SIGINT)
        assert ended(process) == (0, "  the model name says how it answers, see --list; Ctrl-C ends it\n", "")


def test_log_that_cannot_be_written_ends_the_server(project: Path, run: Path) -> None:
    with started(project, "runs/demo", "--log", "/dev/full") as (process, line):
        with pytest.raises(httpx.RemoteProtocolError):
            ask(json.loads(line)["base_url"])
        said = ended(process)
    assert said.status == 1
    (problem,) = json.loads(said.err)["problems"]
    assert (problem["code"], problem["reason"]) == (
        "storage_failed",
        "/dev/full: cannot write: No space left on device",
    )


def test_list_has_a_line_for_each_behaviour(bfcl: Command) -> None:
    said = bfcl("serve-candidate", "--list", "--format", "text")
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert [line.split()[0] for line in lines] == [*BEHAVIOURS, "scripted-flaky-<p>"]
    assert lines[0] == "scripted-gold                      Every call and every word as expected."


def test_list_is_a_document_to_scripts(bfcl: Command) -> None:
    document = json.loads(bfcl("serve-candidate", "--list").out)
    assert document["schema_version"] == "1.0"
    assert document["behaviours"][0] == {
        "model": "scripted-gold",
        "summary": "Every call and every word as expected.",
    }


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", "::"])
def test_address_that_others_reach_is_refused_unasked(bfcl: Command, run: Path, host: str) -> None:
    said = bfcl("serve-candidate", "runs/demo", "--host", host)
    assert (said.status, said.out) == (1, "")
    assert said.err.splitlines()[-1] == (
        f"Error: --host {host} is not loopback; give --allow-remote to open the answers to others"
    )


def test_address_that_is_not_ours_is_refused(bfcl: Command, run: Path) -> None:
    said = bfcl("serve-candidate", "runs/demo", "--host", "192.0.2.1", "--allow-remote", "--port", "80")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("serve_address_unavailable: 192.0.2.1:80: cannot listen there: ")


def test_port_that_is_taken_is_refused(bfcl: Command, run: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = bfcl("serve-candidate", "runs/demo", "--port", str(port))
    assert (said.status, said.out) == (1, "")
    first, fix = said.err.splitlines()
    assert first.startswith(f"serve_address_unavailable: 127.0.0.1:{port}: cannot listen there: ")
    assert "address already in use" in first
    assert fix == (
        "  fix: give another --port, or none to take one that is free; --host has to be an address of this machine"
    )


@pytest.mark.parametrize(
    ("value", "fault"), [(None, "is not set"), (" ", "is not set"), ("a\nb", "holds what no HTTP header can carry")]
)
def test_key_that_cannot_be_asked_for_is_refused(
    bfcl: Command, run: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, fault: str
) -> None:
    monkeypatch.delenv("CANDIDATE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("CANDIDATE_KEY", value)
    assert bfcl("serve-candidate", "runs/demo", "--require-key", "CANDIDATE_KEY") == (
        1,
        "",
        f"serve_key_missing: CANDIDATE_KEY: the environment variable that --require-key names {fault}\n"
        "  fix: export CANDIDATE_KEY with the value that clients are to send, then run the same command again\n",
    )


def test_run_that_does_not_verify_is_refused(bfcl: Command, run: Path) -> None:
    (run / "benchmark.parquet").unlink()
    said = bfcl("serve-candidate", "runs/demo")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("release_payload_missing: benchmark_parquet: ")


def test_log_in_no_directory_is_refused(bfcl: Command, run: Path) -> None:
    said = bfcl("serve-candidate", "runs/demo", "--log", "nowhere/asked.jsonl")
    assert (said.status, said.out) == (1, "")
    assert said.err == (
        "storage_failed: nowhere/asked.jsonl: cannot write: No such file or directory\n"
        "  fix: choose a directory that is there and can be written to\n"
    )


def test_tasks_that_cannot_be_told_apart_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    alike = [
        decoded(edited(valve_row(number, asks=f"Set it, {pair}."), ["task_id"], f"task-{pair}-{number}"))
        for pair in range(5)
        for number in (0, 1)
    ]
    warn(ScriptedCandidate(alike))
    assert (
        capsys.readouterr().err
        == "".join(f"cannot be told apart, the first is answered: task-{pair}-0, task-{pair}-1\n" for pair in range(3))
        + "and 2 more such groups of tasks\n"
    )


def test_wrong_ways_are_never_said_to_be_all_the_others(bfcl: Command) -> None:
    """Some of the others are right by the rules of comparison, or by what a client makes of a slow reply."""
    assert any(one.summary.endswith("; still right.") for one in BEHAVIOURS.values())
    told = " ".join(bfcl("serve-candidate", "--help").out.split())
    assert "departs from it in one way, most of them wrong and some still right" in told
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    # The flaky one stands for as many as there are shares, and the right one departs from nothing.
    assert f"can depart from them in {len(BEHAVIOURS)} named ways, most of them wrong" in readme
