"""Whether calls come in the order that a row demands."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from bfcl.evaluate.compare.kernel import Kernel
from bfcl.evaluate.compare.order import ordered
from bfcl.evaluate.records import Script
from tests.evaluate.driven import SCORING, gold, made, script, tool

TOOLS = tuple(tool(name, {"type": "object", "properties": {"x": {}}}) for name in ("f", "g", "h"))


def ordered_as(order: str, of: Sequence[tuple[str, int]], reply: Sequence[tuple[str, int]]) -> bool:
    expected = [gold(name, index, x=value) for index, (name, value) in enumerate(of)]
    calls = [made(name, {"x": value}, index=index) for index, (name, value) in enumerate(reply)]
    played: Script = dataclasses.replace(script(), call_order=order)  # type: ignore[arg-type]
    return ordered(played, calls, Kernel(SCORING, TOOLS).match(calls, expected))


F1, F2, F9, G1, G9, H1 = ("f", 1), ("f", 2), ("f", 9), ("g", 1), ("g", 9), ("h", 1)


@pytest.mark.parametrize(
    ("of", "reply", "holds"),
    [
        ([F1, F2], [F1, F2], True),
        ([F1, F2], [F2, F1], False),
        ([F1, G1], [G1, F1], False),
        ([F1, G1], [G1, F9], False),
        ([F1, F2], [F9, F2], True),
        ([F1, F2], [F2, F2], True),
        ([F1, F2], [F2, F9], True),
        ([F1, F2], [F1], True),
        ([F1, F2], [F2], True),
        ([F1, G1], [F1, H1, G1], True),
        ([F1, G1], [H1], True),
        ([F1, G1], [], True),
        ([], [F1], True),
    ],
)
def test_strict_order_falls_with_a_permutation_and_with_nothing_else(
    of: list[tuple[str, int]], reply: list[tuple[str, int]], holds: bool
) -> None:
    assert ordered_as("strict", of, reply) is holds
    assert ordered_as("any", of, reply)


@pytest.mark.parametrize(
    ("before", "reply", "prefix", "holds"),
    [
        ([], ["f", "g", "h"], 2, True),
        ([], ["g", "f"], 2, False),
        ([], ["g"], 1, False),
        ([], ["f", "h", "g"], 1, True),
        ([], ["f", "h", "g"], 2, False),
        ([], ["f"], 3, True),
        ([], [], 3, True),
        (["f"], ["g"], 2, True),
        (["f"], ["f", "f", "g"], 2, True),
        (["f"], ["h"], 2, False),
        (["g"], ["f"], 2, False),
        ([], ["other", "f", "other", "g"], 2, True),
    ],
)
def test_prefix_order_looks_at_first_appearances_of_required_tools_over_the_conversation(
    before: list[str], reply: list[str], prefix: int, holds: bool
) -> None:
    played = dataclasses.replace(
        script(), call_order="prefix", call_order_prefix=prefix, required_tools=("f", "g", "f", "h")
    )
    calls = [made(name, index=index) for index, name in enumerate(reply)]
    matches = Kernel(SCORING, TOOLS).match(calls, ())
    assert ordered(played, calls, matches, called_before=before) is holds
