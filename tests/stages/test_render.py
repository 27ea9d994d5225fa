"""How tasks read, turn by turn, and which guards are recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import StageError
from bfcl.records.surface import Surface
from bfcl.records.task import Task
from bfcl.stages.render import render
from tests.packs import ALL_POLICIES, Edit, drop_template, put, put_template
from tests.stages.mentioned import mentions
from tests.stages.studio import Studio, studio

STUDIO = studio()


def _render(template_id: str, *edits: Edit, tasks: list[Task] | None = None, **wording: Any) -> list[Surface]:
    pack: Studio = studio(*edits) if edits else STUDIO
    template, outline = pack.templates[template_id], pack.outline(template_id)
    return render(template, outline, pack.tasks(template_id) if tasks is None else tasks, pack.wording(**wording))


def _read(surface: Surface) -> list[str]:
    return [f"{turn.kind}: {turn.call_group if turn.content is None else turn.content}" for turn in surface.turns]


@pytest.mark.parametrize("template_id", ALL_POLICIES)
def test_render_accepts_every_task_of_the_good_pack(template_id: str) -> None:
    surfaces = _render(template_id)
    tasks = STUDIO.tasks(template_id)
    assert [surface.task_id for surface in surfaces] == [task.task_id for task in tasks]
    assert all(surface.accepted and surface.guard_violations == () for surface in surfaces)


def test_render_records_where_a_surface_comes_from() -> None:
    surface, task = _render("kiln_status")[0], STUDIO.tasks("kiln_status")[0]
    assert (surface.base_task_id, surface.variant_index) == (task.base_task_id, 0)
    assert (surface.source, surface.language, surface.system_prompt_id) == (
        "template",
        "en",
        STUDIO.wording().system_prompt_id,
    )
    assert (surface.paraphrase_model, surface.paraphrase_model_canonical, surface.profile_hash) == (None, None, None)
    assert surface.num_user_turns == 1


def test_render_asks_by_label_and_numbers_call_groups() -> None:
    value = STUDIO.tasks("kiln_unnamed")[0].slots["kiln_id"]
    assert _read(_render("kiln_unnamed")[0]) == [
        "user: Is my kiln free right now?",
        "assistant_text: Which kiln number do you mean?",
        f"user: It is {value}.",
        "calls: 0",
        "assistant_text: Done, that is what I found.",
    ]


def test_render_speaks_old_values_before_a_correction_and_new_ones_from_it_on() -> None:
    task = STUDIO.tasks("cone_corrected")[0]
    old, new, kiln = task.slots_initial["cone"], task.slots["cone"], task.slots["kiln_id"]
    assert _read(_render("cone_corrected")[0]) == [
        f"user: Please fire kiln {kiln} at cone {old}.",
        f"assistant_text: Kiln {kiln} at cone {old}?",
        f"user: No, make that cone {new}.",
        f"assistant_text: So at cone {new}, right?",
        "user: Yes, right.",
        "calls: 0",
        "assistant_text: Done, that is what I found.",
    ]


def test_render_binds_a_correction_alias_to_the_new_value() -> None:
    surface, task = _render("kiln_corrected")[0], STUDIO.tasks("kiln_corrected")[0]
    assert surface.turns[2].content == f"Sorry, I meant kiln {task.slots['kiln_id']}."


def test_render_takes_wording_from_the_milestone_then_the_template_then_the_manifest() -> None:
    block = put_template("out_of_scope", ("assistant_turn_templates",), {"decline": {"en": "Block."}})
    own = put_template("out_of_scope", ("assistant_milestones", 0, "content_template"), {"en": "Own."})
    foreign = put_template("out_of_scope", ("assistant_milestones", 0, "content_template"), {"vi": "Riêng."})
    assert _render("out_of_scope")[0].turns[1].content == "I can only help with kilns and firings."
    assert _render("out_of_scope", block)[0].turns[1].content == "Block."
    assert _render("out_of_scope", block, own)[0].turns[1].content == "Own."
    assert _render("out_of_scope", block, foreign)[0].turns[1].content == "Block."


def test_render_never_fills_inserted_text_again() -> None:
    task = replace(STUDIO.tasks("kiln_and_firing")[0], slots_initial={"kiln_id": "{firing_id}", "firing_id": "F"})
    surface = _render("kiln_and_firing", tasks=[task])[0]
    assert surface.turns[0].content == "How is kiln {firing_id} doing, and what became of firing F?"


def test_render_writes_values_as_json_text() -> None:
    slots = {"kiln_id": True, "cone": 2.0}
    surface = _render("start_confirmed", tasks=[replace(STUDIO.tasks("start_confirmed")[0], slots_initial=slots)])[0]
    assert surface.turns[0].content == "Please fire kiln true at cone 2.0."


def test_render_records_violations_and_goes_on() -> None:
    text = put_template("kiln_status", ("user_turn_templates", "en"), "Use get_kiln for me.")
    surfaces = _render("kiln_status", text)
    assert [surface.accepted for surface in surfaces] == [False] * 3
    assert [one.to_json() for one in surfaces[0].guard_violations] == [
        {"guard": "must_preserve", "slot": "kiln_id"},
        {"guard": "must_not_mention", "tool": "get_kiln"},
    ]


def test_render_lets_assistant_texts_name_tools() -> None:
    text = put_template("kiln_status", ("assistant_milestones", 1, "content_template"), {"en": "I used get_kiln."})
    assert _render("kiln_status", text)[0].accepted


def test_render_guards_tool_names_by_run_or_by_template_and_never_exempt_ones() -> None:
    text = put_template("kiln_status", ("user_turn_templates", "en"), "Use get_kiln on {kiln_id}.")
    own = put_template("kiln_status", ("paraphrase",), {"must_not_mention": ["tool_names"]})
    exempt = put("manifest.yaml", ("surface_guards",), {"tool_names_exempt": ["get_kiln"]})
    assert not _render("kiln_status", text)[0].accepted
    assert _render("kiln_status", text, prevent_tool_name_leakage=False)[0].accepted
    assert not _render("kiln_status", text, own, prevent_tool_name_leakage=False)[0].accepted
    assert _render("kiln_status", text, own, exempt)[0].accepted


def test_render_refuses_gaps_in_the_wording() -> None:
    with pytest.raises(StageError) as caught:
        _render("kiln_status", language="vi")
    assert [problem.code for problem in caught.value.problems] == ["missing_language_text", "missing_language_text"]
    assert str(caught.value.problems[0]) == (
        "missing_language_text: kiln_status: user_turn_templates has no `vi` text; it has en\n"
        "  fix: add `user_turn_templates.vi`"
    )


def test_render_refuses_every_turn_that_comes_out_empty() -> None:
    text = put_template("kiln_status", ("user_turn_templates", "en"), "{kiln_id}")
    tasks = [replace(task, slots_initial={"kiln_id": " "}) for task in STUDIO.tasks("kiln_status")[:2]]
    with pytest.raises(StageError) as caught:
        _render("kiln_status", text, tasks=tasks)
    assert str(caught.value) == "\n".join(
        f"empty_turn: kiln_status: turn 0 of task {task.task_id} comes out empty\n"
        "  fix: write what is said in this turn"
        for task in tasks
    )


def test_render_names_the_slot_in_a_reply_to_its_question() -> None:
    text = put_template(
        "kiln_unnamed", ("user_simulator_turns", 0, "content_template"), {"en": "The {slot_name} is {kiln_id}."}
    )
    surface = _render("kiln_unnamed", text, drop_template("kiln_unnamed", ("slots", "kiln_id", "label")))[0]
    assert str(surface.turns[2].content).startswith("The kiln_id is K-")


@given(st.lists(st.text("ab1 {}kilnid_\u0301é", min_size=1).filter(str.strip), min_size=1, max_size=3))
def test_render_accepts_exactly_the_tasks_whose_first_turn_says_the_value(values: list[str]) -> None:
    task = STUDIO.tasks("kiln_status")[0]
    tasks = [replace(task, slots_initial={"kiln_id": value}, slots={"kiln_id": value}) for value in values]
    for surface, value in zip(_render("kiln_status", tasks=tasks), values, strict=True):
        content = f"Is kiln {value} free right now?"
        assert surface.turns[0].content == content
        assert surface.accepted is mentions(content, value)
