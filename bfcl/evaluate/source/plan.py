"""Which tasks does each candidate get, and may the result be published? Rule: evaluation.md §4; gate 15 of §3."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.settings.model import Contamination, EvalSettings
from bfcl.evaluate.source.gates import Place, SourceGate, refusal
from bfcl.evaluate.source.verdict import Verdict, judge
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.exports.row import ExportRow

PLAN_CONTRACT: Final = "bfcl-eval-plan/1"
EXPOSED: Final = "eval_contamination_candidate_exposed"
UNRESOLVED: Final = "eval_contamination_unresolved"
EMPTY: Final = "eval_contamination_empty_task_set"
INCONSISTENT: Final = "eval_contamination_task_set_inconsistent"
PLAN_DRIFT: Final = "eval_contamination_plan_drift"

Policy = Literal["common_intersection", "per_candidate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTasks:
    """The tasks of one candidate, in publication order."""

    alias: str
    canonical_id: str
    task_ids: tuple[str, ...]
    task_ids_hash: Digest
    excluded: int
    """Rows that leave because this candidate's model had a hand in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSet:
    """The tasks that every candidate is measured on: what may be compared between them."""

    policy: Policy
    task_count: int
    task_ids_hash: Digest

    def to_json(self) -> dict[str, Json]:
        """The set as every report holds it."""
        return {"policy": self.policy, "task_count": self.task_count, "task_ids_hash": self.task_ids_hash}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Who gets which tasks."""

    candidates: tuple[CandidateTasks, ...]
    """By alias."""
    comparison_set: ComparisonSet
    verdicts: tuple[Verdict, ...]
    """One for each candidate and exposure: candidates by alias, exposures by role."""
    reasons: tuple[str, ...]
    """Why this plan forbids publication, sorted; empty where it does not."""
    plan_identity: Digest

    @property
    def violations(self) -> tuple[Verdict, ...]:
        """The verdicts that a candidate's model had a hand in the benchmark."""
        return tuple(verdict for verdict in self.verdicts if verdict.answer == "match")

    @property
    def allowed(self) -> bool:
        """Whether the plan allows publication; the configuration has to, too."""
        return not self.reasons

    def tasks_of(self, alias: str) -> CandidateTasks:
        """Raises KeyError for a candidate that is not in the plan."""
        for candidate in self.candidates:
            if candidate.alias == alias:
                return candidate
        raise KeyError(alias)

    def rows(self, rows: Iterable[ExportRow]) -> dict[str, ExportRow]:
        """Those of the published rows that somebody is asked, by task id, in the order in which they come."""
        wanted = {task_id for one in self.candidates for task_id in one.task_ids}
        return {row.task_id: row for row in rows if row.task_id in wanted}

    def task_ids(self, alias: str) -> tuple[str, ...]:
        """The ordered ids of one candidate. Raises KeyError for one that is not in the plan."""
        return self.tasks_of(alias).task_ids


def verdicts_of(settings: EvalSettings, verified: VerifiedSource) -> tuple[Verdict, ...]:
    """One verdict for each candidate and exposure."""
    return tuple(judge(candidate, exposure) for candidate in settings.candidates for exposure in verified.exposures)


def plan_of(settings: EvalSettings, verified: VerifiedSource) -> Plan:
    """Fix every candidate's tasks.

    Raises: EvalError `eval_contamination_candidate_exposed` and `eval_contamination_unresolved`, with every candidate
    concerned, or `eval_contamination_empty_task_set`.
    """
    verdicts = verdicts_of(settings, verified)
    policy = settings.contamination
    if policy.enforce:
        raise_all(EvalError, list(_refusals(settings, verdicts)))
    excluded = _excluded(settings, verified, verdicts)
    kept = _kept(policy, verified.task_ids, excluded)
    common = _without(verified.task_ids, frozenset().union(*excluded.values()))
    raise_all(EvalError, list(_empty(settings, verified, kept, common)))
    candidates = tuple(
        CandidateTasks(
            alias=candidate.alias,
            canonical_id=candidate.canonical_id,
            task_ids=kept[candidate.alias],
            task_ids_hash=sha256_json(kept[candidate.alias]),
            excluded=len(excluded[candidate.alias]),
        )
        for candidate in settings.candidates
    )
    plan = Plan(
        candidates=candidates,
        comparison_set=ComparisonSet(
            policy=policy.comparison_set, task_count=len(common), task_ids_hash=sha256_json(common)
        ),
        verdicts=verdicts,
        reasons=_reasons(policy, verdicts, candidates),
        plan_identity=Digest(""),
    )
    return dataclasses.replace(plan, plan_identity=identity_of(settings, verified, plan))


def identity_of(settings: EvalSettings, verified: VerifiedSource, plan: Plan) -> Digest:
    """The identity of what a plan says, of the source it is for and of the policy it follows."""
    policy = settings.contamination
    return sha256_json(
        {
            "contract": PLAN_CONTRACT,
            "source_verification_identity": verified.verification_identity,
            "contamination": {
                "enforce": policy.enforce,
                "on_violation": policy.on_violation,
                "comparison_set": policy.comparison_set,
            },
            "publication_requested": settings.publication_requested,
            "exposures": [exposure.to_json() for exposure in verified.exposures],
            **plan_json(plan),
        }
    )


def plan_json(plan: Plan) -> dict[str, Json]:
    """Everything that a plan says, its identity aside; ids by count and digest."""
    return {
        "candidates": [
            {
                "alias": one.alias,
                "canonical_id": one.canonical_id,
                "task_count": len(one.task_ids),
                "task_ids_hash": one.task_ids_hash,
                "excluded_rows": one.excluded,
            }
            for one in plan.candidates
        ],
        "comparison_set": plan.comparison_set.to_json(),
        "verdicts": [verdict.to_json() for verdict in plan.verdicts],
        "publication_allowed": plan.allowed,
        "non_publication_reasons": plan.reasons,
    }


def check_plan(settings: EvalSettings, verified: VerifiedSource, plan: Plan) -> None:
    """Refuse a plan that nobody derived from these settings and this source.

    Raises: EvalError `eval_contamination_task_set_inconsistent` where the plan contradicts itself or the benchmark,
    `eval_contamination_plan_drift` where it is another than the one that they give.
    """
    raise_all(EvalError, list(_contradictions(settings, verified, plan)))
    derived = plan_of(settings, verified)
    if derived != plan:
        message = f"the plan is {plan.plan_identity}, source and configuration give {derived.plan_identity}"
        raise EvalError(_about(PLAN_DRIFT, "the plan", message, _NEVER_BY_HAND))


_NEVER_BY_HAND: Final = "start the evaluation again; a plan is derived and never written by hand"


def _contradictions(settings: EvalSettings, verified: VerifiedSource, plan: Plan) -> Iterator[Problem]:
    listed, wanted = [one.alias for one in plan.candidates], [one.alias for one in settings.candidates]
    if listed != wanted:
        message = f"is for {', '.join(listed) or 'nobody'}; expected {', '.join(wanted)}"
        yield _about(INCONSISTENT, "the plan", message, _NEVER_BY_HAND)
    for one in plan.candidates:
        chosen = frozenset(one.task_ids)
        if tuple(task_id for task_id in verified.task_ids if task_id in chosen) != one.task_ids:
            message = "holds tasks that are not published, or not in publication order"
            yield _about(INCONSISTENT, one.alias, message, _NEVER_BY_HAND)
        elif sha256_json(one.task_ids) != one.task_ids_hash:
            message = f"the task ids have {sha256_json(one.task_ids)}, the plan says {one.task_ids_hash}"
            yield _about(INCONSISTENT, one.alias, message, _NEVER_BY_HAND)
        elif plan.comparison_set.policy == "common_intersection" and one.task_ids_hash != (
            plan.comparison_set.task_ids_hash
        ):
            message = (
                f"the task ids have {one.task_ids_hash}, the set shared by all {plan.comparison_set.task_ids_hash}"
            )
            yield _about(INCONSISTENT, one.alias, message, _NEVER_BY_HAND)


def _refusals(settings: EvalSettings, verdicts: Sequence[Verdict]) -> Iterator[Problem]:
    if settings.contamination.on_violation == "fail_run":
        for alias, found in _by_alias(verdicts, "match").items():
            fix = "leave the candidate out, or set `contamination.on_violation: exclude_row`, which bars publication"
            message = f"is a model that the benchmark was made with: {_told(found)}; expected another model"
            yield _about(EXPOSED, alias, message, fix)
    if settings.publication_requested:
        for alias, found in _by_alias(verdicts, "unknown").items():
            fix = "pin `weights_digest` or `revision` in `model_identity`, or set `publication.requested: false`"
            message = f"cannot be told from a model that the benchmark was made with: {_told(found)}; expected proof"
            yield _about(UNRESOLVED, alias, message, fix)


def _by_alias(verdicts: Sequence[Verdict], answer: str) -> Mapping[str, list[Verdict]]:
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.answer == answer:
            found.setdefault(verdict.alias, []).append(verdict)
    return found


def _told(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(
        f"`{one.exposed_model}` as {one.role} of {one.task_count} tasks (by {one.evidence})" for one in verdicts
    )


def _excluded(
    settings: EvalSettings, verified: VerifiedSource, verdicts: Sequence[Verdict]
) -> dict[str, frozenset[str]]:
    """Candidate to the rows that leave on its account; a verdict of `unknown` removes none."""
    policy = settings.contamination
    excluding = policy.enforce and policy.on_violation == "exclude_row"
    matched = {(one.alias, one.role) for one in verdicts if excluding and one.answer == "match"}
    return {
        candidate.alias: frozenset().union(
            *(one.task_ids for one in verified.exposures if (candidate.alias, one.role) in matched)
        )
        for candidate in settings.candidates
    }


def _kept(
    policy: Contamination, task_ids: tuple[str, ...], excluded: Mapping[str, frozenset[str]]
) -> dict[str, tuple[str, ...]]:
    if policy.comparison_set == "common_intersection":
        shared = _without(task_ids, frozenset().union(*excluded.values()))
        return dict.fromkeys(excluded, shared)
    return {alias: _without(task_ids, gone) for alias, gone in excluded.items()}


def _without(task_ids: tuple[str, ...], gone: frozenset[str]) -> tuple[str, ...]:
    return tuple(task_id for task_id in task_ids if task_id not in gone) if gone else task_ids


def _empty(
    settings: EvalSettings, verified: VerifiedSource, kept: Mapping[str, tuple[str, ...]], common: tuple[str, ...]
) -> Iterator[Problem]:
    fix = "leave out the candidate that had a hand in these rows, or measure on another benchmark"
    if settings.contamination.comparison_set == "common_intersection":
        if not common:
            message = f"none of {len(verified.task_ids)} tasks is left for all candidates; expected at least one"
            yield _about(EMPTY, "the common task set", message, fix)
        return
    for alias, ids in kept.items():
        if not ids:
            message = f"none of {len(verified.task_ids)} tasks is left for this candidate; expected at least one"
            yield _about(EMPTY, alias, message, fix)


def _reasons(
    policy: Contamination, verdicts: Sequence[Verdict], candidates: Sequence[CandidateTasks]
) -> tuple[str, ...]:
    excluding = policy.enforce and policy.on_violation == "exclude_row"
    found = {f"contamination.unresolved:{one.alias}" for one in verdicts if one.answer == "unknown"}
    found |= {f"contamination.excluded_rows:{one.alias}" for one in candidates if one.excluded}
    found |= {f"contamination.exposed:{one.alias}" for one in verdicts if one.answer == "match" and not excluding}
    return tuple(sorted(found))


def _about(code: str, subject: str, message: str, fix: str) -> Problem:
    return refusal(SourceGate.CONTAMINATION, code, message, place=Place(subject=subject), fix=fix)
