"""Finished evaluations on disk, for what reads directories."""

from __future__ import annotations

from pathlib import Path

from tests.evaluate.after.finishing import DEPARTURES, Data, finish
from tests.evaluate.source.builder import site_of
from tests.system.project import write_project


def repeating(data: Data) -> None:
    """Three trials of every task."""
    data["schema_version"] = "1.3"
    data["repeats"] = {"trials": 3, "seed_policy": "increment"}
    data["limits"]["max_parallel_tasks"] = 1


def evaluate_two(root: Path) -> Path:
    """Evaluate `gold` and `lower` on a small pack, executed, with repeats; the output directory."""
    project = write_project(root / "project")
    project.generate()
    site = site_of(project, root / "site")
    return finish(site, {name: DEPARTURES[name] for name in ("gold", "lower")}, repeating, executable=True)
