"""Numbers in groups of three: where they stand and which digits they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.stages.grouped_numbers import grouped_numbers

SIGNS = [".", ",", " ", "\u00a0", "\u202f", "'", "\u2019"]


def grouped(number: int, sign: str) -> str:
    return f"{number:,}".replace(",", sign)


@given(st.integers(1000, 10**15), st.sampled_from(SIGNS), st.sampled_from(["", "about ", "("]))
def test_grouped_numbers_finds_every_number_written_in_threes(number: int, sign: str, before: str) -> None:
    text = f"{before}{grouped(number, sign)}đ now"
    assert [found.digits for found in grouped_numbers(text)] == [str(number)]
    found = next(grouped_numbers(text))
    assert text[found.start : found.end] == grouped(number, sign)


@pytest.mark.parametrize(
    "text",
    ["1, 2, 3", "1200000", "12.34", "1.2345", "1234.567", "1.200,5 1", "1.200.000,5", "5,1.200", "999", ""],
)
def test_grouped_numbers_finds_none_in_other_digits(text: str) -> None:
    assert list(grouped_numbers(text)) == []


def test_grouped_numbers_keeps_order_and_one_separator() -> None:
    found = list(grouped_numbers("from 1,200 to 3.400.000, not 5,600.700"))
    assert [(one.start, one.digits) for one in found] == [(5, "1200"), (14, "3400000")]
