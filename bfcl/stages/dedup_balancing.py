"""Which survivors are published, in which order, and which declared targets are missed? Rule: generation.md §3.8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bfcl.canonical import Json
from bfcl.config.model import RunConfig, SemanticDeduplication, TaskGeneration
from bfcl.records.balance import BalanceDrop, BalancedTask
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.budget import budget, fixed_mixes, group_caps
from bfcl.stages.balancing.candidate import Candidate, Standing, lot
from bfcl.stages.balancing.finder import Likeness
from bfcl.stages.balancing.infeasible import infeasible, refuse_unreachable
from bfcl.stages.balancing.left_out import balance_dimension
from bfcl.stages.balancing.limits import dropped
from bfcl.stages.balancing.quotas import apportioned, exact, exact_mix
from bfcl.stages.balancing.report import CONTRACT_VERSION, Account, report
from bfcl.stages.balancing.selection import select
from bfcl.stages.balancing.terms import Entrant, Terms
from bfcl.stages.balancing.unmet import Outcome, UnmetTarget, unmet_targets


class Settings(NamedTuple):
    """All of a configuration that balancing reads."""

    seed: int
    generation: TaskGeneration
    deduplication: SemanticDeduplication


def settings(config: RunConfig) -> Settings:
    """As the configuration states them."""
    return Settings(config.seed, config.task_generation, config.semantic_deduplication_config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """What stage 11 comes to. Under `unmet_target_policy: abort`, `unmet` stops the run: see `unmet.targets_unmet`."""

    rows: tuple[BalancedTask, ...]
    """One a survivor, in survivor order: `balanced_tasks`."""
    ranked: tuple[TaskId, ...]
    """Selected ids by rank: the publication's order."""
    unmet: tuple[UnmetTarget, ...]
    report: Mapping[str, Json]
    """`dedup_balancing_report.json`."""

    @property
    def gold_eligible(self) -> bool:
        """Whether this stage leaves the publication Gold."""
        return not self.unmet


def balance(
    candidates: Sequence[Candidate], standings: Mapping[TaskId, Standing], likeness: Likeness, settings: Settings
) -> Balanced:
    """Drop, budget, select, account.

    `candidates` are the survivors of stage 10 in their order, on which no decision depends; each has a standing.
    Raises: StageError `coverage_bucket_emptied`, `balancing_infeasible`, `balancing_solver_limit`,
    `dedup_backend_unavailable`.
    """
    seed, generation, deduplication = settings
    remove = deduplication.remove_duplicates is True
    drops = dropped(candidates, standings, generation, remove_duplicates=remove)
    entrants = stable_order(seed, [each for each in candidates if each.task_id not in drops], standings)
    eligible = [entrant.candidate for entrant in entrants]
    allowed = budget(eligible, generation, deduplication)
    refuse_unreachable(allowed)
    terms = _terms(allowed.size, generation, deduplication)
    chosen = select(entrants, terms)
    if chosen is None:
        raise infeasible(entrants, terms)
    selected = [eligible[position] for position in chosen.positions]
    outcome = Outcome(eligible, selected, terms, allowed)
    unmet = unmet_targets(outcome)
    rows = _rows(candidates, standings, drops, outcome)
    return Balanced(
        rows=rows,
        ranked=tuple(candidate.task_id for candidate in selected),
        unmet=unmet,
        report=report(Account(candidates, rows, outcome, unmet, likeness), generation, deduplication, seed),
    )


def stable_order(
    seed: int, candidates: Sequence[Candidate], standings: Mapping[TaskId, Standing]
) -> tuple[Entrant, ...]:
    """Representatives and rows that stand alone before duplicates; among each, by the seeded lot, then id."""
    entrants = [Entrant(candidate, standings[candidate.task_id]) for candidate in candidates]
    return tuple(
        sorted(
            entrants,
            key=lambda entrant: (
                entrant.standing.is_duplicate,
                lot(seed, entrant.candidate.task_id),
                entrant.candidate.task_id,
            ),
        )
    )


def _terms(size: int, generation: TaskGeneration, deduplication: SemanticDeduplication) -> Terms:
    share, ratio = generation.max_intent_share, deduplication.min_exact_surface_ratio
    return Terms(
        size=size,
        category_cap=generation.tasks_per_category,
        quotas={dimension: apportioned(exact_mix(mix), size) for dimension, mix in fixed_mixes(generation).items()},
        tool_calls=exact_mix(generation.tool_call_count_mix or {}),
        intent_share=None if share is None else exact(share),
        caps=group_caps(deduplication),
        surfaces=0 if ratio is None else -int(-size * exact(ratio) // 1),
    )


def _rows(
    candidates: Sequence[Candidate],
    standings: Mapping[TaskId, Standing],
    drops: Mapping[TaskId, BalanceDrop],
    outcome: Outcome,
) -> tuple[BalancedTask, ...]:
    ranks = {candidate.task_id: rank for rank, candidate in enumerate(outcome.selected)}
    covering: dict[object, int] = {}
    for candidate in outcome.eligible:
        covering[candidate.coverage_bucket] = covering.get(candidate.coverage_bucket, 0) + 1
    dimension_of = balance_dimension(outcome.selected, outcome.terms)
    rows = []
    for candidate in candidates:
        task_id, standing = candidate.task_id, standings[candidate.task_id]
        rank = ranks.get(task_id)
        reason: BalanceDrop | None = None if rank is not None else drops.get(task_id, "balance_quota")
        rows.append(
            BalancedTask(
                task_id=task_id,
                contract_version=CONTRACT_VERSION,
                selected=rank is not None,
                is_duplicate=standing.is_duplicate,
                duplicate_cluster_id=standing.duplicate_cluster_id,
                representative_task_id=standing.representative_task_id,
                drop_reason=reason,
                balance_dimension=dimension_of(candidate) if reason == "balance_quota" else None,
                selection_rank=rank,
                curator_cluster_id=standing.curator_cluster_id,
                curator_is_duplicate=standing.curator_is_duplicate,
                curator_predecessor_id=standing.curator_predecessor_id,
                curator_similarity_score=standing.curator_similarity_score,
                text_hash=candidate.text_hash,
                capability_signature=candidate.capability_signature,
                language=candidate.language,
                edge_signatures=candidate.edge_signatures,
                intent=candidate.intent,
                category=candidate.category,
                required_tools=candidate.required_tools,
                tools_present=candidate.tools_present,
                difficulty=candidate.difficulty,
                turn_class=candidate.turn_class,
                tool_call_count=candidate.tool_call_bucket,
                turn_policy=candidate.turn_policy,
                num_turns=candidate.num_turns,
                num_tool_calls=candidate.num_tool_calls,
                coverage_locked=task_id not in drops and covering[candidate.coverage_bucket] == 1,
                representative_rank=standing.representative_rank,
            )
        )
    return tuple(rows)
