"""Are the bytes of a published run still those its manifest names? Rule: generation.md §6.

Hashing alone: whoever asks whether there is anything to do asks this, before any table is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from bfcl.digest import sha256_file
from bfcl.errors import Problem
from bfcl.exports.tree_hash import tree_files, tree_hash
from bfcl.release.read import TABLE_ARTIFACTS, Release
from bfcl.stages.artifacts import ARTIFACTS, EXPORT_REPORT, EXPORTS_DIR

FIX: Final = "generate the benchmark again; published files are never edited"


def verify_files(release: Release) -> list[Problem]:
    """Hash every published file, export and stage artifact against the manifest; pyarrow is not touched.

    Codes: `release_payload_missing`, `release_artifact_missing`, `release_hash_mismatch`, in the manifest's order.
    """
    problems = list(_export_problems(release))
    for name, claimed in release.artifacts.items():
        relative = ARTIFACTS[name].file
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
            problems.append(
                Problem(
                    code="release_hash_mismatch",
                    subject=name,
                    field=f"artifacts.{name}.content_hash",
                    message=message,
                    fix=FIX,
                )
            )
    return problems


def _export_problems(release: Release) -> Iterator[Problem]:
    """Exports that are missing or are not the tree the manifest names, and what lies beside them unclaimed."""
    for name, claimed in release.exports.items():
        directory = release.run_dir / claimed.path
        if directory.is_symlink() or not directory.is_dir():
            message = f"{claimed.path} is missing or no directory"
            yield Problem(code="release_payload_missing", subject=f"exports.{name}", message=message, fix=FIX)
            continue
        links = sorted(path for path in directory.rglob("*") if path.is_symlink())
        try:
            seen = f"a link, {links[0].name}," if links else tree_hash(tree_files(directory))
        except (OSError, UnicodeEncodeError) as error:
            message = f"{claimed.path} cannot be read: {error}"
            yield Problem(code="release_payload_unreadable", subject=f"exports.{name}", message=message)
            continue
        if seen != claimed.content_hash:
            message = f"{claimed.path} has {seen}, the manifest says {claimed.content_hash}"
            field = f"exports.formats.{name}.content_hash"
            yield Problem(
                code="release_hash_mismatch", subject=f"exports.{name}", field=field, message=message, fix=FIX
            )
    directory = release.run_dir / EXPORTS_DIR
    claims = {PurePosixPath(claimed.path).name for claimed in release.exports.values()}
    if release.exports:
        claims.add(EXPORT_REPORT)
    for path in sorted(directory.iterdir()) if directory.is_dir() else []:
        if path.name not in claims:
            subject, message = f"exports/{path.name}", "is nothing the manifest speaks of"
            field = f"exports.formats.{path.name}.enabled"
            yield Problem(code="release_hash_mismatch", subject=subject, field=field, message=message, fix="remove it")
