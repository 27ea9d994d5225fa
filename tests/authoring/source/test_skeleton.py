"""Skeletons as code: importable whatever the catalog says, undecided until a person decides, Gold once filled in."""

from __future__ import annotations

import ast
import keyword
import re
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.source.closure import BACKEND
from bfcl.authoring.source.execution_policy import policy_findings
from bfcl.authoring.source.parsing import parse_module
from bfcl.authoring.source.published import published_names
from bfcl.authoring.source.skeleton import HANDLER_PREFIX, ConfirmationWords, flat, skeleton_backend
from bfcl.digest import sha256_of
from bfcl.records.tool import Tool

CTX = SimpleNamespace(clock="2026-03-02T09:00:00+07:00", seed=1)
HOSTILE = (
    *("error", "find", "reset", "get_state", "list_tools", "call_tool", "copy", "arguments", "ctx", "handler"),
    *("_error", "_find", "_state", "_HANDLERS", "_ARGUMENTS", "_argument_error", "_has_type", "_tool_error", "_tool_"),
    *("class", "None", "__init__", "match", "print", "_", "str"),
)
NASTY = "'''\"\"\"\\\n}{ {0} %s\u2028\u202e\x00\x85 \N{SNOWMAN} # type: ignore"


def skeleton(*tools: Tool, **words: str) -> str:
    return skeleton_backend(sorted(tools, key=lambda one: one.name), ConfirmationWords(**words))


def loaded(text: str) -> Any:
    space: dict[str, Any] = {"__name__": "backend"}
    exec(compile(text, "backend.py", "exec"), space)
    return SimpleNamespace(**space)


def gated(name: str = "start", **properties: Any) -> Tool:
    return Tool(name=name, parameters={"properties": properties}, requires_confirmation=True)


def test_skeleton_is_the_same_bytes_everywhere() -> None:
    tool = Tool(
        name="get_kiln",
        description="Look up one kiln.",
        parameters={"properties": {"kiln_id": {"type": "string"}}, "required": ["kiln_id"]},
    )
    text = skeleton(tool, gated(confirm={"type": "boolean"}))
    assert sha256_of(text.encode()) == "sha256:44b279d8642f182b09b5c617fb89fce321cb21073b0086465577d9edc07fe5aa"


def test_skeleton_raises_in_every_handler_with_the_marker() -> None:
    tools = [
        Tool(name=name, description=NASTY, parameters={"properties": {NASTY: {"enum": [NASTY]}}}) for name in HOSTILE
    ]
    backend = loaded(skeleton(*tools))
    for name in HOSTILE:
        with pytest.raises(NotImplementedError, match=re.escape(f"BFCL-TODO: {name} is not decided yet")):
            backend.call_tool(name, {}, ctx=CTX)


def test_skeleton_keeps_its_four_functions_whatever_tools_are_named() -> None:
    backend = loaded(skeleton(*(Tool(name=name) for name in HOSTILE)))
    assert backend.list_tools() == sorted(HOSTILE)
    rows = {"records": [{"a": 1}]}
    backend.reset(ctx=CTX, fixtures=rows)
    rows["records"][0]["a"] = 2
    state = backend.get_state()
    assert state == {"records": [{"a": 1}]}
    state["records"].clear()
    assert backend._find("records", "a", 1) == {"a": 1}
    assert (backend._find("records", "a", 9), backend._find("none", "a", 1)) == (None, None)
    backend.reset(ctx=CTX)
    assert backend.get_state() == {}


def test_skeleton_refuses_a_name_that_is_not_published() -> None:
    assert loaded(skeleton(Tool(name="a"))).call_tool("b", {}, ctx=CTX) == {
        "error": {"code": "invalid_argument", "field": "name", "message": "no such tool"}
    }


def test_skeleton_has_the_marker_in_its_docstring_and_in_every_handler() -> None:
    tree = ast.parse(text := skeleton(*(Tool(name=name) for name in HOSTILE)))
    assert "BFCL-TODO" in (ast.get_docstring(tree) or "")
    handlers = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name.startswith(HANDLER_PREFIX)]
    assert {one.name for one in handlers} == {HANDLER_PREFIX + name for name in HOSTILE}
    assert all("# BFCL-TODO: " in (ast.get_source_segment(text, one) or "") for one in handlers)


@pytest.mark.parametrize("flag", [{}, {"ja": False}, {"ja": "true"}, {"ja": 1}, {"confirm": True}])
def test_skeleton_of_a_gated_tool_is_pending_until_the_flag_is_true(flag: dict[str, Any]) -> None:
    text = skeleton(gated(ja={"type": "boolean"}), parameter="ja", status_field="tool", pending_status=NASTY)
    backend = loaded(text)
    assert backend.call_tool("start", flag, ctx=CTX) == {"tool": NASTY}
    with pytest.raises(NotImplementedError):
        backend.call_tool("start", {"ja": True}, ctx=CTX)


def test_skeleton_says_which_tool_waits() -> None:
    backend = loaded(skeleton(gated(confirm={"type": "boolean"})))
    assert backend.call_tool("start", {}, ctx=CTX) == {"tool": "start", "status": "awaiting_confirmation"}


@pytest.mark.parametrize(
    ("arguments", "field", "message"),
    [
        ({}, "id", "missing"),
        ({"id": 1}, "id", "must be string"),
        ({"id": "a", "n": True}, "n", "must be integer or null"),
        ({"id": "a", "n": 1.0}, "n", "must be integer or null"),
        ({"id": "a", "x": 1}, "x", "unknown argument"),
    ],
)
def test_skeleton_offers_a_check_of_declared_arguments(arguments: Any, field: str, message: str) -> None:
    schema = {
        "properties": {"id": {"type": "string"}, "n": {"type": ["integer", "null"]}, "any": {"type": "odd"}},
        "required": ["id", 7],
        "additionalProperties": False,
    }
    backend = loaded(skeleton(Tool(name="a", parameters=schema)))
    assert backend._argument_error("a", arguments) == {
        "error": {"code": "invalid_argument", "field": field, "message": message}
    }
    assert backend._argument_error("a", {"id": "", "n": None, "any": object()}) is None


def test_skeleton_takes_further_arguments_where_the_schema_does() -> None:
    schema = {"properties": {"n": {"type": "number"}}}
    backend = loaded(skeleton(Tool(name="a", parameters=schema)))
    assert backend._argument_error("a", {"n": 1, "more": 1}) is None
    assert backend._argument_error("a", {"n": False})["error"]["field"] == "n"


def test_flat_prose_is_one_line_without_quotes_backslashes_and_invisible_marks() -> None:
    assert flat(NASTY) == "}{ {0} %s \N{SNOWMAN} # type: ignore"
    assert flat(" don't \n\n say \"no\\ ") == "dont say no"


NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,8}\Z") | st.sampled_from([*HOSTILE, *keyword.kwlist])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from([NASTY, '"""', "'", "\\"])
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "object", "array", "null", "odd"])
SCHEMAS = st.fixed_dictionaries({}, optional={"type": TYPES | st.lists(TYPES), "enum": st.lists(TEXTS)})


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    properties = draw(st.dictionaries(TEXTS, SCHEMAS, max_size=3))
    return Tool(
        name=draw(NAMES),
        description=draw(TEXTS),
        parameters={"properties": properties, "required": list(properties)},
        requires_confirmation=draw(st.booleans()),
    )


@given(st.lists(tools(), min_size=1, max_size=4, unique_by=lambda one: one.name), TEXTS, TEXTS, TEXTS)
def test_skeleton_of_any_catalog_is_permitted_python_that_publishes_it(
    catalog: list[Tool], parameter: str, field: str, pending: str
) -> None:
    text = skeleton(*catalog, parameter=parameter, status_field=field, pending_status=pending)
    module = parse_module(BACKEND, text.encode(), BACKEND)
    assert list(policy_findings(module, ())) == []
    function = next(one for one in module.tree.body if isinstance(one, ast.FunctionDef) and one.name == "list_tools")
    names = sorted(one.name for one in catalog)
    assert published_names(module.tree, function) == names
    backend = loaded(text)
    assert backend.list_tools() == names
    for tool in catalog:
        if tool.requires_confirmation:
            assert backend.call_tool(tool.name, {}, ctx=CTX)[field] == pending
        with pytest.raises(NotImplementedError):
            backend.call_tool(tool.name, {parameter: True}, ctx=CTX)
