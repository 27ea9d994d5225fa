"""Exact JSON at the border of pack code."""

from __future__ import annotations

import enum
import json
from collections import OrderedDict, defaultdict
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.oracle.exact import NotJson, exact_json

TEXT = st.text(st.characters(exclude_categories=("Cs",)))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=20)


@given(VALUES)
def test_exact_json_equals_the_house_serialization(value):
    assert exact_json(value) == canonical_json(value)


@given(VALUES)
def test_exact_json_reads_back_as_the_value(value):
    assert json.loads(exact_json(value)) == value


class Colour(enum.StrEnum):
    RED = "red"


class Size(enum.IntEnum):
    BIG = 3


def test_exact_json_accepts_subclasses_that_are_json_in_all_but_name():
    value = OrderedDict(b=Colour.RED, a=defaultdict(list, {"x": [Size.BIG]}))
    assert exact_json(value) == b'{"a":{"x":[3]},"b":"red"}'


class Odd:
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": (1, 2)}, "$.a: is a tuple, which JSON does not have"),
        ({"a": [{"b": {1}}]}, "$.a[0].b: is a set, which JSON does not have"),
        ({"a": b"x"}, "$.a: is a bytes, which JSON does not have"),
        ({"a": date(2026, 1, 1)}, "$.a: is a date, which JSON does not have"),
        ({"a": Decimal(1)}, "$.a: is a Decimal, which JSON does not have"),
        ({"a": Odd()}, "$.a: is a Odd, which JSON does not have"),
        ({"a": float("nan")}, "$.a: nan is not a finite number"),
        ({"a": float("-inf")}, "$.a: -inf is not a finite number"),
        ({"a": {1: 2}}, "$.a: has a key of type int, expected text keys"),
        ({"a": {True: 2}}, "$.a: has a key of type bool, expected text keys"),
        ({"a": {None: 2}}, "$.a: has a key of type NoneType, expected text keys"),
        ({"a": {1: 1, "1": 2}}, "$.a: has a key of type int, expected text keys"),
        ({"số tiền": {"b-c": {1}}}, '$["số tiền"]["b-c"]: is a set, which JSON does not have'),
        ({"a": "\ud800"}, "$.a: holds a lone surrogate, which UTF-8 cannot carry"),
        ({"a": 10**5000}, "$.a: is an integer with too many digits to write down"),
    ],
)
def test_exact_json_names_the_path_and_the_type_of_a_defect(value, message):
    with pytest.raises(NotJson) as caught:
        exact_json(value)
    assert str(caught.value) == message


def test_exact_json_refuses_a_value_that_holds_itself():
    value: dict[str, object] = {}
    value["self"] = value
    with pytest.raises(NotJson, match="nested deeper than 200 levels"):
        exact_json(value)


def nested(levels, kind):
    value: object = 1
    for _ in range(levels):
        value = [value] if kind is list else {"k": value}
    return value


@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("levels", [201, 600, 970, 5_000])
def test_exact_json_refuses_a_value_nested_deeper_than_200_levels_with_a_short_path(levels, kind):
    with pytest.raises(NotJson) as caught:
        exact_json(nested(levels, kind))
    assert caught.value.reason == "nested deeper than 200 levels"
    start, end = ("$" + "[0]" * 19 + "[0", "[0]" * 20) if kind is list else ("$" + ".k" * 29 + ".", ".k" * 30)
    assert str(caught.value) == f"{start}…{end}: nested deeper than 200 levels"


@pytest.mark.parametrize("kind", [list, dict])
def test_exact_json_accepts_200_levels(kind):
    value = nested(200, kind)
    assert exact_json(value) == canonical_json(value)


def test_exact_json_accepts_many_flat_values_and_brackets_in_texts():
    value = {"rows": [{"text": "[" * 300, "n": [n]} for n in range(300)]}
    assert exact_json(value) == canonical_json(value)


def test_exact_json_does_not_fall_for_a_patched_default(monkeypatch):
    monkeypatch.setattr(json.JSONEncoder, "default", lambda self, value: str(value))
    with pytest.raises(NotJson) as caught:
        exact_json({"a": {1, 2}})
    assert str(caught.value) == "$.a: is a set, which JSON does not have"
