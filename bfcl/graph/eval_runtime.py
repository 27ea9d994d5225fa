"""What does an evaluation run on, as its manifest tells? Rule: evaluation.md §11."""

from __future__ import annotations

import platform

from bfcl.canonical import Json
from bfcl.graph.host import dependency_lock_hash, pipeline_version, revision, source_hash, system


def eval_runtime() -> dict[str, Json]:
    """Versions of this process, null for what is unknown. The revision of a repository around an installed package is
    not ours and counts as unknown."""
    sha, dirty = revision()
    return {
        "python": platform.python_version(),
        "platform": system(),
        "machine": platform.machine(),
        "package_version": pipeline_version(),
        "package_source_hash": source_hash(),
        "git_sha": sha,
        "git_dirty": dirty,
        "dependency_lock_hash": dependency_lock_hash(),
        "worker_image": None,
    }
