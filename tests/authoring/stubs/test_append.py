"""Stubs in files: nothing that stands there moves, what cannot be added safely is refused."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.stubs.append import appended_assertion, appended_json, appended_yaml
from bfcl.authoring.stubs.code import NewAssertion
from bfcl.errors import ConfigError
from bfcl.located import parse_yaml

NEW = NewAssertion("assert_new", "\ndef assert_new(*, state, trace, task, ctx):\n    pass\n", '{"trace": True}')
ENTRY = {"id": "a", "expect": {"n": "012"}}


@pytest.mark.parametrize("text", ["- id: b\n", "- id: b", "# only a remark\n", "", "  - id: b\n", "- {id: b}\n\n\n"])
def test_yaml_list_grows_at_its_end_and_keeps_its_bytes(text: str) -> None:
    grown = appended_yaml(text.encode(), [ENTRY], "cases.yaml")
    assert grown.startswith(text.encode())
    before = parse_yaml(text.encode(), path="x", code="y").value or []
    assert isinstance(before, list)
    assert parse_yaml(grown, path="x", code="y").value == [*before, ENTRY]


@pytest.mark.parametrize("text", ["[{id: b}]\n", "[]\n"])
def test_yaml_flow_list_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        appended_yaml(text.encode(), [ENTRY], "cases.yaml")
    assert str(caught.value) == (
        "cases.yaml: append_impossible: nothing was added: its list is not written item below item\n"
        "  fix: write it as a block list, or add the text by hand"
    )


@given(st.lists(st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=5), max_size=2), max_size=3))
def test_json_array_grows_by_one_entry_whatever_it_holds(before: list[dict[str, int | str]]) -> None:
    for indent in (None, 2):
        data = json.dumps(before, indent=indent, ensure_ascii=False).encode() + b"\n"
        assert json.loads(appended_json(data, {"k": "]"}, "tools.json")) == [*before, {"k": "]"}]


def test_assertion_goes_to_the_end_where_nothing_is_exported_by_name() -> None:
    text = "def assert_old(*, state, trace, task, ctx):\n    pass\n"
    assert appended_assertion(text.encode(), NEW, "assertions.py").decode() == f"{text}\n{NEW.source}"


def test_assertion_enters_literal_exports_and_capabilities_and_stands_before_the_exports() -> None:
    text = (
        "def assert_old(*, state, trace, task, ctx):\n    pass\n\n\n"
        "ASSERTIONS = {\n    'assert_old': assert_old,\n}\n"
        "ASSERTION_CAPABILITIES = {\n    'assert_old': {},\n}\n"
    )
    grown = appended_assertion(text.encode(), NEW, "assertions.py").decode()
    names: dict[str, object] = {}
    exec(compile(ast.parse(grown), "assertions.py", "exec"), names)
    exported, capable = names["ASSERTIONS"], names["ASSERTION_CAPABILITIES"]
    assert isinstance(exported, dict)
    assert list(exported) == ["assert_old", "assert_new"]
    assert capable == {"assert_old": {}, "assert_new": {"trace": True}}


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (
            "ASSERTIONS = dict(a=1)\n",
            "`ASSERTIONS` is not written out as a dictionary",
            "add the text by hand",
        ),
        (
            "ASSERTION_CAPABILITIES = {'a': {}}\n",
            "the dictionary at line 1 is not written one entry a line",
            "write one entry a line, each with a comma, the closing brace below them",
        ),
        ("def assert_new(): ...\n", "it has a function `assert_new` already", "choose another name"),
        ("def (\n", "it is no Python module: invalid syntax (<unknown>, line 1)", "mend the file first"),
    ],
)
def test_assertion_is_refused_where_it_cannot_be_added_safely(text: str, message: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        appended_assertion(text.encode(), NEW, "assertions.py")
    assert str(caught.value) == f"assertions.py: append_impossible: nothing was added: {message}\n  fix: {fix}"
