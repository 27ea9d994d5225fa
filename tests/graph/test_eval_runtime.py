from __future__ import annotations

import platform

from bfcl.graph.eval_runtime import eval_runtime
from bfcl.graph.host import revision, source_hash


def test_runtime_tells_versions_and_null_for_what_is_unknown() -> None:
    sha, dirty = revision()
    told = eval_runtime()
    assert sorted(told) == [
        "dependency_lock_hash",
        "git_dirty",
        "git_sha",
        "machine",
        "package_source_hash",
        "package_version",
        "platform",
        "python",
        "worker_image",
    ]
    assert (told["python"], told["package_source_hash"]) == (platform.python_version(), source_hash())
    assert (told["git_sha"], told["git_dirty"], told["worker_image"]) == (sha, dirty, None)
