"""JSON texts that hold exactly their value, and digests that tell types apart."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_text
from bfcl.exports.exact import Inexact, exact_digest, exact_json

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is null, expected JSON text"),
        ("{", "is no JSON: '{'"),
        ("NaN", "is no JSON: 'NaN'"),
        ("1e999", "is no JSON: '1e999'"),
        ("[" * 5000, "is no JSON: '" + "[" * 40 + "…'"),
        ('{"a": 1}', "is not canonical JSON: ' 1}' at character 5"),
        ('{"b":1,"a":2}', 'is not canonical JSON: \'b":1,"a":2}\' at character 2'),
        ('{"a":1,"a":1}', "is not canonical JSON: ',\"a\":1}' at character 6"),
        ("1.00", "is not canonical JSON: '0' at character 3"),
        ('"\\u00e4"', "is not canonical JSON: '\\\\u00e4\"' at character 1"),
    ],
)
def test_text_that_is_not_its_value_is_refused(text: str | None, message: str) -> None:
    with pytest.raises(Inexact) as refused:
        exact_json(text)
    assert str(refused.value) == message


@given(VALUES)
def test_canonical_text_comes_back_with_its_types(value: object) -> None:
    text = canonical_text(value)  # type: ignore[arg-type]
    assert canonical_text(exact_json(text)) == text


def test_digest_tells_values_apart_that_python_calls_equal() -> None:
    values = [1, 1.0, True, "1", 0, 0.0, -0.0, False, None, "", [], {}, [1], [1.0], {"a": 1}, {"a": True}]
    assert all(exact_digest(one) != exact_digest(other) for one, other in itertools.combinations(values, 2))
    assert exact_digest({"a": 1, "b": (2,)}) == exact_digest({"b": [2], "a": 1})
