"""A concluded call comes back from its records as it was; each way of not belonging together is told by its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bfcl.canonical import Json
from bfcl.modelio.exchange import CallStatus
from bfcl.modelio.log_form import LogRecord, UnfitError, Unit
from bfcl.modelio.recorded_chat import FORM, exchange_of, unit_of
from tests.modelio.recording import ALL, outcome, request


def as_read(unit: Unit) -> Unit:
    return tuple(FORM.record(FORM.line(one)) for one in unit)


@pytest.mark.parametrize("status", ALL)
@pytest.mark.parametrize("before", [0, 2])
def test_call_is_its_request_its_attempts_and_a_completion(status: CallStatus, before: int) -> None:
    unit = unit_of(request("a"), outcome("a", status, before))
    assert [(one.record_type, one.index) for one in unit] == [
        ("request", None),
        *(("attempt", index) for index in range(before + 1)),
        ("completion", None),
    ]
    assert {one.key for one in unit} == {request("a").request_hash}
    found = exchange_of(as_read(unit))
    assert found.request == request("a")
    assert found.outcome == replace(outcome("a", status, before), replayed=True)


def unit() -> Unit:
    return as_read(unit_of(request("a"), outcome("a", "completed", 1)))


def edited(at: int, **edits: Json) -> Unit:
    """The unit with fields of one record's payload changed."""
    found = list(unit())
    payload = found[at].payload
    assert isinstance(payload, Mapping)
    found[at] = LogRecord(
        record_type=found[at].record_type, key=found[at].key, index=found[at].index, payload={**payload, **edits}
    )
    return tuple(found)


UNFIT: list[tuple[Unit, str, int]] = [
    ((unit()[0], unit()[-1]), "the completion cites no attempt", 1),
    ((unit()[0], unit()[2], unit()[3]), "attempt 0 is missing before this one", 1),
    (
        (replace(unit()[0], index=0), *unit()[1:]),
        "`attempt_index` is not null, and the record is no attempt",
        0,
    ),
    (edited(0, more=1), "the request has other fields than one, or of other types", 0),
    (edited(0, turn_index="0"), "the request has other fields than one, or of other types", 0),
    (edited(0, task_id="b"), "`request_hash` is not that of the request", 0),
    (edited(1, latency_s="0"), "the attempt has other fields than one, or of other types", 1),
    (edited(2, attempt_index=0), "`attempt_index` of the attempt is not that of its record", 2),
    (edited(2, http_status=500), "status, HTTP status and raw reply of the attempt do not belong together", 2),
    (edited(2, raw_response="{}"), "`raw_response_hash` is not that of the raw reply", 2),
    (edited(3, attempts=[]), "the completion is not what follows from its attempts", 3),
]


@pytest.mark.parametrize(("unfit", "message", "at"), UNFIT)
def test_unit_that_does_not_hold_together_says_which_record_is_at_fault(unfit: Unit, message: str, at: int) -> None:
    with pytest.raises(UnfitError) as error:
        exchange_of(unfit)
    assert (str(error.value), error.value.at) == (message, at)
