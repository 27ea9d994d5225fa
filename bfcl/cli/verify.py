"""`bfcl verify`: is a published run still what its manifest says?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from bfcl.canonical import Json
from bfcl.cli.place import meant_run, project_root
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.pack.layout import shown
from bfcl.release.read import Release
from bfcl.release.verify import verify_release


@click.command
@click.argument("run_dir", type=click.Path(path_type=Path))
@format_option()
def verify(run_dir: Path, format_: Format) -> None:
    """Hash a published run again and compare it with its manifest.

    Every published file and stage artifact is hashed, both tables are read back, and every published row is compared
    with its raw row. Status 1 and one line a fault where anything differs. RUN_DIR may also be the name of a run of the
    project, or its run id.

    \b
    Example:
      bfcl verify build/runs/tiny
    """
    run_dir = meant_run(run_dir, project_root(Path.cwd()))
    release = verify_release(run_dir)
    if as_json(format_):
        print_json(_document(release, shown(run_dir)))
    else:
        _sheet(release, shown(run_dir)).print()


def _document(release: Release, run: str) -> Json:
    manifest = release.manifest
    tables: dict[str, Json] = {
        name: {"rows": table.rows, "content_hash": table.content_hash}
        for name, table in (("published", release.published), ("raw", release.raw))
    }
    return {
        "schema_version": "1.0",
        "status": "pass",
        "run": run,
        **{key: manifest[key] for key in ("run_id", "tier", "gold_eligible", "gold_ineligibility_reasons")},
        **tables,
        "artifacts": len(release.artifacts),
    }


def _sheet(release: Release, run: str) -> Sheet:
    manifest = release.manifest
    sheet = Sheet()
    sheet.line(("verified", "bold green"), f" {run}")
    sheet.line(f"  run        {manifest['run_id']}")
    sheet.line(f"  tier       {manifest['tier']}, {_eligible(manifest)}")
    for name, table in (("published", release.published), ("raw", release.raw)):
        sheet.line(f"  {name:<11}{table.rows} rows, {table.content_hash}")
    sheet.line(f"  artifacts  {len(release.artifacts)} files hashed")
    return sheet


def _eligible(manifest: Mapping[str, Json]) -> str:
    reasons = manifest["gold_ineligibility_reasons"]
    if manifest["gold_eligible"] or not isinstance(reasons, list):
        return "gold eligible"
    return f"not gold eligible: {', '.join(map(str, reasons))}"
