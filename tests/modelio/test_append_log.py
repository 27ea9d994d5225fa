"""A log of another form: its own names and codes, units of one record, and what they mean to whoever reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_json
from bfcl.errors import EvalError
from bfcl.modelio.append_log import AppendLog
from bfcl.modelio.group_commit import GroupCommit
from bfcl.modelio.log_form import LogForm, LogRecord, UnfitError, Unit
from tests.modelio.chat_server import run

TYPES = frozenset({"request", "completion"})
FORM = LogForm(
    schema_version="1.0",
    begins=TYPES,
    ends=TYPES,
    invalid_code="eval_tool_trace_cache_invalid",
    conflict_code="eval_tool_trace_cache_conflict",
)


def number(unit: Unit) -> int:
    (record,) = unit
    if not isinstance(record.payload, int):
        raise UnfitError("is no number")
    return record.payload


def record(record_type: str, key: str, payload: Json) -> Unit:
    return (LogRecord(record_type=record_type, key=key, payload=payload),)


def opened(tmp_path: Path, *units: Unit) -> AppendLog[int]:
    log = AppendLog(tmp_path / "log.jsonl", FORM, number)
    log.append(units)
    return log


def refusal(log: AppendLog[int], *units: Unit) -> list[str]:
    with pytest.raises(EvalError) as caught:
        log.append(units)
    return [str(problem).replace(str(log.path), "log").partition("\n")[0] for problem in caught.value.problems]


def test_records_of_one_key_and_several_types_come_back_as_what_they_mean(tmp_path: Path) -> None:
    opened(tmp_path, record("request", "a", 1), record("request", "b", 2), record("completion", "a", 3))
    log = AppendLog(tmp_path / "log.jsonl", FORM, number)
    assert (log.find("request", "a"), log.find("completion", "a"), log.find("completion", "b")) == (1, 3, None)
    assert list(log.places()) == [("request", "a"), ("request", "b"), ("completion", "a")]
    assert (len(log), list(log.units())) == (3, [1, 2, 3])


def test_line_has_the_names_of_its_form(tmp_path: Path) -> None:
    log = opened(tmp_path, record("request", "a", 1))
    body: dict[str, Json] = {"schema_version": "1.0", "record_type": "request", "key": "a", "payload": 1}
    assert log.path.read_bytes() == canonical_json({**body, "record_hash": sha256_json(body)}) + b"\n"


def test_faults_are_told_with_the_codes_of_the_form(tmp_path: Path) -> None:
    log = opened(tmp_path, record("request", "a", 1))
    assert refusal(log, record("request", "b", 1), record("request", "a", 2)) == [
        "log:1: eval_tool_trace_cache_conflict: line 1 records another: `request` of a; expected one for good"
    ]
    assert refusal(log, record("request", "b", 1), record("request", "b", 2)) == [
        "log: eval_tool_trace_cache_conflict: two records that came now differ: `request` of b; expected one for good"
    ]
    assert len(AppendLog(log.path, FORM, number)) == 1
    with log.path.open("ab") as stream:
        stream.write(FORM.line(*record("completion", "a", "x")))
    for _ in range(2):
        assert refusal(log, record("request", "b", 1)) == ["log:2: eval_tool_trace_cache_invalid: is no number"]


def test_unit_can_be_blamed_by_its_line(tmp_path: Path) -> None:
    log = opened(tmp_path, record("request", "a", 1), record("request", "b", 1))
    assert str(log.problem("request", "b", "has no completion")).partition("\n")[0] == (
        f"{log.path}:2: eval_tool_trace_cache_invalid: has no completion"
    )


def test_same_unit_twice_in_one_append_is_written_once(tmp_path: Path) -> None:
    log = opened(tmp_path, record("request", "a", 1), record("request", "a", 1))
    log.append([record("request", "a", 1)])
    assert (len(log), log.path.read_bytes().count(b"\n")) == (1, 1)


def test_group_commit_serves_any_log(tmp_path: Path) -> None:
    log = opened(tmp_path)
    run(GroupCommit(log).append(record("request", "a", 7)))
    assert AppendLog(log.path, FORM, number).find("request", "a") == 7
