from __future__ import annotations

import pytest

from bfcl.authoring.source.execution_policy import PERMITTED_MODULES, policy_findings
from bfcl.authoring.source.parsing import parse_module


def told(text: str) -> list[str]:
    module = parse_module("backend.py", text.encode(), "backend.py")
    found = list(policy_findings(module, ("backend", "shelf")))
    assert {(one.code, one.impact, one.file) for one in found} <= {
        ("execution_policy_violation", "blocks_all_probes", "backend.py")
    }
    return sorted(f"{one.line}: {one.detail}" for one in found)


@pytest.mark.parametrize(
    "text",
    [
        *(f"import {name}" for name in sorted(PERMITTED_MODULES - {"__future__"})),
        "from __future__ import annotations",
        "import collections.abc\nfrom shelf.one import x\nfrom . import y",
        "import re\nre.compile('x')",
        "class A:\n    def __init__(self):\n        self.open = 1\n    def run(self):\n        return self.open",
        "def f(input, vars):\n    return [input, vars]",
        "if __name__ == '__main__':\n    pass",
        "x.__ = 1",
    ],
)
def test_policy_permits_what_it_lists_and_what_reaches_nothing(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "x = 1\nimport os.path",
            "2: `os` is imported, which is not permitted; instead: rows of `fixtures.json` arrive in `reset`",
        ),
        (
            "def f():\n    from uuid import uuid4",
            "2: `uuid` is imported, which is not permitted; instead: count in the state, or draw from "
            "`random.Random(ctx.seed)`",
        ),
        (
            "import colorsys",
            "1: `colorsys` is imported, which is not permitted; instead: one of __future__, bisect, collections, copy, "
            "dataclasses, datetime, decimal, enum, fractions, functools, heapq, itertools, json, math, operator, "
            "random, re, statistics, string, time, typing",
        ),
        (
            "x = getattr(a, 'b')",
            "1: `getattr` is called; instead: `thing.name` where the name is known, a dict from names to functions "
            "where it is not",
        ),
        (
            "def input(x):\n    return x\ninput(1)",
            "3: `input` is called; instead: the call's `arguments`, and rename a function of your own",
        ),
        ("f = setattr", "1: `setattr` is handed on; instead: `thing.name = value` where the name is known, a dict"),
        (
            "(\n    job\n    .start\n    .run()\n)",
            "4: a method named `run` is called; instead: rename a method of your own, such as to `perform`; call no "
            "other",
        ),
        ("x = ().__class__", "1: `__class__` is accessed; instead: `type(value)`"),
        (
            "super().__init__()",
            "1: `__init__` is accessed; instead: a dataclass, which needs no call of its base",
        ),
        ("from json import __builtins__", "1: `__builtins__` is accessed; instead: the operator or built-in function"),
        (
            "match x:\n    case object(__dict__=y):\n        pass",
            "2: `__dict__` is accessed; instead: `dataclasses.asdict(value)`",
        ),
        (
            "x = __builtins__['eval']",
            "1: `__builtins__` is named; instead: call the permitted functions by their own names",
        ),
    ],
)
def test_policy_names_the_line_and_what_to_write_instead(text: str, expected: str) -> None:
    found = told(text)
    assert len(found) == 1
    assert found[0].startswith(expected)


@pytest.mark.parametrize(
    "name",
    ["breakpoint", "compile", "eval", "exec", "getattr", "globals", "input", "locals", "open", "setattr", "vars"],
)
def test_policy_bans_every_listed_call(name: str) -> None:
    found = told(f"x = 1\n{name}(x)")
    assert len(found) == 1
    assert found[0].startswith(f"2: `{name}` is called; instead: ")


@pytest.mark.parametrize("name", ["fork", "open", "popen", "run", "spawn", "system"])
def test_policy_bans_every_listed_method(name: str) -> None:
    assert [line[: len(name) + 30] for line in told(f"thing.{name}()")] == [
        f"1: a method named `{name}` is called"[: len(name) + 30]
    ]
