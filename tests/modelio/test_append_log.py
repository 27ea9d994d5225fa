"""A log of another form: its own names and codes, units of one record, and what they mean to whoever reads them."""

from __future__ import annotations

import dataclasses
import json
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


def test_digest_of_a_record_is_that_in_its_line_as_long_as_no_byte_of_it_changes(tmp_path: Path) -> None:
    (one,) = record("request", "a", {"text": ',"record_hash":"sha256:', "n": [1]})
    line = FORM.line(one)
    assert FORM.digest_in(line) == FORM.digest(one) == json.loads(line)["record_hash"]
    spelled = LogRecord(record_type="request", key="a", payload=None, spelled=canonical_json(one.payload))
    assert (FORM.line(spelled), FORM.digest(spelled)) == (line, FORM.digest(one))
    for at in range(len(line)):
        assert FORM.digest_in(line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]) is None
    assert FORM.digest_in(b"{}\n") is None
    log = opened(tmp_path, (one,))
    assert log.digests("request", "a") == (FORM.digest(one),)


def test_unit_that_changes_while_it_is_in_use_is_refused(tmp_path: Path) -> None:
    log = opened(tmp_path, record("request", "a", 1), record("request", "b", 22))
    before = log.path.read_bytes()
    log.path.write_bytes(before.replace(b":22,", b":23,"))
    assert (log.find("request", "a"), log.digests("request", "a")) == (1, (FORM.digest(*record("request", "a", 1)),))
    for asked in (lambda: log.find("request", "b"), lambda: log.digests("request", "b")):
        with pytest.raises(EvalError) as caught:
            asked()
        assert str(caught.value.problems[0]).partition("\n")[0] == (
            f"{log.path}:2: eval_tool_trace_cache_invalid: changed while it was in use"
        )


def test_last_record_of_a_unit_is_read_alone_and_every_byte_of_the_unit_is_held_against_its_digest(
    tmp_path: Path,
) -> None:
    form = dataclasses.replace(FORM, begins=frozenset({"request"}), ends=frozenset({"completion"}))
    unit = (*record("request", "a", 1), *record("completion", "a", 22))
    log = AppendLog(tmp_path / "log.jsonl", form, len)
    log.append([unit])
    assert log.last("request", "a") == unit[1]
    log.path.write_bytes(log.path.read_bytes().replace(b":1,", b":2,"))
    with pytest.raises(EvalError, match="changed while it was in use"):
        log.last("request", "a")


def test_record_that_is_valid_and_not_canonical_reads_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(FORM.line(*record("request", "a", 1)).replace(b'"key":"a"', b'"key": "a"'))
    path.chmod(0o600)
    log = AppendLog(path, FORM, number)
    assert log.find("request", "a") == 1
    assert log.digests("request", "a") == (FORM.digest(*record("request", "a", 1)),)


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
