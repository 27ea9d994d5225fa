"""A JSON Schema generated from a TypedDict says what the TypedDict says."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

import pytest

from bfcl.exports.record_schema import record_schema


class Part(TypedDict):
    grade: Literal["a", "b"]


class Record(TypedDict):
    name: str
    count: int | None
    share: NotRequired[float]
    parts: list[Part]
    free: dict[str, Any]
    any: Any
    ok: bool


def test_schema_names_every_key_and_no_other() -> None:
    part = {
        "type": "object",
        "properties": {"grade": {"type": "string", "enum": ["a", "b"]}},
        "required": ["grade"],
        "additionalProperties": False,
    }
    assert record_schema(Record, "A record") == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A record",
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "share": {"type": "number"},
            "parts": {"type": "array", "items": part},
            "free": {"type": "object"},
            "any": {},
            "ok": {"type": "boolean"},
        },
        "required": ["any", "count", "free", "name", "ok", "parts"],
        "additionalProperties": False,
    }


def test_schema_refuses_a_type_it_cannot_say() -> None:
    class Odd(TypedDict):
        when: set[str]

    with pytest.raises(TypeError, match=r"no JSON Schema for set\[str\]"):
        record_schema(Odd, "Odd")
