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
