"""Does a JSON file of a finished evaluation say what was made again, byte for byte? Rule: evaluation.md §11, §16.4."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from bfcl.canonical import Json, readable_json
from bfcl.errors import Problem
from bfcl.evaluate.artifacts.reading import read_document, unusable
from bfcl.evaluate.artifacts.result import Result
from bfcl.evaluate.source.reports import (
    CONTAMINATION_FAILURE,
    CONTAMINATION_REPORT,
    VERIFICATION_FAILURE,
    VERIFICATION_REPORT,
    contamination_report,
    verification_report,
)
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.stages.divergence import first_difference


def document_difference(path: Path, wanted: Mapping[str, Json]) -> Iterator[Problem]:
    """The first difference of a file, if there is one. Raises: EvalError as `read_document`."""
    seen = read_document(path)
    if seen is None:
        yield unusable(path, "is gone; expected what the records give")
        return
    parted = first_difference(seen, wanted)
    if parted is not None:
        yield differs(path, parted.path, parted.left, parted.right)
    elif path.read_bytes() != readable_json(wanted):
        yield unusable(path, "says what the records give, but not in the same bytes")


def source_report_differences(directory: Path, result: Result) -> Iterator[Problem]:
    """Of the reports on source and contamination. Each says itself when it was written, which has to be a time.

    Raises: EvalError as `read_document`.
    """
    settings, verified = result.settings, result.verified
    path = directory / VERIFICATION_REPORT
    seen = read_document(path)
    probed = verified if seen is None else _probed(verified, seen, needed=settings.needs_oracle)
    at = _written_at(seen)
    yield from document_difference(path, verification_report(settings, probed, written_at=at))
    path = directory / CONTAMINATION_REPORT
    at = _written_at(read_document(path))
    yield from document_difference(path, contamination_report(settings, verified, result.plan, written_at=at))
    for name in (VERIFICATION_FAILURE, CONTAMINATION_FAILURE):
        if (directory / name).exists():
            yield unusable(directory / name, "stands beside the report that every gate was passed")


def differs(path: Path, where: str, seen: str, wanted: str) -> Problem:
    """Something in a file that is not what was made again."""
    return unusable(path, f"{where} is {seen}; the records give {wanted}")


def _probed(verified: VerifiedSource, seen: Mapping[str, Json], *, needed: bool) -> VerifiedSource:
    """As the run had it: an oracle that tasks are run against was probed, any other one may have been."""
    if verified.oracle is None:
        return verified
    block = seen.get("oracle")
    told = block.get("probed") if isinstance(block, Mapping) else None
    oracle = dataclasses.replace(verified.oracle, probed=needed or told is True)
    return dataclasses.replace(verified, oracle=oracle)


def _written_at(seen: Mapping[str, Json] | None) -> str:
    """What a report says, where that is a time as it is written; else words that no report says."""
    told = None if seen is None else seen.get("written_at")
    if isinstance(told, str):
        try:
            at = datetime.fromisoformat(told)
        except ValueError:
            at = None
        if at is not None and at.tzinfo is not None and at.astimezone(UTC).isoformat() == told:
            return told
    return "a time in UTC"
