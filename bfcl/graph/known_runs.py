"""Which run directories does a project have? Those below `build/runs/`, and those its configurations name.

A pack may bring a configuration of its own, as a scaffolded one does; what it names lies beside the pack.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.config.kinds import of_evaluation
from bfcl.graph.invocation import DEFAULT_CONFIG, invocation
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.pack.own_config import OWN_CONFIG

SOUGHT: Final = "build/runs/ and where configs/*.yaml and packs/*/validate.yaml write"
"""Where runs are looked for, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRuns:
    """Run directories that may or may not have been built, and the configurations that were asked for theirs."""

    runs: tuple[RunTree, ...]
    """Each once: that of the default configuration, those below `build/runs/` by name, those of `configs/*.yaml` by
    the configuration's name, those of the packs' own configurations by the pack's."""
    runless: tuple[Path, ...]
    """Configurations of generation that can be read and name no run."""
    unreadable: tuple[Path, ...]
    """Configurations that cannot be read, so that nobody knows which run they name."""
    digests: Mapping[str, Path]
    """Digest (`ck`) of a configuration that can be read to its file, the first by name where two say the same."""


def known_runs(project: Path) -> KnownRuns:
    """Look for them. No configuration is checked here: one that would be refused today may have been built before."""
    default = project / DEFAULT_CONFIG
    others = [path for path in configurations(project / "configs") if path != default]
    others += sorted((project / "packs").glob(f"*/{OWN_CONFIG}"))
    read = {path: invocation(project, project, {"config": str(path)}) for path in (default, *others)}
    named = {path: seen.run for path, seen in read.items()}
    inside = BuildTree(project).root / "runs"
    built = [RunTree(path) for path in sorted(inside.iterdir())] if inside.is_dir() else []
    found = [named[default], *built, *(named[path] for path in others)]
    runs: dict[str, RunTree] = {}
    for run in found:
        if run is not None:
            runs.setdefault(os.path.realpath(run.root), run)
    return KnownRuns(
        runs=tuple(runs.values()),
        runless=tuple(
            path
            for path, seen in read.items()
            if seen.trouble is None and seen.run is None and not of_evaluation(seen.raw)
        ),
        # `lexists`: a link that leads nowhere is somebody's configuration, too.
        unreadable=tuple(path for path, seen in read.items() if seen.trouble is not None and os.path.lexists(path)),
        digests={seen.ck: path for path, seen in reversed(read.items()) if seen.trouble is None},
    )


def configurations(directory: Path) -> list[Path]:
    """The YAML files of a directory, by name; none where there is no such directory."""
    return sorted(directory.glob("*.yaml"))
