"""Survivors of stage 10, found in one walk over tasks and verdicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.graph.balancing import survivors
from bfcl.records.quality import SurfaceQuality
from bfcl.stages.balancing.survivor import Survivor
from bfcl.stages.surface_quality import judge_surface
from bfcl.tables.codec import SURFACES, TASKS
from tests.release import samples
from tests.stages.studio import studio

# What the tasks look like is no matter here.
OUTLINE = studio().outline("kiln_status")
OUTLINES = {"read_then_set": OUTLINE}
ALL = [samples.task(number) for number in range(1, 7)]
ROWS = [(TASKS.encode(task), SURFACES.encode(samples.surface(task))) for task in ALL]


def verdict(number: int) -> SurfaceQuality:
    task = samples.task(number)
    return judge_surface(task, samples.surface(task))


def survivor(number: int) -> Survivor:
    task = samples.task(number)
    return Survivor(task, OUTLINE, samples.surface(task), verdict(number))


@given(st.sets(st.integers(1, 6)))
def test_survivors_are_the_tasks_of_the_verdicts_each_with_its_own(numbers: set[int]) -> None:
    kept = [verdict(number) for number in sorted(numbers)]
    assert list(survivors(ROWS, OUTLINES, iter(kept))) == [survivor(number) for number in sorted(numbers)]


@pytest.mark.parametrize(("order", "stuck"), [([2, 1], 1), ([1, 9], 9), ([3, 3], 3)])
def test_verdict_without_a_row_in_its_turn_is_never_passed_over(order: list[int], stuck: int) -> None:
    with pytest.raises(AssertionError) as caught:
        list(survivors(ROWS, OUTLINES, map(verdict, order)))
    assert str(caught.value) == f"the verdict on {samples.task(stuck).task_id} does not stand in task order"


def test_verdicts_are_read_one_ahead_of_the_walk() -> None:
    read: list[int] = []

    def kept(number: int) -> SurfaceQuality:
        read.append(number)
        return verdict(number)

    walk = survivors(ROWS, OUTLINES, map(kept, range(1, 7)))
    for number in range(1, 6):
        assert next(walk) == survivor(number)
        assert read == list(range(1, number + 1))
