"""Which rows does a file of records hold, and on which line does each start? CSV, JSON and JSON Lines."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.authoring.imports.credential_forms import masked_problems, secret_kind, told_name
from bfcl.authoring.imports.spec_source import SpecSource
from bfcl.canonical import Json
from bfcl.config.credentials import shape_of
from bfcl.errors import BfclError, PackError, Problem, raise_all
from bfcl.located import Document, parse_json

CODE: Final = "import_source_invalid"
SUFFIXES: Final = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One row, keys in the order of the file. `line` is where it starts."""

    line: int
    values: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """All rows. `typed` is false where every value is still text (CSV)."""

    columns: Sequence[str]
    """In order of first appearance."""
    rows: Sequence[Record]
    typed: bool


def read_records(data: bytes, *, path: str, delimiter: str | None = None) -> Records:
    """Read rows by the suffix of `path`. `delimiter` (CSV) is a comma where not given, a tab for `.tsv`.

    Messages show no value: what is refused here has not been scanned for credentials.
    Raises: BfclError `import_source_invalid`, `ragged_record` with every row at fault, `secret_in_records` for names.
    """
    suffix = next((each for each in SUFFIXES if path.lower().endswith(each)), None)
    if suffix is None:
        message = "the kind of file cannot be told from its name"
        fix = f"name a file ending in {', '.join(SUFFIXES)}"
        raise PackError(Problem(code=CODE, path=path, message=message, fix=fix))
    if suffix in (".csv", ".tsv"):
        return _csv(data, path, delimiter or ("\t" if suffix == ".tsv" else ","))
    rows = _json(data, path) if suffix == ".json" else _json_lines(data, path)
    columns: dict[str, int] = {}
    for row in rows:
        for name in row.values:
            columns.setdefault(name, row.line)
    named = (_name_problem(index, name, line, path) for index, (name, line) in enumerate(columns.items()))
    raise_all(PackError, [problem for problem in named if problem is not None])
    return Records(columns=list(columns), rows=rows, typed=True)


def _name_problem(index: int, name: str, line: int, path: str) -> Problem | None:
    """`secret_in_records` for a column that is named by a credential."""
    kind = secret_kind(name)
    if kind is None:
        return None
    message = f"the name of column {index + 1} is {kind}, {told_name(name)}"
    fix = "name the columns after what they hold"
    return Problem(code="secret_in_records", path=path, line=line, message=message, fix=fix)


# --- CSV ----------------------------------------------------------------------------------------------------------


def _csv(data: bytes, path: str, delimiter: str) -> Records:
    """Text cells; a BOM is skipped, as are lines without any cell. Quoted cells may hold line breaks."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8"
        problem = Problem(code=CODE, path=path, line=line, message=message, fix="save the file as UTF-8")
        raise PackError(problem) from None
    lines = _cells(text, path, delimiter)
    if not lines:
        raise PackError(Problem(code=CODE, path=path, line=1, message="no header line", fix="name the columns first"))
    (head, header), *body = lines
    columns = [name.strip() for name in header]
    problems = list(_header_problems(columns, head, path))
    rows = []
    for line, cells in body:
        if len(cells) != len(columns):
            message = f"the row has {len(cells)} fields; expected {len(columns)}"
            fix = "quote cells that hold the delimiter, or name another one with --delimiter"
            problems.append(Problem(code="ragged_record", path=path, line=line, message=message, fix=fix))
        else:
            rows.append(Record(line=line, values=dict(zip(columns, cells, strict=True))))
    raise_all(PackError, problems)
    return Records(columns=columns, rows=rows, typed=False)


def _cells(text: str, path: str, delimiter: str) -> list[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for cells in reader:
            if cells:
                found.append((line, cells))
            line = reader.line_num + 1
    except csv.Error as error:
        # The row's own line: an open quote is only missed at the end of the file.
        fix = "double the quotes inside a quoted cell, and close it"
        raise PackError(Problem(code=CODE, path=path, line=line, message=f"not CSV: {error}", fix=fix)) from None
    return found


def _header_problems(columns: Sequence[str], line: int, path: str) -> list[Problem]:
    problems = []
    for index, name in enumerate(columns):
        if not name:
            message = f"column {index + 1} has no name"
            problems.append(Problem(code=CODE, path=path, line=line, message=message, fix="name every column"))
        elif (problem := _name_problem(index, name, line, path)) is not None:
            problems.append(problem)
        elif name in columns[:index]:
            message = f"column {name!r} is named twice"
            problems.append(Problem(code=CODE, path=path, line=line, message=message, fix="rename one of the two"))
    return problems


# --- JSON ---------------------------------------------------------------------------------------------------------


def _json(data: bytes, path: str) -> list[Record]:
    document = _parsed(data, path)
    value = document.value
    if not isinstance(value, list):
        message = f"the value is {shape_of(value)}; expected an array of objects"
        raise PackError(Problem(code=CODE, path=path, line=1, message=message, fix=_array_inside(value)))
    source = SpecSource(document=document, text=data.decode(), is_json=True)
    lines = source.lines([(index,) for index in range(len(value))])
    return _objects([(lines[(index,)], each) for index, each in enumerate(value)], path)


def _parsed(data: bytes, path: str) -> Document:
    try:
        return parse_json(data, path=path, code=CODE)
    except BfclError as error:
        raise PackError(masked_problems(error.problems)) from None


def _array_inside(value: Json) -> str | None:
    """The fix for an export that wraps its rows, naming the keys that hold arrays of objects."""
    items = value.items() if isinstance(value, Mapping) else ()
    keys = [
        f"`{told_name(key)}`"
        for key, child in items
        if isinstance(child, list) and child and all(isinstance(each, Mapping) for each in child)
    ]
    return f"save the array under {' or '.join(keys)} as a file of its own" if keys else None


def _json_lines(data: bytes, path: str) -> list[Record]:
    found: list[tuple[int, Json]] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            found.append((number, _parsed(line, path).value))
        except BfclError as error:
            problems += [dataclasses.replace(each, line=number) for each in error.problems]
    raise_all(PackError, problems)
    return _objects(found, path)


def _objects(found: Sequence[tuple[int, Json]], path: str) -> list[Record]:
    rows, problems = [], []
    for line, value in found:
        if isinstance(value, Mapping):
            rows.append(Record(line=line, values=value))
        else:
            kind = "a list" if isinstance(value, list) else "a single value"
            message = f"the row is {kind}; expected an object"
            problems.append(Problem(code=CODE, path=path, line=line, message=message))
    raise_all(PackError, problems)
    return rows
