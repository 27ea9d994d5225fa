"""Which schema a hint stands for, and what is said of one that stands for none."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from bfcl.authoring.imports.python_hints import Hints
from bfcl.authoring.imports.python_module import read_module
from bfcl.authoring.imports.report import Notes

HEAD = """
from typing import Any, Literal, NewType, Optional
from pydantic import BaseModel, Field
Name = NewType("Name", str)
class Part(BaseModel):
    name: str
    size: int = Field(1, ge=1)
class Loop(BaseModel):
    again: "Loop"
class Plain:
    a: int
class Left(BaseModel):
    x: int
"""


def read(hint: str) -> tuple[Any, list[str], list[tuple[str, str]]]:
    """(schema, messages of the findings, (pointer, action) of the notices)."""
    hints, notes = Hints(read_module(HEAD.encode(), path="desk.py"), "desk.py"), Notes()
    schema = hints.schema(ast.parse(hint, mode="eval").body, ("f", "a"), notes)
    told: Any = notes.to_json(lambda at: dict.fromkeys(at, 1))
    return schema, [each.message for each in hints.findings], [(each["pointer"], each["action"]) for each in told]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        ("Optional[int]", {"type": ["integer", "null"]}),
        ("Name | None", {"type": ["string", "null"]}),
        ("dict[str, list[Any]]", {"type": "object", "additionalProperties": {"type": "array", "items": {}}}),
        ("Literal[1, 'a']", {"type": ["integer", "string"], "enum": [1, "a"]}),
        ("'list[int]'", {"type": "array", "items": {"type": "integer"}}),
        ("Left", {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"],
                  "additionalProperties": False}),
    ],
)  # fmt: skip
def test_hint_becomes_a_schema_without_a_notice(hint: str, schema: Any) -> None:
    assert read(hint) == (schema, [], [])


def test_constraint_of_a_model_field_is_told() -> None:
    schema, findings, notes = read("Part")
    assert schema["properties"] == {"name": {"type": "string"}, "size": {"type": "integer", "default": 1}}
    assert schema["required"] == ["name"]
    assert (findings, notes) == ([], [("/f/a/size", "dropped")])


def test_union_of_closed_models_is_widened_and_not_narrowed() -> None:
    assert read("Part | Left")[2] == [("/f/a", "widened"), ("/f/a/size", "dropped")]


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ("set[int]", "`f.a`: the hint `set[int]` has no JSON form that can be told from this file"),
        ("Plain", "`f.a`: `Plain` is no Enum, dataclass, TypedDict or pydantic model"),
        ("Loop", "`f.a.again`: `Loop` contains itself"),
        ("dict[int, str]", "`f.a`: keys are `int`; JSON keys are text"),
        ("'a b'", "`f.a`: 'a b' is no type hint"),
        ("lambda: 3", "`f.a`: `lambda: 3` is no type hint"),
        (repr("list[" * 5000 + "int" + "]" * 5000), '`f.a`: "' + "list[" * 11 + "l... is no type hint"),
    ],
)
def test_hint_without_a_json_form_is_a_finding(hint: str, message: str) -> None:
    _, findings, _ = read(hint)
    assert findings == [message]
