"""`bfcl scaffold-source-package`: a backend that holds all a catalog decides, with every open decision marked."""

from __future__ import annotations

import os
from pathlib import Path

import click

from bfcl.authoring.source.scaffold import SkeletonOptions, SourceScaffold, scaffold_source, write_source
from bfcl.authoring.source.skeleton import ConfirmationWords
from bfcl.authoring.source.tree import SourceTree
from bfcl.cli.check_source_package import placed_line
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.pack.layout import shown


def _non_blank(_: click.Context, parameter: click.Parameter, value: str) -> str:
    if not value.strip():
        raise click.BadParameter("is blank; expected text", param=parameter)
    return value


@click.command
@click.option(
    "--tools", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The reviewed tool catalog."
)
@click.option("--output", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The source package.")
@click.option(
    "--collection", default="records", show_default=True, callback=_non_blank, help="Name of the one collection."
)
@click.option("--rows", default=3, show_default=True, type=click.IntRange(min=1), help="Placeholder rows to write.")
@click.option(
    "--confirmation-parameter",
    default="confirm",
    show_default=True,
    callback=_non_blank,
    help="Parameter of gated tools that says yes.",
)
@click.option(
    "--status-field",
    default="status",
    show_default=True,
    callback=_non_blank,
    help="Field of a reply that says what became of a call.",
)
@click.option(
    "--pending-status",
    default="awaiting_confirmation",
    show_default=True,
    callback=_non_blank,
    help="What that field holds while a yes is missing.",
)
@click.option("--dependency-lock", is_flag=True, help="Write an empty dependency-lock.json where there is none.")
@format_option()
def scaffold_source_package(
    tools: Path,
    output: Path,
    collection: str,
    rows: int,
    confirmation_parameter: str,
    status_field: str,
    pending_status: str,
    dependency_lock: bool,
    format_: Format,
) -> None:
    """Write a backend skeleton from a tool catalog.

    DIR gets `backend.py` and `fixtures.json`; it may exist and may hold the catalog, but neither of these two. Every
    tool has a handler that raises until you write it, each marked BFCL-TODO; the confirmation words are the ones a pack
    made of it declares under `confirmation`. What `bfcl check-source-package` finds is shown at once.

    \b
    Example:
      bfcl scaffold-source-package --tools sources/studio/tools.json --output sources/studio --dependency-lock
      bfcl check-source-package --source sources/studio
    """
    words = ConfirmationWords(
        parameter=confirmation_parameter, status_field=status_field, pending_status=pending_status
    )
    options = SkeletonOptions(collection=collection, rows=rows, confirmation=words, dependency_lock=dependency_lock)
    # Made absolute by its text: directories are made on the way, so `new/..` cannot be followed yet.
    tree = SourceTree(root=Path(os.path.abspath(output)), label=shown(output))  # noqa: PTH100
    scaffold = scaffold_source(tree, tools, options)
    write_source(tree, scaffold.files)
    if as_json(format_):
        print_json(scaffold.document())
    else:
        _sheet(scaffold, tree).print()


def _sheet(scaffold: SourceScaffold, tree: SourceTree) -> Sheet:
    sheet = Sheet()
    for name in sorted(scaffold.files):
        sheet.line(("wrote", "bold green"), f" {tree.shown(name)}")
    for finding in scaffold.findings:
        sheet.line(placed_line(tree.label, finding))
    sheet.line(f"next: decide what the marked lines ask, then bfcl check-source-package --source {tree.label}")
    return sheet
