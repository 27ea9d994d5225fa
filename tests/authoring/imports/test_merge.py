"""Joined schemas accept what they should: laws checked against a validator."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bfcl.authoring.imports.merge import disjoint, intersect, opens, widen
from bfcl.authoring.imports.settle import settle

VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.sampled_from([0.5, 2.5])
    | st.sampled_from(["", "a", "bb", "ccc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=4,
)
SMALL = st.integers(0, 3)


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


SCALAR = st.one_of(
    _optional(minLength=SMALL, maxLength=SMALL, pattern=st.sampled_from(["^a", "b$"])).map(
        lambda s: {"type": "string", **s}
    ),
    _optional(minimum=SMALL, exclusiveMaximum=SMALL).map(lambda s: {"type": "integer", **s}),
    _optional(exclusiveMinimum=SMALL, maximum=SMALL, multipleOf=st.just(2)).map(lambda s: {"type": "number", **s}),
    st.sampled_from(
        [{"type": "null"}, {"type": "boolean"}, {"type": ["string", "null"]}, {"const": "a"}, {"const": None}]
    ),
    st.lists(st.sampled_from(["a", "bb", 1, None]), min_size=1, unique=True).map(lambda values: {"enum": values}),
)
SCHEMA = st.recursive(
    SCALAR,
    lambda inner: (
        _optional(items=inner, minItems=SMALL, maxItems=SMALL, uniqueItems=st.booleans()).map(
            lambda s: {"type": "array", **s}
        )
        | _optional(
            properties=st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
            required=st.lists(st.sampled_from("xy"), unique=True),
            maxProperties=SMALL,
            additionalProperties=st.booleans() | inner,
        ).map(lambda s: {"type": "object", **s})
    ),
    max_leaves=4,
)


def accepts(schema: dict[str, Any], value: Any) -> bool:
    return Draft202012Validator(schema).is_valid(value)


@given(branches=st.lists(SCHEMA, min_size=1, max_size=3), values=st.lists(VALUE, min_size=5, max_size=5))
def test_widened_schema_accepts_what_a_branch_accepts_unless_narrowed_and_no_more_where_exact(
    branches: Any, values: list[Any]
) -> None:
    branches = [settle(branch)[0] for branch in branches]
    widened, exact, narrowed = widen(branches)
    assert not (exact and narrowed)
    for value in values:
        some = any(accepts(branch, value) for branch in branches)
        if some and not narrowed:
            assert accepts(widened, value)
        if exact and not some:
            assert not accepts(widened, value)


@given(parts=st.lists(SCHEMA, max_size=3), values=st.lists(VALUE, min_size=5, max_size=5))
def test_intersection_accepts_what_all_parts_accept_and_nothing_else_unless_it_opens(
    parts: Any, values: list[Any]
) -> None:
    parts = [settle(part)[0] for part in parts]
    joined = intersect({}, parts)
    for value in values:
        every = all(accepts(part, value) for part in parts)
        assert accepts(joined, value) or not every
        assert every or not accepts(joined, value) or opens(parts)


@given(branches=st.lists(SCHEMA, min_size=2, max_size=3), values=st.lists(VALUE, min_size=5, max_size=5))
def test_no_value_fits_two_branches_that_are_disjoint(branches: Any, values: list[Any]) -> None:
    assume(disjoint(branches))
    assert all(sum(accepts(branch, value) for branch in branches) < 2 for value in values)


CLOSED = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([CLOSED, {"properties": {"b": {}}}], True),
        ([CLOSED, {"properties": {"a": {"type": "string"}}}], False),
        ([{"properties": {"x": CLOSED}}, {"properties": {"x": {"properties": {"b": {}}}}}], True),
        ([{"items": CLOSED}, {"items": {"properties": {"b": {}}}}], True),
        ([{"properties": {"a": {}}}, {"properties": {"b": {}}}], False),
    ],
)
def test_intersection_opens_a_closed_object_that_lacks_a_property_of_another(parts: Any, expected: bool) -> None:
    assert opens(parts) is expected


@pytest.mark.parametrize(
    ("branches", "expected"),
    [
        ([{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "object"}], True),
        ([{"type": "object", "properties": {"a": {}}}, {"type": "object"}], False),
        ([CLOSED, {**CLOSED, "properties": {"b": {"type": "string"}}}], False),
        ([{"type": "array", "items": {"type": "object", "properties": {"a": {"type": "null"}}}},
          {"type": "array", "items": {"type": "object"}}], True),
    ],
)  # fmt: skip
def test_union_is_narrowed_where_an_open_branch_does_not_describe_a_property(branches: Any, expected: bool) -> None:
    assert widen(branches).narrowed is expected


@pytest.mark.parametrize(
    ("branches", "schema", "exact"),
    [
        ([{"type": "string"}, {"type": "null"}], {"type": ["string", "null"]}, True),
        ([{"type": "string", "maxLength": 3}, {"type": "integer", "minimum": 1}],
         {"type": ["string", "integer"], "maxLength": 3, "minimum": 1}, True),
        ([{"type": "string", "enum": ["a"]}, {"type": "null"}],
         {"type": ["string", "null"], "enum": ["a", None]}, True),
        ([{"const": "a"}, {"const": "b"}], {"type": "string", "enum": ["a", "b"]}, True),
        ([{"type": "string", "enum": ["a"]}, {"type": "integer"}], {"type": ["string", "integer"]}, False),
        ([{"type": "integer"}, {"type": "number"}], {"type": "number"}, False),
        ([{"type": "string", "title": "A"}, {"type": "string", "title": "B"}], {"type": "string", "title": "B"}, True),
        ([{"type": "string", "maxLength": 2}, {"type": "string", "maxLength": 5}],
         {"type": "string", "maxLength": 5}, False),
        ([{"type": "string"}, {}], {}, True),
        ([{"type": "string"}, {"minimum": 1}], {}, False),
        ([], {}, True),
        (
            [
                {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string", "description": "X."}},
                 "required": ["kind", "x"], "additionalProperties": False},
                {"type": "object", "properties": {"kind": {"const": "b"}, "x": {"type": "integer"}},
                 "required": ["kind"], "additionalProperties": False},
            ],
            {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "x": {"type": ["string", "integer"], "description": "X."},
                },
                "required": ["kind"],
                "additionalProperties": False,
            },
            False,
        ),
    ],
)  # fmt: skip
def test_branches_become_one_schema(branches: Any, schema: Any, exact: bool) -> None:
    assert widen(branches)[:2] == (schema, exact)


@pytest.mark.parametrize(
    ("own", "part", "expected"),
    [
        ({"description": "Own."}, {"type": "string", "description": "Part."},
         {"description": "Own.", "type": "string"}),
        ({"type": ["integer", "null"]}, {"type": "number"}, {"type": "integer"}),
        ({"minimum": 1, "maxLength": 5}, {"minimum": 3, "maxLength": 2}, {"minimum": 3, "maxLength": 2}),
        ({"enum": ["a", "b", 1]}, {"enum": [1.0, "b", "a"]}, {"enum": ["a", "b"]}),
        ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
        ({"additionalProperties": True}, {"additionalProperties": {"type": "string"}},
         {"additionalProperties": {"type": "string"}}),
        ({"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"minLength": 1}, "b": {}}},
         {"properties": {"a": {"type": "string", "minLength": 1}, "b": {}}}),
        ({"type": "string"}, {"type": "integer"}, {"type": "string", "allOf": [{"type": "integer"}]}),
        ({"pattern": "a"}, {"pattern": "b"}, {"pattern": "a", "allOf": [{"pattern": "b"}]}),
        ({"enum": ["a"]}, {"enum": ["b"]}, {"enum": ["a"], "allOf": [{"enum": ["b"]}]}),
    ],
)  # fmt: skip
def test_parts_become_one_schema(own: Any, part: Any, expected: Any) -> None:
    assert intersect(own, [part]) == expected
