"""What all formats share: lines, and bytes that no longer read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.exports.format import TRUTH_FIELDS, Unreadable, json_line, read_json, read_json_lines, reading, truth_of
from bfcl.exports.formats import FORMATS
from tests.exports.staged import decoded, row


def test_json_line_is_compact_sorted_and_unescaped() -> None:
    assert json_line("a.jsonl", {"b": 1.0, "a": "ä"}) == ("a.jsonl", '{"a":"ä","b":1.0}\n'.encode())


def test_truth_of_a_row_has_every_field() -> None:
    told = truth_of(decoded(row()))
    assert [field for field in TRUTH_FIELDS if getattr(told, field) is None] == ["call_order_prefix"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "a.jsonl: FileNotFoundError: "),
        (b"{}\n{\n", "a.jsonl:2: JSONDecodeError: "),
        (b"[]\n", "a.jsonl:1: TypeError: not an object"),
        (b'{"a":NaN}\n', "a.jsonl:1: ValueError: NaN is no JSON number"),
        (b"\xff\n", "a.jsonl:1: UnicodeDecodeError: "),
        (b"{}\n\n", "a.jsonl:2: JSONDecodeError: "),
    ],
)
def test_lines_that_do_not_read_say_where(tmp_path: Path, data: bytes | None, message: str) -> None:
    path = tmp_path / "a.jsonl"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(Unreadable) as refused:
        list(read_json_lines(path))
    assert str(refused.value).startswith(message)


def test_document_that_does_not_read_says_which(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"{}")
    assert read_json(path) == {}
    path.write_bytes(b"1")
    with pytest.raises(Unreadable, match=r"a\.json: TypeError: not an object"):
        read_json(path)


def test_missing_shape_is_unreadable_and_our_own_bugs_are_not() -> None:
    with pytest.raises(Unreadable, match="here: KeyError: 'id'"), reading("here"):
        raise KeyError("id")
    with pytest.raises(AssertionError), reading("here"):
        raise AssertionError


def test_formats_stand_in_name_order_under_their_names() -> None:
    assert list(FORMATS) == sorted(FORMATS)
    assert {"bfcl_json", "nemo_evaluator_bundle"} <= FORMATS.keys()
    assert [form.name for form in FORMATS.values()] == list(FORMATS)
    assert {form.carries[0] for form in FORMATS.values()} == {"task_id"}
