"""Streams that are closed or take no more: the console script goes on, or says so and ends in status 1."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bfcl import files
from tests.packs import write_pack

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[1])}
BFCL = f"{sys.executable} -m bfcl"


def shell(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f"exec {BFCL} {command}"],
        cwd=directory,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_closed_stdin_and_stderr_change_nothing(tmp_path: Path) -> None:
    write_pack(tmp_path / "pack")
    done = shell("""call pack get_kiln --args '{"kiln_id": "K-1"}' <&- 2>&-""", tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["result_class"] == "success"


def test_closed_stdout_changes_no_status(tmp_path: Path) -> None:
    write_pack(tmp_path / "pack")
    done = shell("""call pack get_kiln --args '{"kiln_id": "K-1"}' >&-""", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["--version", "--help", "explain --list", "schema list --format text"])
def test_full_stdout_is_one_refusal(tmp_path: Path, command: str) -> None:
    done = shell(f"{command} >/dev/full", tmp_path)
    assert done.returncode == 1
    told = json.loads(done.stderr) if done.stderr.startswith("{") else done.stderr
    if isinstance(told, dict):
        assert told["code"] == "storage_failed"
        assert told["reason"] == "standard output: cannot write: No space left on device"
    else:
        assert told == (
            "storage_failed: standard output: cannot write: No space left on device\n"
            "  fix: free space, or send the output elsewhere; then run the same command again\n"
        )


@pytest.mark.parametrize("command", ["check nowhere 2>/dev/full", "explain --list >/dev/full 2>/dev/full"])
def test_full_stderr_leaves_the_status_to_say_it(tmp_path: Path, command: str) -> None:
    done = shell(command, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f"rmdir ../gone && exec {BFCL} check ../pack --format text"],
        cwd=gone,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "working_directory_missing: the current directory does not exist any more\n"
        "  fix: change to a directory that is there, then run the same command again\n",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("get_kiln", "--args", b'{"kiln_id": "\xff"}'),
        ("get_kiln", "--args", '{"kiln_id": "K-1"}', "--record", b"\xff"),
        (b"get_\xff",),
    ],
)
def test_argument_that_is_no_utf_8_is_a_usage_error(tmp_path: Path, arguments: tuple[str | bytes, ...]) -> None:
    write_pack(tmp_path / "pack")
    command = [sys.executable, "-m", "bfcl", "call", "pack", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    broken = next(one for one in arguments if isinstance(one, bytes))
    assert (done.returncode, done.stdout) == (1, "")
    told = json.loads(done.stderr)
    assert (told["code"], told["reason"]) == ("usage_error", f"the argument {os.fsdecode(broken)!a} is no UTF-8")
