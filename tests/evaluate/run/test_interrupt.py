from __future__ import annotations

import asyncio
import os
import signal
import threading

import pytest

from bfcl.evaluate.run.interrupt import run_to_end


async def until_cancelled(sent: signal.Signals, ended: list[str]) -> None:
    os.kill(os.getpid(), sent)
    try:
        await asyncio.Event().wait()
    finally:
        ended.append("cleaned up")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_cancels_the_work_which_cleans_up_and_ends_as_an_interrupt(sent: signal.Signals) -> None:
    ended: list[str] = []
    before = signal.getsignal(sent)
    if sent == signal.SIGINT:
        signal.signal(sent, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        run_to_end(until_cancelled(sent, ended))
    assert ended == ["cleaned up"]
    assert signal.getsignal(sent) in (before, signal.default_int_handler)


def test_signal_that_the_caller_ignores_stays_ignored() -> None:
    async def work() -> str:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0)
        return "done"

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run_to_end(work()) == "done"
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_the_work_gives_is_never_spelled_out() -> None:
    class Large:
        def __repr__(self) -> str:
            raise AssertionError("a large result took long to be spelled out")

    async def work() -> Large:
        return Large()

    assert isinstance(run_to_end(work()), Large)


def test_work_may_run_in_another_thread() -> None:
    found: list[int] = []

    async def work() -> int:
        return 7

    thread = threading.Thread(target=lambda: found.append(run_to_end(work())))
    thread.start()
    thread.join()
    assert found == [7]
