"""A conversation is recognised by what is sent, and tasks that begin alike are told apart as soon as they can be."""

from __future__ import annotations

from bfcl.canonical import canonical_text
from bfcl.evaluate.scripted.heard import Message, call_meaning
from bfcl.evaluate.scripted.recognition import Recognition
from bfcl.tables.benchmark import BenchmarkRow
from tests.evaluate.scripted.rows import conversation, plain_row, row, valve_row
from tests.exports.staged import decoded, edited

ALIKE = "Check the valve, then set it."


def known(*of: BenchmarkRow) -> Recognition:
    return Recognition(map(decoded, of))


def found(tasks: Recognition, of: BenchmarkRow, until: int) -> str | None:
    """The task that the first messages of a row are taken for."""
    task = tasks.find(conversation(of, until), decoded(of).tools)
    return None if task is None else task.task_id


def test_task_is_recognised_at_every_turn() -> None:
    of = [row(1), row(2), plain_row()]
    tasks = known(*of)
    for one in of:
        for until in range(2, len(one["messages"])):
            assert found(tasks, one, until) == one["task_id"]


def test_unknown_beginning_is_no_task() -> None:
    assert found(known(row(1)), row(2), 2) is None
    assert known(row(1)).find([], []) is None


def test_user_who_says_something_else_is_no_task() -> None:
    assert found(known(row(1)), valve_row(1, says="No!"), 7) is None


def test_first_of_tasks_that_begin_alike_answers_until_they_part() -> None:
    one, other = valve_row(1, asks=ALIKE, says="Yes."), valve_row(2, asks=ALIKE, says="Yes, set it.")
    tasks = known(one, other)
    # The results of V-2 are not those that were recorded for V-1.
    assert [found(tasks, other, until) for until in (2, 5, 7)] == [one["task_id"], other["task_id"], other["task_id"]]
    assert [found(tasks, one, until) for until in (2, 5, 7)] == [one["task_id"]] * 3


def test_user_message_outweighs_results_that_agree() -> None:
    one, other = valve_row(1, asks=ALIKE), valve_row(2, asks=ALIKE, says="Yes, set it.")
    sent: list[Message] = [*conversation(one, 6), {"role": "user", "content": "Yes, set it."}]
    task = known(one, other).find(sent, decoded(one).tools)
    assert task is not None
    assert task.task_id == other["task_id"]


def test_tools_tell_apart_what_begins_alike() -> None:
    one, other = valve_row(1, asks=ALIKE), valve_row(2, asks=ALIKE)
    names = list(reversed(other["tools_present"]))
    tools = sorted(decoded(other).tools, key=lambda tool: names.index(call_meaning(tool)[0]))
    other = edited(edited(other, ["tools"], canonical_text(tools)), ["tools_present"], names)
    tasks = known(one, other)
    assert (found(tasks, one, 2), found(tasks, other, 2)) == (one["task_id"], other["task_id"])


def test_tools_that_match_nobody_rule_nobody_out() -> None:
    one = row(1)
    task = known(one, valve_row(2, asks=ALIKE)).find(conversation(one, 2), [])
    assert task is not None
    assert task.task_id == one["task_id"]


def test_tasks_of_one_conversation_are_both_counted_and_the_first_is_found() -> None:
    one, twin = row(1), edited(row(1), ["task_id"], "plant__twin")
    for first, second in ((one, twin), (twin, one)):
        tasks = known(first, second)
        assert (tasks.size, found(tasks, one, 2)) == (2, first["task_id"])
        assert tasks.contradictions() == []


def test_tasks_that_ask_for_different_things_unseen_contradict_each_other() -> None:
    one, other = valve_row(1, asks=ALIKE), valve_row(2, asks=ALIKE)
    assert known(one, other, row(3)).contradictions() == [(one["task_id"], other["task_id"])]


def test_wordings_of_an_answer_do_not_contradict_each_other() -> None:
    one, other = valve_row(1), edited(valve_row(1, reply="May I?"), ["task_id"], "plant__other")
    assert known(one, other).contradictions() == []
