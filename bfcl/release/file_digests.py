"""Are the bytes of a published run still those its manifest names? Rule: generation.md §6.

Hashing alone: whoever asks whether there is anything to do asks this, before any table is opened.
"""

from __future__ import annotations

from typing import Final

from bfcl.digest import sha256_file
from bfcl.errors import Problem
from bfcl.release.read import TABLE_ARTIFACTS, Release
from bfcl.stages.artifacts import ARTIFACT_FILES

FIX: Final = "generate the benchmark again; published files are never edited"


def verify_files(release: Release) -> list[Problem]:
    """Hash every published file and stage artifact against the manifest; pyarrow is not touched.

    Codes: `release_payload_missing`, `release_artifact_missing`, `release_hash_mismatch`, in the manifest's order.
    """
    problems = []
    for name, claimed in release.artifacts.items():
        relative = ARTIFACT_FILES[name]
        path = release.run_dir / relative
        if path.is_symlink() or not path.is_file():
            code = "release_payload_missing" if name in TABLE_ARTIFACTS.values() else "release_artifact_missing"
            message = f"{relative} is missing or no regular file"
            problems.append(Problem(code=code, subject=name, message=message, fix=FIX))
            continue
        try:
            seen = sha256_file(path)
        except OSError as error:
            message = f"{relative} cannot be read: {error.strerror}"
            problems.append(Problem(code="release_payload_unreadable", subject=name, message=message))
            continue
        if seen != claimed:
            message = f"{relative} has {seen}, the manifest says {claimed}"
            problems.append(Problem(code="release_hash_mismatch", subject=name, message=message, fix=FIX))
    return problems
