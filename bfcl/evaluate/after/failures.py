"""Why did a task fail, told so that a person sees it? Rule: evaluation.md §16.3.

Diagnostics: no score rests on them, no manifest names them, and nothing reads them back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.evaluate.after.call_diff import CallDiff, call_diffs
from bfcl.evaluate.after.near_miss import NearMiss, near_miss
from bfcl.evaluate.after.went_wrong import WentWrong, went_wrong
from bfcl.evaluate.records import AssertionEvidence, EpisodeEvidence, Gate, Script, TaskScore, TurnEvidence
from bfcl.evaluate.settings.model import Scoring
from bfcl.stages.divergence import Difference, differences

SCHEMA_VERSION: Final = "1.0"
STATES_SHOWN: Final = 50

Message = Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One task as it was played and scored."""

    script: Script
    evidence: EpisodeEvidence
    score: TaskScore
    prompt_of: Callable[[Digest], Sequence[Message] | None]
    """Messages of a request by `request_hash`; None where nobody kept them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDifference:
    """Where the final state departs from one that passed."""

    reference: str
    """Whose state that is."""
    differences: tuple[Difference, ...]
    """`left` is the state that passed, `right` this one; no more than `STATES_SHOWN`."""
    count: int

    def to_json(self) -> dict[str, Json]:
        return {
            "reference": self.reference,
            "count": self.count,
            "differences": [{"path": one.path, "expected": one.left, "actual": one.right} for one in self.differences],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed task."""

    episode: Episode
    gate: Gate | None
    """The first that failed; None where only the verdict of the assertions did."""
    turn: TurnEvidence | None
    """The one to look at: the gate's, else the last one asked."""
    calls: tuple[CallDiff, ...]
    near_miss: NearMiss | None
    assertions: tuple[AssertionEvidence, ...]
    """Those that neither passed nor were without application."""
    state: StateDifference | None
    went_wrong: WentWrong
    """Where to begin reading, which the first failing gate need not say."""
    last_attempt: str | None = None
    """How the last attempt at the turn ended, where it got no reply and that is on record."""

    @property
    def answerable(self) -> str:
        """`candidate`, `infrastructure` or `evidence`: the class of the first failing gate."""
        return "candidate" if self.gate is None else self.gate.failure_class

    @property
    def conversation(self) -> Sequence[Message] | None:
        """What the candidate had seen before the turn; None where nobody kept it."""
        return None if self.turn is None else self.episode.prompt_of(self.turn.request_hash)

    @property
    def expected_text(self) -> str | None:
        """The recorded wording where words were expected."""
        turn = self.turn
        return None if turn is None or turn.gold else self.episode.script.turns[turn.turn_index].text


def failure_of(episode: Episode, scoring: Scoring, *, passed: tuple[str, str] | None = None) -> Failure | None:
    """What there is to tell of a task, or None where it succeeded.

    `passed` is (name, canonical JSON) of a final state with which the same task passes.
    """
    score, evidence = episode.score, episode.evidence
    if score.task_success:
        return None
    gate = next((one for one in score.gates if one.outcome == "failed"), None)
    turn = _turn(evidence, gate)
    return Failure(
        episode=episode,
        gate=gate,
        turn=turn,
        calls=() if turn is None else call_diffs(turn),
        near_miss=None if turn is None else near_miss(episode.script, turn, scoring),
        assertions=tuple(one for one in evidence.assertions or () if one.verdict in ("failed", "infrastructure_error")),
        state=None if passed is None else _state(passed, evidence.final_state),
        went_wrong=went_wrong(episode.script, evidence, scoring, gate),
    )


def _turn(evidence: EpisodeEvidence, gate: Gate | None) -> TurnEvidence | None:
    """Of a live continuation, which may ask a turn twice, the last of its kind."""
    if not evidence.turns:
        return None
    of_gate = [one for one in evidence.turns if gate is not None and one.turn_index == gate.turn_index]
    return (of_gate or evidence.turns)[-1]


def _state(passed: tuple[str, str], final: str | None) -> StateDifference | None:
    if final is None:
        return None
    found = list(differences(json.loads(passed[1]), json.loads(final)))
    return StateDifference(reference=passed[0], differences=tuple(found[:STATES_SHOWN]), count=len(found))


def failure_json(failure: Failure) -> dict[str, Json]:
    """One line of `eval_failures/<alias>.jsonl`."""
    episode, turn, gate = failure.episode, failure.turn, failure.gate
    evidence, conversation = episode.evidence, failure.conversation
    response = None if turn is None else turn.response
    return {
        "schema_version": SCHEMA_VERSION,
        "candidate_alias": evidence.candidate_alias,
        "task_id": evidence.task_id,
        "template_id": episode.script.template_id,
        "mode": evidence.mode,
        "trial": evidence.trial,
        "episode_status": evidence.status,
        "first_failing_gate": None if gate is None else gate.name,
        "reason_code": None if gate is None else gate.reason_code,
        "went_wrong": failure.went_wrong.to_json(),
        "answerable": failure.answerable,
        "failed_gates": [one.name for one in episode.score.gates if one.outcome == "failed"],
        "near_miss": failure.near_miss,
        "turn_index": None if turn is None else turn.turn_index,
        "call_status": None if turn is None else turn.call_status,
        "last_attempt": failure.last_attempt,
        "conversation": None if conversation is None else list(conversation),
        "expected_text": failure.expected_text,
        "actual_content": None if response is None else response.assistant_content,
        "finish_reason": None if response is None else response.finish_reason,
        "calls": [one.to_json() for one in failure.calls],
        "executions": []
        if turn is None
        else [
            {
                "tool": one.tool,
                "status": one.status,
                "reason": one.reason,
                "commit": one.commit,
                "result": one.result,
                "detail": one.detail,
            }
            for one in turn.executions
        ],
        "assertions": [
            {"name": one.name, "category": one.category, "verdict": one.verdict, "message": one.detail}
            for one in failure.assertions
        ],
        "state_difference": None if failure.state is None else failure.state.to_json(),
        "detail": evidence.detail,
    }
