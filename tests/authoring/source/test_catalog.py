from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bfcl.authoring.source.catalog import MAX_CATALOG_BYTES, open_catalog, read_catalog
from bfcl.errors import BfclError, PackError
from tests.packs import TOOLS


def tool(name: str = "get_kiln", entry: dict[str, Any] | None = None, **function: Any) -> dict[str, Any]:
    return {"function": {"name": name, **function}, **(entry or {})}


def refused(entries: object, *, for_skeleton: bool = False) -> list[str]:
    with pytest.raises(PackError) as caught:
        read_catalog(json.dumps(entries).encode(), "tools.json", for_skeleton=for_skeleton)
    problems = caught.value.problems
    assert {(one.code, one.path, one.line) for one in problems} == {("reviewed_schema_invalid", "tools.json", 1)}
    return [f"{one.field}: {one.message}" for one in problems]


def test_catalog_sorts_tools_by_name_so_that_their_order_means_nothing() -> None:
    forwards = read_catalog(json.dumps(TOOLS).encode(), "tools.json", for_skeleton=True)
    assert [one.name for one in forwards] == ["get_firing", "get_kiln", "start_firing"]
    assert [one.requires_confirmation for one in forwards] == [False, False, True]
    assert forwards == read_catalog(json.dumps(TOOLS[::-1]).encode(), "tools.json")


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (7, "0: tool 0: the value is 7; expected an object with `function`"),
        ({}, "0: tool 0: `function` is required"),
        ({"function": []}, "0.function: tool 0: `function` is []; expected an object with `name`"),
        (tool(""), '0.function.name: tool 0: `function.name` is ""; expected non-empty text'),
        (
            tool(" a"),
            '0.function.name: tool 0: `function.name` is " a"; expected a name without surrounding white space',
        ),
        (tool(entry={"type": "tool"}), '0.type: tool 0: `type` is "tool"; expected the word "function"'),
        (tool(entry={"x-mutates": 1}), "0.x-mutates: tool 0: `x-mutates` is 1; expected true or false"),
        (
            tool(entry={"x-requires-confirmation": None}),
            "0.x-requires-confirmation: tool 0: `x-requires-confirmation` is null; expected true or false",
        ),
        (tool(strict="no"), '0.function.strict: tool 0: `function.strict` is "no"; expected true or false'),
        (tool(entry={"x-other": 1}), "0.x-other: tool 0: unknown key `x-other`"),
        (tool(returns={}), "0.function.returns: tool 0: unknown key `returns` in `function`"),
        (tool(description=3), "0.function.description: tool 0: `function.description` is 3; expected text"),
        (
            tool(parameters=[]),
            "0.function.parameters: tool 0: `function.parameters` is []; expected an object holding a JSON schema",
        ),
        (
            tool(parameters={"properties": []}),
            "0.function.parameters.properties: tool 0: `function.parameters.properties` is []; expected an object of "
            "parameter schemas",
        ),
    ],
)
def test_catalog_names_index_field_and_reason(entry: object, told: str) -> None:
    assert refused([entry]) == [told]


def test_catalog_refuses_all_faults_at_once() -> None:
    assert refused([tool("a"), tool("a", {"x-mutates": "yes"}), 1]) == [
        '1.x-mutates: tool 1: `x-mutates` is "yes"; expected true or false',
        "1.function.name: tool 1: `function.name` is 'a', the name of an earlier tool",
        "2: tool 2: the value is 1; expected an object with `function`",
    ]


@pytest.mark.parametrize("entries", [[], {}, None, "x"])
def test_catalog_refuses_what_is_no_filled_array(entries: object) -> None:
    assert refused(entries) == [f"None: the value is {json.dumps(entries)}; expected a non-empty array of tools"]


@pytest.mark.parametrize("name", ["get-kiln", "1st", "töpfe", "a\nb", "a b", "class\u0301"])
def test_catalog_of_a_skeleton_asks_for_names_that_python_can_carry(name: str) -> None:
    parameters = {"properties": {"x": {}}}
    assert refused([tool(name, parameters=parameters)], for_skeleton=True) == [
        f"0.function.name: tool 0: `function.name` is {json.dumps(name, ensure_ascii=False)}; "
        "expected letters, digits and `_`, no digit first, for a skeleton"
    ]
    assert read_catalog(json.dumps([tool(name)]).encode(), "tools.json")[0].name == name


def test_catalog_of_a_skeleton_asks_for_a_parameter_somewhere() -> None:
    assert refused([tool(), tool("b", parameters={"type": "object"})], for_skeleton=True) == [
        "None: no tool has `function.parameters.properties`, so placeholder rows would be empty"
    ]


def test_catalog_that_is_no_json_is_refused_at_its_line() -> None:
    with pytest.raises(BfclError) as caught:
        read_catalog(b'[\n{"a": 1, "a": 2}]', "tools.json")
    assert [(one.code, one.line) for one in caught.value.problems] == [("reviewed_schema_invalid", 2)]


def test_catalog_beyond_ten_mebibytes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    with path.open("wb") as stream:
        stream.truncate(MAX_CATALOG_BYTES + 1)
    with pytest.raises(PackError) as caught:
        open_catalog(path, "tools.json")
    assert str(caught.value) == (
        "tools.json: reviewed_schema_too_large: holds 10485761 bytes; expected at most 10485760\n"
        "  fix: shorten descriptions, or publish fewer tools"
    )


def test_catalog_that_is_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="reviewed_schema_missing: is not a file"):
        open_catalog(tmp_path, "tools.json")
