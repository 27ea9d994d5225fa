"""Which candidates leave the work undone, and what their success proves."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.canonical import Json
from bfcl.checks.vacuous import HELD_BACK, IDLE, UNTOUCHED, Tried, fragile, trials, untouched_state, vacuous
from bfcl.oracle.protocol import Breakdown, Episode, EpisodeResult, PlannedCall
from bfcl.pack.model import Confirmation
from bfcl.records.tool import Tool
from bfcl.records.verdict import AssertionOutcome
from tests.checks.judged import judge
from tests.packs import append, put_template

TOOLS = {
    "look": Tool(name="look"),
    "send": Tool(name="send", mutates=True, requires_confirmation=True),
    "note": Tool(name="note", mutates=True),
}


def expected(*calls: tuple[str, dict[str, Json]]) -> Episode:
    planned = tuple(PlannedCall(tool=tool, arguments=arguments) for tool, arguments in calls)
    return Episode(task_id="t", seed=3, calls=planned, assertions=("assert_a",), task={"slots": {}})


def made(*statuses: str, state: str = "0", broken: bool = False) -> EpisodeResult:
    outcomes = tuple(
        AssertionOutcome(name=f"assert_{index}", status=status, detail="why")  # type: ignore[arg-type]
        for index, status in enumerate(statuses)
    )
    breakdown = Breakdown(code="tool_timeout", message="slow", phase="call") if broken else None
    return EpisodeResult(results=(), arguments=(), states=(state,), assertions=outcomes, breakdown=breakdown)


def tried(idle: EpisodeResult, held_back: EpisodeResult | None = None) -> list[Tried]:
    episode = expected(("send", {}))
    first, second = trials(episode, TOOLS, Confirmation())
    return [(first, idle)] if held_back is None else [(first, idle), (second, held_back)]


def test_trials_of_a_task_without_calls_are_none() -> None:
    assert trials(expected(), TOOLS, Confirmation()) == []


def test_trials_of_reading_calls_are_the_idle_one() -> None:
    episode = expected(("look", {"id": 1}))
    found = trials(episode, TOOLS, Confirmation())
    assert [(trial.what, trial.calls) for trial in found] == [(IDLE, ())]


def test_trials_hold_back_what_takes_effect_and_keep_the_rest() -> None:
    episode = expected(("look", {"id": 1}), ("note", {"text": "x"}), ("send", {"id": 1, "ok": True}))
    found = trials(episode, TOOLS, Confirmation(parameter="ok"))
    assert [trial.what for trial in found] == [IDLE, HELD_BACK]
    assert [(call.tool, call.arguments) for call in found[1].calls] == [
        ("look", {"id": 1}),
        ("send", {"id": 1, "ok": False}),
    ]


def test_trials_do_not_hold_back_where_nothing_would_be_left() -> None:
    assert [trial.what for trial in trials(expected(("note", {})), TOOLS, Confirmation())] == [IDLE]


@pytest.mark.parametrize(
    ("runs", "gold", "claims", "detail"),
    [
        (tried(made("passed")), made("passed", state="1"), False, IDLE),
        (tried(made("failed"), made("passed")), made("passed", state="1"), False, HELD_BACK),
        (tried(made("failed"), made("failed")), made("passed"), True, UNTOUCHED),
        (tried(made("passed"), made("passed")), made("passed"), True, IDLE),
    ],
)
def test_vacuous_names_the_plainest_case(runs: list[Tried], gold: EpisodeResult, claims: bool, detail: str) -> None:
    found = vacuous(runs, gold, claims_mutation=claims)
    assert found is not None
    assert (found.code, found.detail) == ("vacuous_assertions", detail)


@pytest.mark.parametrize(
    ("runs", "gold", "claims"),
    [
        pytest.param(tried(made("passed", "failed")), made("passed"), False, id="one assertion fails"),
        pytest.param(tried(made("not_applicable")), made("passed"), False, id="not applicable is no pass"),
        pytest.param(tried(made("error")), made("passed"), False, id="breaking is no pass"),
        pytest.param(tried(made()), made(), False, id="no assertion, no pass"),
        pytest.param(tried(made("passed", broken=True)), made("passed"), False, id="the idle episode broke"),
        pytest.param(tried(made("failed"), made("passed")), made("passed"), False, id="a refusal changes nothing"),
        pytest.param(
            tried(made("failed"), made("passed", state="1")), made("passed", state="1"), True, id="it did act"
        ),
        pytest.param(tried(made("failed")), made("failed"), True, id="the expected calls do not pass"),
        pytest.param([], made("passed"), True, id="no call is expected"),
    ],
)
def test_vacuous_keeps_silent(runs: list[Tried], gold: EpisodeResult, claims: bool) -> None:
    assert vacuous(runs, gold, claims_mutation=claims) is None


def test_untouched_state_is_what_the_idle_candidate_leaves() -> None:
    assert untouched_state(tried(made(state="7"), made(state="8"))) == "7"
    assert untouched_state([]) is None


def test_fragile_tells_each_broken_assertion_once() -> None:
    found = fragile(tried(made("error", "failed"), made("error", "error")))
    assert {name: finding.message for name, finding in found.items()} == {
        "assert_0": f"`assert_0` breaks for a candidate that {IDLE}: why; expected it to fail",
        "assert_1": f"`assert_1` breaks for a candidate that {HELD_BACK}: why; expected it to fail",
    }


def test_a_refused_mutation_is_no_vacuous_success(tmp_path: Path) -> None:
    absent = {"source": "absent:kilns", "visible_in_first_turn": True}
    code = (
        "\n\ndef assert_refused(*, state, trace, task, ctx):\n"
        '    assert trace and trace[0]["result"]["error"]["code"] == "not_found"\n'
    )
    judged = judge(
        tmp_path,
        put_template("start_confirmed", ("slots", "kiln_id"), absent),
        put_template("start_confirmed", ("turn_policy",), "negative_path"),
        put_template("start_confirmed", ("success_assertions",), ["assert_refused"]),
        append("assertions.py", code),
    )
    assert judged.failures() == []
