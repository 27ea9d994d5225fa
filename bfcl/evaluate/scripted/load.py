"""Which rows does a published run answer for?"""

from __future__ import annotations

from bfcl.errors import Problem, ReleaseError, raise_all
from bfcl.exports.decode_row import decode_row
from bfcl.exports.row import ExportRow
from bfcl.release.read import Release

_FIX = "generate the benchmark again; published files are never edited"


def published_rows(release: Release) -> list[ExportRow]:
    """The published rows, decoded, in order. Raises: ReleaseError with everything that is wrong with any of them."""
    rows: list[ExportRow] = []
    problems: list[Problem] = []
    for published in release.rows():
        decoded = decode_row(published)
        if isinstance(decoded, ExportRow):
            rows.append(decoded)
        else:
            problems += [
                Problem(code=fault.code, subject=published["task_id"], message=fault.message, fix=_FIX)
                for fault in decoded
            ]
    raise_all(ReleaseError, problems)
    return rows
