"""The pipeline in order, as data: what each stage reads, writes and is made of. Rule: generation.md §3.

Reading `STAGES` is reading the pipeline. Dependencies, targets, store keys and the manifest's hash list derive from it.
"""

from __future__ import annotations

from dataclasses import dataclass
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
        name="final_output",
        index=12,
        reads=("expand", "state_machine", "render", "expected_trace", "schema_validation", "executable_replay"),
        writes=(),
        sharded=False,
        summary="assemble and verify the rows to publish",
        under_policy=("held_out_scan.json",),
    ),
)

SHARDED: Final = tuple(stage for stage in STAGES if stage.sharded)


def stage_named(name: str) -> Stage:
    """The stage called `name`."""
    return next(stage for stage in STAGES if stage.name == name)
