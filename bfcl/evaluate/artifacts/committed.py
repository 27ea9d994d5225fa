"""Is a directory a finished evaluation whose files are as they were committed? Rule: evaluation.md §1, §11."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_file
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.artifacts.names import ARTIFACTS, MANIFEST
from bfcl.evaluate.artifacts.reading import read_document, unusable

_ALWAYS: Final = ("eval_report", "eval_breakdowns")
"""What no configuration leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A manifest whose files were all hashed again."""

    directory: Path
    manifest: Mapping[str, Json]
    manifest_hash: Digest
    files: Mapping[str, Path]
    """By name in the manifest."""


def verify_committed(directory: Path) -> Committed:
    """Hash every file that the manifest names.

    Raises: EvalError `eval_artifact_invalid` with everything that is absent, misnamed or changed.
    """
    path = directory / MANIFEST
    manifest = read_document(path)
    if manifest is None:
        raise EvalError(unusable(path, "is not there: a directory without it is no finished evaluation"))
    artifacts = manifest.get("artifacts")
    if not isinstance(artifacts, Mapping):
        raise EvalError(unusable(path, "names no artifacts"))
    problems: list[Problem] = []
    files: dict[str, Path] = {}
    for name, entry in artifacts.items():
        file = entry.get("file") if isinstance(entry, Mapping) else None
        wanted = entry.get("content_hash") if isinstance(entry, Mapping) else None
        if name not in ARTIFACTS or file != ARTIFACTS[name]:
            problems.append(unusable(path, f"names `{file}` as {name}, which no evaluation writes"))
            continue
        files[name] = directory / ARTIFACTS[name]
        problems += _change(files[name], wanted)
    problems += [unusable(path, f"names no {ARTIFACTS[name]}") for name in _ALWAYS if name not in artifacts]
    raise_all(EvalError, problems)
    return Committed(directory=directory, manifest=manifest, manifest_hash=sha256_file(path), files=files)


def _change(path: Path, wanted: Json) -> list[Problem]:
    if path.is_symlink() or not path.is_file():
        return [unusable(path, "is no regular file; expected what the manifest names")]
    seen = sha256_file(path)
    return [] if seen == wanted else [unusable(path, f"has {seen}; the manifest says {wanted}")]
