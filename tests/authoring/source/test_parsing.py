from __future__ import annotations

import pytest

from bfcl.authoring.source.parsing import BuiltinUse, builtin_uses, parse_module
from bfcl.errors import PackError


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            b"\n# \xe4\n",
            "a.py:2: source_encoding_invalid: byte 0xe4 is not UTF-8",
        ),
        (b"x = 1\n\ny = 2\nz = '\xe4'\n", "a.py:4: source_encoding_invalid: byte 0xe4 is not UTF-8"),
        (
            b"# -*- coding: latin-1 -*-\nx = 1\n",
            "a.py:1: source_encoding_invalid: declares the encoding iso-8859-1; expected UTF-8",
        ),
        (
            b"\n# coding: klingon\n",
            "a.py:2: source_encoding_invalid: declares an encoding that Python does not know; expected UTF-8",
        ),
    ],
)
def test_parsing_refuses_what_is_not_utf8(data: bytes, told: str) -> None:
    with pytest.raises(PackError) as caught:
        parse_module("a.py", data, "a.py")
    assert str(caught.value) == f"{told}\n  fix: save the file as UTF-8, without a coding line"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = (\n", "a.py:1: source_syntax_invalid: not Python: '(' was never closed"),
        ("x = 1\nreturn x\n", "a.py:2: source_syntax_invalid: not Python: 'return' outside function"),
        ("def f(a, a): pass\n", "a.py:1: source_syntax_invalid: not Python: duplicate argument 'a' in function"),
    ],
)
def test_parsing_refuses_what_does_not_compile(text: str, told: str) -> None:
    with pytest.raises(PackError) as caught:
        parse_module("a.py", text.encode(), "a.py")
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("text", ["x = 1\x00\n", "x = " + "(" * 5000 + ")" * 5000, "x = " + "-" * 100_000 + "1"])
def test_parsing_refuses_null_bytes_and_bottomless_nesting_without_a_crash(text: str) -> None:
    with pytest.raises(PackError) as caught:
        parse_module("a.py", text.encode(), "a.py")
    assert caught.value.problems[0].code == "source_syntax_invalid"


def test_parsing_takes_a_byte_order_mark_and_an_odd_escape_quietly() -> None:
    assert parse_module("a.py", b"\xef\xbb\xbfx = '\\d'\n", "a.py").strings == {"\\d"}


def test_builtin_uses_tell_calls_from_handing_on_and_respect_own_names() -> None:
    text = "f = eval\nmap(vars, [])\nx.eval()\nopen('a')\ndef run(input):\n    return input, input()\n"
    module = parse_module("a.py", text.encode(), "a.py")
    assert sorted(builtin_uses(module, ("eval", "vars", "open", "input"))) == [
        BuiltinUse(1, "eval", called=False),
        BuiltinUse(2, "vars", called=False),
        BuiltinUse(4, "open", called=True),
        BuiltinUse(6, "input", called=True),
    ]
