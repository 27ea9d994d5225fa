"""New assertions, which run and bite, and new catalog entries."""

from __future__ import annotations

import io
import json
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.authoring.stubs.code import Parameter, ToolKind, new_assertion, new_tool, read_parameter
from bfcl.errors import ConfigError
from bfcl.pack.model import Pack
from bfcl.pack.own_config import load_own
from tests.packs import put, write_pack

ANSWER = {"kiln": {"kiln_id": "K-1"}}


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    return load_own(write_pack(tmp_path / "pack")).pack


def compiled(source: str, name: str) -> Callable[..., None]:
    names: dict[str, Any] = {}
    exec(compile(source, "assertions.py", "exec"), names)
    found: Callable[..., None] = names[name]
    return found


def call(tool: str = "get_kiln", kiln_id: str = "K-1", **result: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": {"kiln_id": kiln_id}, "result": result or ANSWER}


def judged(check: Callable[..., None], *trace: dict[str, Any]) -> str | None:
    """What the assertion says; None where it passes."""
    task = {"slots": {"kiln_id": "K-1"}}
    try:
        check(state={}, trace=list(trace), task=task, ctx=None)
    except AssertionError as error:
        return str(error)
    return None


def test_assertion_of_a_tool_passes_its_call_and_says_what_is_wrong_with_others(pack: Pack) -> None:
    made = new_assertion(pack, "assert_read", "get_kiln")
    check = compiled(made.source, "assert_read")
    assert judged(check, call()) is None
    assert judged(check) == "calls are []"
    assert judged(check, call(), call()) == "calls are ['get_kiln', 'get_kiln']"
    assert judged(check, call(tool="get_firing")) == "calls are ['get_firing']"
    assert judged(check, call(kiln_id="K-2")) == "kiln_id is 'K-2'; expected 'K-1'"
    assert judged(check, call(error={"code": "not_found"})) == "refused: {'code': 'not_found'}"
    assert made.capability == '{"trace": True, "category": "result"}'


def test_assertion_without_a_tool_passes_silence_alone(pack: Pack) -> None:
    made = new_assertion(pack, "assert_silent", None)
    check = compiled(made.source, "assert_silent")
    assert judged(check) is None
    assert judged(check, call()) == "expected no call, got ['get_kiln']"
    assert made.capability == '{"trace": True, "category": "path"}'


@pytest.mark.parametrize("tool", [None, "get_kiln"])
def test_strings_of_an_assertion_all_have_double_quotes(pack: Pack, tool: str | None) -> None:
    source = new_assertion(pack, "assert_new", tool).source
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    assert {one.string.lstrip("f")[0] for one in tokens if one.type == tokenize.STRING} == {'"'}
    assert "'" not in source.replace("user's", "")


@pytest.mark.parametrize("name", ["kiln_read", "assert read", "assert_ä-b", ""])
def test_name_that_is_none_for_an_assertion_is_refused(pack: Pack, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        new_assertion(pack, name, None)
    assert str(caught.value) == (
        f"stub_impossible: {name}: is no name for an assertion; expected an identifier starting with `assert_`\n"
        "  fix: name it `assert_<what must hold>`"
    )


def test_assertion_of_an_unknown_tool_is_refused(pack: Pack) -> None:
    with pytest.raises(ConfigError) as caught:
        new_assertion(pack, "assert_x", "get_klin")
    assert str(caught.value) == (
        "stub_impossible: assert_x: the catalog has no tool `get_klin`\n  fix: did you mean `get_kiln`?"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kiln_id:string", Parameter("kiln_id", "string", required=True)),
        ("limit:integer:optional", Parameter("limit", "integer", required=False)),
    ],
)
def test_parameter_is_read(text: str, found: Parameter) -> None:
    assert read_parameter(text) == found


@pytest.mark.parametrize("text", ["kiln_id", "kiln_id:text", "kiln id:string", "a:string:maybe", ":string"])
def test_parameter_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_parameter(text)
    assert str(caught.value) == (
        f"stub_impossible: --param: `{text}` is no parameter; expected NAME:TYPE with a type of string, integer, "
        "number, boolean, array, object\n  fix: such as `--param kiln_id:string` or `--param limit:integer:optional`"
    )


def test_tool_has_its_keys_in_the_order_people_write_them(pack: Pack) -> None:
    parameters = [read_parameter("kiln_id:string"), read_parameter("days:integer:optional")]
    entry = new_tool(pack, "close_kiln", parameters, ToolKind(mutates=True, confirmed=False))
    expected = {
        "type": "function",
        "function": {
            "name": "close_kiln",
            "description": "",
            "parameters": {
                "type": "object",
                "properties": {
                    "kiln_id": {"type": "string", "description": ""},
                    "days": {"type": "integer", "description": ""},
                },
                "required": ["kiln_id"],
                "additionalProperties": False,
            },
        },
        "x-mutates": True,
    }
    assert json.dumps(entry) == json.dumps(expected)


def test_gated_tool_takes_the_parameter_that_the_pack_confirms_by(tmp_path: Path) -> None:
    root = write_pack(
        tmp_path / "pack",
        put("manifest.yaml", ["confirmation"], {"parameter": "agreed"}),
        put("tools.json", (2, "function", "parameters", "properties", "agreed"), {"type": "boolean"}),
    )
    entry = new_tool(load_own(root).pack, "close", [], ToolKind(mutates=False, confirmed=True))
    function = entry["function"]
    assert isinstance(function, dict)
    assert function["parameters"] == {
        "type": "object",
        "properties": {"agreed": {"type": "boolean", "description": "true once the user has agreed"}},
        "required": ["agreed"],
        "additionalProperties": False,
    }
    assert entry["x-requires-confirmation"] is True
    assert "x-mutates" not in entry


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("get_kiln", "the catalog has a tool of this name already\n  fix: choose another name"),
        ("a b", "is no name for a tool; expected letters, digits, `_`, `-`, at most 64"),
        ("x" * 65, "is no name for a tool; expected letters, digits, `_`, `-`, at most 64"),
    ],
)
def test_name_that_a_tool_cannot_have_is_refused(pack: Pack, name: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        new_tool(pack, name, [], ToolKind(mutates=False, confirmed=False))
    assert str(caught.value) == f"stub_impossible: {name}: {told}"


def test_parameter_given_twice_is_refused(pack: Pack) -> None:
    parameters = [read_parameter("a:string"), read_parameter("a:integer:optional")]
    with pytest.raises(ConfigError) as caught:
        new_tool(pack, "close", parameters, ToolKind(mutates=False, confirmed=False))
    assert str(caught.value) == "stub_impossible: --param: `a` is given more than once; expected each name once"
