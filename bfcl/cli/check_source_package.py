"""`bfcl check-source-package`: what would stop a source package, told without running it?"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import click

from bfcl.authoring.source.check import SourceVerdict, check_source
from bfcl.authoring.source.findings import SourceFinding
from bfcl.authoring.source.tree import SourceTree
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import BELOW, Format, as_json, format_option, print_json
from bfcl.pack.layout import shown


@click.command
@click.option("--source", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The source package.")
@click.option(
    "--tools", metavar="FILE", type=click.Path(path_type=Path), help="The tool catalog, where it is not DIR/tools.json."
)
@click.option("--strict", is_flag=True, help="Let every finding block, advice included.")
@format_option()
def check_source_package(source: Path, tools: Path | None, strict: bool, format_: Format) -> int:
    """Check a source package without running it.

    Reads `backend.py`, the modules it imports, `tools.json`, `fixtures.json` and `dependency-lock.json`, and names
    every finding at once. Status 0 where nothing blocks, 2 where a finding does, 1 where a file that must be there is
    absent or cannot be parsed.

    \b
    Example:
      bfcl check-source-package --source sources/studio
    """
    verdict = check_source(SourceTree(root=source, label=shown(source)), catalog=tools, strict=strict)
    if as_json(format_):
        print_json(verdict.document())
    else:
        _sheet(verdict).print()
    return BELOW if verdict.blocking else 0


def _sheet(verdict: SourceVerdict) -> Sheet:
    sheet = Sheet()
    for finding in verdict.findings:
        sheet.line(placed_line(verdict.source, finding))
    if verdict.blocking:
        sheet.line(("blocked", "bold red"), f" {verdict.source} by {', '.join(verdict.blocking)}")
    else:
        sheet.line(("pass", "bold green"), f" {verdict.source}: {len(verdict.tools)} tools, nothing blocks")
    return sheet


def placed_line(source: str, finding: SourceFinding) -> str:
    """`path:line: code: detail`, the path as a person in the current directory would type it."""
    path = os.path.normpath(PurePosixPath(source, finding.file))
    place = path if finding.line is None else f"{path}:{finding.line}"
    return f"{place}: {finding.code}: {finding.detail}"
