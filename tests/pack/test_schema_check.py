"""The law: what the loader refuses by shape is what the schema file refuses, no more and no less."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, validators

from bfcl.canonical import Json, readable_json
from bfcl.errors import Problem
from bfcl.located import Document, parse_json
from bfcl.pack.cases import load_cases
from bfcl.pack.fixtures import load_fixtures
from bfcl.pack.held_out import Surroundings, load_held_out
from bfcl.pack.manifest import read_manifest
from bfcl.pack.schema_check import ENTRY, compiled, fields, part_of
from bfcl.pack.schema_files import NAMES, schema
from bfcl.pack.templates import load_templates
from bfcl.pack.tools import load_tools
from bfcl.records.ids import CALL_ORDERS, MILESTONES, TEXT_MILESTONES, TURN_POLICIES
from tests.pack.mutants import FULL_MANIFEST, GOOD, ODD, mutants
from tests.packs import TOOLS

_MEANING = re.compile(
    r".*(is taken by|expected one of `languages`)|(unknown_(fixture_id|template|collection)|absent_id_reserved|"
    r"primary_key_unclear): "
)
"""Refusals that no schema can state: they compare one entry with another, or with another file."""


def _refusals(name: str, value: Json) -> list[Problem]:
    """What the loader refuses in a document, by shape."""
    document = parse_json(readable_json(value), path=name, code="pack_parse_error")
    problems: list[Problem]
    match name:
        case "manifest":
            problems = list(read_manifest(document).problems)
        case "tools":
            problems = load_tools(document)[1]
        case "fixtures":
            problems = load_fixtures(document)[1]
        case "task_templates":
            problems = load_templates(document, (), name)[1]
        case "validation_cases":
            problems = load_cases(document)[1]
        case _:
            around = Surroundings(read_manifest(_document({})).manifest, None, None)
            problems = load_held_out(document, "tree/held_out.yaml", around)[1]
    return [problem for problem in problems if not _MEANING.match(problem.message)]


def _document(value: Json) -> Document:
    return parse_json(readable_json(value), path="m", code="pack_parse_error")


def _loaded_part(part: Any) -> Any:
    """The schema without what it leaves to the checks."""
    if isinstance(part, list):
        return [_loaded_part(one) for one in part if not (isinstance(one, Mapping) and "x-left-to" in one)]
    if isinstance(part, Mapping):
        parts = {key: _loaded_part(one) for key, one in part.items()}
        return {key: one for key, one in parts.items() if not (key == "allOf" and one == [])}
    return part


@functools.cache
def _reference(name: str) -> Any:
    # Whole numbers written as 1.0 are no integers here, as everywhere in a pack.
    strict = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    extend: Any = validators.extend
    return extend(Draft202012Validator, type_checker=strict)(_loaded_part(schema(name)))


@pytest.mark.parametrize("name", GOOD)
def test_good_document_is_accepted_by_loader_and_schema(name: str) -> None:
    assert _refusals(name, GOOD[name]) == []
    assert [error.message for error in _reference(name).iter_errors(GOOD[name])] == []


def _law(name: str, value: Json) -> None:
    refused = _refusals(name, value)
    errors = [f"{error.json_path}: {error.message}" for error in _reference(name).iter_errors(value)]
    assert bool(refused) == bool(errors), (value, [str(one) for one in refused], errors)


@given(mutants("manifest"))
@example({})
@example({"pack_id": " a\n", "version": True})
@example({**FULL_MANIFEST, "absent_ids": {"kilns": "K-90"}})
def test_manifest_is_refused_by_loader_exactly_when_by_schema(value: Json) -> None:
    _law("manifest", value)


@given(mutants("tools"))
@example([{"function": {"name": "a", "x-mutates": 1}, "x-mutates": None}])
@example([{"function": {"name": "a\n"}}])
def test_tools_are_refused_by_loader_exactly_when_by_schema(value: Json) -> None:
    _law("tools", value)


@given(mutants("task_templates"))
@example([{"template_id": "a\n"}])
def test_templates_are_refused_by_loader_exactly_when_by_schema(value: Json) -> None:
    _law("task_templates", value)


@given(mutants("validation_cases"))
def test_cases_are_refused_by_loader_exactly_when_by_schema(value: Json) -> None:
    _law("validation_cases", value)


@given(mutants("held_out"))
def test_held_out_policy_is_refused_by_loader_exactly_when_by_schema(value: Json) -> None:
    # Ids are compared as text, which a schema cannot do: 1 and 1.0 differ there.
    assume("1.0" not in repr(value))
    _law("held_out", value)


@given(st.one_of(mutants("fixtures"), ODD))
def test_fixtures_are_refused_by_loader_exactly_when_by_schema(value: Json) -> None:
    _law("fixtures", value)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "run_config"])
def test_schema_uses_only_keywords_that_the_loader_enforces(name: str) -> None:
    assert compiled(name)(7) is not None


def test_schema_with_a_keyword_nobody_enforces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bfcl.pack.schema_check.schema", lambda _: {"type": "string", "maxLength": 3})
    with pytest.raises(ValueError, match="schema keywords that nothing enforces: maxLength"):
        compiled.__wrapped__("any")


@pytest.mark.parametrize(
    ("pattern", "part"), [("x-", {}), ("^x.", {}), ("^x-$", {}), ("^(x|y)-", {}), ("^x-", {"type": "string"})]
)
def test_schema_with_pattern_properties_nobody_enforces_is_refused(
    monkeypatch: pytest.MonkeyPatch, pattern: str, part: Mapping[str, Any]
) -> None:
    monkeypatch.setattr("bfcl.pack.schema_check.schema", lambda _: {"patternProperties": {pattern: part}})
    with pytest.raises(ValueError, match=re.escape(f"pattern properties that nothing enforces: {pattern}")):
        compiled.__wrapped__("any")


def test_schemas_name_the_vocabularies_of_the_records() -> None:
    template = part_of("task_templates", ENTRY)["properties"]
    assert template["turn_policy"]["allOf"][0]["enum"] == list(TURN_POLICIES)
    assert template["call_order"]["allOf"][0]["enum"] == [*CALL_ORDERS, None]
    kinds = [branch["$ref"].rpartition("/")[2] for branch in schema("task_templates")["$defs"]["milestone"]["oneOf"]]
    assert sorted(kinds) == sorted(MILESTONES)
    for name in ("manifest", "task_templates"):
        assert fields(name, ("$defs", "turn_texts")) == tuple(TEXT_MILESTONES)
    expect = part_of("validation_cases", ENTRY)["properties"]["expect"]["properties"]
    assert expect["result_class"]["enum"] == ["success", "structured_error", "awaiting_confirmation"]


@pytest.mark.parametrize("keyword", ["anyOf", "format", "nullable", "if", "patternProperties"])
def test_tool_schema_underlines_what_check_3_refuses_in_parameters(keyword: str) -> None:
    tools = copy.deepcopy(TOOLS)
    assert list(Draft202012Validator(schema("tools")).iter_errors(tools)) == []
    tools[0]["function"]["parameters"][keyword] = {}
    assert list(Draft202012Validator(schema("tools")).iter_errors(tools)) != []
    assert _refusals("tools", tools) == []
