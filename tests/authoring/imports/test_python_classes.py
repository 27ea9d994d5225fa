"""Which fields a class has, read without running it."""

from __future__ import annotations

import ast

import pytest

from bfcl.authoring.imports.python_classes import ClassFields, fields_of
from bfcl.authoring.imports.python_module import read_module

HEAD = """
import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar, NotRequired, TypedDict
from pydantic import BaseModel, Field
"""


def fields(text: str, name: str = "It") -> ClassFields:
    module = read_module((HEAD + text).encode(), path="desk.py")
    found = fields_of(module, module.classes[name])
    assert found is not None
    return found


def told(found: ClassFields) -> list[tuple[str, bool, str | None]]:
    """(name, required, default) of each field."""
    return [
        (each.name, each.required, None if each.default is None else ast.unparse(each.default))
        for each in found.known.values()
    ]


def test_dataclass_has_what_its_constructor_takes() -> None:
    found = fields(
        "@dataclass\nclass It:\n    a: int\n    b: str = 'x'\n    c: list = field(default_factory=list)\n"
        "    d: int = field(default=3, repr=False)\n    e: int = field(init=False)\n    f: ClassVar[int] = 1\n"
    )
    assert told(found) == [("a", True, None), ("b", False, "'x'"), ("c", False, None), ("d", False, "3")]
    assert [each.ignored for each in found.known.values()] == [(), (), (), ()]


def test_typed_dict_requires_all_but_what_says_otherwise() -> None:
    assert told(fields("class It(TypedDict):\n    a: int\n    b: NotRequired[int]\n")) == [
        ("a", True, None),
        ("b", False, None),
    ]
    assert told(fields("class It(TypedDict, total=False):\n    a: int\n")) == [("a", False, None)]


def test_pydantic_model_has_its_fields_with_what_it_inherits() -> None:
    found = fields(
        "class Base(BaseModel):\n    model_config = {}\n    a: int\n    b: int = ...\n"
        "class It(Base):\n    c: str = Field(..., description='C.', min_length=1)\n    d: int = Field(2)\n"
        "    e: list = Field(default_factory=list)\n    _seen: int = 3\n    F: ClassVar[int] = 4\n"
    )
    assert told(found) == [
        ("a", True, None),
        ("b", True, None),
        ("c", True, None),
        ("d", False, "2"),
        ("e", False, None),
    ]
    assert (found.known["c"].words, found.known["c"].ignored) == ("C.", ("min_length",))
    assert found.unknown == []


def test_parent_that_the_file_does_not_define_is_named() -> None:
    found = fields("from elsewhere import Other\n@dataclass\nclass It(Other):\n    a: int\n")
    assert [ast.unparse(each) for each in found.unknown] == ["Other"]


@pytest.mark.parametrize("text", ["class It:\n    a: int\n", "class It(It):\n    a: int\n", "class It(int): ...\n"])
def test_other_class_has_no_fields(text: str) -> None:
    module = read_module((HEAD + text).encode(), path="desk.py")
    assert fields_of(module, module.classes["It"]) is None
