"""Signals by which other programs end a command."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, threading
sys.path[:] = {path!r}
from bfcl.oracle.stopping import stop_in_order
if {ignored}: signal.signal(signal.{name}, signal.SIG_IGN)
if {thread}:
    thread = threading.Thread(target=stop_in_order)
    thread.start()
    thread.join()
    print(signal.getsignal(signal.{name}) is signal.SIG_DFL)
    sys.exit()
stop_in_order()
try:
    os.kill(os.getpid(), signal.{name})
    print("went on")
except KeyboardInterrupt:
    print("interrupted")
"""


def told(name: str, *, ignored: bool = False, thread: bool = False) -> str:
    program = PROGRAM.format(path=sys.path, name=name, ignored=ignored, thread=thread)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_polite_signal_interrupts(name: str) -> None:
    assert told(name) == "interrupted"


def test_signal_that_the_caller_ignores_stays_ignored() -> None:
    assert told("SIGHUP", ignored=True) == "went on"


def test_other_threads_change_nothing() -> None:
    assert told("SIGTERM", thread=True) == "True"
