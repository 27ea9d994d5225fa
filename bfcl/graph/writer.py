"""Who may write into `build/`? One process at a time, whichever command it runs. Rule: spec README, ruling 13."""

from __future__ import annotations

from bfcl.files import Lock
from bfcl.graph.layout import BuildTree, RunTree


def build_lock(tree: BuildTree) -> Lock:
    """The lock of the one writer, not taken yet; `acquire` raises DriftError `run_locked` where somebody holds it."""
    return Lock(tree.lock, "another BFCL process is using this project's build directory")


def run_lock(run: RunTree) -> Lock:
    """The lock of whoever writes into a run directory, which several projects may share; as `build_lock`."""
    return Lock(run.lock, f"another BFCL process is writing experiment '{run.root.name}'")
