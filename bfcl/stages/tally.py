"""How many tasks did each stage let through, and why did the others go? Rule: generation.md §6.3, `stage_counts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from bfcl.records.ids import TaskId
from bfcl.tables.decisions import Decision


class Tally(NamedTuple):
    """Counts over all decisions of a run."""

    expanded: int
    canonical_expanded: int
    surface_passed: int
    trace_derived: int
    schema_passed: int
    replay_passed: int
    published: int
    guard_rejections: Mapping[str, int]
    """Template to number of rows that violate a guard."""
    guard_counts: Mapping[str, int]
    """Guard to number of rows that violate it."""
    trace_drops: Mapping[str, int]
    """Reason to number of underived traces."""
    replay_drops: Mapping[str, int]
    """Reason to number of rows that are not replay-valid, those of earlier stages included."""
    published_policies: Mapping[str, int]
    """Turn policy to number of published rows."""
    published_with_distractor: int


def tally(decisions: Iterable[Decision], published: Collection[TaskId]) -> Tally:
    """Count decisions for the manifest, in one pass; `published` are the ids of the published rows."""
    wanted = frozenset(published)
    counts: Counter[str] = Counter()
    rejections: Counter[str] = Counter()
    guards: Counter[str] = Counter()
    trace_drops: Counter[str] = Counter()
    replay_drops: Counter[str] = Counter()
    policies: Counter[str] = Counter()
    for decision in decisions:
        counts["expanded"] += 1
        counts["canonical_expanded"] += decision.canonical
        counts["surface_passed"] += not decision.guards
        counts["trace_derived"] += decision.trace_drop_reason is None
        counts["schema_passed"] += decision.schema_valid
        counts["replay_passed"] += decision.replay_valid
        if decision.guards:
            rejections[decision.template_id] += 1
            guards.update(decision.guards)
        if decision.trace_drop_reason is not None:
            trace_drops[decision.trace_drop_reason] += 1
        if decision.replay_reason is not None:
            replay_drops[decision.replay_reason] += 1
        if decision.task_id in wanted:
            counts["published"] += 1
            counts["published_with_distractor"] += decision.has_distractor
            policies[decision.turn_policy] += 1
    return Tally(
        expanded=counts["expanded"],
        canonical_expanded=counts["canonical_expanded"],
        surface_passed=counts["surface_passed"],
        trace_derived=counts["trace_derived"],
        schema_passed=counts["schema_passed"],
        replay_passed=counts["replay_passed"],
        published=counts["published"],
        guard_rejections=dict(rejections),
        guard_counts=dict(guards),
        trace_drops=dict(trace_drops),
        replay_drops=dict(replay_drops),
        published_policies=dict(policies),
        published_with_distractor=counts["published_with_distractor"],
    )
