"""Which type has each column of a CSV file? One for the whole column, and never one that loses a character that counts.

integer   every cell is a plain decimal integer of at most 15 digits: no leading zero, no plus, no `-0`
number    every cell is a plain decimal, at least one with a point; no exponent, at most 15 digits
boolean   every cell is `true` or `false`, in any case
text      anything else

Empty cells become null and take no part in the choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias, get_args

from bfcl.canonical import Json

ColumnType: TypeAlias = Literal["integer", "number", "boolean", "text"]
TYPE_NAMES: Final[tuple[ColumnType, ...]] = get_args(ColumnType)

MAX_DIGITS: Final = 15
"""More digits are an identifier rather than a quantity, and readers that use doubles would round them."""

_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+\Z")
_ANY_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_TRUTH = {"true": True, "false": False}


def infer_type(cells: Iterable[str], *, is_key: bool = False) -> ColumnType:
    """The type of a column. A key is text or integer, since nothing else may identify a row. Rule: pack.md §4."""
    kinds = {_kind(cell) for cell in cells if cell}
    if kinds == {"integer"}:
        return "integer"
    if not kinds or is_key:
        return "text"
    if kinds <= {"integer", "number"}:
        return "number"
    return "boolean" if kinds == {"boolean"} else "text"


def _kind(cell: str) -> ColumnType:
    if cell.lower() in _TRUTH:
        return "boolean"
    digits = sum(character.isdigit() for character in cell)
    if digits <= MAX_DIGITS and _INTEGER.match(cell):
        return "integer"
    return "number" if digits <= MAX_DIGITS and _DECIMAL.match(cell) else "text"


def telling_cell(cells: Sequence[str]) -> int | None:
    """Where the first cell stands that kept a column of numbers text; None where other cells are no numbers either."""
    filled = [(index, cell) for index, cell in enumerate(cells) if cell]
    odd = [index for index, cell in filled if _kind(cell) == "text"]
    digits_only = all(re.fullmatch(r"[-+]?[0-9]+(?:\.[0-9]*)?", cell) for _, cell in filled)
    return odd[0] if odd and digits_only else None


def typed(cell: str, kind: ColumnType) -> Json:
    """A cell as a value of the column's type; an empty one is null. Raises: ValueError where it does not fit."""
    if not cell:
        return None
    if kind == "text":
        return cell
    if kind == "boolean":
        if cell.lower() not in _TRUTH:
            raise ValueError("expected true or false")
        return _TRUTH[cell.lower()]
    if kind == "integer":
        if not _INTEGER.match(cell) or len(cell) > 1000:
            raise ValueError("expected an integer")
        return int(cell)
    number = float(cell) if _ANY_NUMBER.match(cell) else float("inf")
    if number - number != 0:
        raise ValueError("expected a finite decimal number")
    return number


def type_of(values: Iterable[Json]) -> str:
    """The type of a column of JSON values: one name, `mixed`, or `null` where nothing else is there."""
    names = {_name(value) for value in values if value is not None}
    if names == {"integer", "number"}:
        return "number"
    return names.pop() if len(names) == 1 else "mixed" if names else "null"


def _name(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((int, "integer"), (float, "number"), (str, "text"), (list, "list")):
        if isinstance(value, kind):
            return name
    return "object"
