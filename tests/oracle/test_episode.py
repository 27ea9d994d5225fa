"""What a session observes of calls that end well and of calls that do not, in real worlds."""

from __future__ import annotations

import dataclasses

import pytest

from bfcl.oracle.protocol import Episode, EpisodeResult, PlannedCall
from bfcl.oracle.worker import LocalOracle
from tests.oracle.conftest import Packs

BACKEND = """
import sys, time

STATE = {}

def list_tools():
    return ["put", "look"]

def reset(*, ctx, fixtures=None):
    STATE.clear()
    STATE.update(n=0)

def call_tool(name, arguments, *, ctx):
    if name == "put":
        STATE["n"] = arguments["n"]
    ends = arguments.get("ends")
    if ends == "raise":
        raise RuntimeError("gone wrong")
    if ends == "list":
        return [1]
    if ends == "set":
        return {"x": {1}}
    if ends == "hang":
        time.sleep(600)
    return {"n": STATE["n"]}

def get_state():
    if STATE["n"] == 13:
        raise RuntimeError("no state")
    if STATE["n"] == 14:
        return {"n": {1}}
    if STATE["n"] == 15:
        time.sleep(600)
    return dict(STATE)
"""
ASSERTIONS = """
def assert_zero(*, state, trace, task, ctx):
    assert task["a"] == 0

def assert_slots(*, state, trace, task, ctx):
    assert task["slots"]

def assert_careless(*, state, trace, task, ctx):
    assert task.get("slots", {}) == {}

def assert_swallowing(*, state, trace, task, ctx):
    try:
        task["slots"]
    except Exception:
        pass
"""


def look(ends: str = "") -> PlannedCall:
    return PlannedCall(tool="look", arguments={"ends": ends})


def put(n: int, ends: str = "") -> PlannedCall:
    return PlannedCall(tool="put", arguments={"n": n, "ends": ends})


def session(*calls: PlannedCall) -> Episode:
    """One that watches every `put`."""
    watched = frozenset(index for index, call in enumerate(calls) if call.tool == "put")
    return Episode(task_id="t", seed=0, calls=calls, observe="session", watched=watched)


@pytest.fixture
def oracle(packs: Packs) -> LocalOracle:
    return packs.oracle(BACKEND, ASSERTIONS)


def run(oracle: LocalOracle, *calls: PlannedCall) -> EpisodeResult:
    (result,) = oracle.run([session(*calls)])
    return result


def code(result: EpisodeResult) -> str | None:
    return None if result.breakdown is None else result.breakdown.code


def test_session_reads_state_around_watched_calls_only(oracle: LocalOracle) -> None:
    result = run(oracle, look(), put(1), look(), put(2))
    assert (result.states, code(result)) == (('{"n":0}', '{"n":1}', '{"n":1}', '{"n":2}'), None)
    assert run(oracle).states == ()


@pytest.mark.parametrize(
    ("ends", "expected"),
    [("raise", "tool_raised"), ("list", "non_object_result"), ("set", "non_serializable_result")],
)
def test_session_reads_the_state_that_a_broken_call_left(oracle: LocalOracle, ends: str, expected: str) -> None:
    watched = run(oracle, put(1), put(2, ends))
    assert (watched.results, watched.states) == (('{"n":1}',), ('{"n":0}', '{"n":1}', '{"n":1}', '{"n":2}'))
    unwatched = run(oracle, put(1), look(ends))
    assert unwatched.states == ('{"n":0}', '{"n":1}', '{"n":1}')
    assert (code(watched), code(unwatched)) == (expected, expected)


@pytest.mark.parametrize("n", [13, 14])
def test_session_goes_on_where_a_state_cannot_be_read(oracle: LocalOracle, n: int) -> None:
    result = run(oracle, put(1), put(n), put(3))
    assert (code(result), len(result.results)) == (None, 3)
    assert result.states == ('{"n":0}', '{"n":1}', '{"n":1}', "null", "null", '{"n":3}')


def test_session_tells_the_same_states_when_the_world_knows_them_already(oracle: LocalOracle) -> None:
    results = oracle.run([session(put(1), put(13), put(2)), session(put(2)), session(put(1), put(13), put(2))] * 3)
    assert {result.states for result in results[::3]} | {result.states for result in results[2::3]} == {
        ('{"n":0}', '{"n":1}', '{"n":1}', "null", "null", '{"n":2}')
    }
    assert {result.states for result in results[1::3]} == {('{"n":0}', '{"n":2}')}


def ending(*calls: PlannedCall, assertions: tuple[str, ...] = ("assert_zero",)) -> Episode:
    return dataclasses.replace(session(*calls), observe="ending", assertions=assertions, task={"a": 0})


def test_ending_is_a_session_that_goes_on_as_a_final_state_is_read_and_judged(oracle: LocalOracle) -> None:
    episodes = [ending(put(1), look(), put(2)), ending(), ending(look()), ending(put(2), assertions=())]
    for _ in range(3):
        results = oracle.run(episodes)
        assert [result.states for result in results] == [
            ('{"n":0}', '{"n":1}', '{"n":1}', '{"n":2}', '{"n":2}'),
            ('{"n":0}',),
            ('{"n":0}',),
            ('{"n":0}', '{"n":2}', '{"n":2}'),
        ]
        told = [[(one.name, one.status) for one in result.assertions] for result in results]
        assert told == [[("assert_zero", "passed")]] * 3 + [[]]
        assert {code(result) for result in results} == {None}


def test_ending_breaks_where_its_state_cannot_be_read_and_a_call_that_breaks_leaves_none(oracle: LocalOracle) -> None:
    unread, stopped = oracle.run([ending(put(1), put(13)), ending(put(1), look("raise"))])
    assert (unread.states, code(unread), unread.assertions) == (
        ('{"n":0}', '{"n":1}', '{"n":1}', "null"),
        "state_raised",
        (),
    )
    assert unread.breakdown is not None
    assert unread.breakdown.phase == "state"
    assert (stopped.states, code(stopped)) == (('{"n":0}', '{"n":1}', '{"n":1}'), "tool_raised")


def test_session_keeps_the_first_breakdown_where_reading_the_state_after_it_hangs(packs: Packs) -> None:
    oracle = packs.oracle(BACKEND, ASSERTIONS, tool_s=0.3)
    result = run(oracle, put(15, "raise"))
    assert (code(result), result.states) == ("tool_raised", ('{"n":0}',))


def test_session_has_no_state_after_a_call_that_hangs(packs: Packs) -> None:
    oracle = packs.oracle(BACKEND, ASSERTIONS, tool_s=0.3)
    result = run(oracle, put(1), put(2, "hang"))
    assert (code(result), result.states) == ("tool_timeout", ('{"n":0}', '{"n":1}', '{"n":1}'))


def test_assertion_that_asks_for_what_is_withheld_is_broken_whatever_it_makes_of_the_refusal(
    oracle: LocalOracle,
) -> None:
    names = ("assert_zero", "assert_slots", "assert_careless", "assert_swallowing")
    plan = Episode(task_id="t", seed=0, calls=(), assertions=names, task={"a": 0}, withheld=frozenset({"slots"}))
    (result,) = oracle.run([plan])
    why = "reads `task['slots']`, which could not be recovered for this row"
    assert [(one.name, one.status, one.detail) for one in result.assertions] == [
        ("assert_zero", "passed", None),
        ("assert_slots", "error", why),
        ("assert_careless", "error", why),
        ("assert_swallowing", "error", why),
    ]
