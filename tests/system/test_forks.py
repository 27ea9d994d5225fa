"""A run in a fork is told by nothing that a test looks at from one in a new interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.forks import WANTED, forked
from tests.system.project import PATIENCE_S, Project, run_to_end

TELLING = """
import os, signal, sys, tempfile, threading

def tell():
    for stream in (sys.__stdout__, sys.__stderr__):
        print(stream.encoding, stream.errors, stream.newlines, stream.line_buffering, stream.isatty())
    print(os.getcwd(), sorted(os.environ.items()), tempfile.gettempdir())
    print(sys.argv, sys.path, sys.flags, sys.stdin.fileno(), sys.modules["__main__"].__spec__.name)
    print([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)])
    print(threading.current_thread().name, threading.active_count(), os.getpgid(0) == os.getpid())
    print(sorted(os.listdir("/proc/self/fd"))[:3])

def task_tell():
    return {"actions": [tell], "verbosity": 2}
"""
HANGING = """
import time

def task_hang():
    return {"actions": [lambda: time.sleep(600)]}
"""


@pytest.mark.parametrize("arguments", [["list", "--all"], ["generrate"], ["generate", "jobs=0"], ["prepare"]])
def test_fork_says_and_leaves_what_a_new_interpreter_does(
    original: Project, tmp_path: Path, arguments: list[str]
) -> None:
    seen = []
    for anew in (False, True):
        project = original.copy(tmp_path / "project")
        before = project.snapshot()
        ended = project.doit(*arguments, anew=anew)
        after = project.snapshot()
        seen.append((ended, {name for name in after if after[name] != before.get(name)}))
        project.root.rename(tmp_path / str(anew))
    assert seen[0] == seen[1]


def test_fork_has_directory_environment_streams_and_signals_of_its_own(original: Project, tmp_path: Path) -> None:
    (tmp_path / "dodo.py").write_text(TELLING, encoding="utf-8")
    command = [sys.executable, "-m", "doit"]
    environment = original.environment(ODD="\u00e9")
    in_fork, anew = (run_to_end(command, tmp_path, environment, anew=anew) for anew in (False, True))
    assert in_fork == anew
    assert in_fork.status == 0
    assert str(tmp_path) in in_fork.out


@pytest.mark.skipif(not WANTED, reason="every run is to take a new interpreter")
def test_fork_that_hangs_is_killed_and_the_next_one_runs(original: Project, tmp_path: Path) -> None:
    (tmp_path / "dodo.py").write_text(HANGING, encoding="utf-8")
    command, environment = [sys.executable, "-m", "doit"], original.environment()
    with pytest.raises(subprocess.TimeoutExpired):
        forked(command, tmp_path, environment, timeout=0.2)
    done = forked([*command, "list"], tmp_path, environment, PATIENCE_S)
    assert done is not None
    assert (done.returncode, done.stdout, done.stderr) == (0, "hang   \n", "")
