"""Does the evidence of an episode agree with its script, with itself, and with the gates drawn from it?

What disagrees is refused and never scored: a verdict on evidence that cannot have happened is worth nothing.
Rule: evaluation.md §9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.records import EpisodeEvidence, EpisodeStatus, Gate, Script, TurnEvidence, attribution
from bfcl.evaluate.score.course import AFTER_THE_TALK, fits, is_live, went_through
from bfcl.evaluate.settings.model import Scoring

_FIX: Final = "evaluate into a new output directory; this episode was not recorded as it was driven"

_CODES: Final = {"trace": "eval_trace_evidence_mismatch", "executable": "eval_executable_evidence_mismatch"}
_TRACE_STATUSES: Final[frozenset[EpisodeStatus]] = frozenset(
    {
        "completed",
        "candidate_mismatch",
        "malformed_response",
        "unusable_tool_call_ids",
        "candidate_call_failed",
        "max_turns_exceeded",
        "episode_timeout",
    }
)
_BROKEN_BY: Final[Mapping[EpisodeStatus, str]] = {
    "oracle_call_failed": "tool_error",
    "oracle_timeout": "timeout",
    "oracle_result_malformed": "malformed_result",
}


def require_evidence(script: Script, evidence: EpisodeEvidence, scoring: Scoring) -> None:
    """Raises: EvalError `eval_trace_evidence_mismatch` or `eval_executable_evidence_mismatch`, with every fault."""
    faults = [*_identity_faults(script, evidence), *_turn_faults(script, evidence)]
    if not faults:
        faults = [*_route_faults(evidence, scoring), *_status_faults(script, evidence, scoring)]
        faults += _assertion_faults(evidence)
    _refuse(evidence, faults)


def require_gates(evidence: EpisodeEvidence, gates: Sequence[Gate], *, live: bool) -> None:
    """Gates and status must tell of one and the same end. Raises: EvalError as `require_evidence`."""
    _refuse(evidence, list(_gate_faults(evidence.status, gates, live=live)))


def _refuse(evidence: EpisodeEvidence, faults: Sequence[str]) -> None:
    code = _CODES[evidence.mode]
    subject = f"{evidence.candidate_alias}:{evidence.task_id}"
    raise_all(EvalError, [Problem(code=code, message=fault, subject=subject, fix=_FIX) for fault in faults])


def _identity_faults(script: Script, evidence: EpisodeEvidence) -> Iterator[str]:
    if evidence.task_id != script.task_id:
        yield f"the evidence is held against the script of {script.task_id}"
    if evidence.mode == "trace":
        if evidence.status not in _TRACE_STATUSES:
            yield f"status {evidence.status} cannot end an episode without an oracle"
        if evidence.assertions is not None or evidence.declared_assertions:
            yield "assertions stand in an episode without an oracle"


def _turn_faults(script: Script, evidence: EpisodeEvidence) -> Iterator[str]:
    """What is wrong inside one turn, whatever the status."""
    for turn in evidence.turns:
        if not 0 <= turn.turn_index < len(script.turns):
            yield f"turn {turn.turn_index} was asked, the script has {len(script.turns)}"
            continue
        scripted = script.turns[turn.turn_index]
        expected, seen = ([call.index for call in calls] for calls in (scripted.calls, turn.gold))
        if expected != seen:
            yield f"turn {turn.turn_index} expects the gold calls {seen}, the script {expected}"
        if (turn.text_ok is None) != bool(scripted.calls):
            yield f"turn {turn.turn_index} was judged as another kind of turn than the script has"
        yield from _reply_faults(turn, evidence)


def _reply_faults(turn: TurnEvidence, evidence: EpisodeEvidence) -> Iterator[str]:
    made = 0 if turn.response is None else len(turn.response.tool_calls)
    if (turn.response is None) == (turn.call_status == "completed"):
        yield f"turn {turn.turn_index} has call status {turn.call_status} and {_reply(turn)}"
    if len(turn.matches) != made:
        yield f"turn {turn.turn_index} makes {made} calls and compares {len(turn.matches)}"
    executed = made if evidence.mode == "executable" else 0
    if len(turn.executions) != executed:
        yield f"turn {turn.turn_index} has {len(turn.executions)} executions, expected {executed}"
    if turn.advanced and not fits(turn):
        yield f"turn {turn.turn_index} advanced without the reply it expects"


def _reply(turn: TurnEvidence) -> str:
    return "no reply" if turn.response is None else "a reply"


def _route_faults(evidence: EpisodeEvidence, scoring: Scoring) -> Iterator[str]:
    """Turns come in script order and only the last one may have stopped; on a way of their own they just ascend."""
    asked = [turn.turn_index for turn in evidence.turns]
    live = is_live(evidence, scoring)
    if asked != (sorted(asked) if live else list(range(len(asked)))):
        yield f"turns were asked in the order {asked}"
    stopped = [turn for turn in evidence.turns[:-1] if not (turn.response if live else turn.advanced)]
    for turn in stopped:
        yield f"turn {turn.turn_index} did not advance and the episode went on"
    if (evidence.status == "dependency_resolution_failed") != any(
        one.status != "resolved" for one in evidence.unresolved
    ):
        yield f"status is {evidence.status} with {len(evidence.unresolved)} arguments that ended the episode"


def _status_faults(script: Script, evidence: EpisodeEvidence, scoring: Scoring) -> Iterator[str]:
    """What the status claims and the last turn does not show."""
    status, last = evidence.status, evidence.turns[-1] if evidence.turns else None
    live, over = is_live(evidence, scoring), went_through(script, evidence)
    if status == "completed" and not (over or (live and last is not None and last.response is not None)):
        yield f"status is completed after {len(evidence.turns)} of {len(script.turns)} turns, the last one short"
    elif status == "oracle_state_failed" and not (over or live):
        yield "status is oracle_state_failed of an episode that had not completed"
    elif status != "completed" and over and not live and status not in _may_follow_the_end(evidence):
        yield f"status is {status} though every turn advanced"
    if status in _NEEDS_LAST and not (last is not None and _shows(status, last, live=live)):
        yield f"status is {status}, which the last turn does not show"
    if status == "oracle_reset_failed" and last is not None:
        yield f"status is oracle_reset_failed after {len(evidence.turns)} turns"


_NEEDS_LAST: Final[frozenset[EpisodeStatus]] = frozenset(
    {
        "candidate_mismatch",
        "malformed_response",
        "unusable_tool_call_ids",
        "confirmation_not_earned",
        "candidate_call_failed",
        "unknown_commit_state",
        *_BROKEN_BY,
    }
)


def _shows(status: EpisodeStatus, last: TurnEvidence, *, live: bool) -> bool:
    """Whether the last turn is one that ends an episode so."""
    reply = last.response
    match status:
        case "malformed_response":
            return last.call_status == "malformed_response"
        case "candidate_call_failed":
            return reply is None and last.call_status != "malformed_response"
        case "candidate_mismatch":
            return reply is not None and not last.advanced and (live or not fits(last))
        case "unusable_tool_call_ids":
            return reply is not None and bool(reply.tool_calls) and not last.advanced
        case "confirmation_not_earned":
            earned = "tool_execution.confirmation_not_earned"
            return not last.advanced and any(one.reason == earned for one in last.executions)
        case "unknown_commit_state":
            return any(one.commit == "unknown" for one in last.executions)
        case _:
            return any(one.status == _BROKEN_BY[status] for one in last.executions)


def _may_follow_the_end(evidence: EpisodeEvidence) -> frozenset[EpisodeStatus]:
    """Statuses under which every turn may have advanced: only a live oracle can still fail then."""
    return AFTER_THE_TALK | {"oracle_session_failed"} if evidence.mode == "executable" else frozenset()


def _assertion_faults(evidence: EpisodeEvidence) -> Iterator[str]:
    if evidence.assertions is None:
        if evidence.status == "completed" and evidence.declared_assertions:
            yield f"status is completed and none of {len(evidence.declared_assertions)} assertions ran"
        return
    ran = tuple(one.name for one in evidence.assertions)
    broke = bool(evidence.assertions) and evidence.assertions[-1].verdict == "infrastructure_error"
    expected = evidence.declared_assertions[: len(ran)] if broke else evidence.declared_assertions
    if ran != expected:
        yield f"assertions {', '.join(ran)} ran, declared are {', '.join(evidence.declared_assertions)}"


def _gate_faults(status: EpisodeStatus, gates: Sequence[Gate], *, live: bool) -> Iterator[str]:
    ended = attribution(status)
    failed = [gate for gate in gates if gate.outcome == "failed"]
    infrastructure = [gate.name for gate in failed if gate.failure_class == "infrastructure"]
    # After a candidate's stop the state is still read and assertions run, and both may break.
    stray = [name for name in infrastructure if not (ended == "candidate" and name == "assertions")]
    if ended != "infrastructure" and stray:
        yield f"status {status} is not the run's, and by infrastructure fail {', '.join(stray)}"
    if ended == "infrastructure" and not infrastructure:
        yield f"status {status} is the run's, and no gate fails by infrastructure"
    if ended == "candidate" and not any(gate.failure_class == "candidate" for gate in failed):
        yield f"status {status} is the candidate's, and no gate fails by the candidate"
    own = [gate.name for gate in failed if gate.name not in ("assertions", "executable_completion")]
    if ended == "success" and own and not live:
        yield f"status {status} is a success, and there fail {', '.join(own)}"
