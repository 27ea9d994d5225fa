"""Which fixture rows does a slot's `filter` keep? Parsed as a Python expression, never evaluated. Rule: pack.md §5.1.

Comparing unlike types is false whatever the operator, and so is a clause on a field the row lacks. Types are those of
JSON: text, number (integer and float compare), boolean, null; lists and objects are like nothing.
"""

from __future__ import annotations

import ast
import functools
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from bfcl.canonical import Json
from bfcl.errors import PackError, Problem

Operator: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
Scalar: TypeAlias = str | int | float | bool | None

_OPERATORS: dict[type[ast.cmpop], Operator] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_MAX_LENGTH = 10_000


class Clause(NamedTuple):
    """`field op values`: one value, or the members of the list for `in` and `not in`."""

    field: str
    operator: Operator
    values: tuple[Scalar, ...]

    def holds(self, value: Json) -> bool:
        """Whether the clause is true of a field's value."""
        kind = _kind(value)
        like = [member for member in self.values if _kind(member) == kind] if kind else []
        if self.operator == "in":
            return value in like
        if self.operator == "not in":
            return value not in like if like or not self.values else False
        return bool(like) and _compare(self.operator, value, like[0], kind)


@dataclass(frozen=True, slots=True)
class Filter:
    """A conjunction of clauses."""

    clauses: tuple[Clause, ...]

    def matches(self, row: Mapping[str, Json]) -> bool:
        """Whether a row satisfies every clause; a clause on a field the row lacks is false."""
        return all(clause.field in row and clause.holds(row[clause.field]) for clause in self.clauses)


_SINGLE_EQUALS = re.compile(r"(?<![=!<>])=(?!=)")


@functools.lru_cache(maxsize=16384)
def parse_filter(text: str) -> Filter:
    """Parse `field op literal [and ...]`. Raises PackError `invalid_filter` saying what stands where it may not."""
    if len(text) > _MAX_LENGTH:
        raise _invalid(text, f"it is longer than {_MAX_LENGTH} characters")
    source = text.strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # The parser's own words differ between Python versions; a report must not.
        reason = (
            "`=` is no operator; write `==`" if _SINGLE_EQUALS.search(source) else "it does not parse as one expression"
        )
        raise _invalid(text, reason) from None
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    return Filter(tuple(_clause(part, source, text) for part in parts))


def _clause(node: ast.expr, source: str, text: str) -> Clause:
    if isinstance(node, ast.BoolOp):
        raise _invalid(text, "only `and` joins clauses, without brackets around a group")
    if not isinstance(node, ast.Compare):
        raise _invalid(text, f"{_said(node, source)} is not a comparison")
    if len(node.ops) != 1:
        raise _invalid(text, "a chained comparison; write two clauses joined by `and`")
    operator = _OPERATORS.get(type(node.ops[0]))
    if operator is None:
        raise _invalid(text, "`is` is not an operator of filters; use `==`")
    if not isinstance(node.left, ast.Name):
        raise _invalid(text, f"the left side {_said(node.left, source)} is not a field name")
    right = node.comparators[0]
    # Sliced from the source because the parser normalises identifiers (NFKC) and a row's field name is not normalised.
    field = _segment(node.left, source)
    if operator in ("in", "not in"):
        if not isinstance(right, ast.List | ast.Tuple):
            raise _invalid(text, f"`{operator}` takes a list of literals, not {_said(right, source)}")
        return Clause(field, operator, tuple(_literal(item, source, text) for item in right.elts))
    return Clause(field, operator, (_literal(right, source, text),))


def _literal(node: ast.expr, source: str, text: str) -> Scalar:
    sign = 1
    inner = node
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign = -1 if isinstance(node.op, ast.USub) else 1
        inner = node.operand
        if not (isinstance(inner, ast.Constant) and type(inner.value) in (int, float)):
            raise _invalid(text, f"{_said(node, source)} is not a literal")
    if isinstance(inner, ast.Name):
        raise _invalid(text, f"{_said(node, source)} is not a literal; quote it if it is text")
    if not isinstance(inner, ast.Constant):
        raise _invalid(text, f"{_said(node, source)} is not a literal")
    value = inner.value
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return sign * value
    if isinstance(value, float) and math.isfinite(value):
        return sign * value
    raise _invalid(text, f"{_said(node, source)} is not text, a number, True, False or None")


def _kind(value: Json) -> str | None:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "text" if isinstance(value, str) else None


def _compare(operator: Operator, value: Json, other: Scalar, kind: str | None) -> bool:
    if operator == "==":
        return value == other
    if operator == "!=":
        return value != other
    if kind not in ("number", "text"):
        return False
    left, right = (value, other) if operator in ("<", "<=") else (other, value)
    if operator in ("<", ">"):
        return left < right  # type: ignore[operator]
    return left <= right  # type: ignore[operator]


def _segment(node: ast.expr, source: str) -> str:
    lines = source.encode().splitlines()
    if node.end_lineno != node.lineno:
        return "..."
    return lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode("utf-8", "replace")


def _said(node: ast.expr, source: str) -> str:
    shown = _segment(node, source)
    return f"`{shown if len(shown) <= 40 else shown[:37] + '...'}`"


def _invalid(text: str, reason: str) -> PackError:
    shown = text if len(text) <= 120 else text[:117] + "..."
    return PackError(
        Problem(
            code="invalid_filter",
            message=f"filter {shown!r}: {reason}; expected `field op literal`, joined by `and`",
            field="filter",
        )
    )
