"""Records become typed rows with a key of their own."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.imports.fixtures_text import with_collection
from bfcl.authoring.imports.records import RecordOptions, import_records
from bfcl.errors import BfclError
from bfcl.located import parse_json
from bfcl.pack.fixtures import collection_rows, load_fixtures


def read(data: str | bytes, path: str = "bikes.csv", **options: Any) -> Any:
    made = RecordOptions(**{"collection": "bikes", "key": "bike_id", **options})
    return import_records(data if isinstance(data, bytes) else data.encode(), made, path=path)


def refusals(data: str, path: str = "bikes.csv", **options: Any) -> list[str]:
    with pytest.raises(BfclError) as refused:
        read(data, path, **options)
    return [str(each) for each in refused.value.problems]


def test_columns_are_typed_whole_and_empty_cells_are_null() -> None:
    imported = read(
        "bike_id,gears,price,sold,zip,note\n1,3,10,TRUE,01234,\n2,,2.50,false,99999,\n3,21,,true,,\n",
    )
    assert list(imported.rows) == [
        {"bike_id": 1, "gears": 3, "price": 10.0, "sold": True, "zip": "01234", "note": None},
        {"bike_id": 2, "gears": None, "price": 2.5, "sold": False, "zip": "99999", "note": None},
        {"bike_id": 3, "gears": 21, "price": None, "sold": True, "zip": None, "note": None},
    ]
    assert imported.to_json("bikes.csv", "fixtures.json") == {
        "schema_version": "1.0",
        "status": "written",
        "source": "bikes.csv",
        "written": "fixtures.json",
        "collection": "bikes",
        "key": "bike_id",
        "rows": 3,
        "columns": {
            "bike_id": "integer",
            "gears": "integer",
            "price": "number",
            "sold": "boolean",
            "zip": "text",
            "note": "text",
        },
        "report": [
            {"column": "zip", "line": 2, "message": "stays text: '01234' would lose something as a number"},
            {"column": "note", "line": 2, "message": "every cell is empty; all values are null"},
        ],
    }


def test_chosen_types_win_and_settle_the_question() -> None:
    imported = read("bike_id,zip,n\n1,012,1e2\n2,5,7\n", types={"bike_id": "text", "zip": "text", "n": "number"})
    assert list(imported.rows) == [
        {"bike_id": "1", "zip": "012", "n": 100.0},
        {"bike_id": "2", "zip": "5", "n": 7.0},
    ]
    assert imported.report == []


def test_json_rows_stay_as_they_are() -> None:
    imported = read('[{"bike_id": "B-1", "tags": ["a"]}, {"bike_id": 2, "size": 1.0}]', "bikes.json")
    assert list(imported.rows) == [{"bike_id": "B-1", "tags": ["a"]}, {"bike_id": 2, "size": 1.0}]
    assert imported.columns == {"bike_id": "mixed", "tags": "list", "size": "number"}
    assert [(each["column"], each["message"]) for each in imported.report] == [
        ("bike_id", "values of several types"),
        ("tags", "absent from 1 of 2 rows, and left so"),
        ("size", "absent from 1 of 2 rows, and left so"),
    ]


CELLS = st.sampled_from(["", "1", "-7", "007", "2.50", "true", "False", "x", "a,b", 'q"', "two\nlines", "ä", "1e5"])


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=6))
def test_rows_read_back_through_the_pack_equal_the_typed_rows(table: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["bike_id", "a", "b", "c"])
    writer.writerows([number, *row] for number, row in enumerate(table))
    imported = read(text.getvalue())
    data = with_collection(b'{"opening": "9-17"}', "bikes", imported.rows, path="f", replace=False)
    fixtures, problems = load_fixtures(parse_json(data, path="fixtures.json", code="x"))
    assert problems == []
    rows = collection_rows(fixtures, "bikes")
    assert rows == imported.rows
    assert [list(row) for row in rows or ()] == [["bike_id", "a", "b", "c"]] * len(table)
    assert fixtures["opening"] == "9-17"
    for column, kind in imported.columns.items():
        kinds = {"integer": int, "number": float, "boolean": bool, "text": str}
        assert {type(row[column]) for row in imported.rows} <= {kinds[kind], type(None)}


def test_keys_that_are_missing_or_shared_are_refused_with_both_lines() -> None:
    assert refusals("bike_id,n\nB-1,1\n,2\nB-2,3\n\nB-1,4\nB-1,5\n") == [
        "bikes.csv:3: missing_record_key: row 2 has no `bike_id`; expected text or an integer",
        "bikes.csv:6: duplicate_record_key: rows 1 and 4, on lines 2 and 6, have the same `bike_id`, 'B-1'\n"
        "  fix: give each row its own key, or name another column with --key",
        "bikes.csv:7: duplicate_record_key: rows 1 and 5, on lines 2 and 7, have the same `bike_id`, 'B-1'\n"
        "  fix: give each row its own key, or name another column with --key",
    ]


def test_keys_of_json_rows_are_text_or_integers_and_unique_as_text() -> None:
    text = '[{"bike_id": 1}, {"bike_id": "1"}, {"bike_id": 1.5}, {"bike_id": true}, {"bike_id": null}, {}]'
    assert refusals(text, "b.json") == [
        "b.json:1: duplicate_record_key: rows 1 and 2, on lines 1 and 1, have the same `bike_id`, '1'\n"
        "  fix: give each row its own key, or name another column with --key",
        "b.json:1: missing_record_key: row 3 has `bike_id` 1.5; expected text or an integer",
        "b.json:1: missing_record_key: row 4 has `bike_id` true; expected text or an integer",
        "b.json:1: missing_record_key: row 5 has no `bike_id`; expected text or an integer",
        "b.json:1: missing_record_key: row 6 has no `bike_id`; expected text or an integer",
    ]


def test_cell_that_does_not_fit_the_chosen_type_is_refused() -> None:
    assert refusals("bike_id,n,ok\n1,x,yes\n2,3,true\n", types={"n": "integer", "ok": "boolean"}) == [
        "bikes.csv:2: record_type_mismatch: column `n` has 'x'; expected an integer",
        "bikes.csv:2: record_type_mismatch: column `ok` has 'yes'; expected true or false",
    ]


def test_secrets_are_refused_beside_everything_else_and_never_shown() -> None:
    token = "gh" + "p_0123456789abcdefABCDEF0123456789abcd"
    said = refusals(f"bike_id,password,n\n{token},hunter2,x\n{token},,3\n", types={"n": "integer"})
    assert said == [
        "bikes.csv:2: record_type_mismatch: column `n` has 'x'; expected an integer",
        "bikes.csv:2: secret_in_records: column `bike_id` holds a GitHub token, and so does 1 more row\n"
        "  fix: replace it by an invented value; where it is invented already, pass --allow-secrets bike_id",
        "bikes.csv:2: secret_in_records: column `password` holds a value, and its name says credential\n"
        "  fix: replace it by an invented value; where it is invented already, pass --allow-secrets password",
        "bikes.csv:3: duplicate_record_key: rows 1 and 2, on lines 2 and 3, have the same `bike_id`, <text, 40>\n"
        "  fix: give each row its own key, or name another column with --key",
    ]
    assert token not in "".join(said)
    assert "hunter2" not in "".join(said)


def test_column_of_flags_is_no_secret_though_its_name_says_so() -> None:
    assert read("bike_id,has_password\n1,true\n2,false\n").rows[0]["has_password"] is True


def test_allowed_secrets_pass() -> None:
    assert read("bike_id,pwd\n1,invented\n", allow_secrets=("pwd",)).rows == [{"bike_id": 1, "pwd": "invented"}]


def test_column_that_is_not_there_is_refused() -> None:
    assert refusals("bikeid,n\n1,2\n", types={"m": "text"}, allow_secrets=("pwd",)) == [
        "unknown_column: --key: bikes.csv has no column 'bike_id'\n  fix: did you mean `bikeid`?",
        "unknown_column: --types: bikes.csv has no column 'm'\n  fix: name one of `bikeid`, `n`",
        "unknown_column: --allow-secrets: bikes.csv has no column 'pwd'\n  fix: name one of `bikeid`, `n`",
    ]


def test_types_of_json_values_cannot_be_chosen() -> None:
    assert refusals('[{"bike_id": 1}]', "b.json", types={"bike_id": "text"}) == [
        "unknown_column: --types: values of JSON files have their types already\n  fix: leave --types out"
    ]


def test_faults_of_one_kind_are_told_up_to_a_number() -> None:
    said = refusals("bike_id,n\n" + ",1\n" * 30)
    assert len(said) == 21
    assert said[-1] == "bikes.csv: missing_record_key: 10 more of this kind"
