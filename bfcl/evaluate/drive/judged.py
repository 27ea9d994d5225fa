"""What do the final state and the assertions of an episode say? Rule: evaluation.md §7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from bfcl.evaluate.drive.results import Closing
from bfcl.evaluate.drive.session import told
from bfcl.evaluate.drive.task_spec import Declared
from bfcl.evaluate.records import AssertionEvidence, EpisodeStatus
from bfcl.oracle.protocol import EpisodeResult

UNJUDGED: Final[frozenset[EpisodeStatus]] = frozenset(
    {
        "unknown_commit_state",
        "oracle_timeout",
        "oracle_call_failed",
        "oracle_result_malformed",
        "dependency_resolution_failed",
    }
)
"""Episodes that ended so are not held against their assertions."""

_Verdict: TypeAlias = Literal["passed", "failed", "not_applicable", "infrastructure_error"]
_VERDICTS: Final[Mapping[str, _Verdict]] = {
    "passed": "passed",
    "failed": "failed",
    "not_applicable": "not_applicable",
    "error": "infrastructure_error",
}


def closing_of(status: EpisodeStatus, declared: Sequence[Declared], result: EpisodeResult) -> Closing:
    """How an episode that came to `status` ends, by its last run.

    A state that cannot be read, and an assertion that is no verdict, end one that was completed so far; who stopped
    another before keeps having stopped it.
    """
    names = tuple(one.name for one in declared)
    if not result.states:
        detail = None if result.breakdown is None else told(result.breakdown)
        return Closing(
            status=_worse(status, "oracle_state_failed"), state_known=False, declared_assertions=names, detail=detail
        )
    assertions = None if status in UNJUDGED else assertions_of(declared, result)
    broken = next((one for one in assertions or () if one.verdict == "infrastructure_error"), None)
    return Closing(
        status=status if broken is None else _worse(status, "assertion_infrastructure_failed"),
        assertions=assertions,
        final_state=result.states[-1],
        declared_assertions=names,
        detail=None if broken is None else f"{broken.name}: {broken.detail}",
    )


def assertions_of(declared: Sequence[Declared], result: EpisodeResult) -> tuple[AssertionEvidence, ...]:
    """The verdicts in declared order, up to the first that is none: after that nothing can be told."""
    found: list[AssertionEvidence] = []
    for place, (name, category) in enumerate(declared):
        outcome = result.assertions[place] if place < len(result.assertions) else None
        broken = result.breakdown
        detail = outcome.detail if outcome is not None else "gave no outcome" if broken is None else told(broken)
        verdict = _VERDICTS["error" if outcome is None else outcome.status]
        found.append(AssertionEvidence(name=name, category=category, verdict=verdict, detail=detail))
        if verdict == "infrastructure_error":
            break
    return tuple(found)


def _worse(status: EpisodeStatus, instead: EpisodeStatus) -> EpisodeStatus:
    return instead if status == "completed" else status
