"""A column has one type, and no cell loses a character that counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.imports.column_types import TYPE_NAMES, infer_type, telling_cell, type_of, typed


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "-20", "0"], "integer"),
        (["1", "", "2"], "integer"),
        (["1", "2.50"], "number"),
        (["0.5", "-1.0"], "number"),
        (["true", "FALSE", "True"], "boolean"),
        (["true", "1"], "text"),
        (["007", "1"], "text"),
        (["+1", "2"], "text"),
        (["-0"], "text"),
        (["1e5"], "text"),
        ([".5"], "text"),
        (["1."], "text"),
        ([" 1"], "text"),
        (["1_000"], "text"),
        (["١"], "text"),
        (["999999999999999"], "integer"),
        (["1000000000000000"], "text"),
        (["0.1234567890123456"], "text"),
        (["nan", "inf"], "text"),
        (["", ""], "text"),
        ([], "text"),
    ],
)
def test_column_has_the_narrowest_type_that_loses_nothing(cells: list[str], kind: str) -> None:
    assert infer_type(cells) == kind


@pytest.mark.parametrize(("cells", "kind"), [(["1", "2"], "integer"), (["1.5"], "text"), (["true"], "text")])
def test_key_column_is_integer_or_text(cells: list[str], kind: str) -> None:
    assert infer_type(cells, is_key=True) == kind


@given(st.lists(st.from_regex(r"[-+]?[0-9.eE]{0,6}|true|FALSE", fullmatch=True), max_size=5))
def test_inferred_type_fits_every_cell_and_integers_print_as_they_were(cells: list[str]) -> None:
    kind = infer_type(cells)
    values = [typed(cell, kind) for cell in cells]
    assert [value is None for value in values] == [cell == "" for cell in cells]
    if kind in ("integer", "text"):
        assert [str(value) for value in values if value is not None] == [cell for cell in cells if cell]
    if kind == "number":
        assert all(value is None or float(value) == float(cell) for value, cell in zip(values, cells, strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cell", "kind", "expected"),
    [
        ("x", "integer", "expected an integer"),
        ("1.0", "integer", "expected an integer"),
        ("007", "integer", "expected an integer"),
        ("x", "number", "expected a finite decimal number"),
        ("1e999", "number", "expected a finite decimal number"),
        ("1", "boolean", "expected true or false"),
    ],
)
def test_cell_that_does_not_fit_its_type_is_refused(cell: str, kind: str, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^{expected}$"):
        typed(cell, kind)  # type: ignore[arg-type]


def test_chosen_type_takes_more_forms_than_inference() -> None:
    assert typed("1e3", "number") == 1000.0
    assert typed("12345678901234567890", "integer") == 12345678901234567890
    assert [typed("", kind) for kind in TYPE_NAMES] == [None] * 4


def test_cell_that_keeps_digits_text_is_found() -> None:
    assert telling_cell(["1", "", "02", "+3"]) == 2
    assert telling_cell(["1", "2"]) is None
    assert telling_cell(["1", "x"]) is None


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ([1, None], "integer"),
        ([1, 2.5], "number"),
        ([True], "boolean"),
        ([1, True], "mixed"),
        (["a"], "text"),
        ([[1]], "list"),
        ([{}], "object"),
        ([None], "null"),
        ([], "null"),
    ],
)
def test_type_of_json_values(values: list[object], name: str) -> None:
    assert type_of(values) == name  # type: ignore[arg-type]
