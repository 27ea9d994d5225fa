"""Each keyword of an OpenAPI schema: what the subset says instead, and the notice it leaves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from bfcl.authoring.imports.schema_translation import MAX_NODES
from bfcl.errors import BfclError
from bfcl.pack.schema_subset import schema_problems
from tests.authoring.imports.specs import imported, parameters, query
from tests.authoring.imports.test_merge import SCHEMA, VALUE

Notes = list[tuple[str, str, str]]


@pytest.mark.parametrize(
    ("schema", "expected", "notes"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}, [("/nullable", "nullable", "translated")]),
        ({"type": "string", "nullable": False}, {"type": "string"}, []),
        ({"type": "string", "nullable": True, "default": None}, {"type": ["string", "null"], "default": None},
         [("/nullable", "nullable", "translated")]),
        ({"type": "string", "enum": ["a"], "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]},
         [("/nullable", "nullable", "translated")]),
        ({"nullable": True}, {}, [("/nullable", "nullable", "dropped")]),
        ({"type": "file", "nullable": True}, {}, [("/nullable", "nullable", "dropped"), ("/type", "type", "dropped")]),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 1},
         [("/exclusiveMinimum", "exclusiveMinimum", "translated")]),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, {"type": "number", "maximum": 1},
         [("/exclusiveMaximum", "exclusiveMaximum", "dropped")]),
        ({"type": "number", "exclusiveMaximum": True}, {"type": "number"},
         [("/exclusiveMaximum", "exclusiveMaximum", "dropped")]),
        ({"type": "integer", "format": "int64", "example": 3}, {"type": "integer", "examples": [3]},
         [("/example", "example", "translated"), ("/format", "format", "dropped")]),
        ({"type": "string", "format": "date", "description": "Day."},
         {"type": "string", "description": "Day. Format: date."}, [("/format", "format", "translated")]),
        ({"type": "string", "enum": [1, True, "x"], "default": 1},
         {"type": "string", "enum": ["1", "true", "x"], "default": "1"},
         [("/default", "default", "translated"), ("/enum", "enum", "translated")]),
        ({"type": "string", "default": 1.5}, {"type": "string"}, [("/default", "default", "dropped")]),
        ({"type": "object", "additionalProperties": {"type": "string", "xml": {}}},
         {"type": "object", "additionalProperties": {"type": "string"}},
         [("/additionalProperties/xml", "xml", "dropped")]),
        ({"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
         {"type": "array", "items": {"type": ["string", "integer"]}}, [("/items", "items", "widened")]),
        ({"type": "string", "required": True}, {"type": "string"}, [("/required", "required", "dropped")]),
        ("nonsense", {}, [("", "schema", "dropped")]),
    ],
)  # fmt: skip
def test_keyword_of_3_0_is_translated(schema: Any, expected: Any, notes: Notes) -> None:
    assert query(schema, openapi="3.0.3") == (expected, notes)


@pytest.mark.parametrize(
    ("schema", "expected", "notes"),
    [
        ({"type": ["string", "null"], "examples": ["a"], "$comment": "c"},
         {"type": ["string", "null"], "examples": ["a"], "$comment": "c"}, []),
        ({"const": 3, "deprecated": True, "$id": "x"}, {"const": 3},
         [("/$id", "$id", "dropped"), ("/deprecated", "deprecated", "dropped")]),
        (True, {}, []),
        (False, {}, [("", "false", "widened")]),
        ({"type": "string", "pattern": "a(?!b)"}, {"type": "string"}, [("/pattern", "pattern", "dropped")]),
        ({"type": "string", "pattern": "(?<=a)b"}, {"type": "string"}, [("/pattern", "pattern", "dropped")]),
        ({"type": "string", "pattern": r"\p{L}+"}, {"type": "string"}, [("/pattern", "pattern", "dropped")]),
        ({"type": "string", "pattern": "^(?:a|b)$"}, {"type": "string", "pattern": "^(?:a|b)$"}, []),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, {"type": "array", "items": {}},
         [("/prefixItems", "prefixItems", "widened")]),
        ({"type": "array", "prefixItems": [{"type": "string"}], "items": False},
         {"type": "array", "items": {"type": "string"}}, [("/prefixItems", "prefixItems", "widened")]),
        ({"type": "object", "patternProperties": {"^a": {}}, "additionalProperties": False}, {"type": "object"},
         [("/patternProperties", "patternProperties", "widened")]),
        ({"type": "object", "unevaluatedProperties": False}, {"type": "object"},
         [("/unevaluatedProperties", "unevaluatedProperties", "dropped")]),
        ({"not": {"const": 1}, "if": {}, "then": {}, "else": {}}, {},
         [("/else", "else", "dropped"), ("/if", "if", "dropped"), ("/not", "not", "dropped"),
          ("/then", "then", "dropped")]),
        ({"oneOf": [{"const": "a"}, {"const": "b"}], "description": "Either."},
         {"description": "Either.", "type": "string", "enum": ["a", "b"]}, [("/oneOf", "oneOf", "translated")]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
         {"default": None, "type": ["integer", "null"]}, [("/anyOf", "anyOf", "translated")]),
        ({"anyOf": []}, {}, [("/anyOf", "anyOf", "dropped")]),
        ({"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
         {"type": "object", "properties": {"a": {}, "b": {}}}, [("/anyOf", "anyOf", "widened")]),
        ({"allOf": [{"type": "string"}, {"maxLength": 3}], "minLength": 1},
         {"minLength": 1, "type": "string", "maxLength": 3}, [("/allOf", "allOf", "merged")]),
        ({"allOf": {}}, {}, [("/allOf", "allOf", "dropped")]),
        ({"type": "object", "properties": {"id": {"readOnly": True}, "pin": {"type": "string", "writeOnly": True}},
          "required": ["id", "pin"]},
         {"type": "object", "properties": {"pin": {"type": "string"}}, "required": ["pin"]},
         [("/properties/id", "readOnly", "dropped"), ("/properties/pin/writeOnly", "writeOnly", "dropped")]),
    ],
)  # fmt: skip
def test_keyword_of_3_1_is_translated(schema: Any, expected: Any, notes: Notes) -> None:
    assert query(schema) == (expected, notes)


def test_reference_takes_siblings_in_3_1_and_ignores_them_in_3_0() -> None:
    schema = {"$ref": "#/components/schemas/Name", "description": "Whose.", "maxLength": 3}
    assert query(schema, Name={"type": "string", "maxLength": 5, "description": "A name."}) == (
        {"description": "Whose.", "maxLength": 3, "type": "string"},
        [],
    )
    assert query(schema, openapi="3.0.0", Name={"type": "string", "maxLength": 5}) == (
        {"description": "Whose.", "type": "string", "maxLength": 5},
        [("/maxLength", "maxLength", "dropped")],
    )


def test_read_only_is_seen_through_references_and_all_of() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/components/schemas/A"}, "b": {"allOf": [{}, {"readOnly": True}]}, "c": {}}
    }
    found, notes = query(schema, A={"$ref": "#/components/schemas/B"}, B={"type": "string", "readOnly": True})
    assert found == {"properties": {"c": {}}}
    assert notes == [("/properties/a", "readOnly", "dropped"), ("/properties/b", "readOnly", "dropped")]


def test_recursion_is_cut_where_it_returns_and_keeps_type_and_words() -> None:
    node = {
        "type": "object",
        "description": "A node.",
        "properties": {
            "next": {"$ref": "#/components/schemas/Node"},
            "all": {"items": {"$ref": "#/components/schemas/List"}},
        },
    }
    nodes = {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}
    found, notes = query({"$ref": "#/components/schemas/Node"}, Node=node, List=nodes)
    again = {"type": "object", "description": "A node."}
    assert found == {**again, "properties": {"next": again, "all": {"items": {"type": "array", "items": again}}}}
    assert notes == [
        ("/components/schemas/List/items/$ref", "$ref", "cut"),
        ("/components/schemas/Node/properties/next/$ref", "$ref", "cut"),
    ]


def test_schema_that_doubles_at_every_step_is_cut() -> None:
    schemas: dict[str, Any] = {
        f"S{n}": {"properties": {side: {"$ref": f"#/components/schemas/S{n + 1}"} for side in ("left", "right")}}
        for n in range(20)
    }
    found, notes = query({"$ref": "#/components/schemas/S0"}, **schemas, S20={"type": "string"})
    assert "cut" in {action for *_, action in notes}
    assert schema_problems({"properties": {"it": found}}) == []
    assert str(found).count("properties") < MAX_NODES


def test_schema_nested_beyond_all_need_is_cut() -> None:
    deep: Any = {"type": "string"}
    for _ in range(90):
        deep = {"type": "array", "items": deep}
    found, notes = query(deep)
    assert notes == [("/items" * 40, "schema", "cut")]
    assert str(found).count("items") == 40


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("other.yaml#/A", "`$ref` leads to 'other.yaml#/A', outside this file\n"
         "  fix: bundle the files into one, or leave the operation out"),
        ("#/components/schemas/Nmae", "`$ref` leads to '#/components/schemas/Nmae', which does not exist\n"
         "  fix: did you mean `Name`?"),
        (7, "`$ref` is 7; expected text"),
    ],
)  # fmt: skip
def test_reference_that_leads_nowhere_is_refused(ref: Any, expected: str) -> None:
    with pytest.raises(BfclError) as refused:
        query({"type": "array", "items": {"$ref": ref}}, Name={})
    assert str(refused.value) == f"spec.json:14: import_source_invalid: {expected}"


@given(schema=SCHEMA, values=st.lists(VALUE, min_size=4, max_size=4), dialect=st.sampled_from(["3.0.0", "3.1.0"]))
def test_translated_schema_accepts_whatever_its_source_accepts(schema: Any, values: list[Any], dialect: str) -> None:
    # Words of the same meaning around it, so that joining has work to do.
    source = {"allOf": [schema], "anyOf": [schema, {"type": "null"}], "description": "It."}
    found, _ = query(source, openapi=dialect)
    for value in values:
        if Draft202012Validator(source).is_valid(value):
            assert Draft202012Validator(found).is_valid(value)


JOINED = st.recursive(
    SCHEMA,
    lambda inner: st.lists(inner, min_size=1, max_size=3).flatmap(
        lambda parts: st.sampled_from(["allOf", "anyOf", "oneOf"]).map(lambda keyword: {keyword: parts})
    ),
    max_leaves=4,
)
WIDER = {"dropped", "widened", "cut"}


@given(schema=JOINED, values=st.lists(VALUE, min_size=6, max_size=6))
def test_joined_schema_accepts_the_same_unless_the_report_says_narrowed_or_wider(
    schema: Any, values: list[Any]
) -> None:
    found, notes = query(schema)
    actions = {action for _, _, action in notes}
    for value in values:
        before, after = Draft202012Validator(schema).is_valid(value), Draft202012Validator(found).is_valid(value)
        assert after or not before or "narrowed" in actions
        assert before or not after or WIDER & actions


@pytest.mark.parametrize(
    ("schema", "found", "notes"),
    [
        ({"oneOf": [{"type": "object", "properties": {"a": {"type": "integer"}}},
                    {"type": "object", "properties": {"b": {"type": "string"}}}]},
         {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
         [("/oneOf", "oneOf", "narrowed"), ("/oneOf", "oneOf", "widened")]),
        ({"allOf": [{"type": "object", "properties": {"a": {}}, "additionalProperties": False},
                    {"type": "object", "properties": {"b": {}}}]},
         {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False},
         [("/allOf", "allOf", "merged"), ("/allOf", "allOf", "widened")]),
        ({"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]}, {"type": "string", "enum": ["a", "b", "c"]},
         [("/oneOf", "oneOf", "widened")]),
    ],
)  # fmt: skip
def test_schemas_that_become_one_say_what_that_changes(schema: Any, found: Any, notes: Notes) -> None:
    assert query(schema) == (found, notes)


KEYWORDS = [
    *("type", "properties", "items", "allOf", "anyOf", "oneOf", "required", "nullable", "enum", "const", "default"),
    *(
        "format",
        "pattern",
        "readOnly",
        "minimum",
        "minLength",
        "maxLength",
        "exclusiveMinimum",
        "example",
        "prefixItems",
    ),
    *("not", "additionalProperties", "patternProperties", "description", "$defs", "$ref", "a"),
]
LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["string", "object", "a", "("])
GARBAGE = st.recursive(
    LEAVES | st.just("#/components/schemas/S"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=5),
    max_leaves=25,
)


@given(schema=GARBAGE, named=GARBAGE, dialect=st.sampled_from(["3.0.0", "3.1.0"]))
def test_any_schema_at_all_ends_inside_the_subset(schema: Any, named: Any, dialect: str) -> None:
    joined = {"allOf": [schema, {"$ref": "#/components/schemas/S"}]}
    body = {"required": True, "content": {"application/json": {"schema": joined}}}
    looked = {"parameters": [{"name": "q", "in": "query", "schema": schema}], "requestBody": body}
    try:
        catalog = imported({"/x/{id}": {"get": looked}}, openapi=dialect, schemas={"S": named})
    except BfclError as error:
        # Nothing but a reference that leads nowhere may stop an import of schemas.
        messages = [each.message for each in error.problems]
    else:
        messages = ["`$ref`"]
        assert schema_problems(parameters(catalog)) == []
    assert all("`$ref`" in message for message in messages)
