"""Do arguments satisfy a parameter schema, by strict JSON types?"""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.pack import pattern_search
from bfcl.stages.arguments import argument_failures, checker, required_parameters
from bfcl.stages.divergence import shortened


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _told(schema: dict[str, Any], **arguments: Any) -> list[tuple[str, str | None, str]]:
    return [(one.code, one.pointer, one.message) for one in argument_failures(schema, arguments)]


@pytest.mark.parametrize(
    ("keywords", "value", "code", "message"),
    [
        ({"type": "integer"}, "12", "argument_type_mismatch", '"12" is string; expected integer'),
        ({"type": "integer"}, True, "argument_type_mismatch", "true is boolean; expected integer"),
        ({"type": "integer"}, 2.0, "argument_type_mismatch", "2.0 is number; expected integer"),
        ({"type": "number"}, False, "argument_type_mismatch", "false is boolean; expected number"),
        ({"type": "boolean"}, 1, "argument_type_mismatch", "1 is integer; expected boolean"),
        ({"type": ["string", "null"]}, [], "argument_type_mismatch", "[] is array; expected string or null"),
        ({"type": "string"}, {}, "argument_type_mismatch", "{} is object; expected string"),
        ({"type": "string"}, None, "argument_type_mismatch", "null is null; expected string"),
        ({"multipleOf": 5}, 7, "argument_type_mismatch", "7; expected a multiple of 5"),
        ({"enum": ["a", "b"]}, "c", "argument_not_in_enum", '"c"; expected one of ["a","b"]'),
        ({"enum": [1]}, True, "argument_not_in_enum", "true; expected one of [1]"),
        ({"enum": [[0]]}, [False], "argument_not_in_enum", "[false]; expected one of [[0]]"),
        ({"const": 1}, True, "argument_not_equal_const", "true; expected 1"),
        ({"const": {"a": 1}}, {"a": True}, "argument_not_equal_const", '{"a":true}; expected {"a":1}'),
        ({"minLength": 3}, "ab", "string_too_short", '"ab"; expected at least 3 characters'),
        ({"maxLength": 1}, "ab", "string_too_long", '"ab"; expected at most 1 characters'),
        ({"pattern": "^K-"}, "ab", "string_pattern_mismatch", '"ab"; expected a match of "^K-"'),
        ({"minimum": 3}, 2, "number_below_minimum", "2; expected at least 3"),
        ({"exclusiveMinimum": 3}, 3, "number_below_minimum", "3; expected more than 3"),
        ({"maximum": 3}, 4, "number_above_maximum", "4; expected at most 3"),
        ({"exclusiveMaximum": 3}, 3, "number_above_maximum", "3; expected less than 3"),
        ({"minItems": 1}, [], "array_too_short", "[]; expected at least 1 items"),
        ({"maxItems": 1}, [1, 2], "array_too_long", "[1,2]; expected at most 1 items"),
        ({"uniqueItems": True}, [1, 1], "array_too_long", "[1,1] repeats an item; expected unique items"),
        ({"minProperties": 1}, {}, "missing_required_argument", "{}; expected at least 1 members"),
        ({"maxProperties": 0}, {"a": 1}, "unknown_argument", '{"a":1}; expected at most 0 members'),
    ],
)
def test_argument_failures_give_each_keyword_its_code(keywords: Any, value: Any, code: str, message: str) -> None:
    assert _told(_schema(x=keywords), x=value) == [(code, "/x", message)]


@pytest.mark.parametrize(
    ("keywords", "value"),
    [
        ({"type": "number"}, 2),
        ({"type": "number"}, 2.5),
        ({"type": "integer"}, 2),
        ({"enum": [1, True]}, True),
        ({"const": 1}, 1),
        ({"uniqueItems": True}, [1, True, "1"]),
        ({"minimum": 3}, True),
        ({"allOf": [{"minimum": 1}, {"maximum": 3}]}, 2),
        ({"type": "array", "items": {"type": "integer"}}, (1, 2)),
        ({"uniqueItems": True}, "aa"),
        ({"additionalProperties": False}, "a"),
        ({"additionalProperties": True}, {"a": 1}),
    ],
)
def test_argument_failures_are_none_for_what_fits(keywords: Any, value: Any) -> None:
    assert _told(_schema(x=keywords), x=value) == []


def test_argument_failures_name_missing_and_unknown_arguments() -> None:
    schema = {**_schema(a={}, b={}), "required": ["b", "a"], "additionalProperties": False}
    assert _told(schema, zed=1, c=2) == [
        ("missing_required_argument", "", "`a` is missing; the schema requires it"),
        ("missing_required_argument", "", "`b` is missing; the schema requires it"),
        ("unknown_argument", "/c", "`c` is no argument of the schema"),
        ("unknown_argument", "/zed", "`zed` is no argument of the schema"),
    ]


def test_argument_failures_allow_unknown_arguments_unless_forbidden() -> None:
    assert _told(_schema(a={}), b=1) == []
    assert _told({**_schema(a={}), "additionalProperties": {"type": "string"}}, b=1) == [
        ("argument_type_mismatch", "/b", "1 is integer; expected string")
    ]


def test_argument_failures_reach_every_depth_with_a_pointer() -> None:
    schema = _schema(a={"type": "array", "items": {"$ref": "#/$defs/b~1c"}})
    schema["$defs"] = {"b/c": {"properties": {"d/e": {"allOf": [{"minimum": 2}, {"type": "integer"}, {"minimum": 2}]}}}}
    assert _told(schema, a=[{"d/e": 2}, {"d/e": 1}, {"d/e": "x"}]) == [
        ("number_below_minimum", "/a/1/d~1e", "1; expected at least 2"),
        ("argument_type_mismatch", "/a/2/d~1e", '"x" is string; expected integer'),
    ]


@pytest.mark.parametrize(
    ("schema", "code", "message"),
    [
        (
            {"$ref": "#/$defs/no"},
            "unresolvable_schema_ref",
            'schema reference "#/$defs/no" names no schema inside this one',
        ),
        (
            {"$ref": "https://example.org/a.json"},
            "unresolvable_schema_ref",
            'schema reference "https://example.org/a.json" names no schema inside this one',
        ),
        (
            {"properties": {"a": {"$ref": "#"}}},
            "unresolvable_schema_ref",
            'schema reference "#" leads back to itself',
        ),
        (
            {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}},
            "unresolvable_schema_ref",
            'schema reference "#/$defs/a" leads back to itself',
        ),
        (
            {"properties": {"a": {"type": "text"}}},
            "invalid_schema_type",
            'schema type "text" is none of array, boolean, integer, null, number, object, string',
        ),
        (
            {"type": []},
            "invalid_schema_type",
            "schema type [] is none of array, boolean, integer, null, number, object, string",
        ),
        (
            {"properties": {"a": {"pattern": "("}}},
            "invalid_schema_pattern",
            'schema pattern "(" is not a regular expression',
        ),
        (
            {"properties": {"a": {"minimum": "3"}}},
            "invalid_schema_type",
            "schema keyword /properties/a/minimum is malformed",
        ),
    ],
)
def test_argument_failures_refuse_an_unusable_schema(schema: Any, code: str, message: str) -> None:
    assert _told(schema, a="x") == [(code, None, message)]


def test_argument_failures_collect_every_schema_defect() -> None:
    schema = {**_schema(a={"type": "text", "pattern": "["}), "allOf": [{"$ref": "#/x"}]}
    assert [code for code, _, _ in _told(schema)] == [
        "invalid_schema_pattern",
        "invalid_schema_type",
        "unresolvable_schema_ref",
    ]


def test_argument_failures_follow_references_into_lists() -> None:
    schema = {**_schema(a={"$ref": "#/allOf/0/properties/b"}), "allOf": [{"properties": {"b": {"type": "null"}}}]}
    assert _told(schema, a=1) == [("argument_type_mismatch", "/a", "1 is integer; expected null")]
    assert _told({"$ref": "#/allOf/1", "allOf": [{}]})[0][0] == "unresolvable_schema_ref"


def test_checker_is_shared_by_equal_schemas_whatever_their_key_order() -> None:
    assert checker({"type": "object", "minProperties": 1}) is checker({"minProperties": 1, "type": "object"})


@given(st.one_of(st.integers(), st.booleans(), st.none(), st.text(), st.floats(allow_nan=False, allow_infinity=False)))
def test_argument_failures_accept_exactly_one_scalar_type_or_a_wider_number(value: Any) -> None:
    fits = {
        name
        for name in ("boolean", "integer", "null", "number", "string")
        if not _told(_schema(x={"type": name}), x=value)
    }
    expected = {bool: {"boolean"}, int: {"integer", "number"}, float: {"number"}, str: {"string"}, type(None): {"null"}}
    assert fits == expected[type(value)]


@given(st.permutations(["a", "b", "c", "d"]))
def test_argument_failures_do_not_depend_on_argument_order(names: list[str]) -> None:
    schema = {**_schema(a={"type": "string"}), "additionalProperties": False, "required": ["z"]}
    assert _told(schema, **dict.fromkeys(names, 1)) == _told(schema, a=1, b=1, c=1, d=1)


def test_required_parameters_follow_references_and_members() -> None:
    schema = {
        "required": ["b", "a"],
        "$ref": "#/$defs/more",
        "allOf": [{"required": ["c", "a"]}, {"$ref": "#/$defs/more"}],
        "$defs": {"more": {"required": ["d"], "$ref": "#/$defs/more"}},
    }
    assert required_parameters(schema) == ["b", "a", "d", "c"]
    assert required_parameters({}) == []


ENDLESS = {"type": "object", "properties": {"word": {"type": "string", "pattern": "^(a+)+$"}}}


def test_pattern_that_does_not_end_on_a_text_is_a_failure_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_search, "LIMIT_S", 0.05)
    text = "a" * 40 + "!"
    (found,) = argument_failures(ENDLESS, {"word": text})
    assert (found.code, found.pointer, found.message) == (
        "invalid_schema_pattern",
        "/word",
        f'schema pattern "^(a+)+$" did not come to an end on {shortened(text)} within 1 s',
    )
    assert argument_failures(ENDLESS, {"word": "aaa"}) == []
    assert [one.code for one in argument_failures(ENDLESS, {"word": "aab"})] == ["string_pattern_mismatch"]


def test_timer_of_the_caller_goes_on_after_a_search_under_its_own() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1000)
        argument_failures(ENDLESS, {"word": "aaa"})
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 1000
        signal.raise_signal(signal.SIGALRM)
        assert rung == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_another_thread_matches_without_a_limit() -> None:
    with ThreadPoolExecutor(max_workers=1) as executor:
        assert executor.submit(argument_failures, ENDLESS, {"word": "aaa"}).result() == []
