"""The memory an episode leaves its answer in."""

from __future__ import annotations

import os
import signal

import pytest

from bfcl.oracle import wire
from bfcl.oracle.scratch import ASSERTION, CALL, SIZE, Scratch


@pytest.fixture
def scratch():
    descriptor = os.memfd_create("scratch")
    os.ftruncate(descriptor, SIZE)
    opened = Scratch(descriptor)
    os.close(descriptor)
    opened.begin(1)
    yield opened
    opened.close()


def in_a_copy(act):
    process = os.fork()
    if process == 0:
        try:
            act()
        finally:
            os._exit(0)
    os.waitpid(process, 0)


def test_a_note_is_never_seen_half_written(scratch):
    scratch.enter(CALL, 3)
    process = os.fork()
    if process == 0:
        scratch.claim()
        while True:
            scratch.enter(CALL, 3)
    seen = {scratch.note()[1:] for _ in range(100_000)}
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    assert seen == {(CALL, 3)}


def test_what_a_forked_copy_writes_is_dropped(scratch):
    scratch.enter(CALL, 3)
    scratch.append(wire.RESULT, b"{}")
    scratch.finish()
    before = scratch.note(), scratch.answer()

    def write():
        scratch.enter(ASSERTION, 1)
        scratch.append(wire.STATE, b"[]")
        scratch.finish()

    in_a_copy(write)
    assert (scratch.note(), scratch.answer()) == before
    assert scratch.answer() == (wire.record(wire.RESULT, b"{}"), True)


def test_a_copy_that_claims_the_memory_writes(scratch):
    def write():
        scratch.claim()
        scratch.append(wire.STATE, b"[]")
        scratch.finish()

    in_a_copy(write)
    assert scratch.answer() == (wire.record(wire.STATE, b"[]"), True)
