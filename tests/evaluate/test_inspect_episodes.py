"""Samples in flight are listened to while the source is checked. What they come to is in tests/system."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from bfcl.errors import EvalError, Problem
from bfcl.evaluate.inspect_episodes import InspectEpisodes
from tests.evaluate.driven import LIMITS, SCORING, answering, candidate, script
from tests.evaluate.settings.builder import loaded

if TYPE_CHECKING:
    from bfcl.evaluate.source.recheck import Watch
    from bfcl.evaluate.source.verified import VerifiedSource


@dataclass
class NoRows:
    rows: tuple[()] = ()
    oracle: None = None


class Slow:
    """A check that ends once the samples in flight went on."""

    def __init__(self) -> None:
        self.went_on = threading.Event()
        self.heard: list[bool] = []
        self.inside = self.most = 0

    def before_task(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.heard.append(self.went_on.wait(10))
        self.inside -= 1


class Refusing:
    def before_task(self) -> None:
        raise EvalError(Problem(code="eval_source_changed_during_eval", message="other bytes"))


def episodes(root: Path, watch: Slow | Refusing) -> InspectEpisodes:
    settings = replace(loaded(root), modes=("trace",), scoring=SCORING, limits=LIMITS)
    own = script()
    return InspectEpisodes(
        settings, candidate(), cast("VerifiedSource", NoRows()), cast("Watch", watch), {own.task_id: own}
    )


def test_source_is_checked_beside_the_loop_by_one_sample_at_a_time(tmp_path: Path) -> None:
    slow, own = Slow(), script()
    played = episodes(tmp_path, slow)

    async def go_on() -> None:
        await asyncio.sleep(0)
        slow.went_on.set()

    async def both() -> list[bool]:
        first, second, _ = await asyncio.gather(
            *(played.play(own.task_id, trial, answering(own)) for trial in range(2)), go_on()
        )
        assert first is not None
        assert second is not None
        return [played.score(own.task_id, one).task_success for one in (first, second)]

    # A task may run again, in a loop of its own.
    for _ in range(2):
        assert asyncio.run(both()) == [True, True]
    assert (slow.heard, slow.most) == ([True] * 4, 1)


def test_source_that_changed_stops_the_evaluation_before_anybody_is_asked(tmp_path: Path) -> None:
    played, asked = episodes(tmp_path, Refusing()), answering(script())
    with pytest.raises(EvalError) as refusal:
        asyncio.run(played.play(script().task_id, 0, asked))
    assert [str(one) for one in refusal.value.problems] == ["eval_source_changed_during_eval: other bytes"]
    assert asked.requests == []
