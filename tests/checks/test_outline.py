from __future__ import annotations

import textwrap
from typing import Any

import pytest

from bfcl.checks.outline import (
    Outline,
    Unreadable,
    exported_assertions,
    lacking_callables,
    line_of,
    listed_tools,
    read_outline,
)
from tests.packs import ASSERTIONS, BACKEND

CONTRACT = """
def reset(*, ctx, fixtures=None): ...
def call_tool(name, arguments, *, ctx): ...
def get_state(): ...
"""


def _outline(source: str) -> Outline:
    found = read_outline(textwrap.dedent(source).encode())
    assert isinstance(found, Outline)
    return found


def test_outline_of_the_good_pack_lacks_nothing() -> None:
    assert lacking_callables(_outline(BACKEND)) == ()
    assert listed_tools(_outline(BACKEND)) == ("get_kiln", "get_firing", "start_firing")
    exports = exported_assertions(_outline(ASSERTIONS))
    assert exports is not None
    assert [info.signature_problem for info in exports] == [None] * 7


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        (b"def f(:\n", "SyntaxError: invalid syntax", 1),
        (b"x = 1\nreturn x\n", "SyntaxError: 'return' outside function", 2),
        (b"x = '\x00'\n", "SyntaxError: source code string cannot contain null bytes", None),
    ],
)
def test_module_that_does_not_compile_is_unreadable(source: bytes, message: str, line: int | None) -> None:
    found = read_outline(source)
    assert isinstance(found, Unreadable)
    assert found.message in (message, message.replace("SyntaxError", "ValueError"))
    assert found.line == line


@pytest.mark.parametrize(
    ("source", "lacking"),
    [
        (CONTRACT + "def list_tools(): return []", ()),
        (CONTRACT + "list_tools = make()", ()),
        (CONTRACT + "from helpers import list_tools", ()),
        (CONTRACT + "class list_tools: ...", ()),
        (CONTRACT + "if True:\n    def list_tools(x): ...", ()),
        (CONTRACT + "@cached\ndef list_tools(x): ...", ()),
        (CONTRACT + "def list_tools(x): ...\nlist_tools = wrap(list_tools)", ()),
        (CONTRACT + "from helpers import *", ()),
        (CONTRACT + "globals()['list_tools'] = f", ()),
        (CONTRACT, ("list_tools",)),
        (CONTRACT + "list_tools = ['a']", ("list_tools",)),
        (CONTRACT + "def list_tools(x): ...", ("list_tools",)),
        (CONTRACT + "def list_tools(x): ...\nfrom helpers import *", ("list_tools",)),
        ("def reset(ctx, fixtures): ...", ("list_tools", "call_tool", "get_state")),
        (CONTRACT + "def list_tools(): ...\ndef outer():\n    def get_state(x): ...", ()),
    ],
)
def test_callables_that_a_backend_certainly_lacks(source: str, lacking: tuple[str, ...]) -> None:
    assert lacking_callables(_outline(source)) == lacking


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def list_tools():\n    'All.'\n    return ['a', 'b']", ("a", "b")),
        ("T = ('a', 'b')\ndef list_tools(): return list(T)", ("a", "b")),
        ("T = {'a': f, 'b': g}\ndef list_tools(): return sorted(T)", ("a", "b")),
        ("T: list = ['a']\ndef list_tools(): return T", ("a",)),
        ("T = {'a': f}\ndef list_tools(): return [*T]", ("a",)),
        ("def list_tools(): return [name for name in T]", None),
        ("T = ['a']\nT.append('b')\ndef list_tools(): return T", None),
        ("T = ['a']\nT += ['b']\ndef list_tools(): return T", None),
        ("T = {}\nT['a'] = f\ndef list_tools(): return list(T)", None),
        ("T = {}\n@tool(T)\ndef a(): ...\ndef list_tools(): return list(T)", None),
        ("T = ['a']\nif x:\n    T = ['b']\ndef list_tools(): return T", None),
        ("T = ['a']\ndef f():\n    global T\n    T = []\ndef list_tools(): return T", None),
        ("T = ['a']\ndef sorted(x): ...\ndef list_tools(): return sorted(T)", None),
        ("def list_tools():\n    x = 1\n    return ['a']", None),
        ("def list_tools(): return ['a', 'a']", None),
        ("@wrap\ndef list_tools(): return ['a']", None),
        ("A = B\nB = A\ndef list_tools(): return A", None),
    ],
)
def test_listed_tools_are_known_only_where_they_are_literal(source: str, names: tuple[str, ...] | None) -> None:
    assert listed_tools(_outline(source)) == names


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (CONTRACT, 4),
        ("from b import c\n\n\nfrom a import (\n    get_state,\n)\n", 4),
        ("get_state = None\nget_state = print", 2),
        ("if True:\n    def get_state(): ...", 2),
        ("try:\n    from a import get_state\nexcept ImportError:\n    get_state = None", 4),
        ("from a import *", None),
        ("def outer():\n    def get_state(): ...", None),
        ("def get_state(:", None),
    ],
)
def test_line_of_a_name_is_where_the_module_last_binds_it(source: str, line: int | None) -> None:
    assert line_of(source.encode(), "get_state") == line


SIGNATURE = "*, state, trace, task, ctx"


@pytest.mark.parametrize(
    ("source", "exports"),
    [
        (f"def assert_a({SIGNATURE}): ...\ndef helper(): ...", [("assert_a", None, 1)]),
        ("def assert_a(state, trace, task, ctx=None): ...", [("assert_a", None, 1)]),
        ("def assert_a(**kwargs): ...", [("assert_a", None, 1)]),
        ("def assert_a(*, state, trace, task): ...", [("assert_a", "does not accept keyword `ctx`", 1)]),
        (f"def assert_a({SIGNATURE}, x): ...", [("assert_a", "requires extra parameter `x`", 1)]),
        ("assert_a = make()", [("assert_a", None, None)]),
        ("assert_a = 1\nassert_b = [2]", []),
        ("from helpers import assert_a", [("assert_a", None, None)]),
        ("@wrap\ndef assert_a(): ...", [("assert_a", None, 2)]),
        (f"def a({SIGNATURE}): ...\nASSERTIONS = {{'x': a}}", [("x", None, 1)]),
        ("def assert_a(): ...\nASSERTIONS = {}", []),
        ("ASSERTIONS = {'x': lambda **k: None}", None),
        ("ASSERTIONS = {name: f for name in x}", None),
        ("ASSERTIONS = {'x': a}\nASSERTIONS['y'] = b", None),
        ("from helpers import *\ndef assert_a(): ...", None),
    ],
)
def test_exported_assertions_are_known_only_where_they_are_plain(
    source: str, exports: list[tuple[str, str | None, int | None]] | None
) -> None:
    found = exported_assertions(_outline(source))
    told = None if found is None else [(one.name, one.signature_problem, one.line) for one in found]
    assert told == exports


def test_outline_says_of_a_module_what_importing_it_shows(tmp_path: Any) -> None:
    """The same words as the worker's, for the same functions."""
    from bfcl.oracle.describing import signature_problem

    namespace: dict[str, Any] = {}
    source = "def assert_a(state, /, trace, *, task, extra): ...\ndef assert_b(*rest, state): ..."
    exec(source, namespace)
    found = exported_assertions(_outline(source))
    assert found is not None
    for info in found:
        assert info.signature_problem == signature_problem(namespace[info.name])
        assert info.signature_problem
