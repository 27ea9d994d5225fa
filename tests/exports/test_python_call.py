"""A call written as Python text comes back by the parser with the same values and types."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json, canonical_text
from bfcl.exports.python_call import MAX_DEPTH, NotPython, read_call, write_call
from bfcl.exports.row import ExportCall

NAMES = st.sampled_from(["a", "valve", "größe", "_", "x1", "tên", "match"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


def call(arguments: Mapping[str, Json], name: str = "set_valve") -> ExportCall:
    return ExportCall(turn_index=0, call_group=0, position_in_group=0, function_name=name, arguments=arguments)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        (1, "1"),
        (1.0, "1.0"),
        ("1", "'1'"),
        (-3, "-3"),
        (-0.0, "-0.0"),
        (1e300, "1e+300"),
        (0.1, "0.1"),
        ("it's a \\ \n\t\r", "'it\\'s a \\\\ \\n\\t\\r'"),
        ('"', "'\"'"),
        ("Đông 🎉 \x00\x7f\x85\u2028\ue000", "'Đông 🎉 \\x00\\x7f\\x85\\u2028\ue000'"),
        ([1, [2.0, None]], "[1, [2.0, None]]"),
        ((1, 2), "[1, 2]"),
        ({"b": 1, "a": {"c": []}}, "{'b': 1, 'a': {'c': []}}"),
        ([], "[]"),
        ({}, "{}"),
    ],
)
def test_value_is_written_as_a_python_literal(value: Json, text: str) -> None:
    assert write_call(call({"bar": value})) == f"set_valve(bar={text})"


def test_arguments_keep_their_order_and_dotted_names_their_parts() -> None:
    assert write_call(call({"valve": "V-1", "bar": 1}, "plant.set_valve")) == "plant.set_valve(valve='V-1', bar=1)"
    assert read_call("plant.set_valve(valve='V-1', bar=1)") == ("plant.set_valve", {"valve": "V-1", "bar": 1})
    assert list(read_call("f(valve=1, bar=2)").arguments) == ["valve", "bar"]
    assert write_call(call({}, "list_alarms")) == "list_alarms()"


@given(st.dictionaries(NAMES, VALUES, max_size=4))
def test_written_call_comes_back_with_values_and_types(arguments: dict[str, Json]) -> None:
    text = write_call(call(arguments))
    assert "\n" not in text
    read = read_call(text)
    assert (read.function_name, list(read.arguments)) == ("set_valve", list(arguments))
    # Canonical JSON tells 1, 1.0, True and "1" apart and knows no infinity, which Python reads large literals as.
    assert canonical_text(read.arguments) == canonical_text(arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("set-valve", {}, "function `set-valve` is no Python identifier, or a keyword"),
        ("plant.class", {}, "function `plant.class` is no Python identifier, or a keyword"),
        ("plant..set", {}, "function `plant..set` is no Python identifier, or a keyword"),
        ("", {}, "function `` is no Python identifier, or a keyword"),
        ("set_valve", {"from": 1}, "argument `from` of `set_valve` is no Python identifier, or a keyword"),
        ("set_valve", {"__debug__": 1}, "argument `__debug__` of `set_valve` is no Python identifier, or a keyword"),
        ("set_valve", {"None": 1}, "argument `None` of `set_valve` is no Python identifier, or a keyword"),
        ("set_valve", {"bar psi": 1}, "argument `bar psi` of `set_valve` is no Python identifier, or a keyword"),
        # A ligature is an identifier, yet Python would read it as two letters.
        ("set_valve", {"ﬁt": 1}, "argument `ﬁt` of `set_valve` is no Python identifier, or a keyword"),
    ],
)
def test_name_that_python_cannot_carry_is_refused(name: str, arguments: dict[str, Json], message: str) -> None:
    with pytest.raises(NotPython) as refused:
        write_call(call(arguments, name))
    assert str(refused.value) == message


def test_nesting_is_written_up_to_the_limit_and_refused_above() -> None:
    value: Json = []
    for _ in range(MAX_DEPTH):
        value = [value]
    assert read_call(write_call(call({"bar": value}))).arguments == {"bar": value}
    with pytest.raises(NotPython, match="an argument nests deeper than 50 levels"):
        write_call(call({"bar": {"deeper": value}}))


@pytest.mark.parametrize(
    "text", ["1", "f(1)", "f(**{'a': 1})", "f(a=b)", "f(a=g())", "f(a=1", "f(a=1); g()", "f(a=1, a=2)"]
)
def test_text_that_is_no_plain_call_is_refused(text: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        read_call(text)
