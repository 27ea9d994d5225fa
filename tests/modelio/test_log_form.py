"""A line says what its record says, and nothing else passes for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_json
from bfcl.modelio.log_form import LogForm, LogRecord, UnfitError

PLAIN = LogForm(
    schema_version="1.0", begins=frozenset({"one"}), ends=frozenset({"one"}), invalid_code="i", conflict_code="c"
)
COUNTED = LogForm(
    schema_version="2.1",
    begins=frozenset({"request"}),
    between=frozenset({"attempt"}),
    ends=frozenset({"completion"}),
    key_field="request_hash",
    index_field="attempt_index",
    invalid_code="i",
    conflict_code="c",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(max_size=8), JSON, st.none() | st.integers(0, 99))
def test_record_comes_back_from_its_line_which_is_canonical(key: str, payload: Json, index: int | None) -> None:
    record = LogRecord(record_type="attempt", key=key, index=index, payload=payload)
    line = COUNTED.line(record)
    assert line == canonical_json(json.loads(line)) + b"\n"
    assert COUNTED.record(line) == COUNTED.record(line, canonical=True) == record
    assert COUNTED.digest_in(line) == COUNTED.digest(record) == json.loads(line)["record_hash"]


def test_form_without_an_index_has_no_field_for_one() -> None:
    assert PLAIN.fields == ("key", "payload", "record_hash", "record_type", "schema_version")
    assert COUNTED.fields == (
        "attempt_index",
        "payload",
        "record_hash",
        "record_type",
        "request_hash",
        "schema_version",
    )
    assert PLAIN.record(PLAIN.line(LogRecord(record_type="one", key="k", payload=1))).index is None


def signed(**edits: Any) -> bytes:
    """A line of `COUNTED` with edits, its digest that of the rest."""
    fields = {"schema_version": "2.1", "record_type": "attempt", "request_hash": "k", "attempt_index": 0, "payload": 1}
    told = {**fields, **edits}
    return canonical_json({**told, "record_hash": sha256_json(told)}) + b"\n"


FIELDS = "attempt_index, payload, record_hash, record_type, request_hash, schema_version"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b" \n", "is blank"),
        (b"{\n", "is no JSON"),
        (b"[" * 100_000 + b"\n", "is no JSON"),
        (b"[]\n", f"has other fields than a record; expected {FIELDS}"),
        (signed(more=1), f"has other fields than a record; expected {FIELDS}"),
        (signed().replace(b'"payload":1', b'"payload":2'), "`record_hash` is not that of the record"),
        (signed(schema_version="2.0"), '`schema_version` is not "2.1"'),
        (signed(record_type="reply"), "`record_type` is none of attempt, completion, request"),
        (signed(request_hash=3), "`request_hash` is no text"),
        (signed(attempt_index="0"), "`attempt_index` is neither null nor a whole number"),
        (signed(attempt_index=True), "`attempt_index` is neither null nor a whole number"),
    ],
)
def test_line_that_is_no_record_says_why(line: bytes, message: str) -> None:
    with pytest.raises(UnfitError) as unfit:
        COUNTED.record(line)
    assert (str(unfit.value), unfit.value.at) == (message, 0)


@pytest.mark.parametrize("line", [signed()[:-1], b"{}\n", signed().replace(b"sha256:", b"sha512:")])
def test_line_whose_bytes_do_not_hold_states_no_digest(line: bytes) -> None:
    assert COUNTED.digest_in(line) is None
