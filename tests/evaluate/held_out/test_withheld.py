"""A refusal out of a private task keeps its code and loses its words, but for those of the endpoint's client."""

from __future__ import annotations

import traceback

import pytest

from bfcl.errors import BfclError, EvalError, OracleError, Problem
from bfcl.evaluate.held_out.withheld import withheld
from tests.evaluate.refusals import refused

FIX = "see whether a public task fails alike (`mode: [executable]`): that one says why"


def raising(error: BfclError) -> None:
    with withheld("a private task ended the run"):
        raise error


def problem(code: str) -> Problem:
    return Problem(code=code, message="K-8 is busy", path="/pack/backend.py", line=3, subject="task-K-8", fix="mend it")


@pytest.mark.parametrize(
    "code", ["eval_conversation_answer_key_leak", "eval_oracle_session_failed", "eval_candidate_request_invalid"]
)
def test_withheld_keeps_the_code_of_what_a_private_task_refuses(code: str) -> None:
    told = refused(lambda: raising(EvalError(problem(code))))
    assert [str(one) for one in told] == [
        f"{code}: a private task ended the run; what was said of it is withheld, as it may quote a private "
        f"task\n  fix: {FIX}"
    ]


def test_withheld_tells_what_another_room_refuses_as_a_failed_session() -> None:
    told = refused(lambda: raising(OracleError(problem("worker_crashed"))))
    assert [str(one) for one in told] == [
        "eval_oracle_session_failed: a private task ended the run (worker_crashed); what was said of it is "
        f"withheld, as it may quote a private task\n  fix: {FIX}"
    ]


@pytest.mark.parametrize("code", ["eval_candidate_authentication_failed", "eval_budget_exhausted"])
def test_withheld_passes_on_what_the_client_says(code: str) -> None:
    assert refused(lambda: raising(EvalError(problem(code)))) == (problem(code),)


def test_withheld_shows_no_cause_in_a_traceback() -> None:
    with pytest.raises(EvalError) as refusal:
        raising(EvalError(problem("eval_oracle_session_failed")))
    assert "K-8" not in "".join(traceback.format_exception(refusal.value))
