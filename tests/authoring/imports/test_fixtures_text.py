"""A collection enters fixtures.json and no other byte moves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.imports.fixtures_text import collection_text, with_collection
from bfcl.errors import BfclError
from bfcl.located import parse_json
from bfcl.pack.fixtures import collection_rows, load_fixtures

VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=5,
)
ROWS = st.lists(st.dictionaries(st.text(max_size=3), VALUE, max_size=3), max_size=3)
NAME = st.sampled_from(["a", "b", 'q"{', "ü"])


def put(data: bytes | None, name: str, rows: Any, *, replace: bool = False) -> bytes:
    return with_collection(data, name, rows, path="fixtures.json", replace=replace)


def loaded(data: bytes) -> Any:
    fixtures, problems = load_fixtures(parse_json(data, path="fixtures.json", code="x"))
    assert problems == []
    return fixtures


def test_new_file_holds_one_row_a_line() -> None:
    assert put(None, "bikes", [{"id": 1, "n": "ä"}, {"id": 2}]).decode() == (
        '{\n  "bikes": [\n    {"id": 1, "n": "ä"},\n    {"id": 2}\n  ]\n}\n'
    )
    assert put(None, "bikes", []) == b'{\n  "bikes": []\n}\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"x": 1.50}', '{"x": 1.50,\n  "b": []\n}'),
        ('{\r\n\t"x" :1e2 , "y":"\\u00e4"\r\n}\r\n', '{\r\n\t"x" :1e2 , "y":"\\u00e4",\n  "b": []\r\n}\r\n'),
        ("{}", '{\n  "b": []\n}'),
        (" { \n } \n", ' {\n  "b": []\n} \n'),
        ('{"x": {}  }\n', '{"x": {},\n  "b": []\n}\n'),
    ],
)
def test_collection_is_added_at_the_end(before: str, after: str) -> None:
    assert put(before.encode(), "b", []).decode() == after


@given(before=st.dictionaries(NAME, VALUE, max_size=4), indent=st.sampled_from([None, 1, 2]), name=NAME, rows=ROWS)
def test_rows_are_read_back_and_the_rest_is_byte_for_byte_the_same(
    before: dict[str, Any], indent: int | None, name: str, rows: Any
) -> None:
    text = json.dumps(before, indent=indent)
    after = put(text.encode(), name, rows, replace=True)
    assert loaded(after) == {**before, name: rows}
    assert collection_rows(loaded(after), name) == rows
    assert list(loaded(after)) == list({**before, name: None})
    assert put(after, name, rows, replace=True) == after
    if name in before:
        old = json.dumps(before[name], indent=indent).replace("\n", "\n" + " " * (indent or 0))
        assert after.decode() in _replaced(text, old, collection_text(rows))
    elif before:
        assert after.decode().startswith(text[:-1].rstrip())


def _replaced(text: str, old: str, new: str) -> list[str]:
    """The text with each one of the places where `old` stands replaced."""
    found, at = [], text.find(old)
    while at >= 0:
        found.append(text[:at] + new + text[at + len(old) :])
        at = text.find(old, at + 1)
    return found


def test_collection_that_exists_is_refused_unless_it_is_to_be_replaced() -> None:
    before = b'{\n  "a": [],\n  "bikes": [{"id": 1}]\n}\n'
    with pytest.raises(BfclError) as refused:
        put(before, "bikes", [])
    assert str(refused.value) == (
        "fixtures.json:3: collection_exists: the collection `bikes` is there already\n"
        "  fix: pass --replace to put the new rows in its place, or choose another --collection"
    )
    assert put(before, "bikes", [], replace=True) == b'{\n  "a": [],\n  "bikes": []\n}\n'


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (b"[1]", "fixtures.json:1: fixtures_invalid: the value is <list, 1>; expected an object mapping collection "
                 "names to arrays of rows"),
        (b'{"://me:hunter2@x": 1, "://me:hunter2@x": 2}',
         "fixtures.json:1: pack_parse_error: key '<a password in a URL>' is given twice in one object\n"
         "  fix: keep one of the two"),
        (b'{"a": 1,\n "a": 2}', "fixtures.json:2: pack_parse_error: key 'a' is given twice in one object\n"
                                "  fix: keep one of the two"),
        (b"", "fixtures.json:1: pack_parse_error: not JSON: Expecting value"),
    ],
)  # fmt: skip
def test_file_that_is_no_fixtures_is_refused(before: bytes, expected: str) -> None:
    with pytest.raises(BfclError) as refused:
        put(before, "bikes", [])
    assert str(refused.value) == expected
