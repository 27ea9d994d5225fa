"""What is one episode worth under a scoring policy? Pure: the same evidence and policy give the same score.

Rule: evaluation.md §9.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.records import (
    EpisodeEvidence,
    EpisodeStatus,
    FailureRecord,
    Gate,
    Script,
    TaskScore,
    attribution,
)
from bfcl.evaluate.score.agreement import require_evidence, require_gates
from bfcl.evaluate.score.counts import counts_json, task_counts
from bfcl.evaluate.score.course import course_of
from bfcl.evaluate.score.executable_gates import executable_gates
from bfcl.evaluate.score.taxonomy import Mode, episode_code
from bfcl.evaluate.score.trace_gates import trace_gates
from bfcl.evaluate.settings.model import Scoring

_CODES: Final = {
    "trace": "eval_trace_scoring_policy_unsupported",
    "executable": "eval_executable_scoring_policy_unsupported",
}
_UNHASHED: Final = Digest("sha256:")


def score_episode(script: Script, evidence: EpisodeEvidence, scoring: Scoring) -> TaskScore:
    """Score what happened.

    Raises: EvalError `eval_<mode>_scoring_policy_unsupported` where the policy cannot judge the episode,
    `eval_<mode>_evidence_mismatch` where the evidence disagrees with itself, the script or its gates.
    """
    asserts = bool(evidence.declared_assertions)
    raise_all(EvalError, policy_problems(scoring, evidence.mode, task_id=evidence.task_id, asserts=asserts))
    require_evidence(script, evidence, scoring)
    course = course_of(script, evidence, scoring)
    gates = trace_gates(course)
    if evidence.mode == "executable":
        gates += executable_gates(course, gates[-1].turn_index)
    require_gates(evidence, gates, live=course.live)
    success = _succeeds(gates, scoring)
    score = TaskScore(
        candidate_alias=evidence.candidate_alias,
        task_id=evidence.task_id,
        mode=evidence.mode,
        trial=evidence.trial,
        episode_status=evidence.status,
        gates=gates,
        task_success=success,
        non_candidate_stop=_not_the_candidates(evidence.status, gates),
        failures=_failures(evidence.status, gates),
        counts=task_counts(course, gates, success=success),
        score_hash=_UNHASHED,
    )
    return dataclasses.replace(score, score_hash=score_hash(score, scoring.policy_hash))


def score_hash(score: TaskScore, policy_hash: Digest) -> Digest:
    """The hash of everything a score says, under the policy that says it: reason codes and counts, no quotients."""
    content: dict[str, Json] = {
        "scoring_policy_hash": policy_hash,
        "candidate_alias": score.candidate_alias,
        "task_id": score.task_id,
        "mode": score.mode,
        "trial": score.trial,
        "episode_status": score.episode_status,
        "gates": [_gate_json(gate) for gate in score.gates],
        "task_success": score.task_success,
        "non_candidate_stop": score.non_candidate_stop,
        "failure_records": [failure_json(one) for one in score.failures],
        "counts": counts_json(score.counts),
    }
    return sha256_json(content)


def failure_json(record: FailureRecord) -> dict[str, Json]:
    """A failure record as artifacts show it."""
    return {
        "layer": record.layer,
        "code": record.code,
        "attribution": record.attribution,
        "subject": record.subject,
    }


def _gate_json(gate: Gate) -> dict[str, Json]:
    return {
        "name": gate.name,
        "outcome": gate.outcome,
        "reason_code": gate.reason_code,
        "failure_class": gate.failure_class,
        "turn_index": gate.turn_index,
    }


def policy_problems(scoring: Scoring, mode: Mode, *, task_id: str, asserts: bool) -> list[Problem]:
    """Why a policy cannot judge a task, which declares assertions or not; none where it can.

    All of it is known before a candidate is asked: whoever runs an evaluation refuses then.
    """
    code = _CODES[mode]
    problems = []
    if scoring.allow_llm_repair:
        problems.append(
            Problem(
                code=code,
                message="a repaired reply cannot be scored, expected false",
                subject="scoring.allow_llm_repair",
                field="scoring.allow_llm_repair",
                fix="set `allow_llm_repair: false`",
            )
        )
    if scoring.task_success == "assertions_only" and not asserts:
        why = "a trace runs no assertions" if mode == "trace" else f"{task_id} declares no assertion"
        problems.append(
            Problem(
                code=code,
                message=f"assertions_only cannot judge this task: {why}",
                subject="scoring.task_success",
                field="scoring.task_success",
                fix="set `task_success: all_applicable_gates`",
            )
        )
    return problems


def _succeeds(gates: Sequence[Gate], scoring: Scoring) -> bool:
    failed = [gate for gate in gates if gate.outcome == "failed"]
    if scoring.task_success == "all_applicable_gates":
        return not failed
    asserted = any(gate.name == "assertions" and gate.outcome == "passed" for gate in gates)
    return asserted and all(gate.failure_class == "candidate" for gate in failed)


def _not_the_candidates(status: EpisodeStatus, gates: Sequence[Gate]) -> bool:
    return attribution(status) == "infrastructure" or any(gate.failure_class == "infrastructure" for gate in gates)


def _failures(status: EpisodeStatus, gates: Sequence[Gate]) -> tuple[FailureRecord, ...]:
    """The status first where it is no success, then every failed gate in order."""
    blamed = attribution(status)
    found = []
    if blamed != "success":
        code = episode_code(status)
        found.append(FailureRecord(layer="episode", code=code, attribution=blamed, subject="episode"))
    for gate in gates:
        if gate.failure_class != "none":
            record = FailureRecord(
                layer="gate", code=gate.reason_code, attribution=gate.failure_class, subject=gate.name
            )
            found.append(record)
    return tuple(found)
