from __future__ import annotations

from typing import Any

import pytest

from bfcl.authoring.source.skeleton_rows import skeleton_rows
from bfcl.records.tool import Tool


def values(schema: Any, count: int = 3, **root: Any) -> list[Any]:
    tool = Tool(name="a", parameters={"properties": {"x": schema}, **root})
    rows: list[Any] = skeleton_rows([tool], without="confirm", count=count)
    assert all(list(row) == ["x"] for row in rows)
    return [row["x"] for row in rows]


TEXT = ["BFCL-TODO-replace-1", "BFCL-TODO-replace-2", "BFCL-TODO-replace-3"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, TEXT),
        ({"type": "integer", "minimum": 5}, [1, 2, 3]),
        ({"type": "number"}, [1.0, 2.0, 3.0]),
        ({"type": "boolean"}, [True, False, True]),
        ({"type": "string", "enum": ["b", "a"]}, ["b", "a", "b"]),
        ({"enum": []}, TEXT),
        ({"const": 4}, [4, 4, 4]),
        ({"type": ["null", "integer"]}, [1, 2, 3]),
        ({"type": "null"}, [None, None, None]),
        ({"type": "array"}, [[text] for text in TEXT]),
        ({"type": "array", "items": {"type": "integer"}}, [[1], [2], [3]]),
        ({"type": "object"}, [{"value": text} for text in TEXT]),
        (
            {"properties": {"b": {"type": "string"}, "a": {"type": "boolean"}}},
            [{"a": flag, "b": text} for flag, text in zip([True, False, True], TEXT, strict=True)],
        ),
        ({"items": {"enum": [1]}}, [[1], [1], [1]]),
        (True, TEXT),
        ({"type": "unheard of"}, TEXT),
        ({"$ref": "#/$defs/size"}, ["S", "M", "S"]),
        ({"$ref": "#/$defs/none"}, TEXT),
    ],
)
def test_rows_hold_a_value_of_each_parameters_shape(schema: Any, expected: list[Any]) -> None:
    found = values(schema, **{"$defs": {"size": {"enum": ["S", "M"]}}})
    assert found == expected
    assert [type(one) for one in found] == [type(one) for one in expected]


def test_rows_of_a_schema_that_names_itself_end() -> None:
    assert "BFCL-TODO-replace-1" in str(
        values({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}})
    )


def test_rows_join_the_parameters_of_all_tools_sorted_without_the_confirmation() -> None:
    tools = [
        Tool(name="a", parameters={"properties": {"z": {"type": "integer"}, "ok": {"type": "boolean"}}}),
        Tool(name="b", parameters={"properties": {"z": {"type": "string"}, "c": {"type": "integer"}}}),
        Tool(name="c"),
    ]
    rows: list[Any] = skeleton_rows(tools, without="ok", count=1)
    assert [list(row.items()) for row in rows] == [[("c", 1), ("z", 1)]]
