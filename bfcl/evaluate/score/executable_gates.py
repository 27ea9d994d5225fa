"""Did the calls run, and did they come to the right state? The five gates beyond a trace score. Rule: evaluation.md §9.

Each is classed as its own outcome says: what the oracle could not do is the run's, what a call lacked the candidate's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from bfcl.evaluate.records import Execution, Gate, GateName, Resolution, attribution
from bfcl.evaluate.score.course import Course
from bfcl.evaluate.score.taxonomy import (
    ASSERTION_FAILED,
    ASSERTION_INFRASTRUCTURE_ERROR,
    ASSERTION_STATE_UNAVAILABLE,
    ASSERTIONS_PASSED,
    CALL_NOT_EXECUTED,
    COMMIT_STATE_KNOWN,
    COMMIT_STATE_UNKNOWN,
    DEPENDENCIES_RESOLVED,
    EPISODE_COMPLETED,
    EPISODE_INCOMPLETE,
    ORACLE_EXECUTION_PASSED,
    oracle_broke,
    unresolved,
)
from bfcl.evaluate.score.trace_gates import inapplicable, passed

SUCCESSFUL: Final = frozenset({"completed", "business_rejection"})
"""Execution statuses of an exchange that worked, whatever the domain answered."""
MUTATING: Final = frozenset({"committed", "not_committed", "unknown"})
"""Commit states of a mutating call that was attempted."""


def executable_gates(course: Course, stopped_at: int | None) -> tuple[Gate, ...]:
    """The five in order; `stopped_at` is the turn to look at where an episode did not complete."""
    return (
        _oracle_execution(course),
        _dependency_resolution(course),
        _commit_state_known(course),
        _assertions(course),
        _completion(course, stopped_at),
    )


def executions(course: Course) -> Iterator[tuple[int, Execution]]:
    """Turn and execution of every call that the candidate proposed, in order."""
    return ((turn.turn_index, one) for turn in course.evidence.turns for one in turn.executions)


def _failed(name: GateName, code: str, failure_class: Literal["candidate", "infrastructure"], turn: int | None) -> Gate:
    return Gate(name=name, outcome="failed", reason_code=code, failure_class=failure_class, turn_index=turn)


def _oracle_execution(course: Course) -> Gate:
    proposed = list(executions(course))
    if not proposed:
        return inapplicable("oracle_execution", course)
    failed = [(turn, one) for turn, one in proposed if one.status not in SUCCESSFUL]
    # A call that broke in the oracle ended the episode, whatever else of the turn was not run before or after it.
    for turn, one in failed:
        if one.status != "not_executed":
            return _failed("oracle_execution", oracle_broke(one.status), "infrastructure", turn)
    if failed:
        return _failed("oracle_execution", CALL_NOT_EXECUTED, "candidate", failed[0][0])
    return passed("oracle_execution", ORACLE_EXECUTION_PASSED)


def _dependency_resolution(course: Course) -> Gate:
    reached: list[tuple[int | None, Resolution]] = [
        (turn.turn_index, one) for turn in course.evidence.turns for one in turn.resolutions
    ]
    reached += [(course.next_turn, one) for one in course.evidence.unresolved]
    if not reached:
        return inapplicable("dependency_resolution", course)
    for turn, one in reached:
        if one.status != "resolved":
            # On a way of its own it is the candidate that did not call what the argument comes from.
            blamed: Literal["candidate", "infrastructure"] = "candidate" if course.live else "infrastructure"
            return _failed("dependency_resolution", unresolved(one.status), blamed, turn)
    return passed("dependency_resolution", DEPENDENCIES_RESOLVED)


def _commit_state_known(course: Course) -> Gate:
    mutating = [(turn, one.commit) for turn, one in executions(course) if one.commit in MUTATING]
    if not mutating:
        return inapplicable("commit_state_known", course)
    for turn, commit in mutating:
        if commit == "unknown":
            return _failed("commit_state_known", COMMIT_STATE_UNKNOWN, "infrastructure", turn)
    return passed("commit_state_known", COMMIT_STATE_KNOWN)


def _assertions(course: Course) -> Gate:
    evidence = course.evidence
    turn = None if course.last is None else course.last.turn_index
    if not evidence.declared_assertions:
        return inapplicable("assertions", course)
    if not evidence.state_known:
        return _failed("assertions", ASSERTION_STATE_UNAVAILABLE, "infrastructure", turn)
    verdicts = {one.verdict for one in evidence.assertions or ()}
    if "infrastructure_error" in verdicts:
        return _failed("assertions", ASSERTION_INFRASTRUCTURE_ERROR, "infrastructure", turn)
    if "failed" in verdicts:
        return _failed("assertions", ASSERTION_FAILED, "candidate", turn)
    if "passed" in verdicts:
        return passed("assertions", ASSERTIONS_PASSED)
    return inapplicable("assertions", course)


def _completion(course: Course, stopped_at: int | None) -> Gate:
    blamed = attribution(course.evidence.status)
    if blamed == "success":
        return passed("executable_completion", EPISODE_COMPLETED)
    return _failed("executable_completion", EPISODE_INCOMPLETE, blamed, stopped_at)
