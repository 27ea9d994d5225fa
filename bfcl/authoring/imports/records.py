"""Which fixture rows do people's records make? Typed, keyed, free of credentials. Rule: authoring.md §15."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bfcl.authoring.imports.column_types import ColumnType, infer_type, telling_cell, type_of, typed
from bfcl.authoring.imports.credential_forms import told
from bfcl.authoring.imports.record_rows import Record, Records, read_records
from bfcl.authoring.imports.secret_scan import secret_problems
from bfcl.canonical import Json
from bfcl.errors import ConfigError, PackError, Problem, did_you_mean, raise_all

_SHOWN = 20
"""Problems of one kind that are told one by one: a wrong delimiter spoils every row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOptions:
    """What the command line says about the records."""

    collection: str
    key: str
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    """Column to type, where the inferred one is not wanted (CSV only)."""
    delimiter: str | None = None
    allow_secrets: tuple[str, ...] = ()
    """Columns that may look like credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRecords:
    """Rows of a collection, keys in the order of the file."""

    options: RecordOptions
    rows: Sequence[Mapping[str, Json]]
    columns: Mapping[str, str]
    """Column to its type, in order of first appearance."""
    report: Sequence[Json]
    """`{column, line, message}` of what a reader may not expect."""

    def to_json(self, source: str, into: str) -> dict[str, Json]:
        """The document of the command."""
        return {
            "schema_version": "1.0",
            "status": "written",
            "source": source,
            "written": into,
            "collection": self.options.collection,
            "key": self.options.key,
            "rows": len(self.rows),
            "columns": dict(self.columns),
            "report": self.report,
        }


def import_records(data: bytes, options: RecordOptions, *, path: str) -> ImportedRecords:
    """Read, type, key and scan the records of a file; `path` is how messages name it, and its suffix tells its kind.

    Raises: BfclError with every problem: `import_source_invalid`, `ragged_record`, `unknown_column`,
    `record_type_mismatch`, `missing_record_key`, `duplicate_record_key`, `secret_in_records`.
    """
    records = read_records(data, path=path, delimiter=options.delimiter)
    raise_all(ConfigError, _option_problems(records, options, path))
    report: list[Json] = []
    columns: dict[str, str] = {}
    problems: list[Problem] = []
    if records.typed:
        rows = records.rows
        columns |= {name: type_of(row.values.get(name) for row in rows) for name in records.columns}
        report += _json_notices(rows, columns)
    else:
        types = _types(records, options, report)
        rows, problems = _typed_rows(records, types, path)
        columns |= types
    problems += secret_problems(rows, options.allow_secrets, path=path)
    problems += _key_problems(rows, options.key, path)
    raise_all(PackError, _capped(problems, path))
    return ImportedRecords(options=options, rows=[row.values for row in rows], columns=columns, report=report)


def _option_problems(records: Records, options: RecordOptions, path: str) -> list[Problem]:
    problems = []
    named = [("--key", options.key)]
    named += [("--types", name) for name in options.types] + [
        ("--allow-secrets", name) for name in options.allow_secrets
    ]
    for option, name in named:
        if name not in records.columns and not (option == "--key" and records.typed):
            known = ", ".join(f"`{each}`" for each in records.columns) or "(none)"
            message = f"{path} has no column {name!r}"
            fix = did_you_mean(name, records.columns) or f"name one of {known}"
            problems.append(Problem(code="unknown_column", subject=option, message=message, fix=fix))
    if records.typed and options.types:
        message = "values of JSON files have their types already"
        problems.append(Problem(code="unknown_column", subject="--types", message=message, fix="leave --types out"))
    return problems


# --- columns of text ----------------------------------------------------------------------------------------------


def _types(records: Records, options: RecordOptions, report: list[Json]) -> Mapping[str, ColumnType]:
    types: dict[str, ColumnType] = {}
    for name in records.columns:
        cells = [str(record.values[name]) for record in records.rows]
        types[name] = options.types.get(name) or infer_type(cells, is_key=name == options.key)
        odd = telling_cell(cells)
        if name not in options.types and types[name] == "text" and odd is not None:
            said = f"stays text: {told(name, cells[odd])} would lose something as a number"
            report.append(_notice(name, records.rows[odd].line, said))
        if cells and not any(cells):
            report.append(_notice(name, records.rows[0].line, "every cell is empty; all values are null"))
    return types


def _typed_rows(records: Records, types: Mapping[str, ColumnType], path: str) -> tuple[list[Record], list[Problem]]:
    rows: list[Record] = []
    problems = []
    for record in records.rows:
        values: dict[str, Json] = {}
        for name, cell in record.values.items():
            try:
                values[name] = typed(str(cell), types[name])
            except ValueError as error:
                values[name] = cell
                message = f"column `{name}` has {told(name, cell)}; {error}"
                problems.append(
                    Problem(code="record_type_mismatch", path=path, line=record.line, field=name, message=message)
                )
        rows.append(Record(line=record.line, values=values))
    return rows, problems


# --- columns of values --------------------------------------------------------------------------------------------


def _json_notices(rows: Sequence[Record], columns: Mapping[str, str]) -> list[Json]:
    notices = []
    for name, kind in columns.items():
        if kind == "mixed":
            notices.append(_notice(name, None, "values of several types"))
        absent = sum(name not in row.values for row in rows)
        if absent:
            notices.append(_notice(name, None, f"absent from {absent} of {len(rows)} rows, and left so"))
    return notices


def _notice(column: str, line: int | None, message: str) -> Json:
    return {"column": column, "line": line, "message": message}


# --- keys ---------------------------------------------------------------------------------------------------------


def _key_problems(rows: Sequence[Record], key: str, path: str) -> list[Problem]:
    """Every row needs its key, text or an integer, unique as text. Rule: pack.md §4."""
    problems = []
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        value = row.values.get(key)
        if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
            said = f"has no `{key}`" if value in (None, "") else f"has `{key}` {told(key, value)}"
            message = f"row {number} {said}; expected text or an integer"
            problem = Problem(code="missing_record_key", path=path, line=row.line, field=key, message=message)
            problems.append(problem)
            continue
        first = seen.setdefault(str(value), number)
        if first != number:
            lines = f"lines {rows[first - 1].line} and {row.line}"
            message = f"rows {first} and {number}, on {lines}, have the same `{key}`, {told(key, value)}"
            fix = "give each row its own key, or name another column with --key"
            problems.append(
                Problem(code="duplicate_record_key", path=path, line=row.line, field=key, message=message, fix=fix)
            )
    return problems


def _capped(problems: Sequence[Problem], path: str) -> list[Problem]:
    """At most `_SHOWN` problems of a kind, then one that counts the others."""
    kept: list[Problem] = []
    counts: dict[str, int] = {}
    for problem in problems:
        counts[problem.code] = counts.get(problem.code, 0) + 1
        if counts[problem.code] <= _SHOWN:
            kept.append(problem)
    kept += [
        Problem(code=code, path=path, message=f"{count - _SHOWN} more of this kind")
        for code, count in counts.items()
        if count > _SHOWN
    ]
    return kept
