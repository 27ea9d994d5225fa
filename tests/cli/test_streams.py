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


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("check nowhere 2>/dev/full", 1),
        ("explain --list >/dev/full 2>/dev/full", 1),
        ("eval --config nowhere.yaml 2>/dev/full", 2),
    ],
)
def test_full_stderr_leaves_the_status_to_say_it(tmp_path: Path, command: str, status: int) -> None:
    done = shell(command, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


SPEAKING = """
import os, sys, click
from bfcl.cli import show
from bfcl.cli.streams import open_streams

@click.command()
@click.pass_obj
def speak(manner):
    manner.status_of = lambda error: 40 + len(error.problems)
    print("done")
    print("noted", file=sys.stderr)

open_streams()
os._exit(show.run(speak, [], terminal=True))
"""


@pytest.mark.parametrize("full", [["stdout"], ["stderr"], ["stdout", "stderr"]])
@pytest.mark.parametrize("reader", ["full", "gone"])
def test_output_that_nobody_takes_ends_in_a_status_of_the_command(tmp_path: Path, full: list[str], reader: str) -> None:
    (tmp_path / "speak.py").write_text(SPEAKING, encoding="utf-8")
    if reader == "full":
        end = os.open("/dev/full", os.O_WRONLY)
    else:
        read, end = os.pipe()
        os.close(read)
    with subprocess.Popen(
        [sys.executable, "speak.py"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=end if "stdout" in full else subprocess.DEVNULL,
        stderr=end if "stderr" in full else subprocess.DEVNULL,
    ) as process:
        os.close(end)
    assert process.returncode == 41


MISTAKEN = """
import os, click
from bfcl.cli import show
from bfcl.cli.streams import open_streams

@click.command()
@click.pass_obj
def mistake(manner):
    manner.status_of = lambda error: 40 + len(error.problems)
    raise click.UsageError("no such thing")

open_streams()
os._exit(show.run(mistake, [], terminal=False))
"""


def test_usage_error_that_nobody_takes_keeps_its_status(tmp_path: Path) -> None:
    (tmp_path / "mistake.py").write_text(MISTAKEN, encoding="utf-8")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "mistake.py"],
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )
    assert (done.returncode, done.stdout) == (1, b"")


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
