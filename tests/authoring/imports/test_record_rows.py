"""Rows know the line they start on, whatever their file looks like."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.imports.record_rows import read_records
from bfcl.errors import BfclError


def rows(data: bytes, path: str, **more: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(row.line, dict(row.values)) for row in read_records(data, path=path, **more).rows]


def test_csv_skips_a_byte_order_mark_and_empty_lines_and_counts_lines_inside_quotes() -> None:
    data = b'\xef\xbb\xbfid, name \r\n\r\n1,"two\nlines, ""quoted"""\r\n\r\n2,x\r\n'
    assert rows(data, "a.csv") == [
        (3, {"id": "1", "name": 'two\nlines, "quoted"'}),
        (6, {"id": "2", "name": "x"}),
    ]


def test_delimiter_is_a_comma_a_tab_or_what_was_asked_for() -> None:
    expected = [(2, {"a": "1", "b": "2"})]
    assert rows(b"a,b\n1,2\n", "x.CSV") == expected
    assert rows(b"a\tb\n1\t2\n", "x.tsv") == expected
    assert rows(b"a;b\n1;2\n", "x.csv", delimiter=";") == expected


def test_json_rows_stand_where_their_object_starts() -> None:
    assert rows(b'[{"a": 1},\n {"b": [2]}]', "x.json") == [(1, {"a": 1}), (2, {"b": [2]})]
    assert rows(b'{"a": 1}\n\n {"a": "\xe2\x80\xa8"}\r\n', "x.jsonl") == [(1, {"a": 1}), (3, {"a": "\u2028"})]
    assert read_records(b'[{"b": 1}, {"a": 1, "b": 2}]', path="x.json").columns == ["b", "a"]


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@given(st.lists(st.lists(CELL, min_size=2, max_size=2), max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_csv_written_by_a_csv_writer_is_read_back(table: list[list[str]], newline: str) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=newline, quoting=csv.QUOTE_ALL)
    writer.writerow(["a", "b"])
    lines = []
    for row in table:
        lines.append(len(text.getvalue().replace("\r\n", "\n").replace("\r", "\n").split("\n")))
        writer.writerow(row)
    found = rows(text.getvalue().encode(), "x.csv")
    assert [list(values.values()) for _, values in found] == table
    assert [line for line, _ in found] == lines


@given(st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=3), max_size=4))
def test_json_and_json_lines_hold_the_same_rows(table: list[dict[str, Any]]) -> None:
    array = json.dumps(table, ensure_ascii=False).encode()
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in table).encode()
    found = rows(lines, "x.ndjson")
    assert [values for _, values in rows(array, "x.json")] == table
    assert found == [(number, row) for number, row in enumerate(table, start=1)]


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("x.txt", b"", ["x.txt: import_source_invalid: the kind of file cannot be told from its name\n"
                        "  fix: name a file ending in .csv, .tsv, .json, .jsonl, .ndjson"]),
        ("x.csv", b"", ["x.csv:1: import_source_invalid: no header line\n  fix: name the columns first"]),
        ("x.csv", b"a\n\xff\n", ["x.csv:2: import_source_invalid: byte 0xff is not UTF-8\n"
                                 "  fix: save the file as UTF-8"]),
        ("x.csv", b"a,b\n1,2\n\"x,\n3,4\n", ["x.csv:3: import_source_invalid: not CSV: unexpected end of data\n"
                                             "  fix: double the quotes inside a quoted cell, and close it"]),
        ("x.csv", b'a\n"x"y\n', ["x.csv:2: import_source_invalid: not CSV: ',' expected after '\"'\n"
                                 "  fix: double the quotes inside a quoted cell, and close it"]),
        ("x.csv", b"a,,a\n1,2\n1,2,3\n1,2,3,4\n",
         ["x.csv:1: import_source_invalid: column 2 has no name\n  fix: name every column",
          "x.csv:1: import_source_invalid: column 'a' is named twice\n  fix: rename one of the two",
          "x.csv:2: ragged_record: the row has 2 fields; expected 3\n"
          "  fix: quote cells that hold the delimiter, or name another one with --delimiter",
          "x.csv:4: ragged_record: the row has 4 fields; expected 3\n"
          "  fix: quote cells that hold the delimiter, or name another one with --delimiter"]),
        ("x.json", b'{"a": 1}',
         ["x.json:1: import_source_invalid: the value is <mapping, 1>; expected an array of objects"]),
        ("x.json", b'{"users": [{"password": "hunter2"}], "meta": {"n": [1]}, "more": [{}], "none": []}',
         ["x.json:1: import_source_invalid: the value is <mapping, 4>; expected an array of objects\n"
          "  fix: save the array under `users` or `more` as a file of its own"]),
        ("x.json", b'"hunter2"',
         ["x.json:1: import_source_invalid: the value is <str, 7>; expected an array of objects"]),
        ("x.json", b"[1,\n[2]]", ["x.json:1: import_source_invalid: the row is a single value; expected an object",
                                  "x.json:2: import_source_invalid: the row is a list; expected an object"]),
        ("x.jsonl", b'{"a": 1}\n{\n{"a": NaN}\n', ["x.jsonl:2: import_source_invalid: not JSON: Expecting property "
                                                   "name enclosed in double quotes",
                                                   "x.jsonl:3: import_source_invalid: NaN is not a finite number"]),
    ],
)  # fmt: skip
def test_file_that_holds_no_rows_is_refused(path: str, data: bytes, expected: list[str]) -> None:
    with pytest.raises(BfclError) as refused:
        read_records(data, path=path)
    assert [str(each) for each in refused.value.problems] == expected


KEY = "AK" + "IAIOSFODNN7EXAMPLE"
NAMED = "is an AWS access key, <text, 20>\n  fix: name the columns after what they hold"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("x.csv", f"id,{KEY},{KEY}\n1,2,3\n",
         [f"x.csv:1: secret_in_records: the name of column 2 {NAMED}",
          f"x.csv:1: secret_in_records: the name of column 3 {NAMED}"]),
        ("x.json", f'[{{"id": 1}},\n{{"{KEY}": 1}}]',
         [f"x.json:2: secret_in_records: the name of column 2 {NAMED}"]),
        ("x.json", f'[{{"{KEY}": 1, "{KEY}": 2}}]',
         ["x.json:1: import_source_invalid: key '<an AWS access key>' is given twice in one object\n"
          "  fix: keep one of the two"]),
        ("x.jsonl", f'{{"id": 1}}\n{{"{KEY}": 1, "{KEY}": 2}}',
         ["x.jsonl:2: import_source_invalid: key '<an AWS access key>' is given twice in one object\n"
          "  fix: keep one of the two"]),
        ("x.json", f'{{"{KEY}": [{{}}]}}',
         ["x.json:1: import_source_invalid: the value is <mapping, 1>; expected an array of objects\n"
          "  fix: save the array under `<text, 20>` as a file of its own"]),
    ],
)  # fmt: skip
def test_name_that_is_a_credential_is_refused_and_not_shown(path: str, text: str, expected: list[str]) -> None:
    with pytest.raises(BfclError) as refused:
        read_records(text.encode(), path=path)
    assert [str(each) for each in refused.value.problems] == expected
