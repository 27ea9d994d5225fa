"""Every state that a world tells is the one that there was, however much it remembers of states before."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.oracle.protocol import Episode, PlannedCall
from bfcl.oracle.worker import LocalOracle
from tests.oracle.conftest import Packs

BACKEND = """
import collections

KIND = "plain", 0

def list_tools():
    return ["become"]

def reset(*, ctx, fixtures=None):
    global KIND
    KIND = "plain", ctx.seed

def call_tool(name, arguments, *, ctx):
    global KIND
    KIND = arguments["kind"], arguments["number"]
    return {}

def get_state():
    kind, number = KIND
    if kind == "unreadable":
        raise ValueError("not now")
    told = {"kind": kind, "number": number, "rows": [{"id": one, "on": one == number} for one in range(40)]}
    if kind == "subclass":
        return collections.OrderedDict(told)
    return {**told, "padding": "." * 1_500_000} if kind == "large" else told
"""
KINDS = st.sampled_from(["plain", "plain", "subclass", "large", "unreadable"])
CALLS = st.lists(st.tuples(KINDS, st.integers(0, 2)), max_size=4)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalOracle]:
    packs = Packs(tmp_path_factory.mktemp("packs"))
    oracle = packs.oracle(BACKEND)
    oracle.describe()
    yield oracle
    packs.close()


def told(text: str) -> tuple[str, int] | None:
    state = json.loads(text)
    if state is None:
        return None
    assert state["rows"] == [{"id": one, "on": one == state["number"]} for one in range(40)]
    return state["kind"], state["number"]


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.lists(CALLS, min_size=1, max_size=6))
def test_states_of_many_episodes_are_told_as_they_were(
    world: LocalOracle, seed: int, wanted: list[list[tuple[str, int]]]
) -> None:
    episodes = [
        Episode(
            task_id=f"t{number}",
            seed=seed,
            calls=tuple(PlannedCall(tool="become", arguments={"kind": kind, "number": n}) for kind, n in calls),
            observe="session",
            watched=frozenset(range(len(calls))),
        )
        for number, calls in enumerate(wanted)
    ]
    for calls, result in zip(wanted, world.run(episodes), strict=True):
        around = [("plain", seed), *calls]
        expected = [pair for before_after in zip(around, calls, strict=False) for pair in before_after]
        assert [told(text) for text in result.states] == [None if p[0] == "unreadable" else p for p in expected]


@pytest.mark.parametrize("kind", ["subclass", "large"])
def test_a_state_that_cannot_be_remembered_does_not_stand_for_the_one_before_it(kind: str, packs: Packs) -> None:
    oracle = packs.oracle(BACKEND)
    become = PlannedCall(tool="become", arguments={"kind": kind, "number": 1})
    oracle.run([Episode(task_id="t0", seed=0, calls=(become,), observe="each")])
    (plain,) = oracle.run([Episode(task_id="t1", seed=0, calls=())])
    assert [told(text) for text in plain.states] == [("plain", 0)]


DEEP = """
STATE = {}

def list_tools():
    return []

def reset(*, ctx, fixtures=None):
    STATE.clear()
    STATE.update({f"k{number}": number for number in range(NAMES)})
    value = 1
    for _ in range(LEVELS):
        value = {"a": value}
    STATE[NAME] = value

def get_state():
    return STATE
"""


@pytest.mark.parametrize("names", [3, 63, 70])
def test_states_as_deep_as_they_may_be_are_told_again_and_again(packs: Packs, names: int) -> None:
    backend = DEEP.replace("NAMES", str(names)).replace("LEVELS", "199").replace("NAME", "'deep'")
    results = packs.oracle(backend).run([Episode(task_id="t", seed=seed, calls=()) for seed in range(6)])
    assert [result.breakdown for result in results] == [None] * 6
    assert len({result.states for result in results}) == 1


@pytest.mark.parametrize("names", [3, 70])
def test_a_name_that_is_no_text_of_utf8_is_told_as_such(packs: Packs, names: int) -> None:
    backend = DEEP.replace("NAMES", str(names)).replace("LEVELS", "1").replace("NAME", "'\\ud800'")
    (result,) = packs.oracle(backend).run([Episode(task_id="t", seed=1, calls=())])
    assert result.breakdown is not None
    told = (result.breakdown.code, result.breakdown.message)
    assert told == ("state_not_serializable", "get_state: $: holds a lone surrogate, which UTF-8 cannot carry")


RESTLESS = """
import sys, threading

STATE = {}

def list_tools():
    return ["become"]

def reset(*, ctx, fixtures=None):
    STATE["rows"] = [{"id": number, "x": 0} for number in range(1000)]

def call_tool(name, arguments, *, ctx):
    STATE["rows"][-1]["x"] = arguments["x"]
    if arguments["restless"]:
        sys.setswitchinterval(1e-6)
        threading.Thread(target=change, daemon=True).start()
    return {}

def change():
    while True:
        STATE["rows"][-1]["x"] ^= 1

def get_state():
    return STATE
"""


def test_what_threads_of_one_episode_change_is_told_of_no_other(packs: Packs) -> None:
    asked = [(number % 2, number % 3 == 0) for number in range(120)]
    episodes = [
        Episode(task_id="t", seed=1, calls=(PlannedCall(tool="become", arguments={"x": x, "restless": restless}),))
        for x, restless in asked
    ]
    results = packs.oracle(RESTLESS, jobs=1).run(episodes)
    for (x, restless), result in zip(asked, results, strict=True):
        assert result.breakdown is None
        assert restless or json.loads(result.states[-1])["rows"][-1]["x"] == x
