"""The calls each task expects, with their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import StageError
from bfcl.oracle.worker import LocalOracle
from bfcl.records.trace import Trace
from bfcl.stages.expected_trace import derive_chunk, starved
from tests.packs import ALL_POLICIES, ROW_LINKS, Edit, put, put_template
from tests.stages.studio import studio
from tests.stages.worlds import oracle

STUDIO = studio()


def _derive(template_id: str, *edits: Edit) -> list[Trace]:
    pack = studio(*edits)
    return derive_chunk(
        pack.templates[template_id], pack.outline(template_id), pack.tasks(template_id), pack.tools, None
    )


@pytest.mark.parametrize("template_id", [name for name in ALL_POLICIES if name != "last_firing"])
def test_derive_gives_a_trace_for_every_task_in_order(template_id: str) -> None:
    tasks = STUDIO.tasks(template_id)
    traces = _derive(template_id)
    assert [(trace.task_id, trace.template_id, trace.turn_policy) for trace in traces] == [
        (task.task_id, task.template_id, task.turn_policy) for task in tasks
    ]
    assert all(trace.derived and trace.drop_reason is None for trace in traces)


def test_derive_injects_required_parameters_only_and_after_declared_arguments() -> None:
    task = STUDIO.tasks("start_confirmed")[0]
    assert [call.to_json() for call in _derive("start_confirmed")[0].calls] == [
        {
            "turn_index": 1,
            "call_group": 0,
            "position_in_group": 0,
            "function_name": "start_firing",
            "arguments": {"cone": task.slots["cone"], "confirm": True, "kiln_id": task.slots["kiln_id"]},
        }
    ]
    assert list(_derive("start_confirmed")[0].calls[0].arguments) == ["cone", "confirm", "kiln_id"]


def test_derive_injects_no_optional_parameter_of_a_slot_name() -> None:
    slot = {"source": "enum:start_firing.atmosphere", "visible_in_first_turn": True}
    traces = _derive("start_confirmed", put_template("start_confirmed", ("slots", "atmosphere"), slot))
    assert {tuple(trace.calls[0].arguments) for trace in traces} == {("cone", "confirm", "kiln_id")}


def test_derive_numbers_a_parallel_batch() -> None:
    places = [
        (call.turn_index, call.call_group, call.position_in_group, call.function_name)
        for call in _derive("kiln_and_firing")[0].calls
    ]
    assert places == [(0, 0, 0, "get_kiln"), (0, 0, 1, "get_firing")]


def test_derive_takes_the_values_in_force_at_the_call() -> None:
    for task, trace in zip(STUDIO.tasks("cone_corrected"), _derive("cone_corrected"), strict=True):
        assert trace.calls[0].arguments["cone"] == task.slots["cone"] != task.slots_initial["cone"]


@given(st.one_of(st.text(), st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)))
def test_derive_keeps_the_type_of_a_lone_placeholder_and_turns_others_into_text(value: Any) -> None:
    args = {"kiln_id": "{kiln_id}", "note": "<{kiln_id}>", "deep": [{"{kiln_id}": "{kiln_id}"}], "plain": [1, None]}
    pack = studio(put_template("kiln_status", ("assistant_milestones", 0, "args"), args), templates=("kiln_status",))
    task = replace(pack.tasks("kiln_status")[0], slots_initial={"kiln_id": value}, slots={"kiln_id": value})
    outline = pack.outline("kiln_status")
    arguments = derive_chunk(pack.templates["kiln_status"], outline, [task], pack.tools, None)[0].calls[0].arguments
    assert arguments["kiln_id"] == value
    assert type(arguments["kiln_id"]) is type(value)
    assert isinstance(arguments["note"], str)
    assert arguments["note"][0] + arguments["note"][-1] == "<>"
    assert arguments["deep"] == [{"{kiln_id}": value}]
    assert arguments["plain"] == [1, None]


@pytest.mark.parametrize("value", ["K-1", 4, 4.5, True, ""])
def test_derive_keeps_the_type_of_a_rows_field(value: Any) -> None:
    pack = studio(put("fixtures.json", ("firings", 0, "kiln_id"), value), templates=ROW_LINKS)
    tasks = pack.tasks("kiln_of_firing")
    drawn, order = pack.templates["kiln_of_firing"], pack.outline("kiln_of_firing")
    first, second, *_ = derive_chunk(drawn, order, tasks, pack.tools, None)
    assert [dict(one.calls[0].arguments) for one in (first, second)] == [{"kiln_id": value}, {"kiln_id": "K-1"}]
    assert type(first.calls[0].arguments["kiln_id"]) is type(value)


def test_derive_takes_the_row_in_force_at_the_call() -> None:
    pack = studio(templates=ROW_LINKS)
    tasks = pack.tasks("firing_corrected")
    traces = derive_chunk(pack.templates["firing_corrected"], pack.outline("firing_corrected"), tasks, pack.tools, None)
    kilns = {"F-11": "K-1", "F-13": "K-3"}
    assert [one.calls[0].arguments["kiln_id"] for one in traces] == [kilns[task.slots["firing_id"]] for task in tasks]
    assert {one.calls[0].arguments["kiln_id"] for one in traces} == {"K-1", "K-3"}


def test_derive_refuses_faults_of_the_template() -> None:
    with pytest.raises(StageError) as caught:
        _derive("kiln_status", put_template("kiln_status", ("assistant_milestones", 0, "args"), {"kiln_id": "{no}"}))
    assert [problem.code for problem in caught.value.problems] == ["unbound_placeholder"]


# --- dependent calls, on the real oracle --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalOracle]:
    """The good pack's worlds; edits of templates do not change them."""
    with oracle(tmp_path_factory.mktemp("worlds") / "pack") as running:
        yield running


def _path(path: str) -> Edit:
    marker = {"from_result": {"call": "look", "path": path}}
    return put_template("last_firing", ("assistant_milestones", 1, "args", "firing_id"), marker)


def _dependent(worlds: LocalOracle, *edits: Edit) -> list[Trace]:
    pack = studio(*edits, templates=("last_firing",))
    tasks = pack.tasks("last_firing")
    return derive_chunk(pack.templates["last_firing"], pack.outline("last_firing"), tasks, pack.tools, worlds)


def test_derive_takes_a_dependent_argument_from_the_earlier_result(worlds: LocalOracle) -> None:
    latest = {"K-1": "F-11", "K-2": "F-12", "K-3": "F-13"}
    traces = _dependent(worlds)
    assert len(traces) == 3
    for trace in traces:
        look, firing = trace.calls
        assert (look.turn_index, firing.turn_index, look.call_group, firing.call_group) == (0, 1, 0, 1)
        assert firing.arguments == {"firing_id": latest[str(look.arguments["kiln_id"])]}


def test_derive_drops_the_instances_whose_path_misses(worlds: LocalOracle) -> None:
    traces = _dependent(worlds, _path("kiln.recent_firings.1"))
    assert [(trace.derived, trace.drop_reason, trace.calls == ()) for trace in traces] == [
        (False, "dependent_call_binding_failed: path_missing", True),
        (False, "dependent_call_binding_failed: path_missing", True),
        (True, None, False),
    ]
    assert traces[2].calls[1].arguments == {"firing_id": "F-10"}


def test_derive_follows_a_chain_of_three_calls(worlds: LocalOracle) -> None:
    back = {"kiln_id": {"from_result": {"call": "fired", "path": "firing.kiln_id"}}}
    chain = [
        put_template("last_firing", ("assistant_milestones", 1, "id"), "fired"),
        put_template(
            "last_firing", ("assistant_milestones", 2), {"type": "tool_call", "tool": "get_kiln", "args": back}
        ),
    ]
    for trace in _dependent(worlds, *chain):
        assert trace.calls[2].arguments == trace.calls[0].arguments


def test_derive_drops_a_task_whose_path_applies_a_name_to_a_list(worlds: LocalOracle) -> None:
    traces = _dependent(worlds, _path("kiln.recent_firings.firing_id"))
    assert {trace.drop_reason for trace in traces} == {"dependent_call_binding_failed: name_on_a_list"}


def test_derive_may_lose_all_its_tasks_and_starved_tells_of_it(worlds: LocalOracle) -> None:
    traces = _dependent(worlds, _path("kiln.nothing"))
    assert [trace.derived for trace in traces] == [False] * 3
    assert [str(problem) for problem in starved(traces[0].template_id, traces)] == [
        "dependent_call_binding_failed: last_firing: none of 3 tasks could be derived: "
        "dependent_call_binding_failed: path_missing\n"
        "  fix: correct the path, or narrow the slot filters to rows that have a result"
    ]


def test_starved_says_nothing_where_a_task_is_derived_or_none_exists(worlds: LocalOracle) -> None:
    traces = _dependent(worlds, _path("kiln.recent_firings.1"))
    assert [trace.derived for trace in traces] == [False, False, True]
    assert starved(traces[0].template_id, traces) == starved(traces[0].template_id, []) == []


def test_derive_drops_an_instance_whose_producer_answers_an_error(worlds: LocalOracle) -> None:
    source = put_template("last_firing", ("slots", "kiln_id", "source"), "literal:[K-1, K-90]")
    assert [trace.drop_reason for trace in _dependent(worlds, source)] == [
        None,
        "dependent_call_binding_failed: error_result",
    ]


def test_derive_drops_an_instance_on_which_the_oracle_breaks(tmp_path: Path) -> None:
    breaks = put("fixtures.json", ("kilns", 1, "recent_firings"), "@")
    with oracle(tmp_path / "pack", breaks, _raise_on("@")) as running:
        reasons = [trace.drop_reason for trace in _dependent(running)]
    assert reasons == [None, "executable_replay_failed: tool_raised", None]


def _raise_on(mark: str) -> Edit:
    def edit(draft: Any) -> None:
        code = draft.text("backend.py")
        guard = (
            f"\n    if {mark!r} in str(_STATE['kilns'].get(arguments.get('kiln_id'))):\n        raise RuntimeError\n"
        )
        head = "def call_tool(name, arguments, *, ctx):"
        assert code.count(head) == 1
        draft.texts["backend.py"] = code.replace(head, head + guard)

    return edit


def test_derive_without_an_oracle_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="last_firing: a dependent call needs an oracle"):
        _derive("last_firing")
