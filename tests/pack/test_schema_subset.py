from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.pack.schema_subset import schema_problems
from tests.packs import TOOLS


def _of(**keywords: Any) -> list[tuple[str, str, str]]:
    """Defects of an object schema with one property `p`, pointers from that property."""
    return [tuple(one) for one in schema_problems({"type": "object", "properties": {"p": keywords}})]  # type: ignore[misc]


P = "/properties/p"


@pytest.mark.parametrize("schema", [tool["function"]["parameters"] for tool in TOOLS])
def test_schemas_of_the_good_pack_have_no_defects(schema: dict[str, Any]) -> None:
    assert schema_problems(schema) == []


def test_every_supported_keyword_passes() -> None:
    schema = {
        "type": "object",
        "title": "t",
        "description": "d",
        "$comment": "c",
        "examples": [{}],
        "$defs": {"size": {"type": ["integer", "null"], "enum": [1, 2, None], "const": 2, "default": 2}},
        "definitions": {"word": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a+$"}},
        "properties": {
            "x-size": {"$ref": "#/$defs/size"},
            "n": {"type": "number", "minimum": 0, "exclusiveMaximum": 4, "multipleOf": 0.5, "default": 1},
            "m": {"exclusiveMinimum": 0, "maximum": 4},
            "l": {"type": "array", "items": {"$ref": "#/definitions/word"}, "minItems": 0, "maxItems": 2},
            "o": {"minProperties": 0, "maxProperties": 2, "additionalProperties": {"type": "string"}},
            "a": {"allOf": [{"type": "string"}], "default": "x"},
            "u": {"type": "array", "uniqueItems": True, "default": [1, 2]},
        },
        "required": ["n"],
        "additionalProperties": False,
    }
    assert schema_problems(schema) == []


@pytest.mark.parametrize(
    ("keywords", "defects"),
    [
        ({"anyOf": [{}]}, [("/anyOf", "unsupported_keyword", "`anyOf` is not part of the supported subset")]),
        ({"nullable": True}, [("/nullable", "unsupported_keyword", "`nullable` is not part of the supported subset")]),
        (
            {"patern": "a"},
            [
                (
                    "/patern",
                    "unsupported_keyword",
                    "`patern` is not part of the supported subset; did you mean `pattern`?",
                )
            ],
        ),
        ({"x-a/b": 1}, [("/x-a~1b", "unsupported_keyword", "`x-a/b` is not part of the supported subset")]),
        (
            {"type": "text"},
            [
                (
                    "/type",
                    "malformed_keyword",
                    '`type` is "text"; expected one of string, integer, number, boolean, object, array, null',
                )
            ],
        ),
        (
            {"type": []},
            [("/type", "malformed_keyword", "`type` is []; expected a type name or a non-empty list of them")],
        ),
        (
            {"type": ["string", "word", "string"]},
            [
                ("/type/1", "malformed_keyword", '`type` lists "word"; expected type names'),
                ("/type/2", "repeated_member", '`type` lists "string" twice'),
            ],
        ),
        (
            {"minLength": -1},
            [("/minLength", "malformed_keyword", "`minLength` is -1; expected an integer of at least 0")],
        ),
        (
            {"maxItems": 1.0},
            [("/maxItems", "malformed_keyword", "`maxItems` is 1.0; expected an integer of at least 0")],
        ),
        ({"maximum": True}, [("/maximum", "malformed_keyword", "`maximum` is true; expected a number")]),
        ({"multipleOf": 0}, [("/multipleOf", "malformed_keyword", "`multipleOf` is 0; expected a number above 0")]),
        (
            {"pattern": "("},
            [
                (
                    "/pattern",
                    "malformed_keyword",
                    '`pattern` "(" is not a regular expression: missing ), unterminated subpattern at position 0',
                )
            ],
        ),
        ({"pattern": 1}, [("/pattern", "malformed_keyword", "`pattern` is 1; expected a regular expression")]),
        ({"uniqueItems": 1}, [("/uniqueItems", "malformed_keyword", "`uniqueItems` is 1; expected true or false")]),
        ({"items": [{}]}, [("/items", "malformed_keyword", "`items` is [{}]; expected a schema")]),
        ({"allOf": []}, [("/allOf", "malformed_keyword", "`allOf` is []; expected a non-empty list of schemas")]),
        ({"allOf": [True]}, [("/allOf/0", "malformed_keyword", "true is not a schema object")]),
        ({"properties": {"q": 1}}, [("/properties/q", "malformed_keyword", "1 is not a schema object")]),
        (
            {"required": "q"},
            [("/required", "malformed_keyword", '`required` is "q"; expected a list of property names')],
        ),
        (
            {"additionalProperties": "no"},
            [
                (
                    "/additionalProperties",
                    "malformed_keyword",
                    '`additionalProperties` is "no"; expected true, false or a schema',
                )
            ],
        ),
        (
            {"minimum": 2, "maximum": 1},
            [("/minimum", "inconsistent_bounds", "`minimum` 2 leaves nothing under `maximum` 1")],
        ),
        (
            {"minimum": 1, "exclusiveMaximum": 1},
            [("/minimum", "inconsistent_bounds", "`minimum` 1 leaves nothing under `exclusiveMaximum` 1")],
        ),
        (
            {"exclusiveMinimum": 1, "maximum": 1},
            [("/exclusiveMinimum", "inconsistent_bounds", "`exclusiveMinimum` 1 leaves nothing under `maximum` 1")],
        ),
        (
            {"minItems": 2, "maxItems": 1},
            [("/minItems", "inconsistent_bounds", "`minItems` 2 leaves nothing under `maxItems` 1")],
        ),
        ({"enum": []}, [("/enum", "empty_enum", "`enum` is empty, so no value can ever pass")]),
        ({"enum": "a"}, [("/enum", "malformed_keyword", '`enum` is "a"; expected a list')]),
        ({"enum": [1, "1", True, 1.0]}, [("/enum/3", "repeated_member", "`enum` lists 1.0 twice")]),
        ({"required": ["q", "q"]}, [("/required/1", "repeated_member", '`required` lists "q" twice')]),
        (
            {"type": "integer", "enum": [1, True, 2.0]},
            [
                ("/enum/1", "value_violates_type", "`enum` holds true, which is no integer"),
                ("/enum/2", "value_violates_type", "`enum` holds 2.0, which is no integer"),
            ],
        ),
        (
            {"type": ["string", "null"], "const": 3},
            [("/const", "value_violates_type", "`const` holds 3, which is no string or null")],
        ),
        (
            {"properties": {"q": {}}, "required": ["q", "r"], "additionalProperties": False},
            [
                (
                    "/required/1",
                    "required_unsatisfiable",
                    '`required` names "r", which is not declared while nothing else is allowed',
                )
            ],
        ),
        (
            {"$ref": "https://example.org/a"},
            [("/$ref", "external_ref", "`$ref` leads to 'https://example.org/a', outside this schema")],
        ),
        (
            {"$ref": "#/properties/p"},
            [("/$ref", "external_ref", "`$ref` leads to '#/properties/p', outside `$defs` and `definitions`")],
        ),
        ({"$ref": "#/$defs/no"}, [("/$ref", "missing_ref", "`$ref` leads to '#/$defs/no', which does not exist")]),
        ({"$ref": "#"}, [("/$ref", "cyclic_ref", "`$ref` leads back to the whole schema")]),
        (
            {"type": "integer", "default": 2.0},
            [("/default", "default_violates_schema", "`default` 2.0 breaks `type` of its own schema")],
        ),
        (
            {"type": "boolean", "default": 0},
            [("/default", "default_violates_schema", "`default` 0 breaks `type` of its own schema")],
        ),
        (
            {"enum": ["a"], "default": "b"},
            [("/default", "default_violates_schema", '`default` "b" breaks `enum` of its own schema')],
        ),
        (
            {"items": {"type": "string", "default": 1}},
            [("/items/default", "default_violates_schema", "`default` 1 breaks `type` of its own schema")],
        ),
    ],
)
def test_defect_is_named_with_pointer_problem_and_message(
    keywords: dict[str, Any], defects: list[tuple[str, str, str]]
) -> None:
    assert _of(**keywords) == [(P + pointer, problem, message) for pointer, problem, message in defects]


def test_all_defects_of_a_schema_are_listed_in_order() -> None:
    found = _of(format="date", minLength=-1, type="integer", enum=[])
    assert [one[:2] for one in found] == [
        (f"{P}/format", "unsupported_keyword"),
        (f"{P}/minLength", "malformed_keyword"),
        (f"{P}/enum", "empty_enum"),
    ]


def test_cyclic_references_are_found_where_they_close() -> None:
    schema = {
        "type": "object",
        "$defs": {"a": {"properties": {"b": {"$ref": "#/$defs/b"}}}, "b": {"items": {"$ref": "#/$defs/a"}}},
        "properties": {"p": {"$ref": "#/$defs/a"}},
    }
    assert [tuple(one) for one in schema_problems(schema)] == [
        ("/$defs/a/properties/b/$ref", "cyclic_ref", "`$ref` '#/$defs/b' leads back to itself"),
        ("/$defs/b/items/$ref", "cyclic_ref", "`$ref` '#/$defs/a' leads back to itself"),
    ]


def test_root_type_must_be_object() -> None:
    assert [tuple(one) for one in schema_problems({"type": "array"})] == [
        ("/type", "malformed_keyword", 'the root `type` is "array"; arguments are an object')
    ]


def test_defaults_are_judged_through_references_and_all_of() -> None:
    schema = {
        "type": "object",
        "$defs": {"small": {"type": "integer", "maximum": 3}},
        "properties": {"p": {"allOf": [{"$ref": "#/$defs/small"}], "default": 4}},
    }
    assert [tuple(one) for one in schema_problems(schema)] == [
        (f"{P}/default", "default_violates_schema", "`default` 4 breaks `maximum` of its own schema")
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["object", "string", "#/$defs/a", "#", "a", "("]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "items", "$ref", "$defs", "a", "allOf", "enum", "required", "default"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "$defs", "items", "allOf", "default"]), JSON))
def test_any_json_gets_a_verdict(schema: dict[str, Any]) -> None:
    for defect in schema_problems(schema):
        assert defect.pointer == "" or defect.pointer.startswith("/")
