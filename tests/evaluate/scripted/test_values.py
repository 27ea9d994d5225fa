"""Other values that a schema admits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_text
from bfcl.evaluate.scripted.values import (
    declared_defaults,
    other_arguments,
    plausible_arguments,
    required_names,
)
from bfcl.stages.arguments import argument_failures


def of(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"], **more}


@pytest.mark.parametrize(
    ("schema", "value", "other"),
    [
        ({"type": "integer"}, 4, 5),
        ({"type": "integer", "maximum": 4}, 4, 3),
        ({"type": "integer", "multipleOf": 10}, 40, 80),
        ({"type": "number"}, 0.5, 1.5),
        ({"type": "string"}, "V-1", "V-2"),
        ({"type": "string"}, "az9", "az0"),
        ({"type": "string"}, "", "x"),
        ({"type": "string"}, "ố", "ốố"),
        ({"type": "string", "enum": ["on", "off"]}, "on", "off"),
        ({"type": "string", "pattern": "^K-[0-9]{2}$"}, "K-19", "K-10"),
        ({"type": "boolean"}, True, False),
        ({"type": "array", "items": {"type": "integer"}}, [1, 2], [2, 2]),
        ({"type": "object", "properties": {"b": {"enum": [1, 7]}}}, {"b": 1}, {"b": 7}),
    ],
)
def test_other_arguments_change_the_value_within_its_schema(schema: dict[str, Any], value: Any, other: Any) -> None:
    assert other_arguments(of(schema), {"a": value}) == {"a": other}


@pytest.mark.parametrize(
    ("schema", "value"), [({"const": 4}, 4), ({"enum": ["on"]}, "on"), ({"type": "null"}, None)], ids=str
)
def test_other_arguments_are_none_where_the_schema_has_no_other(schema: dict[str, Any], value: Any) -> None:
    assert other_arguments(of(schema), {"a": value}) is None


def test_other_arguments_avoid_what_is_right_elsewhere() -> None:
    right = {canonical_text({"a": 5})}
    assert other_arguments(of({"type": "integer"}), {"a": 4}, avoid=right) == {"a": 3}


def test_other_arguments_change_only_what_may_change() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    assert other_arguments(schema, {"a": 1, "b": 1}, only="b") == {"a": 1, "b": 2}


@given(st.dictionaries(st.sampled_from("abc"), st.integers() | st.text() | st.booleans(), min_size=1))
def test_other_arguments_differ_and_satisfy_the_schema(arguments: dict[str, Any]) -> None:
    kinds = {bool: "boolean", int: "integer", str: "string"}
    properties = {name: {"type": kinds[type(v)]} for name, v in arguments.items()}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    other = other_arguments(schema, arguments)
    assert other is not None
    assert canonical_text(other) != canonical_text(arguments)
    assert argument_failures(schema, other) == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "exclusiveMaximum": 3}, 2),
        ({"type": "number"}, 1),
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"enum": ["on", "off"]}, "on"),
        ({"const": 7}, 7),
        ({"type": "string", "default": "slow"}, "slow"),
        ({"type": ["integer", "null"]}, 1),
        ({"type": "array", "minItems": 2, "items": {"type": "boolean"}}, [False, False]),
        ({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, {"b": "x"}),
    ],
)
def test_plausible_arguments_are_the_required_ones(schema: dict[str, Any], value: Any) -> None:
    assert plausible_arguments(of(schema)) == {"a": value}


def test_plausible_arguments_are_none_where_none_was_found() -> None:
    assert plausible_arguments(of({"type": "string", "pattern": "^K-[0-9]{2}$"})) is None


def test_schema_without_properties_declares_nothing() -> None:
    assert (declared_defaults({}), required_names({}), plausible_arguments({})) == ({}, [], {})
