"""Do the stage tables beside a release still hold the rows that its manifest digests? Rule: generation.md §11.11.

The digest of the rows outlives versions of the Parquet library, so it also compares tables that two of them wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from bfcl.canonical import Json, canonical_text
from bfcl.errors import Problem
from bfcl.release.file_digests import FIX
from bfcl.release.read import Release
from bfcl.tables.codec import encode_line
from bfcl.tables.columns import COLUMNS
from bfcl.tables.parquet import read_rows, rows_digest

_CACHE: Final = "stage_cache"


def stage_row_problems(release: Release) -> Iterator[Problem]:
    """Read every stage table that the manifest digests; `release_rows_mismatch` where rows or count differ.

    Raises: DriftError `table_schema_mismatch`, `table_unreadable`.
    """
    for artifact, (field, claimed) in sorted(_claims(release.manifest["build"]).items()):
        file = f"{artifact}.parquet"
        seen = _seen(release.run_dir / _CACHE / file, artifact)
        if seen != claimed:
            message = f"holds {_told(seen)}; the manifest says {_told(claimed)}"
            yield Problem(
                code="release_rows_mismatch", subject=f"{_CACHE}/{file}", field=field, message=message, fix=FIX
            )


def _seen(path: Path, artifact: str) -> dict[str, Json]:
    """Count and digest of a table's rows, of which a batch is held at a time."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for row in read_rows(path, artifact):
            count += 1
            yield encode_line(row)

    digest = rows_digest(lines())
    return {"rows": count, "rows_digest": digest}


def _claims(build: Json) -> dict[str, tuple[str, Json]]:
    """Stage table to what the manifest says of it and where; a stage without a table says nothing."""
    stages = build.get("stages") if isinstance(build, Mapping) else None
    claims: dict[str, tuple[str, Json]] = {}
    for name, stage in stages.items() if isinstance(stages, Mapping) else ():
        tables = stage.get("tables") if isinstance(stage, Mapping) else None
        for file, facts in tables.items() if isinstance(tables, Mapping) else ():
            artifact = PurePosixPath(file).stem
            if artifact in COLUMNS:
                claims[artifact] = (f"build.stages.{name}.tables.{file}", facts)
    return claims


def _told(facts: Json) -> str:
    if not isinstance(facts, Mapping):
        return canonical_text(facts)
    return f"{canonical_text(facts.get('rows'))} rows with digest {canonical_text(facts.get('rows_digest'))}"
