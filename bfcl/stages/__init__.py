"""The pipeline in order, as data: what each stage reads, writes and is made of. Rule: generation.md §3.

Reading `STAGES` is reading the pipeline. Dependencies, targets, store keys and the manifest's hash list derive from it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One generation stage. `index` is its canonical number; `sharded` stages work template by template."""

    name: str
    index: int
    reads: tuple[str, ...]
    """Stages whose results it reads."""
    writes: tuple[str, ...]
    """Artifacts it leaves in `stage_cache/`, file names."""
    sharded: bool
    summary: str
    """What `doit list` says of it."""
    under_policy: tuple[str, ...] = ()
    """Further artifacts it leaves where the pack has a held-out policy."""
    switch: str | None = None
    """The configuration block whose `enabled` it needs; None for a stage of every run."""


STAGES: Final = (
    Stage(
        name="reference_profile",
        index=3,
        reads=(),
        writes=("reference_samples.parquet", "reference_profile.json"),
        sharded=False,
        summary="record the reference samples and the profile made of them",
    ),
    Stage(
        name="expand",
        index=4,
        reads=(),
        writes=("task_instances.parquet",),
        sharded=True,
        summary="bind every template's slots to tasks",
        under_policy=("held_out_bindings.json",),
    ),
    Stage(
        name="state_machine",
        index=5,
        reads=("expand",),
        writes=("conversation_plans.parquet",),
        sharded=True,
        summary="plan the order of every conversation",
    ),
    Stage(
        name="render",
        index=6,
        reads=("expand", "state_machine"),
        writes=("rendered_conversations.parquet",),
        sharded=True,
        summary="word every conversation and check its guards",
    ),
    Stage(
        name="expected_trace",
        index=7,
        reads=("expand", "state_machine"),
        writes=("expected_traces.parquet",),
        sharded=True,
        summary="derive the calls every task expects",
    ),
    Stage(
        name="schema_validation",
        index=8,
        reads=("expand", "state_machine", "expected_trace"),
        writes=("schema_validated_traces.parquet",),
        sharded=True,
        summary="check every expected call against its tool's schema",
    ),
    Stage(
        name="executable_replay",
        index=9,
        reads=("expand", "expected_trace", "schema_validation"),
        writes=("replay_validated_tasks.parquet",),
        sharded=True,
        summary="run every task twice against the oracle, with its assertions",
    ),
    Stage(
        name="surface_quality",
        index=10,
        reads=("expand", "render", "executable_replay"),
        writes=("surface_validated_tasks.parquet", "surface_quality_rejections.json"),
        sharded=False,
        summary="check the wording of every task that survived",
        switch="surface_quality_validation",
    ),
    Stage(
        name="dedup_balancing",
        index=11,
        reads=("expand", "state_machine", "render", "surface_quality"),
        writes=("balanced_tasks.parquet", "dedup_balancing_report.json"),
        sharded=False,
        summary="drop near-duplicates and select the balanced release",
        switch="semantic_deduplication_config",
    ),
    Stage(
        name="final_output",
        index=12,
        reads=(
            "expand",
            "state_machine",
            "render",
            "expected_trace",
            "schema_validation",
            "executable_replay",
            "surface_quality",
            "dedup_balancing",
        ),
        writes=(),
        sharded=False,
        summary="assemble and verify the rows to publish",
        under_policy=("held_out_scan.json",),
    ),
)

SHARDED: Final = tuple(stage for stage in STAGES if stage.sharded)


SWITCHES: Final = tuple(stage.switch for stage in STAGES if stage.switch is not None)
"""The configuration blocks that switch a stage on."""


def enabled_stages(switched_on: Collection[str]) -> tuple[Stage, ...]:
    """The stages of a run whose configuration enables these blocks, in order, reading only each other.

    A bypassed stage is no stage of the run: it has no task, no artifact and nobody reads it. Rule: generation.md §3.
    """
    names = {stage.name for stage in STAGES if stage.switch is None or stage.switch in switched_on}
    return tuple(
        replace(stage, reads=tuple(name for name in stage.reads if name in names))
        for stage in STAGES
        if stage.name in names
    )


def stage_named(name: str) -> Stage:
    """The stage called `name`."""
    return next(stage for stage in STAGES if stage.name == name)
