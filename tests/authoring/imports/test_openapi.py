"""OpenAPI files become catalogs that a pack loads without a word."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.imports.decisions import Decisions
from bfcl.authoring.imports.openapi import import_openapi
from bfcl.authoring.imports.spec_source import read_spec
from bfcl.errors import BfclError
from bfcl.located import parse_json
from bfcl.pack.schema_subset import schema_problems
from bfcl.pack.tools import load_tools
from tests.authoring.imports.specs import DOCUMENTS, imported, parameters, spec

CALENDAR, PARKING, PAYMENTS, PET_SHOP, TRACKER, WEATHER = DOCUMENTS
VALUES = {path: read_spec(path.read_bytes(), path=path.name).document.value for path in DOCUMENTS}


def read(path: Path, **decisions: Any) -> Any:
    return import_openapi(path.read_bytes(), Decisions(**decisions), path=path.name)


def names(catalog: Any) -> list[str]:
    return [tool.name for tool in catalog.tools]


def told(catalog: Any, keyword: str) -> list[tuple[int, str, str]]:
    return [(each["line"], each["action"], each["message"]) for each in catalog.report if each["keyword"] == keyword]


# --- laws over all documents --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_catalog_loads_without_problem_or_warning_and_every_schema_is_in_the_subset(path: Path) -> None:
    catalog = read(path)
    tools, problems, warnings = load_tools(
        parse_json(json.dumps(catalog.entries).encode(), path="tools.json", code="x")
    )
    assert (problems, warnings) == ([], [])
    assert [tool.name for tool in tools] == names(catalog)
    assert len(tools) >= 4
    for tool in tools:
        assert tool.parameters is not None
        assert schema_problems(tool.parameters) == []
        assert tool.parameters["type"] == "object"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_notice_points_at_a_place_and_names_a_tool(path: Path) -> None:
    catalog = read(path)
    last = path.read_text(encoding="utf-8").count("\n")
    for notice in catalog.report:
        assert 1 < notice["line"] <= last
        assert notice["tools"]
        assert set(notice["tools"]) <= set(names(catalog))
        assert notice["pointer"].startswith(("/paths/", "/components/"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_same_bytes_give_the_same_document(path: Path) -> None:
    assert read(path).to_json("s", "o") == read(path).to_json("s", "o")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_choosing_every_operation_one_by_one_gives_the_same_entries(path: Path) -> None:
    catalog = read(path)
    alone = [read(path, only=(name,)).entries for name in names(catalog)]
    assert [entry for entries in alone for entry in entries] == list(catalog.entries)


JUNK = st.sampled_from([None, True, 0, "", "x", [], {}, [None], {"$ref": "#/components"}, {"$ref": 3}, {"type": []}])


@given(data=st.data(), path=st.sampled_from(DOCUMENTS), junk=JUNK)
def test_document_with_any_part_replaced_is_refused_or_imported_but_never_a_traceback(
    data: st.DataObject, path: Path, junk: Any
) -> None:
    root: Any = copy.deepcopy(VALUES[path])
    holder, key = root, "paths"
    for _ in range(data.draw(st.integers(0, 9))):
        child = holder[key]
        steps = list(child) if isinstance(child, dict) else range(len(child)) if isinstance(child, list) else []
        if not steps:
            break
        holder, key = child, data.draw(st.sampled_from(steps))
    holder[key] = junk
    try:
        catalog = import_openapi(json.dumps(root).encode(), Decisions(), path="spec.json")
    except BfclError:
        return
    for index in range(len(catalog.entries)):
        assert schema_problems(parameters(catalog, index)) == []


# --- names --------------------------------------------------------------------------------------------------------


def test_names_are_made_portable_and_distinct_and_told() -> None:
    catalog = read(TRACKER)
    assert names(catalog) == [
        "issues_list-for-repo",
        "issues_create",
        "issues_get",
        "git_create-tree",
        "markdown_render-raw",
        "a-very-long-name-of-an-operation-that-does-not-fit-into-sixty-fo",
    ]
    assert told(catalog, "operationId")[0] == (
        15,
        "renamed",
        "'issues/list-for-repo' became `issues_list-for-repo`: tool names are [A-Za-z0-9_-]{1,64}",
    )
    assert told(read(WEATHER), "operationId") == [
        (6, "added", "none is given; the tool is called `get_forecast`"),
        (21, "added", "none is given; the tool is called `head_forecast`"),
    ]
    assert told(read(PARKING), "operationId") == [
        (35, "renamed", "'book' became `book_2`: an earlier operation has that name")
    ]


def test_portable_id_keeps_its_name_when_an_earlier_one_is_adjusted_to_it() -> None:
    paths = {f"/{n}": {"get": {"operationId": each}} for n, each in enumerate(["a.b", "a_b", "a b", "", "get_3"])}
    assert names(imported(paths)) == ["a_b_2", "a_b", "a_b_3", "get_3_2", "get_3"]


# --- decisions ----------------------------------------------------------------------------------------------------


def test_operations_that_may_change_state_are_undecided_until_somebody_says() -> None:
    catalog = read(PET_SHOP, mutates=("addPet", "PUT /pets/{petId}"))
    assert catalog.status == "undecided"
    assert [(each.name, each.source, each.line) for each in catalog.undecided] == [
        ("deletePet", "DELETE /pets/{petId}", 65),
        ("post_pets_petId_photos", "POST /pets/{petId}/photos", 77),
    ]
    document = catalog.to_json("pet_shop.yaml", "tools.json")
    assert (document["status"], document["written"]) == ("undecided", None)
    assert document["undecided"][0] == {"name": "deletePet", "source": "DELETE /pets/{petId}", "line": 65}


def test_every_decision_shows_in_the_catalog() -> None:
    catalog = read(
        PET_SHOP,
        only=("getPet", "addPet", "post /pets/{petId}/photos"),
        mutates=("addPet",),
        read_only=("post_pets_petId_photos",),
        confirm=("addPet",),
    )
    assert catalog.status == "written"
    assert [(tool.name, tool.mutates, tool.requires_confirmation) for tool in catalog.tools] == [
        ("addPet", True, True),
        ("getPet", False, False),
        ("post_pets_petId_photos", False, False),
    ]
    entry = catalog.entries[0]
    assert (entry["x-mutates"], entry["x-requires-confirmation"]) == (True, True)
    assert list(entry["function"]["parameters"]["properties"].items())[-1] == (
        "confirm",
        {"type": "boolean", "default": False, "description": "True once the user has agreed to it."},
    )
    assert entry["function"]["parameters"]["required"] == ["name", "species"]


def test_get_may_be_declared_to_change_state() -> None:
    catalog = imported({"/x": {"get": {"operationId": "x"}}}, decisions=Decisions(mutates=("x",)))
    assert catalog.tools[0].mutates is True


def test_parameter_that_exists_may_carry_consent_if_it_is_a_boolean() -> None:
    paths = {
        "/x": {
            "get": {
                "operationId": "x",
                "parameters": [{"name": "sure", "in": "query", "schema": {"type": "boolean", "description": "Sure?"}}],
            }
        }
    }
    catalog = imported(paths, decisions=Decisions(confirm=("x",), confirmation_parameter="sure"))
    assert parameters(catalog)["properties"] == {"sure": {"type": "boolean", "description": "Sure?"}}


def test_consent_refuses_a_parameter_of_another_type() -> None:
    with pytest.raises(BfclError) as refused:
        read(PARKING, confirm=("confirm_ticket",))
    assert str(refused.value) == (
        "parking.json:41: confirmation_parameter_taken: `confirm_ticket` has a parameter `confirm` that is no boolean, "
        "so it cannot carry consent\n"
        "  fix: choose another name with --confirmation-parameter, and declare it as `confirmation.parameter` in the "
        "manifest"
    )


def test_unknown_and_contradicting_names_are_refused_all_at_once() -> None:
    with pytest.raises(BfclError) as refused:
        read(PET_SHOP, only=("getPets",), mutates=("addPet", "x"), read_only=("POST /pets",), confirm=("delPet",))
    assert [str(each) for each in refused.value.problems] == [
        "unknown_operation: --operations: the source has no operation 'getPets'\n  fix: did you mean `getPet`?",
        "unknown_operation: --mutates: the source has no operation 'x'\n"
        "  fix: name one of: addPet, deletePet, getPet, listPets, post_pets_petId_photos, updatePet",
        "unknown_operation: --confirm: the source has no operation 'delPet'\n  fix: did you mean `deletePet`?",
        "import_decision_conflict: addPet: declared with --mutates and with --read-only\n"
        "  fix: name it under one of them",
    ]


def test_tool_name_wins_over_an_operation_id_that_two_share() -> None:
    assert names(read(PARKING, only=("book",))) == ["book"]
    assert names(read(PARKING, only=("book_2",))) == ["book_2"]


# --- arguments ----------------------------------------------------------------------------------------------------


def test_names_that_meet_are_told_apart_by_their_place() -> None:
    catalog = read(TRACKER)
    assert parameters(catalog, 5) == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "query_id": {"type": "boolean"},
            "body_id": {"type": "number"},
            "name": {"type": "string"},
        },
        "required": ["id"],
        "additionalProperties": False,
    }
    assert told(catalog, "name")[1:] == [
        (112, "renamed", "query parameter 'id' became `query_id`: the name is taken"),
        (113, "renamed", "body parameter 'id' became `body_id`: the name is taken"),
    ]


def test_operation_overrides_what_its_path_declares() -> None:
    def at(kind: str, **more: Any) -> dict[str, Any]:
        return {"name": "id", "in": "path", "required": True, "schema": {"type": kind}, **more}

    paths = {"/{id}": {"parameters": [at("string")], "get": {"parameters": [at("integer"), at("boolean")]}}}
    catalog = imported(paths)
    assert parameters(catalog)["properties"] == {"id": {"type": "integer"}}
    assert [each["message"] for each in catalog.report if each["keyword"] == "name"] == [
        "path parameter 'id' is listed twice"
    ]


def test_headers_and_cookies_are_left_out_and_told() -> None:
    assert told(read(TRACKER), "in") == [
        (27, "dropped", "optional header parameter 'X-Request-Id': headers are not arguments of a tool"),
        (30, "dropped", "optional cookie parameter 'session': cookies are not arguments of a tool"),
    ]


def test_path_parameter_declared_nowhere_is_added() -> None:
    catalog = read(WEATHER, only=("readings",))
    assert parameters(catalog) == {
        "type": "object",
        "properties": {"id": {"type": "string"}, "day": {"type": "string"}},
        "required": ["id", "day"],
        "additionalProperties": False,
    }


def test_parameter_takes_its_own_words_and_examples() -> None:
    parameter = {
        "name": "q",
        "in": "query",
        "description": "What.",
        "deprecated": True,
        "schema": {"type": "string", "format": "date", "description": "Inner."},
        "examples": {"one": {"value": "a"}, "two": {"externalValue": "http://x"}},
    }
    catalog = imported({"/x": {"get": {"operationId": "x", "parameters": [parameter]}}})
    assert parameters(catalog)["properties"]["q"] == {
        "type": "string",
        "description": "What. Format: date.",
        "examples": ["a"],
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Text."},
         ({"body": {"type": "string", "description": "Text."}}, None, False)),
        ({"content": {"application/json": {"schema": {"type": "object"}}}, "required": True},
         ({"body": {"type": "object"}}, ["body"], False)),
        ({"content": {"application/json": {"schema": {"type": "object", "properties": {}}}}}, ({}, None, False)),
        ({"content": {"application/json": {"schema": {"properties": {"a": {}}, "required": ["a", "b"]}}},
          "required": True}, ({"a": {}}, ["a"], False)),
        ({"content": {"application/json": {"schema": {"properties": {"a": {}}, "required": ["a"]}}}},
         ({"a": {}}, None, False)),
        ({"content": {"application/json": {"schema": {"properties": {"a": {}}, "additionalProperties": True}}}},
         ({"a": {}}, None, True)),
        ({"content": {"application/json": {"schema": {"type": ["object", "null"], "properties": {"a": {}}}}}},
         ({"body": {"type": ["object", "null"], "properties": {"a": {}}}}, None, False)),
        ({"content": {"a/b": {}, "multipart/form-data": {"schema": {"properties": {"m": {}}}},
                      "application/x-www-form-urlencoded": {"schema": {"properties": {"f": {}}}}}},
         ({"f": {}}, None, False)),
        ({"content": {"a/b": {}, "application/vnd.x+json": {"schema": {"properties": {"j": {}}}}}},
         ({"j": {}}, None, False)),
        ({"content": {"a/b": {}}}, ({"body": {}}, None, False)),
    ],
)  # fmt: skip
def test_body_becomes_arguments(body: Any, expected: Any) -> None:
    found = parameters(imported({"/x": {"post": {"requestBody": body}}}))
    assert (found["properties"], found.get("required"), found["additionalProperties"]) == expected


def test_description_is_summary_then_description() -> None:
    paths = {
        "/x": {
            "get": {"summary": "Short. ", "description": "Long."},
            "head": {"summary": "Same", "description": "Same"},
        }
    }
    entries: Any = imported(paths).entries
    assert [each["function"]["description"] for each in entries] == ["Short.\n\nLong.", "Same"]


def test_form_of_a_payment_is_carried_over_whole() -> None:
    catalog = read(PAYMENTS, only=("CreateCharge",))
    found = parameters(catalog)
    assert found["properties"]["source"] == {
        "type": "object",
        "properties": {
            "object": {"type": "string", "enum": ["card", "debit"]},
            "number": {"type": "string"},
            "iban": {"type": "string"},
        },
        "required": ["object"],
    }
    assert found["properties"]["metadata"] == {"type": ["object", "string"], "additionalProperties": {"type": "string"}}
    assert found["properties"]["retries"] == {"type": "integer", "maximum": 1}
    assert told(catalog, "minimum") == [
        (63, "dropped", "inconsistent_bounds: `minimum` 3 leaves nothing under `maximum` 1")
    ]
    assert told(catalog, "discriminator") == [(61, "dropped", "it chooses a branch; the branches became one schema")]


# --- broken files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ({}, ["spec.json:3: import_source_invalid: the file declares no operation\n"
              "  fix: name an OpenAPI file with `paths`"]),
        ([], ["spec.json:3: import_source_invalid: `paths` is []; expected an object",
              "spec.json:3: import_source_invalid: the file declares no operation\n"
              "  fix: name an OpenAPI file with `paths`"]),
        ({"/x": {"get": 3}, "/y": 4, "/z": {"get": {}}},
         ["spec.json:5: import_source_invalid: operation `get` is 3; expected an object",
          "spec.json:7: import_source_invalid: path '/y' is 4; expected an object"]),
        ({"/x": {"get": {"parameters": {}}, "put": {"parameters": [{"in": "query"}, {"$ref": "#/nope"}]}}},
         ["spec.json:6: import_source_invalid: `parameters` is {}; expected a list",
          "spec.json:10: import_source_invalid: parameter {\"in\": \"query\"} has no `name` or no `in`\n"
          "  fix: give it both, as text",
          "spec.json:14: import_source_invalid: `$ref` leads to '#/nope', which does not exist"]),
        ({"/x": {"post": {"requestBody": {"description": "none"}}}},
         ["spec.json:6: import_source_invalid: `requestBody` has no `content`\n"
          "  fix: give it a media type with a schema"]),
        ({"/x": {"$ref": "#/paths/~1y"}, "/y": {"$ref": "#/paths/~1x"}, "/z": {"get": {}}},
         ["spec.json:5: import_source_invalid: `$ref` '#/paths/~1y' leads back to itself",
          "spec.json:8: import_source_invalid: `$ref` '#/paths/~1x' leads back to itself"]),
    ],
)  # fmt: skip
def test_broken_file_is_refused_with_every_place(paths: Any, expected: list[str]) -> None:
    with pytest.raises(BfclError) as refused:
        imported(paths)
    assert [str(each) for each in refused.value.problems] == expected


def test_fault_of_an_operation_that_is_not_imported_stops_nothing() -> None:
    paths = {"/x": {"get": {"parameters": 3}}, "/y": {"get": {"operationId": "fine"}}}
    assert names(imported(paths, decisions=Decisions(only=("fine",)))) == ["fine"]


def test_path_item_that_is_a_reference_is_followed() -> None:
    data = spec({"/x": {"$ref": "#/components/pathItems/X"}}, pathItems={"X": {"get": {"operationId": "x"}}})
    catalog = import_openapi(data, Decisions(), path="spec.json")
    assert [(tool.name, tool.source) for tool in catalog.tools] == [("x", "GET /x")]
