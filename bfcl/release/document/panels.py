"""How are the manifest's own blocks shown, whatever they hold? As lines of a path and a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json, canonical_text

SHOWN: Final = 300
"""Lines of one block; the manifest has the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A list of like objects, or a mapping to them: then the first column has the keys."""

    path: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int
    """Rows that are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One block: `lines` pair a dotted path with a value as text, `more` counts the lines that are left out."""

    lines: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
    more: int


def panel(block: Json) -> Panel:
    """A block as lines, in key order; lists of objects, and mappings to like ones, become tables of their own."""
    tables: list[Table] = []
    lines = list(_lines(block, "", tables))
    return Panel(lines=tuple(lines[:SHOWN]), tables=tuple(tables), more=max(0, len(lines) - SHOWN))


def _lines(value: Json, path: str, tables: list[Table]) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and path and _alike(list(value.values())):
        tables.append(_keyed(path, {key: each for key, each in sorted(value.items()) if isinstance(each, Mapping)}))
    elif isinstance(value, Mapping) and value:
        for key in sorted(value):
            yield from _lines(value[key], f"{path}.{key}" if path else key, tables)
    elif isinstance(value, list | tuple) and value and all(isinstance(each, Mapping) and each for each in value):
        tables.append(_table(path, [each for each in value if isinstance(each, Mapping)]))
    else:
        yield path, shown(value)


def _alike(values: Sequence[Json]) -> bool:
    """Whether these are several objects with the same members, none of which has members of its own."""
    members = {frozenset(each) if isinstance(each, Mapping) else None for each in values}
    return (
        len(values) > 1
        and len(members) == 1
        and not members & {None, frozenset()}
        and not any(isinstance(leaf, Mapping) for each in values if isinstance(each, Mapping) for leaf in each.values())
    )


def _keyed(path: str, objects: Mapping[str, Mapping[str, Json]]) -> Table:
    members = sorted(next(iter(objects.values())))
    rows = tuple((key, *(shown(each[member]) for member in members)) for key, each in objects.items())
    return Table(path=path, columns=("name", *members), rows=rows[:SHOWN], more=max(0, len(rows) - SHOWN))


def _table(path: str, rows: list[Mapping[str, Json]]) -> Table:
    columns = tuple(dict.fromkeys(key for row in rows for key in row))
    cells = tuple(tuple(shown(row[key]) if key in row else "" for key in columns) for row in rows[:SHOWN])
    return Table(path=path, columns=columns, rows=cells, more=max(0, len(rows) - SHOWN))


def shown(value: Json) -> str:
    """A value as people read it: text as it is, the rest as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        return ", ".join(str(each) for each in value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    return canonical_text(value)


_WORDS: Final = {None: "none", True: "yes", False: "no"}
