"""Which fixture collections can slots bind, and what identifies their rows? Rule: pack.md §4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bfcl.canonical import Json
from bfcl.errors import PackError, Problem
from bfcl.located import Document, canonical_word
from bfcl.pack.conform import conforms
from bfcl.pack.model import Manifest
from bfcl.pack.shape import Shape

Row = Mapping[str, Json]


def load_fixtures(document: Document) -> tuple[Mapping[str, Json], list[Problem]]:
    """The whole `fixtures.json` object. Problem: `fixtures_invalid` where the root is anything else."""
    shape = Shape(document, "fixtures_invalid")
    fits = conforms("fixtures", document.value, shape)
    return document.value if fits and isinstance(document.value, dict) else {}, shape.problems


def collection_rows(fixtures: Mapping[str, Json], name: str) -> Sequence[Row] | None:
    """The rows of a collection in file order, or None where `name` is no array of objects."""
    rows = fixtures.get(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return None
    return rows


def primary_key(name: str, rows: Sequence[Row], manifest: Manifest) -> str:
    """The field that identifies the rows of a used collection; every row carries it, unique as text.

    Raises: PackError `primary_key_ambiguous`, `fixture_row_missing_primary_key`, `duplicate_primary_key`, with all
    rows at fault. `Problem.field` is the dotted place in `fixtures.json`.
    """
    key = manifest.primary_keys.get(name) or _inferred(name, rows)
    seen: dict[str, int] = {}
    problems = []
    for index, row in enumerate(rows):
        value = row.get(key)
        if not isinstance(value, str | int) or isinstance(value, bool):
            problems.append(_row_without_key(name, index, key, row))
            continue
        first = seen.setdefault(str(value), index)
        if first != index:
            problems.append(
                Problem(
                    code="duplicate_primary_key",
                    message=f"rows {first} and {index} of `{name}` have the same `{key}`, as text {str(value)!r}",
                    field=f"{name}.{index}.{key}",
                    fix="give each row its own key",
                )
            )
    if problems:
        raise PackError(problems)
    return key


def _inferred(name: str, rows: Sequence[Row]) -> str:
    candidates = sorted({field for row in rows for field in row if field == "id" or field.endswith("_id")})
    declare = f"declare `primary_keys.{name}` in the manifest"
    if len(candidates) > 1:
        listed = ", ".join(f"`{field}`" for field in candidates)
        raise PackError(
            Problem(
                code="primary_key_ambiguous",
                message=f"rows of `{name}` hold {listed}; which one identifies a row is not declared",
                field=name,
                fix=declare,
            )
        )
    expected = ["id", *(f"{singular}_id" for singular in _singulars(name))]
    if candidates and candidates[0] in expected:
        return candidates[0]
    found = f"only `{candidates[0]}`" if candidates else "no field ending in `_id`"
    raise PackError(
        Problem(
            code="fixture_row_missing_primary_key",
            message=f"rows of `{name}` hold {found}; expected one of {', '.join(f'`{field}`' for field in expected)}",
            field=name,
            fix=declare,
        )
    )


def _singulars(name: str) -> list[str]:
    forms = [name]
    if name.endswith("ies"):
        forms.append(name[:-3] + "y")
    if name.endswith("es"):
        forms.append(name[:-2])
    if name.endswith("s"):
        forms.append(name[:-1])
    return [form for form in forms if form]


def _row_without_key(name: str, index: int, key: str, row: Row) -> Problem:
    seen = f"has `{key}` {canonical_word(row[key])}" if key in row else f"has no `{key}`"
    return Problem(
        code="fixture_row_missing_primary_key",
        message=f"row {index} of `{name}` {seen}; expected text or an integer",
        field=f"{name}.{index}.{key}" if key in row else f"{name}.{index}",
        fix="give the row its key",
    )


def absent_id_problems(name: str, rows: Sequence[Row], key: str, manifest: Manifest) -> list[Problem]:
    """`absent_id_exists` for each declared absent id that a row carries; `Problem.field` is a place in the manifest."""
    present = {str(row[key]): index for index, row in enumerate(rows) if key in row}
    return [
        Problem(
            code="absent_id_exists",
            message=f"`absent_ids.{name}` lists {str(value)!r}, which row {present[str(value)]} of `{name}` carries",
            field=f"absent_ids.{name}.{index}",
            fix="list an id that no row has",
        )
        for index, value in enumerate(manifest.absent_ids.get(name, ()))
        if str(value) in present
    ]
