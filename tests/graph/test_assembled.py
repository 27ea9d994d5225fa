"""Assembled rows kept by shard: what they depend on, and that they come back as they were assembled."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.errors import StageError
from bfcl.graph.assembled import DECISIONS_FILE, READ, Assembled, Assembly
from bfcl.graph.layout import BuildTree
from bfcl.graph.pointers import Shard
from bfcl.graph.shards import ROWS_FILE, Order
from bfcl.graph.store import Store
from bfcl.records.ids import TemplateId
from bfcl.stages.final_output import RowContext, assemble
from bfcl.tables.benchmark import BenchmarkRow, encode_row
from bfcl.tables.codec import REPLAY_VERDICTS, SCHEMA_VERDICTS, SURFACES, TASKS, TRACES, decode_line
from bfcl.tables.decisions import decide
from tests.release import samples

TEMPLATE = TemplateId("read_then_set")
DIGESTS = {name: f"digest of {name}" for name in READ}


def tables(numbers: list[int], dropped: frozenset[int] = frozenset()) -> list[list[bytes]]:
    """The five tables' lines of these tasks."""
    found: list[list[bytes]] = [[] for _ in READ]
    for number in numbers:
        task = samples.task(number)
        made = (
            TASKS.encode(task),
            SURFACES.encode(samples.surface(task)),
            TRACES.encode(samples.trace(task)),
            SCHEMA_VERDICTS.encode(samples.schema(task)),
            REPLAY_VERDICTS.encode(samples.replay(task, "success_assertion_failed" if number in dropped else None)),
        )
        for table, line in zip(found, made, strict=True):
            table.append(line)
    return found


def row(number: int, context: RowContext, *, scanned: bool = False) -> BenchmarkRow:
    task = samples.task(number)
    one = assemble(task, samples.surface(task), samples.trace(task), samples.replay(task), context)
    if scanned:
        one["held_out_hit"] = False
    return one


def key(context: RowContext, *, scanned: bool = False, label: str = TEMPLATE, changed: str | None = None) -> str:
    rows = {name: "other" if name == changed else digest for name, digest in DIGESTS.items()}
    return Assembly(context=context, scanned=scanned).key(label, rows).fp


CHANGES: dict[str, Any] = {
    "expt_name": "another",
    "tier": "silver",
    "system_prompt": "You open the valves.",
    "lineage_policy": "smoke_no_publication",
    "unmet_targets": True,
    "argument_orders": {TEMPLATE: (("bar", "valve"), (), (), ())},
    "tools": {},
}


def test_key_takes_in_whatever_a_row_takes_from_the_run_but_the_tools() -> None:
    context = samples.context()
    assert CHANGES.keys() == {field.name for field in dataclasses.fields(RowContext) if field.init}
    changed = {name: key(dataclasses.replace(context, **{name: value})) for name, value in CHANGES.items()}
    assert changed.pop("tools") == key(context)
    others = [
        key(context),
        key(context, scanned=True),
        key(context, label=f"{TEMPLATE}/1"),
        *(key(context, changed=name) for name in READ),
    ]
    # A policy of smoke, and targets that were missed, show in rows in one and the same way.
    assert changed["lineage_policy"] == changed["unmet_targets"]
    assert len({*changed.values(), *others}) == len(changed) - 1 + len(others)


@settings(max_examples=20, deadline=None)
@given(count=st.integers(1, 9), dropped=st.frozensets(st.integers(1, 9)), scanned=st.booleans(), data=st.data())
def test_rows_and_decisions_come_back_in_task_order(
    tmp_path_factory: pytest.TempPathFactory, count: int, dropped: frozenset[int], scanned: bool, data: st.DataObject
) -> None:
    context = samples.context()
    assembly = Assembly(context=context, scanned=scanned)
    store = Store(BuildTree(tmp_path_factory.mktemp("rows")))
    numbers = list(range(1, count + 1))
    cut = data.draw(st.integers(0, count))
    shards = []
    for part, own in enumerate(filter(None, (numbers[:cut], numbers[cut:]))):
        made = assembly.key(f"{TEMPLATE}/{part}", DIGESTS)
        (entry,) = store.put([(made, assembly.lines(f"{TEMPLATE}/{part}", tables(own, dropped)))])
        assert set(entry.files) == {DECISIONS_FILE, ROWS_FILE}
        shards.append(Shard(label=f"{TEMPLATE}/{part}", fp=entry.fp, digest=entry.files[ROWS_FILE], rows=len(own)))
    order = Order(template_ids=(TEMPLATE,), sequence=[0] * count)
    seen = Assembled(store=store, shards=tuple(shards), order=order, context=context)
    five = zip(*tables(numbers, dropped), strict=True)
    assert seen.decisions() == [decide(*map(decode_line, lines)) for lines in five]
    valid = [row(number, context, scanned=scanned) for number in numbers if number not in dropped]
    assert list(seen.lines()) == list(map(encode_row, valid))
    assert list(seen.lines()) == list(seen.lines())


def test_a_reworded_tool_shows_in_rows_that_were_kept(tmp_path: Path) -> None:
    before = samples.context()
    store = Store(BuildTree(tmp_path))
    assembly = Assembly(context=before, scanned=False)
    (entry,) = store.put([(assembly.key(TEMPLATE, DIGESTS), assembly.lines(TEMPLATE, tables([1])))])
    shard = Shard(label=TEMPLATE, fp=entry.fp, digest=entry.files[ROWS_FILE], rows=1)
    tools: dict[str, Any] = {name: {"name": name, "description": 'reads, "sets"'} for name in before.tools}
    after = dataclasses.replace(before, tools=tools)
    order = Order(template_ids=(TEMPLATE,), sequence=[0])
    lines = list(Assembled(store=store, shards=(shard,), order=order, context=after).lines())
    assert lines == [encode_row(row(1, after))]
    assert lines != [encode_row(row(1, before))]


SECOND, THIRD = samples.task(2).task_id, samples.task(3).task_id


@pytest.mark.parametrize(
    ("stage", "numbers", "told"),
    [
        ("expected_trace", [1, 3], f"row 1 of shard `{TEMPLATE}` is `{THIRD}`, in expand it is `{SECOND}`"),
        ("render", [1], f"row 1 of shard `{TEMPLATE}` is absent, in expand it is `{SECOND}`"),
        ("executable_replay", [1, 2, 3], f"row 2 of shard `{TEMPLATE}` is `{THIRD}`, in expand it is absent"),
    ],
)
def test_tables_of_other_tasks_and_of_more_or_fewer_are_refused(stage: str, numbers: list[int], told: str) -> None:
    given, at = tables([1, 2]), READ.index(stage)
    given[at] = tables(numbers)[at]
    with pytest.raises(StageError) as caught:
        Assembly(context=samples.context(), scanned=False).lines(TEMPLATE, given)
    assert str(caught.value) == (
        f"stage_tables_disagree: {stage}: {told}\n  fix: run again with rebuild=1; if it stays, report it as a bug"
    )
