"""What a file defines at its top level, read without running it."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from bfcl.authoring.imports.python_module import Module, NotLiteral, read_module
from bfcl.errors import BfclError


def module(text: str) -> Module:
    return read_module(text.encode(), path="desk.py")


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("imports", "name", "dotted"),
    [
        ("import typing as t", "t.Optional", "typing.Optional"),
        ("from typing_extensions import TypedDict as D", "D", "typing.TypedDict"),
        ("from collections.abc import Sequence", "Sequence", "typing.Sequence"),
        ("from typing import List", "List", "list"),
        ("import os.path", "os.path.join", "os.path.join"),
        ("from .near import it", "it", ".near.it"),
        ("from typing import Any\nAny = 3", "Any", "Any"),
        ("", "f()", ""),
    ],
)
def test_name_stands_for_what_was_imported(imports: str, name: str, dotted: str) -> None:
    assert module(imports).dotted(expression(name)) == dotted


def test_last_definition_counts_and_overloads_do_not() -> None:
    found = module("from typing import overload\n@overload\ndef f(a): ...\ndef f(b): ...\nX = 1\nX = 2\n")
    assert found.functions["f"].args.args[0].arg == "b"
    assert found.literal(expression("X")) == 2


@pytest.mark.parametrize(
    ("text", "value"), [("[1, {'a': None}]", [1, {"a": None}]), ("A", "a"), ("E.X", 3), ("(1, 2)", [1, 2])]
)
def test_literal_has_a_json_value(text: str, value: Any) -> None:
    assert module("import enum\nB = 'a'\nA = B\nclass E(enum.Enum):\n    X = 3\n").literal(expression(text)) == value


@pytest.mark.parametrize("text", ["f()", "{1: 2}", "{1}", "b'x'", "1j", "1e999", "LOOP", "..."])
def test_other_expression_is_no_literal(text: str) -> None:
    with pytest.raises(NotLiteral):
        module("LOOP = ROUND\nROUND = LOOP\n").literal(expression(text))


@pytest.mark.parametrize(
    ("absurd", "line"),
    [
        ("X = " + "-" * 5000 + "1\n", 3),
        ("X = " + "+".join(["1"] * 5000) + "\n", 3),
        ("X = a" + ".b" * 5000 + "\n", 3),
        ("X = a" + "()" * 5000 + "\n", 3),
    ],
    ids=["minus", "plus", "attribute", "call"],
)
def test_absurd_expression_is_refused_with_its_line(absurd: str, line: int) -> None:
    with pytest.raises(BfclError) as refused:
        module(f"import os\n\n{absurd}\ndef f(a: int): ...\n")
    assert str(refused.value) == (
        f"desk.py:{line}: import_source_invalid: what stands here is nested too deeply to be read\n"
        "  fix: give its parts names of their own, or leave it out of the file"
    )
