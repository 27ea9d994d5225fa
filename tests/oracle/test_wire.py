"""Frames and records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.oracle import wire


@given(st.lists(st.binary(max_size=50)), st.integers(1, 7))
def test_frames_come_out_whole_however_the_stream_is_cut(payloads, step):
    stream = b"".join(wire.frame(payload) for payload in payloads)
    reader, seen = wire.FrameReader(), []
    for start in range(0, len(stream), step):
        reader.feed(stream[start : start + step])
        while (payload := reader.next()) is not None:
            seen.append(payload)
    assert seen == payloads


@given(st.lists(st.tuples(st.sampled_from([wire.RESULT, wire.STATE]), st.binary(max_size=20))))
def test_records_come_out_in_order(items):
    assert list(wire.records(b"".join(wire.record(*item) for item in items))) == items


@pytest.mark.parametrize("cut", [1, 4, 6])
def test_records_refuse_an_answer_that_ends_early(cut):
    with pytest.raises(ValueError, match="an answer ends inside a record"):
        list(wire.records(wire.record(wire.RESULT, b"{}")[:cut]))


@given(st.integers(0, 2**64 - 1), st.binary(max_size=20))
def test_an_answer_travels_with_its_time(took_ns, answer):
    assert wire.untimed(wire.timed(took_ns, answer)) == (took_ns, answer)


def test_an_answer_without_its_time_is_refused():
    with pytest.raises(ValueError, match="does not say how long it took"):
        wire.untimed(b"1234567")
