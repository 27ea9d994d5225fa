"""Functions of a Python file become tools; what has no JSON form is a finding with its line."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from bfcl.authoring.imports.decisions import Decisions
from bfcl.authoring.imports.python_source import import_python
from bfcl.errors import BfclError
from bfcl.located import parse_json
from bfcl.pack.schema_subset import schema_problems
from bfcl.pack.tools import load_tools

HEAD = """\
import datetime
import enum
import typing as t
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum as E, StrEnum, auto
from typing import Annotated, Any, Dict, List, Literal, NewType, NotRequired, Optional, TypedDict, Union
"""
LINES = HEAD.count("\n")


def read(text: str, *, without: tuple[str, ...] = (), **decisions: Any) -> Any:
    data = (HEAD + textwrap.dedent(text)).encode()
    return import_python(data, Decisions(**decisions), path="desk.py", without=without)


def schema(hint: str, before: str = "", default: str = "") -> Any:
    """The schema of a parameter, without findings."""
    catalog = read(f"{textwrap.dedent(before)}\ndef f(x: {hint}{default}): ...\n", only=("f",))
    assert [str(each) for each in catalog.findings] == []
    entry = catalog.entries[0]
    assert schema_problems(entry["function"]["parameters"]) == []
    return entry["function"]["parameters"]["properties"]["x"]


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        ("str", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("None", {"type": "null"}),
        ("Any", {}),
        ("list", {"type": "array"}),
        ("list[int]", {"type": "array", "items": {"type": "integer"}}),
        ("List['str']", {"type": "array", "items": {"type": "string"}}),
        ("Sequence[t.List[bool]]", {"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}),
        ("dict", {"type": "object"}),
        ("dict[str, float]", {"type": "object", "additionalProperties": {"type": "number"}}),
        ("Dict['str', Any]", {"type": "object", "additionalProperties": {}}),
        ("Optional[int]", {"type": ["integer", "null"]}),
        ("'int | None'", {"type": ["integer", "null"]}),
        ("None | str | int", {"type": ["string", "integer", "null"]}),
        ("t.Union[str, int, None]", {"type": ["string", "integer", "null"]}),
        ("int | float", {"type": "number"}),
        ("Union[list[str], str]", {"type": ["array", "string"], "items": {"type": "string"}}),
        ("Literal['a', 'b']", {"type": "string", "enum": ["a", "b"]}),
        ("Literal['a', 1, None, True, 'a']", {"type": ["string", "integer", "boolean", "null"],
                                              "enum": ["a", 1, None, True]}),
        ("Optional[Literal['a']]", {"type": ["string", "null"], "enum": ["a", None]}),
        ("Literal['a', Literal['b']]", {"type": "string", "enum": ["a", "b"]}),
        ("Annotated[int, 'How many.']", {"type": "integer", "description": "How many."}),
        ("Annotated[int, Field(ge=1, description='How many.')]", {"type": "integer", "description": "How many."}),
        ("Annotated[int, Doc('How many.')]", {"type": "integer", "description": "How many."}),
        ("t.Final[int]", {"type": "integer"}),
    ],
)  # fmt: skip
def test_hint_becomes_a_schema(hint: str, expected: Any) -> None:
    assert schema(hint) == expected


@pytest.mark.parametrize(
    ("hint", "before", "expected"),
    [
        ("BikeId", "BikeId = str", {"type": "string"}),
        ("BikeId", "BikeId: t.TypeAlias = 'str | None'", {"type": ["string", "null"]}),
        ("BikeId", "BikeId = NewType('BikeId', int)", {"type": "integer"}),
        ("Colour", "class Colour(E):\n    RED = 'red'\n    BLUE = 'blue'\n    CRIMSON = 'red'\n",
         {"type": "string", "enum": ["red", "blue"]}),
        ("Size", "class Size(enum.IntEnum):\n    _ignore_ = ()\n    S = 1\n    L = 2\n    def f(self): ...\n",
         {"type": "integer", "enum": [1, 2]}),
        ("Mode", "class Mode(StrEnum):\n    FAST = auto()\n", {"type": "string", "enum": ["fast"]}),
        ("Literal[Colour.RED]", "class Colour(str, E):\n    RED = 'red'\n", {"type": "string", "enum": ["red"]}),
        ("Opts", "class Opts(TypedDict, total=False):\n    a: t.Required[int]\n    b: str\n",
         {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"],
          "additionalProperties": False}),
        ("Opts", "class Opts(TypedDict):\n    a: int\n    b: NotRequired[str]\n",
         {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"],
          "additionalProperties": False}),
    ],
)  # fmt: skip
def test_name_defined_in_the_file_becomes_its_schema(hint: str, before: str, expected: Any) -> None:
    assert schema(hint, before) == expected


def test_dataclass_becomes_an_object_with_what_it_inherits() -> None:
    before = '''
    @dataclass
    class Person:
        """Somebody.

        Attributes:
            name: Full name.
        """
        name: str
        kind: t.ClassVar[str] = "x"

    @dataclass(frozen=True)
    class Rider(Person):
        age: int | None = None
        tags: list[str] = field(default_factory=list)
        level: int = field(default=3)
        cached: int = field(init=False, default=0)
        home: "Place" = field()
        """Where to."""

    class Place(TypedDict):
        street: str
    '''
    assert schema("Rider", before) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Full name."},
            "age": {"type": ["integer", "null"], "default": None},
            "tags": {"type": "array", "items": {"type": "string"}},
            "level": {"type": "integer", "default": 3},
            "home": {
                "type": "object",
                "properties": {"street": {"type": "string"}},
                "required": ["street"],
                "additionalProperties": False,
                "description": "Where to.",
            },
        },
        "required": ["name", "home"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("hint", "default", "before", "expected"),
    [
        ("int", "1", "", {"type": "integer", "default": 1}),
        ("int", "-1", "", {"type": "integer", "default": -1}),
        ("list[int]", "(1, 2)", "", {"type": "array", "items": {"type": "integer"}, "default": [1, 2]}),
        ("dict[str, int]", "{'a': 1}", "", {"type": "object", "additionalProperties": {"type": "integer"},
                                            "default": {"a": 1}}),
        ("int", "LIMIT", "LIMIT = 20", {"type": "integer", "default": 20}),
        ("C", "C.RED", "class C(E):\n    RED = 'red'", {"type": "string", "enum": ["red"], "default": "red"}),
        ("str", "None", "", {"type": ["string", "null"], "default": None}),
        ("C", "None", "class C(E):\n    RED = 'red'", {"type": ["string", "null"], "enum": ["red", None],
                                                     "default": None}),
        ("float", "now()", "", {"type": "number"}),
        ("float", "float('inf')", "", {"type": "number"}),
        ("float", "1e999", "", {"type": "number"}),
        ("str", "b'x'", "", {"type": "string"}),
        ("int", "'x'", "", {"type": "integer"}),
        ("int", "A", "A = B\nB = A", {"type": "integer"}),
    ],
)  # fmt: skip
def test_default_that_can_be_told_is_kept(hint: str, default: str, before: str, expected: Any) -> None:
    assert schema(hint, before, f" = {default}") == expected


def test_signature_and_docstring_become_an_entry() -> None:
    catalog = read(
        '''
        LIMIT = 5

        async def rent_bike(ctx, bike_id: "str", /, days: int = 1, *, rider: Annotated[str, "Who."], note: str = now()):
            """Rent a bike.

            Args:
                bike_id: Which bike.
                rider: Not this.
                ghost: Nobody.
            """

        def other(broken): ...
        ''',
        without=("ctx",),
        only=("rent_bike",),
        mutates=("rent_bike",),
        confirm=("rent_bike",),
        confirmation_parameter="sure",
    )
    assert catalog.status == "written"
    assert catalog.entries == [
        {
            "type": "function",
            "function": {
                "name": "rent_bike",
                "description": "Rent a bike.",
                "parameters": {
                    "type": "object",
                    "properties": {
                        "bike_id": {"type": "string", "description": "Which bike."},
                        "days": {"type": "integer", "default": 1},
                        "rider": {"type": "string", "description": "Who."},
                        "note": {"type": "string"},
                        "sure": {
                            "type": "boolean",
                            "default": False,
                            "description": "True once the user has agreed to it.",
                        },
                    },
                    "required": ["bike_id", "rider"],
                    "additionalProperties": False,
                },
            },
            "x-mutates": True,
            "x-requires-confirmation": True,
        }
    ]
    line = LINES + 4
    assert [tool.to_json() for tool in catalog.tools] == [
        {"name": "rent_bike", "source": "rent_bike", "line": line, "mutates": True, "requires_confirmation": True}
    ]
    notices = [(each["line"], each["pointer"], each["action"], each["message"]) for each in catalog.report]
    assert notices == [
        (line, "/rent_bike", "dropped", "the docstring describes `ghost`, which is no parameter"),
        (line, "/rent_bike/note", "dropped", "`now()` is no literal; the value stays optional without a default"),
    ]


def test_entries_load_in_file_order_and_the_last_definition_counts() -> None:
    catalog = read(
        """
        @t.overload
        def a(x: int): ...
        def a(x: str): ...
        def _ünïcode(): ...
        def a(x: bool): ...
        """,
        only=("a", "_ünïcode"),
    )
    tools, problems, warnings = load_tools(parse_json(json.dumps(catalog.entries).encode(), path="t", code="x"))
    assert (problems, warnings) == ([], [])
    assert [tool.name for tool in tools] == ["n_code", "a"]
    assert tools[1].parameters == {
        "type": "object",
        "properties": {"x": {"type": "boolean"}},
        "required": ["x"],
        "additionalProperties": False,
    }
    assert catalog.report[0]["message"] == "`_ünïcode` became `n_code`: tool names are [A-Za-z0-9_-]{1,64}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x: tuple[int, str]): ...", ["`f.x`: the hint `tuple[int, str]` has no JSON form that can be told from "
         "this file\n  fix: JSON has lists only: write `list[...]`, or a dataclass with named fields"]),
        ("def f(x: datetime.date): ...", ["`f.x`: the hint `datetime.date` has no JSON form that can be told from this "
         "file\n  fix: JSON has no dates: write `str` and tell the form in the docstring"]),
        ("def f(x: set[int]): ...", ["`f.x`: the hint `set[int]` has no JSON form that can be told from this file\n"
         "  fix: JSON has no sets: write `list[...]`"]),
        ("def f(x): ...", ["`f.x`: no type hint\n  fix: add one, or leave it out with --without"]),
        ("def f(*x: int, **y: str): ...", ["`f.x`: `*x` takes arguments without names of their own\n"
         "  fix: name every argument", "`f.y`: `**y` takes arguments without names of their own\n"
         "  fix: name every argument"]),
        ("def f(x: dict[int, str]): ...", ["`f.x`: keys are `int`; JSON keys are text"]),
        ("def f(x: 'list['): ...", ["`f.x`: 'list[' is no type hint\n  fix: use str, int, float, bool, list, dict, "
         "Literal, an Enum, a dataclass, a TypedDict or a pydantic model of this file"]),
        ("def f(x: 3): ...", ["`f.x`: `3` is no type hint\n  fix: use str, int, float, bool, list, dict, Literal, an "
         "Enum, a dataclass, a TypedDict or a pydantic model of this file"]),
        ("def f(x: Bike): ...\nclass Bike: ...", ["`f.x`: `Bike` is no Enum, dataclass, TypedDict or pydantic model\n"
         "  fix: make `Bike` a dataclass or a TypedDict"]),
        ("def f(x: Literal[b'x']): ...", ["`f.x`: `b'x'` is no literal\n  fix: list text, numbers, true or false",
         "`f.x`: an empty Literal"]),
        ("def f(x: C): ...\nclass C(E):\n    A = object()\n", ["`f.x`: the value of `C.A` cannot be told without "
         "running the file\n  fix: give every member a literal value", "`f.x`: `C` has no members"]),
    ],
)  # fmt: skip
def test_hint_without_json_form_is_a_finding(text: str, expected: list[str]) -> None:
    catalog = read(text, only=("f",))
    assert catalog.status == "findings"
    assert sorted(str(each) for each in catalog.findings) == sorted(
        f"desk.py:{LINES + 1}: unsupported_hint: {each}" for each in expected
    )


def test_findings_inside_classes_stand_where_their_field_stands() -> None:
    catalog = read(
        """
        @dataclass
        class Node(Other):
            next: "Node | None"
            when: datetime.datetime

        def f(x: list[Node]): ...
        """,
        only=("f",),
    )
    assert [(each.line, each.field, each.message) for each in catalog.findings] == [
        (LINES + 3, "f.x.[]", "`f.x.[]`: `Node` inherits `Other`, which this file does not define"),
        (LINES + 4, "f.x.[].next", "`f.x.[].next`: `Node` contains itself"),
        (
            LINES + 5,
            "f.x.[].when",
            "`f.x.[].when`: the hint `datetime.datetime` has no JSON form that can be told from this file",
        ),
    ]
    document = catalog.to_json("desk.py", "tools.json")
    assert (document["status"], document["written"]) == ("findings", None)
    assert document["findings"][1] == {
        "code": "unsupported_hint",
        "message": "`f.x.[].next`: `Node` contains itself",
        "line": LINES + 4,
        "field": "f.x.[].next",
        "fix": "flatten it; schemas may not be recursive",
    }


def test_file_is_never_run() -> None:
    catalog = read("raise SystemExit(3)\ndef f(x: int): ...\n", only=("f",))
    assert catalog.status == "written"


def test_names_imported_for_type_checkers_or_as_a_fallback_are_known() -> None:
    text = """
    if t.TYPE_CHECKING:
        from typing import Iterable as Many
    try:
        from typing import Mapping as Map
    except ImportError:
        from typing_extensions import Mapping as Map
    def f(x: Many[int], y: Map[str, int]): ...
    """
    catalog = read(text, only=("f",))
    assert catalog.findings == []
    assert catalog.entries[0]["function"]["parameters"]["properties"]["y"] == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }


def test_union_of_classes_is_widened_and_told() -> None:
    text = """
    class A(TypedDict):
        kind: Literal["a"]
        x: int
    class B(TypedDict):
        kind: Literal["b"]
    def f(it: A | B): ...
    """
    catalog = read(text, only=("f",))
    assert catalog.entries[0]["function"]["parameters"]["properties"]["it"] == {
        "type": "object",
        "properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "x": {"type": "integer"}},
        "required": ["kind"],
        "additionalProperties": False,
    }
    assert [(each["keyword"], each["action"], each["message"]) for each in catalog.report] == [
        ("Union", "widened", "`A | B` became one schema that accepts mixtures of its members")
    ]


def test_unknown_function_is_refused() -> None:
    with pytest.raises(BfclError) as refused:
        read("def find(x: int): ...\n", only=("fnid",))
    assert str(refused.value) == (
        "unknown_operation: --functions: the source has no function 'fnid'\n  fix: did you mean `find`?"
    )


def test_consent_refuses_a_parameter_of_another_type() -> None:
    with pytest.raises(BfclError) as refused:
        read("def f(confirm: str): ...\n", only=("f",), confirm=("f",))
    assert str(refused.value) == (
        f"desk.py:{LINES + 1}: confirmation_parameter_taken: `f` has a parameter `confirm` that is no boolean, so it "
        "cannot carry consent\n  fix: choose another name with --confirmation-parameter, and declare it as "
        "`confirmation.parameter` in the manifest"
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"def f(:\n", "desk.py:1: import_source_invalid: not Python: invalid syntax"),
        (b"x = '\xff'\n", "desk.py:1: import_source_invalid: not Python: (unicode error) 'utf-8' codec can't decode "
         "byte 0xff in position 0: invalid start byte"),
        (b"\0", "desk.py: import_source_invalid: not Python: source code string cannot contain null bytes"),
    ],
)  # fmt: skip
def test_file_that_is_no_python_is_refused(data: bytes, expected: str) -> None:
    with pytest.raises(BfclError) as refused:
        import_python(data, Decisions(), path="desk.py")
    assert str(refused.value) == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("def f(b: int,\n      a: " + "|".join(["int"] * 990) + "): ...\n", 2),
        ("def f(b: int,\n      a: int = " + "-" * 990 + "1): ...\n", 2),
        ("import os\nif os:\n    pass\n" + "elif os:\n    pass\n" * 990 + "def f(a: int): ...\n", 2),
    ],
    ids=["union", "default", "branches"],
)
def test_expression_nested_beyond_reading_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(BfclError) as refused:
        import_python(text.encode(), Decisions(only=("f",)), path="desk.py")
    assert str(refused.value) == (
        f"desk.py:{line}: import_source_invalid: what stands here is nested too deeply to be read\n"
        "  fix: give its parts names of their own, or leave it out of the file"
    )
