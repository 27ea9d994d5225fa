"""What do all tasks of one candidate come to? Rule: evaluation.md §10."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.records import Aggregate, Count, Scope, TaskScore
from bfcl.evaluate.score.counts import counts_json, metric_json
from bfcl.evaluate.score.episode import score_hash
from bfcl.evaluate.score.taxonomy import METRICS, NO_APPLICABLE_TASK, Mode
from bfcl.evaluate.source.plan import CandidateTasks

_CODES: Final = {"trace": "eval_trace_aggregation_invalid", "executable": "eval_executable_aggregation_invalid"}
_NAMED: Final = 5
_FIX: Final = "evaluate into a new output directory; these scores are not those of the plan"
_UNHASHED: Final = Digest("sha256:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """Under what the scores of one aggregate were made. Every part of it enters the hash of the aggregate."""

    plan_identity: Digest
    scoring_policy_hash: Digest
    scoring_contract_hash: Digest
    oracle_hash: Digest | None
    """None where no oracle ran."""

    def to_json(self) -> dict[str, Json]:
        return {
            "plan_identity": self.plan_identity,
            "scoring_policy_hash": self.scoring_policy_hash,
            "scoring_contract_hash": self.scoring_contract_hash,
            "oracle_hash": self.oracle_hash,
        }


def aggregate(
    scores: Sequence[TaskScore],
    *,
    tasks: CandidateTasks,
    scope: Scope,
    identities: Identities,
) -> Aggregate:
    """Add up a candidate's scores of one trial, which are exactly those of its `tasks` in the plan, in their order.

    Raises: EvalError `eval_trace_aggregation_invalid` or `eval_executable_aggregation_invalid` with every
    disagreement.
    """
    mode: Mode = "trace" if scope == "trace" else "executable"
    faults = [*_order_faults(scores, tasks.task_ids), *_score_faults(scores, tasks.alias, mode, identities)]
    raise_all(EvalError, [Problem(code=_CODES[mode], message=one, subject=tasks.alias, fix=_FIX) for one in faults])
    whole = Aggregate(
        alias=tasks.alias,
        canonical_id=tasks.canonical_id,
        scope=scope,
        task_count=len(scores),
        successful_tasks=sum(score.task_success for score in scores),
        non_candidate_stops=sum(score.non_candidate_stop for score in scores),
        metrics={name: _sum([score.counts[name] for score in scores]) for name in METRICS[mode]},
        aggregate_hash=_UNHASHED,
    )
    return dataclasses.replace(whole, aggregate_hash=aggregate_hash(whole, scores, identities))


def aggregate_hash(whole: Aggregate, scores: Sequence[TaskScore], identities: Identities) -> Digest:
    """The hash of what an aggregate says, of the scores it adds up, and of what they were made under."""
    content: dict[str, Json] = {
        **identities.to_json(),
        "alias": whole.alias,
        "canonical_id": whole.canonical_id,
        "scope": whole.scope,
        "task_count": whole.task_count,
        "successful_tasks": whole.successful_tasks,
        "non_candidate_stops": whole.non_candidate_stops,
        "metrics": counts_json(whole.metrics),
        "scores": [[score.task_id, score.score_hash] for score in scores],
    }
    return sha256_json(content)


def aggregate_json(whole: Aggregate) -> dict[str, Json]:
    """The aggregate as a candidate's entry of the report."""
    return {
        "alias": whole.alias,
        "scope": whole.scope,
        "canonical_id": whole.canonical_id,
        "aggregate_hash": whole.aggregate_hash,
        "task_count": whole.task_count,
        "successful_tasks": whole.successful_tasks,
        "non_candidate_stops": whole.non_candidate_stops,
        "metrics": {name: metric_json(count) for name, count in whole.metrics.items()},
    }


def _sum(counts: Sequence[Count]) -> Count:
    """Counts added up; where nothing applied, the reason they share or that no task had one of its own."""
    denominator = sum(count.denominator for count in counts)
    if denominator:
        return Count(numerator=sum(count.numerator for count in counts), denominator=denominator)
    reasons = {count.reason for count in counts}
    return Count(numerator=0, denominator=0, reason=reasons.pop() if len(reasons) == 1 else NO_APPLICABLE_TASK)


def _order_faults(scores: Sequence[TaskScore], task_ids: Sequence[str]) -> Iterator[str]:
    seen = [score.task_id for score in scores]
    if seen == list(task_ids):
        return
    missing = list(dict.fromkeys(one for one in task_ids if one not in set(seen)))
    strange = list(dict.fromkeys(one for one in seen if one not in set(task_ids)))
    repeated = [one for one, count in _tally(seen).items() if count > 1]
    for what, ids in (("have no score", missing), ("are not planned", strange), ("are scored twice", repeated)):
        if ids:
            yield f"{len(ids)} tasks {what}: {_listed(ids)}"
    if not (missing or strange or repeated):
        yield "the scores stand in another order than the plan's tasks"


def _tally(ids: Sequence[str]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for one in ids:
        found[one] = found.get(one, 0) + 1
    return found


def _score_faults(scores: Sequence[TaskScore], alias: str, mode: Mode, identities: Identities) -> Iterator[str]:
    policy = identities.scoring_policy_hash
    others = [score.task_id for score in scores if score.candidate_alias != alias]
    modes = [score.task_id for score in scores if score.mode != mode]
    hashes = [score.task_id for score in scores if score.score_hash != score_hash(score, policy)]
    trials = sorted({score.trial for score in scores})
    if others:
        yield f"{len(others)} scores are another candidate's: {_listed(others)}"
    if modes:
        yield f"{len(modes)} scores are not {mode} scores: {_listed(modes)}"
    if len(trials) > 1:
        yield f"the scores are of several trials: {_listed([str(one) for one in trials])}"
    if hashes:
        yield f"{len(hashes)} scores were made under another policy or changed since: {_listed(hashes)}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
