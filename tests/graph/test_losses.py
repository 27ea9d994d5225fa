"""Which templates lost tasks, where and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bfcl.graph.layout import BuildTree
from bfcl.graph.losses import Loss, losses, read_losses, stored_losses, worst_templates
from bfcl.graph.store import Key, Store
from bfcl.records.ids import TaskId, TemplateId
from bfcl.tables.drops import Dropped

IDS = [TaskId(f"t{number}") for number in range(6)]
TEMPLATES: Mapping[TaskId, TemplateId] = {
    **dict.fromkeys(IDS[:4], TemplateId("big")),
    **dict.fromkeys(IDS[4:], TemplateId("small")),
}


def drops(reason: str, *numbers: int) -> list[Dropped]:
    return [Dropped(IDS[number], reason) for number in numbers]


def loss(template: str, stage: str, reason: str, tasks: int, of: int, example: int) -> Loss:
    return Loss(template_id=TemplateId(template), stage=stage, reason=reason, tasks=tasks, of=of, example=IDS[example])


def test_task_counts_where_it_was_dropped_first_and_templates_come_by_what_they_lost() -> None:
    found = losses(
        TEMPLATES,
        [("render", drops("leak", 4)), ("trace", drops("late", 4, 1, 2) + drops("bad", 3)), ("replay", drops("x", 1))],
    )
    assert found == (
        loss("big", "trace", "bad", 1, 4, 3),
        loss("big", "trace", "late", 2, 4, 1),
        loss("small", "render", "leak", 1, 2, 4),
    )


def test_task_of_another_build_does_not_count() -> None:
    assert losses(TEMPLATES, [("render", [Dropped(TaskId("stranger"), "leak")])]) == ()


@given(st.lists(st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from("ab")), unique_by=lambda each: each[0])))
def test_losses_add_up_to_the_tasks_that_any_stage_dropped(stages: list[list[tuple[TaskId, str]]]) -> None:
    found = losses(TEMPLATES, [(str(n), [Dropped(*each) for each in stage]) for n, stage in enumerate(stages)])
    assert sum(each.tasks for each in found) == len({task for stage in stages for task, _ in stage})
    lost = {each.template_id: sum(o.tasks for o in found if o.template_id == each.template_id) for each in found}
    order = [lost[each.template_id] for each in found]
    assert order == sorted(order, reverse=True)
    assert all(each.tasks <= each.of for each in found)


def test_worst_templates_are_told_with_their_largest_reason_and_the_rest_in_one_line() -> None:
    found = (
        loss("big", "trace", "bad", 1, 1400, 3),
        loss("big", "trace", "late", 1200, 1400, 1),
        loss("small", "render", "leak", 1, 2, 4),
        loss("third", "render", "leak", 1, 2, 4),
        loss("fourth", "render", "leak", 1, 2, 4),
    )
    assert worst_templates(found, 1) == [
        "  big: 1,201 of 1,400 dropped: 1 bad in trace, 1,200 late in trace",
        "  and 3 more templates with 3: `bfcl build-report` lists them",
    ]
    assert worst_templates(found[2:], 2) == [
        "  small: 1 of 2 dropped: 1 leak in render",
        "  third: 1 of 2 dropped: 1 leak in render",
        "  and 1 more template with 1: `bfcl build-report` lists them",
    ]
    assert worst_templates(()) == []


def test_good_tasks_that_were_not_selected_are_no_loss_and_counted_apart() -> None:
    found = (
        loss("big", "dedup_balancing", "balance_quota", 1200, 1400, 1),
        loss("small", "render", "leak", 1, 2, 4),
        loss("small", "dedup_balancing", "balance_quota", 1, 2, 5),
        loss("third", "dedup_balancing", "semantic_duplicate", 3, 9, 5),
    )
    assert worst_templates(found) == [
        "  third: 3 of 9 dropped: 3 semantic_duplicate in dedup_balancing",
        "  small: 1 of 2 dropped: 1 leak in render",
        "  not selected, as there were enough: 1,201 good tasks of 2 templates",
    ]
    assert worst_templates(found[2:3]) == ["  not selected, as there were enough: 1 good task of 1 template"]


def test_without_the_table_of_tasks_nothing_is_known(tmp_path: Path) -> None:
    store = Store(BuildTree(tmp_path))
    entry = store.put([(Key(stage="render", shard=None, code="", params={}, inputs={}), {"x": b""})])[0]
    assert stored_losses(store, {"expand": "0" * 64, "prepare": entry.fp}) is None
    assert read_losses({}) == ()
