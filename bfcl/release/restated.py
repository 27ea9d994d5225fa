"""Does a manifest say of the run's reports what they say themselves? Rule: generation.md §6.2, §6.3.

What a manifest restates of a file it hashes needs no word of its own to be believed, so a manifest that says otherwise
was edited.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bfcl.canonical import Json
from bfcl.errors import Problem
from bfcl.located import parse_json
from bfcl.release.file_digests import FIX
from bfcl.release.read import Release
from bfcl.stages.artifacts import ARTIFACTS, Condition

CODE: Final = "release_report_mismatch"

_REPORTS: Final[dict[Condition, tuple[str, str]]] = {
    "surface_quality": ("surface_quality_validation", "surface_quality_rejections"),
    "dedup_balancing": ("semantic_deduplication", "dedup_balancing_report"),
}
"""What a run may have, to the manifest's block that restates its report, and the report's name in `artifacts`."""


def restated_problems(release: Release) -> Iterator[Problem]:
    """`release_report_mismatch` for each block that differs from its report, and for Gold flags that disagree.

    Files are expected to hash as the manifest says.
    """
    manifest = release.manifest
    for condition, (block, artifact) in _REPORTS.items():
        if condition not in release.holding:
            continue
        path = release.run_dir / ARTIFACTS[artifact].file
        stated = manifest[block]
        if not isinstance(stated, dict) or stated.get("report") != _report(release, artifact):
            yield _problem(f"{block}.report", f"is not what {path.relative_to(release.run_dir).as_posix()} says")
    reasons = manifest["gold_ineligibility_reasons"]
    if manifest["gold_eligible"] is not (reasons == []):
        yield _problem("gold_eligible", f"is {manifest['gold_eligible']}, with the reasons {reasons} against it")
    ordering = "selection_rank" if "dedup_balancing" in release.holding else "raw_order"
    publication = manifest["publication"]
    published = publication.get("published") if isinstance(publication, dict) else None
    seen = published.get("ordering") if isinstance(published, dict) else None
    if seen != ordering:
        yield _problem("publication.published.ordering", f"is {seen!r}, expected {ordering!r}")


def _report(release: Release, artifact: str) -> Json:
    path = release.run_dir / ARTIFACTS[artifact].file
    return parse_json(path.read_bytes(), path=str(path), code=CODE).value


def _problem(field: str, message: str) -> Problem:
    return Problem(code=CODE, subject="run_manifest.json", field=field, message=f"`{field}` {message}", fix=FIX)
