from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from bfcl.evaluate.run.unanswered import Cause
from bfcl.modelio.exchange import ChatRequest
from tests.evaluate.driven import Answer
from tests.evaluate.measuring import measured, right


def test_tasks_are_played_in_order_and_told_as_they_end(tmp_path: Path) -> None:
    result, playing, shown = measured(tmp_path, right, trials=None)
    assert playing.played == [("one", 0), ("two", 0)]
    assert [(one.done, one.total, one.successes) for one in shown.standings] == [(0, 2, 0), (1, 2, 1), (2, 2, 2)]
    assert [score.task_id for score in result.scores] == ["one", "two"]
    assert result.aggregate.successful_tasks == 2
    assert result.repeated is None


def test_stopped_trial_is_driven_once_more_and_then_counted_while_the_first_aggregate_stays(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Answer:
        return "provider_rejected" if request.request_id == "small:one:0" else right(request)

    result, playing, shown = measured(tmp_path, answer, trials=2)
    assert playing.played == [("one", 0), ("two", 0), ("one", 1), ("two", 1), ("one", 2)]
    assert (shown.standings[-1].done, shown.standings[-1].total) == (5, 5)
    assert (result.aggregate.successful_tasks, result.aggregate.non_candidate_stops) == (1, 1)
    assert result.repeated is not None
    assert result.repeated.uncounted == 0
    assert sum(result.rejections.values()) == 1
    assert [(one.k, one.tasks) for one in result.repeated.passes] == [(1, 2), (2, 2)]
    assert {one.every for one in result.repeated.passes} == {Fraction(1)}


def test_trial_that_is_stopped_again_stays_uncounted(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Answer:
        return "timeout" if request.task_id == "two" else right(request)

    result, playing, _ = measured(tmp_path, answer, trials=1)
    assert playing.played == [("one", 0), ("two", 0), ("two", 1)]
    assert result.repeated is not None
    assert result.repeated.uncounted == 1


def test_nothing_is_driven_again_where_no_repeats_are_declared(tmp_path: Path) -> None:
    result, playing, _ = measured(tmp_path, lambda _: "timeout", trials=None)
    assert playing.played == [("one", 0), ("two", 0)]
    assert result.aggregate.non_candidate_stops == 2


def test_causes_are_of_the_tasks_that_the_run_stopped_in_the_first_trial(tmp_path: Path) -> None:
    def answer(request: ChatRequest) -> Answer:
        return "timeout" if request.task_id == "two" else right(request)

    _, playing, _ = measured(tmp_path, answer, trials=2)
    assert [one for one in playing.played if one[0] == "two"] == [("two", trial) for trial in range(4)]
    assert playing.stop_causes == {Cause("timeout", "timeout"): 1}
