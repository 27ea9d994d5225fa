"""Many tasks of one kind come to scores in their order, and the run around hears how each ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from bfcl.errors import EvalError, Problem
from bfcl.evaluate.drive.tasks import Tasks
from bfcl.evaluate.held_out.playing import Part, Table, played, private_as_tasks, public_tasks
from bfcl.evaluate.held_out.private import PrivateTasks
from bfcl.evaluate.records import TaskScore
from bfcl.modelio.exchange import ChatRequest
from tests.evaluate.driven import Answer, as_expected, candidate, words
from tests.evaluate.held_out.bench import SECRETS, Around, Bench, Scripted
from tests.evaluate.refusals import refused


def traced(bench: Bench) -> Bench:
    return bench.asking_for("trace", "held_out_eval")


def scores(
    tasks: Tasks, answer: Callable[[ChatRequest], Answer], part: Part = "public"
) -> tuple[list[TaskScore], Around]:
    around = Around(answer)
    table = Table(part=part, host=around, desk=None, candidate=candidate(), client=lambda: Scripted(answer))
    return asyncio.run(played(tasks, table)), around


def test_public_tasks_are_the_rows_and_run_where_the_mode_says_so(bench: Bench) -> None:
    rows = bench.verified.rows
    live = public_tasks(bench.settings, bench.verified, rows)
    assert list(live.scripts) == list(live.rows) == [row.task_id for row in rows]
    assert live.specs is not None
    assert public_tasks(traced(bench).settings, bench.verified, rows).specs is None


def test_private_as_tasks_have_the_slots_that_they_were_bound_with(bench: Bench, private: PrivateTasks) -> None:
    hidden = private_as_tasks(bench.settings, bench.verified, private.tasks)
    assert list(hidden.scripts) == [one.row.task_id for one in private.tasks]
    for one in private.tasks:
        spec = hidden.spec(one.row.task_id)
        assert spec.task["slots"] == dict(one.task.slots)
        assert spec.withheld == frozenset()


def test_scores_come_in_the_order_of_the_tasks_and_every_end_is_told(bench: Bench) -> None:
    beside = traced(bench)
    tasks = public_tasks(beside.settings, bench.verified, bench.verified.rows)
    wrong = list(tasks.scripts)[1]

    def answer(request: ChatRequest) -> Answer:
        script = tasks.scripts[request.task_id]
        return words(" ") if request.task_id == wrong else as_expected(script.turns[request.turn_index])

    found, around = scores(tasks, answer)
    assert [score.task_id for score in found] == list(tasks.scripts)
    assert [score.task_id for score in found if not score.task_success] == [wrong]
    assert around.before == len(around.ended) == len(found)
    assert sorted(around.statuses) == ["candidate_mismatch", *["completed"] * (len(found) - 1)]
    assert {(one.alias, one.part) for one in around.ended} == {("small", "public")}
    assert {one.score.task_id: one.score for one in around.ended} == {score.task_id: score for score in found}


def test_end_of_a_task_is_told_with_its_last_call(bench: Bench, private: PrivateTasks) -> None:
    tasks = private_as_tasks(traced(bench).settings, bench.verified, private.tasks)

    def answer(request: ChatRequest) -> Answer:
        expected = as_expected(tasks.scripts[request.task_id].turns[request.turn_index])
        return "timeout" if request.turn_index else expected

    _, around = scores(tasks, answer, "held-out")
    last = [one.last for one in around.ended]
    assert [None if one is None else one.status for one in last] == [
        "timeout" if len(tasks.scripts[one.score.task_id].turns) > 1 else "completed" for one in around.ended
    ]
    assert {one.status for one in last if one is not None} == {"completed", "timeout"}
    assert [one.score.non_candidate_stop for one in around.ended] == [
        one is not None and one.status == "timeout" for one in last
    ]
    assert {one.part for one in around.ended} == {"held-out"}


@pytest.mark.parametrize("part", ["held-out", "public"])
def test_refusal_out_of_a_task_keeps_its_words_to_itself_unless_it_is_public(
    bench: Bench, private: PrivateTasks, part: Part
) -> None:
    tasks = private_as_tasks(traced(bench).settings, bench.verified, private.tasks)

    def answer(_: ChatRequest) -> Answer:
        raise EvalError(Problem(code="eval_conversation_answer_key_leak", message=SECRETS[0], fix="x"))

    (problem, *_) = refused(lambda: scores(tasks, answer, part))
    assert problem.code == "eval_conversation_answer_key_leak"
    assert problem.message == (
        "a private task ended the run; what was said of it is withheld, as it may quote a private task"
        if part == "held-out"
        else SECRETS[0]
    )
