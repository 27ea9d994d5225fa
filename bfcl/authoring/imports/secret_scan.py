"""Does a table of records carry credentials? Told by row and column; a value is never shown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from bfcl.authoring.imports.credential_forms import is_secret_name, secret_kind, told_name
from bfcl.authoring.imports.record_rows import Record
from bfcl.canonical import Json
from bfcl.errors import Problem


class _Hit(NamedTuple):
    column: str
    """The column, with the keys inside it where the value is nested."""
    kind: str


def secret_problems(rows: Sequence[Record], allowed: Collection[str], *, path: str) -> list[Problem]:
    """`secret_in_records`, one for each column and kind: the first row at fault, and how many follow."""
    first: dict[_Hit, int] = {}
    count: dict[_Hit, int] = {}
    for row in rows:
        for name, value in row.values.items():
            for hit in dict.fromkeys(() if name in allowed else _hits(name, value, named=is_secret_name(name))):
                first.setdefault(hit, row.line)
                count[hit] = count.get(hit, 0) + 1
    problems = []
    for hit, line in first.items():
        more = count[hit] - 1
        also = f", and so do {more} more rows" if more > 1 else ", and so does 1 more row" if more else ""
        top = hit.column.split(".")[0]
        problems.append(
            Problem(
                code="secret_in_records",
                path=path,
                line=line,
                field=hit.column,
                message=f"column `{hit.column}` holds {hit.kind}{also}",
                fix=f"replace it by an invented value; where it is invented already, pass --allow-secrets {top}",
            )
        )
    return problems


def _hits(column: str, value: Json, *, named: bool) -> Iterator[_Hit]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            inside = f"{column}.{told_name(key)}"
            kind = secret_kind(key)
            if kind is not None:
                yield _Hit(inside, f"{kind} as a key")
            yield from _hits(inside, child, named=named or is_secret_name(key))
    elif isinstance(value, list):
        for child in value:
            yield from _hits(column, child, named=named)
    elif isinstance(value, str) and value and secret_kind(value):
        yield _Hit(column, secret_kind(value) or "")
    elif named and value not in (None, "") and not isinstance(value, bool):
        yield _Hit(column, "a value, and its name says credential")
