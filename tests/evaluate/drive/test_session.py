"""A session as a value: what it asks for, and what it makes of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bfcl.evaluate.drive.session import Happened, Session, SessionBroken, reset_broke
from bfcl.oracle.protocol import Breakdown, Episode, EpisodeResult, PlannedCall
from bfcl.records.ids import TaskId
from bfcl.records.verdict import AssertionOutcome

FRESH = Session(task_id=TaskId("t"), seed=5, mutating=frozenset({"set"}))
GET = PlannedCall(tool="get", arguments={})
SET = PlannedCall(tool="set", arguments={})


def answer(
    results: Sequence[str] = (), states: Sequence[str] = (), breakdown: Breakdown | None = None
) -> EpisodeResult:
    return EpisodeResult(results=tuple(results), arguments=(), states=tuple(states), assertions=(), breakdown=breakdown)


def broken(code: str, phase: Any = "call", index: int | None = 0, where: str | None = None) -> Breakdown:
    return Breakdown(code=code, message="why", phase=phase, call_index=index, where=where)


def ended(result: EpisodeResult, *calls: PlannedCall, session: Session = FRESH) -> list[tuple[Any, ...]]:
    """(status, commit, what it ends the episode as) of each call up to the stop."""
    return [(one.status, one.commit, one.stops) for one in session.taken(calls, result)[1]]


def test_session_runs_all_its_calls_again_and_watches_those_that_mutate() -> None:
    session, _ = FRESH.taken((GET, SET), answer(["{}", "{}"], ["{}", '{"n":1}']))
    assert session.turn((GET, SET)) == Episode(
        task_id="t",
        seed=5,
        calls=(GET, SET, GET, SET),
        observe="session",
        watched=frozenset({1, 3}),
    )
    assert session.ending(("a",), {"x": 1}, frozenset({"slots"})) == Episode(
        task_id="t", seed=5, calls=(GET, SET), assertions=("a",), task={"x": 1}, withheld=frozenset({"slots"})
    )
    assert session.ending((), {}, frozenset({"slots"})).withheld == frozenset()


def test_session_takes_results_and_what_became_of_the_state() -> None:
    result = answer(['{"a":1}', "{}", "{}"], ['{"n":0}', '{"n":1}', '{"n":1}', '{"n":1}'])
    session, happened = FRESH.taken((GET, SET, SET), result)
    assert (session.calls, session.results) == ((GET, SET, SET), ('{"a":1}', "{}", "{}"))
    assert happened == (
        Happened(status="completed", result='{"a":1}', commit="not_applicable", state_after=None),
        Happened(status="completed", result="{}", commit="committed", state_after='{"n":1}'),
        Happened(status="completed", result="{}", commit="not_committed", state_after='{"n":1}'),
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ('{"code":"none"}', ("business_rejection", None)),
        ('{"code":""}', ("tool_error", "oracle_call_failed")),
        ('{"code":3}', ("tool_error", "oracle_call_failed")),
        ("{}", ("tool_error", "oracle_call_failed")),
        ("null", ("completed", None)),
        ('"text"', ("completed", None)),
    ],
)
def test_refusal_needs_a_code(error: str, expected: tuple[str, str | None]) -> None:
    ((status, _, stops),) = ended(answer([f'{{"error":{error}}}']), GET)
    assert (status, stops) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("tool_raised", ("tool_error", "oracle_call_failed")),
        ("non_serializable_result", ("tool_error", "oracle_call_failed")),
        ("ambient_access", ("tool_error", "oracle_call_failed")),
        ("worker_crashed", ("tool_error", "oracle_call_failed")),
        ("worker_message_too_large", ("tool_error", "oracle_call_failed")),
        ("non_object_result", ("malformed_result", "oracle_result_malformed")),
        ("tool_timeout", ("timeout", "oracle_timeout")),
        ("episode_timeout", ("timeout", "oracle_timeout")),
    ],
)
def test_breakdown_of_a_call_says_how_it_ended(code: str, expected: tuple[str, str]) -> None:
    status, stops = expected
    assert ended(answer(breakdown=broken(code)), GET) == [(status, "not_applicable", stops)]
    states = ['{"n":0}', '{"n":0}']
    assert ended(answer(states=states, breakdown=broken(code)), SET) == [(status, "not_committed", stops)]
    assert ended(answer(states=states[:1], breakdown=broken(code)), SET) == [
        (status, "unknown", "unknown_commit_state")
    ]


@pytest.mark.parametrize("states", [("null", '{"n":0}'), ('{"n":0}', "null"), ('{"n":0}',), ()])
def test_commit_is_unknown_without_both_states(states: Sequence[str]) -> None:
    assert ended(answer(["{}"], states), SET) == [("completed", "unknown", "unknown_commit_state")]


def test_calls_after_the_one_that_stops_are_forgotten() -> None:
    result = answer(['{"error":{}}', "{}"], ['{"n":0}', '{"n":1}'])
    session, happened = FRESH.taken((GET, SET), result)
    assert (session.calls, session.results, len(happened)) == ((GET,), ('{"error":{}}',), 1)
    broke, _ = FRESH.taken((GET, GET), answer(["{}"], breakdown=broken("tool_raised", index=1)))
    assert broke.calls == (GET,)


def test_state_that_a_broken_read_only_call_left_is_kept() -> None:
    result = answer(["{}"], ['{"n":0}', '{"n":1}', '{"n":1}'], broken("tool_raised", index=1, where="backend.py:3"))
    _, (_, one) = FRESH.taken((SET, GET), result)
    assert (one.state_after, one.detail) == ('{"n":1}', "tool_raised: why at backend.py:3")


# --- sessions that cannot go on -----------------------------------------------------------------------------------

BEFORE, _ = FRESH.taken((GET, SET), answer(['{"a":1}', "{}"], ['{"n":0}', '{"n":1}']))


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (
            answer(['{"a":2}', "{}", "{}"], ['{"n":0}', '{"n":1}']),
            "call 0 `get` answers differently when it is repeated",
        ),
        (
            answer(['{"a":1}', "{}", "{}"], ['{"n":0}', '{"n":2}']),
            "the state around call 1 `set` differs when it is repeated",
        ),
        (
            answer(['{"a":1}'], ['{"n":0}', '{"n":1}'], broken("tool_timeout", index=1)),
            "2 calls were answered before, 1 are now: tool_timeout: why",
        ),
        (
            answer(breakdown=broken("reset_timeout", "reset", None)),
            "the oracle could not be reset again: reset_timeout: why",
        ),
        (
            answer(['{"a":1}', "{}"], ['{"n":0}', '{"n":1}']),
            "call 2 `get` has neither an answer nor a reason",
        ),
    ],
)
def test_session_breaks_where_what_came_before_does_not_come_again(result: EpisodeResult, why: str) -> None:
    with pytest.raises(SessionBroken) as refusal:
        BEFORE.taken((GET,), result)
    assert str(refusal.value) == why


# --- the last turn and the ending in one episode ------------------------------------------------------------------

PASSED = AssertionOutcome(name="a", status="passed", detail=None)


def test_last_turn_asks_for_its_calls_and_for_the_ending() -> None:
    asked = BEFORE.last_turn((SET,), ("a",), {"x": 1}, frozenset({"slots"}))
    assert asked == Episode(
        task_id="t",
        seed=5,
        calls=(GET, SET, SET),
        observe="ending",
        watched=frozenset({1, 2}),
        assertions=("a",),
        task={"x": 1},
        withheld=frozenset({"slots"}),
    )
    assert BEFORE.last_turn((), (), {}, frozenset({"slots"})).withheld == frozenset()


def test_last_turn_parts_into_what_a_turn_and_an_ending_give() -> None:
    states = ['{"n":0}', '{"n":1}', '{"n":1}']
    whole = replace(answer(['{"a":1}', "{}"], states), assertions=(PASSED,))
    turn, ending = FRESH.parted((GET, SET), whole)
    assert turn == answer(['{"a":1}', "{}"], states[:2])
    assert ending == replace(answer(['{"a":1}', "{}"], states[2:]), assertions=(PASSED,))
    assert FRESH.parted((), answer(states=["{}"])) == (answer(), answer(states=["{}"]))


@pytest.mark.parametrize(
    ("states", "code", "phase"),
    [
        (["{}", "{}"], "state_raised", "state"),
        (["{}", "{}", "{}"], "assertion_timeout", "assertion"),
        (["{}", "{}", "{}"], "worker_crashed", "assertion"),
    ],
)
def test_ending_that_broke_is_none_and_breaks_no_call(states: Sequence[str], code: str, phase: str) -> None:
    result = answer(["{}"], states, broken(code, phase, None))
    assert FRESH.parted((SET,), result) == (answer(["{}"], states[:2]), None)


@pytest.mark.parametrize(
    ("calls", "result"),
    [
        ((), answer(breakdown=broken("reset_raised", "reset", None))),
        ((GET,), answer(states=["{}"], breakdown=broken("tool_raised"))),
        ((SET,), answer(["{}"], ["{}"], broken("tool_timeout", "state"))),
        ((GET,), answer(["{}"], breakdown=broken("worker_message_too_large"))),
    ],
)
def test_last_turn_that_did_not_come_to_its_ending_is_a_turn_as_it_is(
    calls: tuple[PlannedCall, ...], result: EpisodeResult
) -> None:
    assert FRESH.parted(calls, result) == (result, None)


def test_reset_broke_says_why_in_words() -> None:
    assert reset_broke(answer()) is None
    assert reset_broke(answer(breakdown=broken("reset_raised", "reset", None, "backend.py:2"))) == (
        "reset_raised: why at backend.py:2"
    )
