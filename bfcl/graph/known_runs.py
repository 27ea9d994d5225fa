"""Which run directories does a project have? Those below `build/runs/`, and those its configurations name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bfcl.graph.invocation import DEFAULT_CONFIG, invocation
from bfcl.graph.layout import BuildTree, RunTree


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRuns:
    """Run directories that may or may not have been built, and configurations nobody can ask for theirs."""

    runs: tuple[RunTree, ...]
    """Each once: that of the default configuration, those below `build/runs/` by name, those of `configs/*.yaml` by
    the configuration's name."""
    unreadable: tuple[Path, ...]


def known_runs(project: Path) -> KnownRuns:
    """Look for them. No configuration is checked here: one that would be refused today may have been built before."""
    default = project / DEFAULT_CONFIG
    others = [path for path in configurations(project / "configs") if path != default]
    named = {path: run_named_by(project, path) for path in (default, *others)}
    inside = BuildTree(project).root / "runs"
    built = [RunTree(path) for path in sorted(inside.iterdir())] if inside.is_dir() else []
    found = [named[default], *built, *(named[path] for path in others)]
    runs: dict[str, RunTree] = {}
    for run in found:
        if run is not None:
            runs.setdefault(os.path.realpath(run.root), run)
    return KnownRuns(
        runs=tuple(runs.values()),
        unreadable=tuple(path for path, run in named.items() if run is None and path.is_file()),
    )


def configurations(directory: Path) -> list[Path]:
    """The YAML files of a directory, by name; none where there is no such directory."""
    return sorted(directory.glob("*.yaml"))


def run_named_by(project: Path, config: Path) -> RunTree | None:
    """The run directory a configuration names, None where it cannot be read or names none."""
    return invocation(project, project, {"config": str(config)}).run
