"""Work in other threads: results, order, errors, and interrupts of the thread that waits, at any instant."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from bfcl.oracle.aside import Crew, Later, taken
from tests.system.project import PATIENCE_S, REPOSITORY


def test_result_is_what_the_work_returned_however_often_it_is_asked_for() -> None:
    crew = Crew()
    later = crew.begin(lambda: threading.get_ident())
    assert later.result() == later.result() != threading.get_ident()
    crew.close()


def test_result_raises_what_the_work_raised() -> None:
    def broken() -> None:
        raise ValueError("no")

    crew = Crew()
    later = crew.begin(broken)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^no$"):
            later.result()
    assert crew.begin(lambda: 1).result() == 1
    crew.close()


def test_one_thread_does_its_work_in_order_and_close_waits_for_all_of_it() -> None:
    done: list[int] = []
    crew = Crew()
    for number in range(100):
        crew.begin(lambda number=number: done.append(number))  # type: ignore[misc]
    crew.close()
    crew.close()
    assert done == list(range(100))


def test_width_is_the_number_of_works_under_way_and_ended_tells_of_each() -> None:
    together = threading.Barrier(3)
    ended: SimpleQueue[Later[int]] = SimpleQueue()
    crew = Crew(3)
    begun = {crew.begin(lambda: together.wait(PATIENCE_S), ended) for _ in range(3)}
    assert {ended.get() for _ in range(3)} == begun
    assert sorted(later.result() for later in begun) == [0, 1, 2]
    crew.close()


INTERRUPTED = """
import random, signal
from bfcl.oracle.aside import Crew

signal.signal(signal.SIGALRM, signal.default_int_handler)
draw, seen = random.Random(7), 0
for _ in range(4000):
    crew = None
    try:
        signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-6, 200e-6))
        crew = Crew(2)
        while True:
            crew.begin(int).result()
    except KeyboardInterrupt:
        seen += 1
    if crew is not None:
        crew.close()
print(seen)
"""


def test_interrupts_at_any_instant_leave_threads_that_can_be_waited_for() -> None:
    command = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.stdout, done.stderr) == ("4000\n", "")


@pytest.mark.parametrize(
    "wait",
    [
        pytest.param(lambda crew, later, ended: later.wait(), id="wait"),
        pytest.param(lambda crew, later, ended: later.result(), id="result"),
        pytest.param(lambda crew, later, ended: taken(ended), id="taken"),
        pytest.param(lambda crew, later, ended: crew.close(), id="close"),
    ],
)
def test_interrupt_that_wakes_nobody_ends_the_wait_all_the_same(
    wait: Callable[[Crew, Later[bool], SimpleQueue[Later[bool]]], object],
) -> None:
    noticed = threading.Event()

    def work() -> bool:
        # Noted for the main thread, as when it waited for its turn to run: nothing wakes it from its wait.
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        return noticed.wait(PATIENCE_S)

    ended: SimpleQueue[Later[bool]] = SimpleQueue()
    crew = Crew()
    later = crew.begin(work, ended)
    with pytest.raises(KeyboardInterrupt):
        wait(crew, later, ended)
    noticed.set()
    assert later.result()
    crew.close()
