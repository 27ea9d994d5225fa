"""How many tasks came through each stage, and why the others did not. Rule: generation.md §11.9."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bfcl.canonical import Json
from bfcl.graph.dask_cluster import named_cluster
from bfcl.graph.final_rows import Summary, read_summary
from bfcl.graph.levels import released_level
from bfcl.graph.losses import NOT_SELECTED, stored_losses, worst_templates
from bfcl.graph.quality import read_rejections
from bfcl.graph.selected import read_balancing
from bfcl.graph.session import Session
from bfcl.stages.balancing.unmet import UnmetTarget, targets_unmet


def funnel_lines(session: Session) -> list[str]:
    """The funnel of a run, what the store saved, and the path of the published table."""
    summary = read_summary(session.entry("final_output"))
    balancing = read_balancing(session)
    computed = sum(session.evidence.count(stage, "computed") for stage in session.evidence.tasks())
    hits = sum(session.evidence.count(stage, "hit") for stage in session.evidence.tasks())
    return [
        *_table(summary, balancing, _kept(session)),
        *_worst(session, summary),
        *_missed(balancing),
        f"isolation: {_isolation(session)}",
        *_executor(session),
        f"shards: {computed} computed, {hits} taken from the store",
        *_shared(session),
        str(session.run.benchmark),
    ]


def _isolation(session: Session) -> str:
    """The level the workers reached, as the manifest records it. Rule: spec README, ruling 7."""
    return ", ".join(
        f"{name.replace('_', ' ')} {'off' if value in (None, False) else 'on' if value is True else value}"
        for name, value in sorted(released_level(session).items())
    )


def _worst(session: Session, summary: Summary) -> list[str]:
    """The templates that lost most, so that no run publishes less than was asked and stays silent."""
    if summary.tally.published == summary.tally.expanded:
        return []
    results = {stage.name: str(session.result(stage.name).fp) for stage in session.stages}
    return worst_templates(stored_losses(session.store, results) or ())


def _missed(balancing: Mapping[str, Json] | None) -> Iterator[str]:
    """Targets that the release misses though it is published, and what that costs it."""
    missed: Any = balancing["unmet_targets"] if balancing is not None else []
    if not missed:
        return
    for problem in targets_unmet([UnmetTarget(**target) for target in missed], balancing).problems:
        yield f"warning: {problem}"
    yield "no row of this release is gold eligible: stage_eleven_unmet_targets"


def _executor(session: Session) -> list[str]:
    """Where shards are computed that are not computed here."""
    address = session.variables.dask_address
    return [] if address is None else [f"executor: {named_cluster(address)}"]


def _shared(session: Session) -> list[str]:
    if session.cache is None:
        return []
    traffic = session.cache.traffic
    return [f"shared cache: {traffic.read} results read, {traffic.written} written"]


def _kept(session: Session) -> Mapping[str, Json] | None:
    if "surface_quality" not in session.holding:
        return None
    return read_rejections(session.entry("surface_quality"))


def _table(summary: Summary, balancing: Mapping[str, Json] | None, quality: Mapping[str, Json] | None) -> Iterator[str]:
    tally = summary.tally
    rows: list[tuple[str, Json, str]] = [
        ("expanded", tally.expanded, ""),
        ("wording accepted", tally.surface_passed, _largest(tally.guard_counts)),
        ("trace derived", tally.trace_derived, _largest(tally.trace_drops)),
        ("schema valid", tally.schema_passed, ""),
        ("replay valid", tally.replay_passed, _largest(tally.replay_drops)),
    ]
    if quality is not None:
        rows.append(("surface kept", quality["kept"], _largest(quality["drop_reason_counts"])))
    if balancing is not None:
        selected = _member(balancing["counts"], "selected")
        rows.append(("selected", selected, _largest(balancing["drop_reason_counts"])))
    rows.append(("published", tally.published, ""))
    for name, count, note in rows:
        yield f"{name:<18}{count:>9,}{note}"


def _member(holder: Json, name: str) -> Json:
    assert isinstance(holder, Mapping)
    return holder[name]


def _largest(reasons: Json) -> str:
    assert isinstance(reasons, Mapping)
    counts = {name: count for name, count in reasons.items() if isinstance(count, int)}
    if not counts:
        return ""
    reason, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
    return f"   {'not selected' if reason == NOT_SELECTED else 'dropped most'}: {reason} {count:,}"
