"""A task that lacks what nobody knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bfcl.oracle.withheld import NotRecovered, Withheld

WHY = "reads `task['slots']`, which could not be recovered for this row"


@pytest.fixture
def task() -> Withheld:
    return Withheld({"seed": 1, "slots": {"a": 1}}, ("slots",))


@pytest.mark.parametrize(
    "ask",
    [
        lambda task: task["slots"],
        lambda task: task.get("slots"),
        lambda task: task.get("slots", {}),
        lambda task: "slots" in task,
        lambda task: task.pop("slots", None),
        lambda task: task.setdefault("slots", {}),
    ],
)
def test_withheld_refuses_whoever_asks_by_name(task: Withheld, ask: Callable[[Any], Any]) -> None:
    with pytest.raises(NotRecovered) as refusal:
        ask(task)
    assert (str(refusal.value), task.refused) == (WHY, [WHY])


def test_withheld_is_else_a_mapping_without_the_field(task: Withheld) -> None:
    assert (task["seed"], task.get("seed"), task.get("other", 2), "seed" in task, "other" in task) == (
        1,
        1,
        2,
        True,
        False,
    )
    assert (dict(task), json.dumps(task), [*task]) == ({"seed": 1}, '{"seed": 1}', ["seed"])
    assert (task.setdefault("mine", 3), task.pop("mine"), task.refused) == (3, 3, [])
    with pytest.raises(KeyError, match=r"^.other.$"):
        task["other"]
