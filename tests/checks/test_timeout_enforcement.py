"""Check T1: a tool that never returns, stopped for real; and what is told of one that is not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from bfcl.checks.report import as_problem
from bfcl.checks.timeout_enforcement import BACKEND, found, told_of, trouble
from bfcl.oracle.protocol import Breakdown, EpisodeResult
from tests.checks.judged import judge

ANSWERED = EpisodeResult(results=('{"answered":true}',), arguments=("{}",), states=("{}",), assertions=())
LATE = Breakdown(code="tool_timeout", message="call 0 `wait` did not return within 0.2 s", phase="call", call_index=0)
STOPPED = EpisodeResult(results=(), arguments=(), states=(), assertions=(), breakdown=LATE)


def test_a_tool_that_never_returns_is_stopped_and_the_next_episode_works() -> None:
    assert trouble(0.2) is None


def test_a_tool_that_returns_by_itself_shows_nothing_of_deadlines() -> None:
    patient = BACKEND.replace("        while True:\n            time.sleep(3600)\n", "        return {}\n")
    assert patient != BACKEND
    assert trouble(5.0, patient) == (
        "a tool that never returns was not stopped at its deadline of 5 s: it ended by itself"
    )


def test_an_oracle_that_cannot_answer_after_a_stopped_episode_is_told() -> None:
    mute = BACKEND.replace('return {"answered": True}', "raise SystemExit(3)")
    assert trouble(0.2, mute) == "the episode after a stopped one broke: tool_raised: SystemExit: 3"


@pytest.mark.parametrize(
    ("results", "told"),
    [
        ((STOPPED, ANSWERED), None),
        (
            (ANSWERED, ANSWERED),
            "a tool that never returns was not stopped at its deadline of 0.2 s: it ended by itself",
        ),
        (
            (
                dataclasses.replace(STOPPED, breakdown=dataclasses.replace(LATE, code="episode_timeout")),
                ANSWERED,
            ),
            "a tool that never returns was not stopped at its deadline of 0.2 s: episode_timeout",
        ),
        (
            (STOPPED, STOPPED),
            "the episode after a stopped one broke: tool_timeout: call 0 `wait` did not return within 0.2 s",
        ),
        (
            (STOPPED, dataclasses.replace(ANSWERED, results=('{"answered":false}',))),
            'the episode after a stopped one answered {"answered":false}',
        ),
        ((STOPPED, dataclasses.replace(ANSWERED, results=())), "the episode after a stopped one answered nothing"),
    ],
)
def test_told_of_names_what_two_episodes_did(results: tuple[EpisodeResult, EpisodeResult], told: str | None) -> None:
    assert told_of(0.2, results) == told


def test_check_t1_reports_trouble_as_a_failure() -> None:
    assert found(None).failures == []
    (finding,) = found("the episode after a stopped one answered nothing").failures
    assert str(as_problem(finding, root="pack")) == (
        "timeout_not_enforced: the episode after a stopped one answered nothing; expected `tool_timeout`, and an "
        "answer from the next episode\n"
        "  fix: run on a machine where processes can be killed; see the isolation level in the documentation"
    )


def test_check_t1_passes_where_processes_can_be_killed(tmp_path: Path) -> None:
    assert judge(tmp_path).statuses()["T1"] == "pass"
