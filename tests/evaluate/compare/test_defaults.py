"""Defaults are filled in wherever a schema declares them, at any depth and through local references."""

from __future__ import annotations

import pytest

from bfcl.canonical import Json
from bfcl.evaluate.compare.defaults import shape_of

UNIT: dict[str, Json] = {"type": "object", "properties": {"unit": {"type": "string", "default": "bar"}}}


@pytest.mark.parametrize(
    ("schema", "value", "filled"),
    [
        ({"properties": {"a": {"default": 1}}}, {}, {"a": 1}),
        ({"properties": {"a": {"default": 1}}}, {"a": 2}, {"a": 2}),
        ({"properties": {"a": {"default": None}}}, {}, {"a": None}),
        ({"properties": {"a": {"type": "integer"}}}, {}, {}),
        ({"properties": {"a": UNIT}}, {"a": {}}, {"a": {"unit": "bar"}}),
        ({"properties": {"a": UNIT}}, {}, {}),
        ({"properties": {"a": {**UNIT, "default": {}}}}, {}, {"a": {"unit": "bar"}}),
        (
            {"properties": {"a": {"items": UNIT}}},
            {"a": [{}, {"unit": "psi"}]},
            {"a": [{"unit": "bar"}, {"unit": "psi"}]},
        ),
        ({"properties": {"a": {"$ref": "#/$defs/u"}}, "$defs": {"u": UNIT}}, {"a": {}}, {"a": {"unit": "bar"}}),
        (
            {"properties": {"a": {"$ref": "#/allOf/0"}}, "allOf": [UNIT]},
            {"a": {}},
            {"a": {"unit": "bar"}, "unit": "bar"},
        ),
        ({"allOf": [{"properties": {"a": {"default": 1}}}]}, {}, {"a": 1}),
        ({"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"default": 3}}}, {}, {"a": 3}),
        ({"properties": {"a": {}}, "allOf": [{"properties": {"a": {"default": 1}}}]}, {}, {"a": 1}),
        ({"properties": {"a": {"default": 1}}, "allOf": [{"properties": {"a": {"default": 2}}}]}, {}, {"a": 1}),
        ({"additionalProperties": UNIT}, {"x": {}}, {"x": {"unit": "bar"}}),
        ({"properties": {"x": {}}, "additionalProperties": UNIT}, {"x": {}, "y": {}}, {"x": {}, "y": {"unit": "bar"}}),
        ({"properties": {"a": UNIT}}, {"a": "no object"}, {"a": "no object"}),
        ({"properties": {"a": {"items": UNIT}}}, {"a": {"unit": 1}}, {"a": {"unit": 1}}),
    ],
)
def test_shape_fills_declared_defaults(schema: dict[str, Json], value: Json, filled: Json) -> None:
    assert shape_of(schema).filled(value) == filled


def test_shape_without_defaults_is_plain() -> None:
    schema: dict[str, Json] = {"properties": {"a": {"properties": {"b": {"items": {"type": "string"}}}}}}
    assert shape_of(schema).plain
    assert not shape_of(schema).members


def test_shape_leaves_what_it_is_given_unchanged() -> None:
    value: dict[str, Json] = {"a": {}}
    shape_of({"properties": {"a": UNIT}}).filled(value)
    assert value == {"a": {}}
