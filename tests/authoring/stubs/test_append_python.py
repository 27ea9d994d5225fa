"""Assertions in modules: nothing that stands there moves, what cannot be added safely is refused."""

from __future__ import annotations

import ast

import pytest

from bfcl.authoring.stubs.append_python import appended_assertion
from bfcl.authoring.stubs.code import NewAssertion
from bfcl.errors import ConfigError

NEW = NewAssertion("assert_new", "\ndef assert_new(*, state, trace, task, ctx):\n    pass\n", '{"trace": True}')
TABLE = 'ASSERTIONS = {\n    "assert_old": print,\n}\n'


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


def test_assertion_stands_above_the_comment_of_the_exports() -> None:
    text = (
        "# What a template may name,\n# in this order.\nASSERTIONS = {\n}\n\n"
        "# What each needs.\nASSERTION_CAPABILITIES = {\n}\n"
    )
    grown = appended_assertion(text.encode(), NEW, "assertions.py").decode()
    assert grown == (
        "def assert_new(*, state, trace, task, ctx):\n    pass\n\n\n"
        '# What a template may name,\n# in this order.\nASSERTIONS = {\n    "assert_new": assert_new,\n}\n\n'
        '# What each needs.\nASSERTION_CAPABILITIES = {\n    "assert_new": {"trace": True},\n}\n'
    )


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
        ("def assert_new(): ...\n", "it binds `assert_new` already", "choose another name"),
        ("def (\n", "it is no Python module: invalid syntax (assertions.py, line 1)", "mend the file first"),
    ],
)
def test_assertion_is_refused_where_it_cannot_be_added_safely(text: str, message: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        appended_assertion(text.encode(), NEW, "assertions.py")
    assert str(caught.value) == f"assertions.py: append_impossible: nothing was added: {message}\n  fix: {fix}"


@pytest.mark.parametrize(
    "text",
    [
        "import os as assert_new\n",
        "from os import path as assert_new\n",
        "assert_new = print\n",
        "class assert_new: ...\n",
        "for assert_new in (): ...\n",
        "if True:\n    def assert_new(): ...\n",
    ],
)
def test_name_that_the_module_binds_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        appended_assertion(text.encode(), NEW, "assertions.py")
    assert caught.value.problems[0].message == "nothing was added: it binds `assert_new` already"


@pytest.mark.parametrize(
    "text",
    [
        'ASSERTIONS = {\n    "assert_new": print,\n}\n',
        'ASSERTION_CAPABILITIES = {\n    "assert_new": {},\n}\n',
        'ASSERTIONS = {\n}\nASSERTIONS["assert_new"] = print\n',
    ],
)
def test_name_that_is_exported_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        appended_assertion(text.encode(), NEW, "assertions.py")
    line = 1 + next(number for number, one in enumerate(text.split("\n")) if "assert_new" in one)
    assert caught.value.problems[0].message == f"nothing was added: it has `assert_new` already, at line {line}"


@pytest.mark.parametrize(
    ("before", "encoding", "end"),
    [
        ("", "utf-8", "\r\n"),
        ("", "utf-8-sig", "\n"),
        ("# -*- coding: latin-1 -*-\nX = 'caf\xe9'\n", "latin-1", "\n"),
        ("\x0c\n", "utf-8", "\n"),
        ('X = "a\u2028b\x85c\x1cd\x0c"\n', "utf-8", "\n"),
        ('S = """a\n  b\n"""\n', "utf-8", "\r"),
    ],
)
def test_assertion_is_added_in_the_encoding_and_line_ends_of_the_file(before: str, encoding: str, end: str) -> None:
    def written(text: str) -> bytes:
        return text.replace("\n", end).encode(encoding)

    grown = appended_assertion(written(before + TABLE), NEW, "assertions.py")
    told = f"{NEW.source[1:]}\n\n" + TABLE.replace("}", '    "assert_new": assert_new,\n}')
    assert grown == written(before + told)
    assert ast.parse(grown)


def test_comment_above_the_closing_brace_stays_where_it_is() -> None:
    text = 'ASSERTIONS = {\n    "a#": print,  # one\n\n    # more\n}  # end\n'
    grown = appended_assertion(text.encode(), NEW, "assertions.py").decode()
    assert grown.endswith('    "a#": print,  # one\n\n    # more\n    "assert_new": assert_new,\n}  # end\n')


@pytest.mark.parametrize(
    ("data", "message", "fix"),
    [
        (b"X = '\xe9'\n", "it cannot be decoded: invalid or missing encoding declaration", "save the file as UTF-8"),
        (b"# coding: nope\n", "it cannot be decoded: unknown encoding: nope", "save the file as UTF-8"),
        (
            b"X = 1\r\nY = 2\n",
            "its lines end in different ways",
            "give every line the same end (LF), or add the text by hand",
        ),
        (
            b"return\n",
            "it is no Python module: 'return' outside function (assertions.py, line 1)",
            "mend the file first",
        ),
    ],
)
def test_module_that_is_no_plain_text_is_refused_with_the_cause(data: bytes, message: str, fix: str) -> None:
    with pytest.raises(ConfigError) as caught:
        appended_assertion(data, NEW, "assertions.py")
    assert str(caught.value) == f"assertions.py: append_impossible: nothing was added: {message}\n  fix: {fix}"
