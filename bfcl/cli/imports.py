"""`bfcl import openapi|python|records`: files that people have become tools and fixtures. Rule: authoring.md §15."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from bfcl.authoring.imports.column_types import TYPE_NAMES, ColumnType
from bfcl.authoring.imports.decisions import Decisions
from bfcl.authoring.imports.fixtures_text import with_collection
from bfcl.authoring.imports.openapi import import_openapi
from bfcl.authoring.imports.python_source import import_python
from bfcl.authoring.imports.records import ImportedRecords, RecordOptions, import_records
from bfcl.authoring.imports.report import ImportedCatalog
from bfcl.canonical import Json
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import BELOW, Format, as_json, format_option, print_json
from bfcl.errors import ConfigError, Problem
from bfcl.files import AlreadyThereError, create_files, held_directory, replace_atomic
from bfcl.pack.layout import shown

_LIST: Final = "A,B"
_F = TypeVar("_F", bound=Callable[..., object])
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUTPUT = click.Path(dir_okay=False, path_type=Path)


def _names(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Comma-separated names, the option given once or several times."""
    names = tuple(part.strip() for each in value for part in each.split(","))
    if not all(names):
        raise click.BadParameter("a name is empty; separate names by one comma", ctx, param)
    return names


def _types(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> dict[str, ColumnType]:
    """Comma-separated `column=type`, the option given once or several times."""
    found: dict[str, ColumnType] = {}
    for part in (part.strip() for each in value for part in each.split(",")):
        column, _, said = part.rpartition("=")
        kind = next((each for each in TYPE_NAMES if each == said), None)
        if not column or kind is None:
            expected = f"COLUMN=TYPE with a type of {', '.join(TYPE_NAMES)}"
            raise click.BadParameter(f"{part!r} is not {expected}", ctx, param)
        found[column] = kind
    return found


def _decision_options(command: _F) -> _F:
    """Options that every import of tools takes, in the order help shows them."""
    for option in reversed(
        (
            click.option("--out", required=True, type=_OUTPUT, help="File to write; never overwritten."),
            click.option("--mutates", multiple=True, callback=_names, metavar=_LIST, help="Tools that change state."),
            click.option(
                "--read-only", multiple=True, callback=_names, metavar=_LIST, help="Tools that change nothing."
            ),
            click.option(
                "--confirm", multiple=True, callback=_names, metavar=_LIST, help="Tools that act once the user agreed."
            ),
            click.option(
                "--confirmation-parameter",
                default="confirm",
                show_default=True,
                help="Boolean parameter that tells the agreement.",
            ),
        )
    ):
        command = option(command)
    return format_option()(command)


@click.group("import")
def imports() -> None:
    """Make tools.json or fixtures.json from what you already have.

    Nothing is run and nothing is fetched: files are read. What cannot be carried over is reported, never lost in
    silence.
    """


@imports.command()
@click.argument("spec", type=_FILE)
@click.option(
    "--operations", multiple=True, callback=_names, metavar=_LIST, help="Operations to import (default: all)."
)
@_decision_options
def openapi(spec: Path, operations: tuple[str, ...], **options: Any) -> int:
    """Make tools.json from an OpenAPI 3.0 or 3.1 file.

    Operations are named by operationId, by the name their tool gets, or as "POST /pets". GET and HEAD read; every other
    operation needs --mutates or --read-only, else they are listed, nothing is written and the exit status is 2.

    \b
    Example:
      bfcl import openapi shop.yaml --operations getPet,addPet --mutates addPet --confirm addPet --out tools.json
    """
    decisions = _decisions(operations, options)
    _refuse_existing(options["out"])
    return _catalog(import_openapi(spec.read_bytes(), decisions, path=shown(spec)), spec, options)


@imports.command()
@click.argument("file", type=_FILE)
@click.option("--functions", required=True, multiple=True, callback=_names, metavar=_LIST, help="Functions to import.")
@click.option("--without", multiple=True, callback=_names, metavar=_LIST, help="Parameters to leave out, such as ctx.")
@_decision_options
def python(file: Path, functions: tuple[str, ...], without: tuple[str, ...], **options: Any) -> int:
    """Make tools.json from functions of a Python file.

    The file is read, never imported. Type hints, defaults, enums, dataclasses, TypedDicts, pydantic models and
    docstrings become schemas. Hints without a JSON form are listed with their lines; then nothing is written and the
    exit status is 2.

    \b
    Example:
      bfcl import python desk.py --functions find_bike,rent_bike --mutates rent_bike --out tools.json
    """
    decisions = _decisions(functions, options)
    _refuse_existing(options["out"])
    return _catalog(import_python(file.read_bytes(), decisions, path=shown(file), without=without), file, options)


@imports.command()
@click.argument("data", type=_FILE)
@click.option("--collection", required=True, help="Name of the collection.")
@click.option("--key", required=True, help="Column that identifies a row.")
@click.option("--into", required=True, type=_OUTPUT, help="fixtures.json to create, or to add the collection to.")
@click.option("--replace", is_flag=True, help="Put the rows in place of a collection that is there.")
@click.option(
    "--types",
    multiple=True,
    callback=_types,
    metavar="COLUMN=TYPE,...",
    help="Types of CSV columns: integer, number, boolean or text.",
)
@click.option("--delimiter", help="What separates the cells of a CSV file (default: comma; tab for .tsv).")
@click.option(
    "--allow-secrets", multiple=True, callback=_names, metavar=_LIST, help="Columns that may look like credentials."
)
@format_option()
def records(data: Path, collection: str, into: Path, replace: bool, format_: Format, **options: Any) -> None:
    """Make a collection of fixtures.json from a CSV, JSON or JSON Lines file.

    Columns of a CSV file get one type each; empty cells become null. Rows without a key, rows that share one, and
    values that look like credentials are refused. The rest of fixtures.json stays as it is, byte for byte.

    \b
    Example:
      bfcl import records bikes.csv --collection bikes --key bike_id --types frame=text --into fixtures.json
    """
    if not collection.strip():
        raise click.UsageError("--collection is empty")
    delimiter = options["delimiter"]
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n '):
        raise click.UsageError("--delimiter is one character, and neither a quote, a blank nor a line break")
    made = RecordOptions(collection=collection, **options)
    imported = import_records(data.read_bytes(), made, path=shown(data))
    _put(into, collection, imported, replace=replace)
    if as_json(format_):
        print_json(imported.to_json(shown(data), shown(into)))
    else:
        _records_sheet(imported, shown(into)).print()


def _put(into: Path, collection: str, imported: ImportedRecords, *, replace: bool) -> None:
    """Write the collection into its file, one command at a time."""
    again = "run the same command again: it adds to the file"
    if not into.exists():
        _write_new(
            into.resolve(), with_collection(None, collection, imported.rows, path=shown(into), replace=False), again
        )
        return
    path = into.resolve()
    with held_directory(path.parent):
        before = path.read_bytes()
        after = with_collection(before, collection, imported.rows, path=shown(into), replace=replace)
        if not replace_atomic(path, before, after):
            message = "another program changed the file meanwhile; nothing was written"
            raise ConfigError(Problem(code="file_changed_meanwhile", path=shown(into), message=message, fix=again))


def _decisions(only: tuple[str, ...], options: dict[str, Any]) -> Decisions:
    name = str(options["confirmation_parameter"])
    if not name.strip():
        raise click.UsageError("--confirmation-parameter is empty")
    return Decisions(
        only=only,
        mutates=options["mutates"],
        read_only=options["read_only"],
        confirm=options["confirm"],
        confirmation_parameter=name,
    )


def _catalog(catalog: ImportedCatalog, source: Path, options: dict[str, Any]) -> int:
    """Write the catalog where nothing stands against it, and tell the outcome."""
    out: Path = options["out"]
    if catalog.status == "written":
        _write_new(out, (json.dumps(catalog.entries, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())
    document = catalog.to_json(shown(source), shown(out))
    if as_json(options["format_"]):
        print_json(document)
    else:
        _catalog_sheet(catalog, document).print()
    return 0 if catalog.status == "written" else BELOW


def _refuse_existing(out: Path) -> None:
    """Before any work, so that a long report is not printed in vain."""
    if os.path.lexists(out):
        raise _exists(out)


def _exists(out: Path, fix: str = "choose another --out, or move the file away first") -> ConfigError:
    return ConfigError(Problem(code="output_exists", path=shown(out), message="the file exists already", fix=fix))


def _write_new(path: Path, data: bytes, *fix: str) -> None:
    """Write a file that does not exist yet, whole or not at all; `fix` is for one that appears meanwhile."""
    try:
        create_files(path.parent, {path.name: data})
    except AlreadyThereError:
        raise _exists(path, *fix) from None


# --- text ---------------------------------------------------------------------------------------------------------


def _catalog_sheet(catalog: ImportedCatalog, document: dict[str, Json]) -> Sheet:
    sheet = Sheet()
    written = document["written"]
    sheet.line(("written    ", "bold"), str(written) if written else "nothing")
    sheet.line(("tools      ", "bold"), str(len(catalog.tools)))
    width = max((len(tool.name) for tool in catalog.tools), default=0)
    for tool in catalog.tools:
        effect = {True: "mutates", False: "reads", None: "undecided"}[tool.mutates]
        marks = [effect, *(["asks first"] if tool.requires_confirmation else [])]
        sheet.line(f"  {tool.name:<{width}}  {', '.join(marks):<21}  {tool.source}")
    source = str(document["source"])
    if catalog.report:
        sheet.heading("changed on the way")
        for words in _notices(catalog.report):
            sheet.line(f"  {source}:{words}")
    if catalog.findings:
        sheet.heading("no JSON form")
        for problem in catalog.findings:
            sheet.hanging("  ", str(problem))
    if catalog.undecided:
        sheet.heading("undecided: name each under --mutates or --read-only")
        for each in catalog.undecided:
            sheet.line(f"  {source}:{each.line}: {each.name} ({each.source})")
    return sheet


def _notices(report: Any) -> Iterator[str]:
    for each in report:
        tools = f" ({', '.join(each['tools'])})" if each["tools"] else ""
        yield f"{each['line']}: {each['keyword']} {each['action']}: {each['message']}{tools}"


def _records_sheet(imported: ImportedRecords, into: str) -> Sheet:
    sheet = Sheet()
    options = imported.options
    sheet.line(("written    ", "bold"), into)
    sheet.line(("collection ", "bold"), f"{options.collection}, {len(imported.rows)} rows, key {options.key}")
    sheet.heading("columns")
    width = max((len(name) for name in imported.columns), default=0)
    for name, kind in imported.columns.items():
        sheet.line(f"  {name:<{width}}  {kind}")
    if imported.report:
        sheet.heading("to know")
        notices: Any = imported.report
        for each in notices:
            line = "" if each["line"] is None else f" (line {each['line']})"
            sheet.line(f"  {each['column']}: {each['message']}{line}")
    return sheet
