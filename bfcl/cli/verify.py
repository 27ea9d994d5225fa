"""`bfcl verify`: is a published run still what its manifest says?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from bfcl.canonical import Json
from bfcl.cli.place import shown
from bfcl.cli.sheet import Sheet
from bfcl.release.verify import verify_release


@click.command
@click.argument("run_dir", type=click.Path(path_type=Path))
def verify(run_dir: Path) -> None:
    """Hash a published run again and compare it with its manifest.

    Every published file and stage artifact is hashed, both tables are read back, and every published row is compared
    with its raw row. Status 1 and one line a fault where anything differs.

    \b
    Example:
      bfcl verify build/runs/tiny
    """
    release = verify_release(run_dir)
    manifest = release.manifest
    sheet = Sheet()
    sheet.line(("verified", "bold green"), f" {shown(run_dir)}")
    sheet.line(f"  run        {manifest['run_id']}")
    sheet.line(f"  tier       {manifest['tier']}, {_eligible(manifest)}")
    for name, table in (("published", release.published), ("raw", release.raw)):
        sheet.line(f"  {name:<11}{table.rows} rows, {table.content_hash}")
    sheet.line(f"  artifacts  {len(release.artifacts)} files hashed")
    sheet.print()


def _eligible(manifest: Mapping[str, Json]) -> str:
    reasons = manifest["gold_ineligibility_reasons"]
    if manifest["gold_eligible"] or not isinstance(reasons, list):
        return "gold eligible"
    return f"not gold eligible: {', '.join(map(str, reasons))}"
