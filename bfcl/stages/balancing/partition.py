"""Which near-duplicates stand for one another, and who represents them? Rule: generation.md §3.8.4.

Rows that read alike are kept apart where they cover other ground: another coverage bucket, another capability.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bfcl.config.model import RunConfig, TaskGeneration
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.candidate import Candidate, CoverageBucket, Standing, lot
from bfcl.stages.balancing.finder import Likeness, cluster_id
from bfcl.stages.balancing.limits import hard_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """What decides between rows that stand for one another."""

    seed: int
    source_preference: tuple[str, ...]
    limits: TaskGeneration
    """Rows over a hard limit will be dropped anyway."""


def preferences(config: RunConfig) -> Preferences:
    """As the configuration states them."""
    return Preferences(
        seed=config.seed,
        source_preference=config.semantic_deduplication_config.representative_source_preference,
        limits=config.task_generation,
    )


def partition(candidates: Sequence[Candidate], likeness: Likeness, preferences: Preferences) -> dict[TaskId, Standing]:
    """Each candidate's standing, in input order; the decisions are the same in any order.

    `likeness` covers exactly these candidates.
    """
    known = {candidate.task_id: candidate for candidate in candidates}
    buckets = Counter(candidate.coverage_bucket for candidate in candidates)
    ranks = {
        task_id: _rank(candidate, buckets[candidate.coverage_bucket], preferences)
        for task_id, candidate in known.items()
    }
    standings: dict[TaskId, Standing] = {}
    for component in likeness.components:
        for members in _split([known[task_id] for task_id in component]):
            representative = min(members, key=ranks.__getitem__)
            name = cluster_id("dedup", members) if len(members) > 1 else None
            for task_id in members:
                kinship = likeness.rows[task_id]
                standings[task_id] = Standing(
                    is_duplicate=task_id != representative,
                    duplicate_cluster_id=name,
                    representative_task_id=representative,
                    curator_cluster_id=kinship.cluster_id,
                    curator_is_duplicate=kinship.is_duplicate,
                    curator_predecessor_id=kinship.predecessor_id,
                    curator_similarity_score=kinship.similarity,
                    representative_rank=ranks[task_id],
                )
    return {candidate.task_id: standings[candidate.task_id] for candidate in candidates}


def _split(component: Sequence[Candidate]) -> list[list[TaskId]]:
    groups: dict[tuple[CoverageBucket, str], list[TaskId]] = {}
    for candidate in component:
        groups.setdefault((candidate.coverage_bucket, candidate.capability_signature), []).append(candidate.task_id)
    return list(groups.values())


_Rank = tuple[bool, bool, int, int, int, str, TaskId]


def _rank(candidate: Candidate, bucket_size: int, preferences: Preferences) -> _Rank:
    """Least first: over a limit, doubted by the judge, failed checks, bucket size, source, seeded lot, id."""
    preferred = preferences.source_preference
    return (
        hard_limit(candidate, preferences.limits) is not None,
        candidate.judge_error or candidate.advisory_failures > 0,
        candidate.failed_checks,
        bucket_size,
        preferred.index(candidate.source) if candidate.source in preferred else len(preferred),
        lot(preferences.seed, candidate.task_id),
        candidate.task_id,
    )
