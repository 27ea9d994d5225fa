"""Who may write into `build/`? One process at a time, whichever command it runs. Rule: spec README, ruling 13."""

from __future__ import annotations

from bfcl.files import Lock
from bfcl.graph.layout import BuildTree


def build_lock(tree: BuildTree) -> Lock:
    """The lock of the one writer, not taken yet; `acquire` raises DriftError `run_locked` where somebody holds it."""
    return Lock(tree.lock, "another BFCL process is using this project's build directory")
