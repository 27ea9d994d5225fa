"""How many tasks came through each stage, and why the others did not. Rule: generation.md §11.9."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.graph.runner import entry_of
from bfcl.graph.session import Session
from bfcl.graph.unsharded import Summary, read_summary


def funnel_lines(session: Session) -> list[str]:
    """The funnel of a run, what the store saved, and the path of the published table."""
    summary = read_summary(entry_of(session, session.result("final_output")))
    computed = sum(session.evidence.count(stage, "computed") for stage in session.evidence.tasks())
    hits = sum(session.evidence.count(stage, "hit") for stage in session.evidence.tasks())
    return [
        *_table(summary),
        f"isolation: {_isolation(session)}",
        f"shards: {computed} computed, {hits} taken from the store",
        str(session.run.benchmark),
    ]


def _isolation(session: Session) -> str:
    """The level the workers reached, as the manifest records it. Rule: spec README, ruling 7."""
    return ", ".join(
        f"{name.replace('_', ' ')} {'off' if value in (None, False) else 'on' if value is True else value}"
        for name, value in sorted(session.oracle.isolation().items())
    )


def _table(summary: Summary) -> list[str]:
    tally = summary.tally
    rows = [
        ("expanded", tally.expanded, ""),
        ("wording accepted", tally.surface_passed, _largest(tally.guard_counts)),
        ("trace derived", tally.trace_derived, _largest(tally.trace_drops)),
        ("schema valid", tally.schema_passed, ""),
        ("replay valid", tally.replay_passed, _largest(tally.replay_drops)),
        ("published", tally.published, ""),
    ]
    return [f"{name:<18}{count:>9,}{note}" for name, count, note in rows]


def _largest(reasons: Mapping[str, int]) -> str:
    if not reasons:
        return ""
    reason, count = min(reasons.items(), key=lambda item: (-item[1], item[0]))
    return f"   dropped most: {reason} {count:,}"
