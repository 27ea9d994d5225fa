"""Columns that line up in any script."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from bfcl.cli.grid import WIDEST, aligned


def test_numbers_stand_to_the_right_and_names_to_the_left():
    assert list(aligned([["tool", "probes"], ["get_kiln", "12"]], numbers=1)) == [
        "tool      probes",
        "get_kiln      12",
    ]


def test_wide_characters_count_as_two_columns():
    assert list(aligned([["窑炉", "1"], ["kiln", "2"]])) == ["窑炉  1", "kiln  2"]


def test_long_name_is_cut():
    assert list(aligned([["a" * (WIDEST + 1), "1"]])) == ["a" * (WIDEST - 1) + "…  1"]


@given(st.lists(st.tuples(st.text("aé窑", max_size=60), st.text("09", min_size=1, max_size=5)), min_size=1, max_size=4))
def test_last_column_ends_at_one_place(rows):
    assert len({cell_len(line) for line in aligned(rows, numbers=1)}) == 1
