"""What final state and assertions make of an episode."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from bfcl.evaluate.drive.judged import UNJUDGED, closing_of
from bfcl.evaluate.drive.results import Closing
from bfcl.evaluate.drive.task_spec import Declared
from bfcl.evaluate.records import AssertionEvidence, EpisodeStatus
from bfcl.oracle.protocol import Breakdown, EpisodeResult
from bfcl.records.verdict import AssertionOutcome

DECLARED = (Declared("a", "state"), Declared("b", "final_answer"), Declared("c", "unclassified"))


def result(*statuses: str, states: tuple[str, ...] = ("{}",), breakdown: Breakdown | None = None) -> EpisodeResult:
    outcomes = tuple(
        AssertionOutcome(name=one.name, status=status, detail=f"why {status}")  # type: ignore[arg-type]
        for one, status in zip(DECLARED, statuses, strict=False)
    )
    return EpisodeResult(results=(), arguments=(), states=states, assertions=outcomes, breakdown=breakdown)


def verdicts(closing: Closing) -> list[Any]:
    return [one.verdict for one in closing.assertions or ()]


def test_closing_keeps_every_verdict_in_declared_order() -> None:
    closing = closing_of("completed", DECLARED, result("passed", "failed", "not_applicable"))
    assert closing == Closing(
        status="completed",
        assertions=(
            AssertionEvidence(name="a", category="state", verdict="passed", detail="why passed"),
            AssertionEvidence(name="b", category="final_answer", verdict="failed", detail="why failed"),
            AssertionEvidence(name="c", category="unclassified", verdict="not_applicable", detail="why not_applicable"),
        ),
        final_state="{}",
        declared_assertions=("a", "b", "c"),
    )


@pytest.mark.parametrize("status", get_args(EpisodeStatus))
def test_closing_makes_worse_only_what_was_completed(status: EpisodeStatus) -> None:
    unread = closing_of(status, DECLARED, result(states=()))
    assert (unread.status, unread.state_known, unread.assertions) == (
        "oracle_state_failed" if status == "completed" else status,
        False,
        None,
    )
    broke = closing_of(status, DECLARED, result("passed", "error", "passed"))
    assert broke.status == ("assertion_infrastructure_failed" if status == "completed" else status)
    assert verdicts(broke) == ([] if status in UNJUDGED else ["passed", "infrastructure_error"])


def test_closing_tells_of_an_assertion_that_gave_no_outcome() -> None:
    late = Breakdown(code="assertion_timeout", message="late", phase="assertion")
    closing = closing_of("completed", DECLARED, result("passed", breakdown=late))
    assert (verdicts(closing), closing.detail) == (["passed", "infrastructure_error"], "b: assertion_timeout: late")
    silent = closing_of("completed", DECLARED, result())
    assert (verdicts(silent), silent.detail) == (["infrastructure_error"], "a: gave no outcome")


def test_closing_of_a_row_without_assertions_has_an_empty_list_of_them() -> None:
    assert closing_of("completed", (), result()).assertions == ()
