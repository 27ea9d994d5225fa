"""Conversation order, confirmation coverage, and every breach of structure or policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bfcl.errors import Problem, StageError
from bfcl.records.ids import TaskId, TemplateId
from bfcl.records.task import Task
from bfcl.records.template import Milestone, Paraphrase, SimulatorTurn, Slot, SlotUpdate, Template
from bfcl.records.tool import Tool
from bfcl.stages.state_machine import (
    delivery_order,
    outline,
    plans,
    policy_problems,
    shape_problems,
    slots_read,
    structure_problems,
)


def template(*milestones: Milestone, policy: str = "single_turn", **fields: Any) -> Template:
    numbered = tuple(
        milestone if milestone.id != "?" else _with_id(milestone, f"{milestone.type}@{index}")
        for index, milestone in enumerate(milestones)
    )
    values: dict[str, Any] = {
        "template_id": TemplateId("fire"),
        "intent": None,
        "category": "firings",
        "difficulty": None,
        "mutates": False,
        "call_order": "strict",
        "call_order_prefix": None,
        "required_tools": (),
        "tools_present": (),
        "slots": {},
        "success_assertions": ("assert_fired",),
        "user_turn_templates": {"en": "Fire it."},
        "user_simulator_turns": (),
        "assistant_turn_templates": {},
        "paraphrase": Paraphrase(),
        "edge_signatures": (),
    }
    return Template(turn_policy=policy, assistant_milestones=numbered, **{**values, **fields})


def _with_id(milestone: Milestone, name: str) -> Milestone:
    fields = {key: getattr(milestone, key) for key in ("type", "tool", "args", "call_group", "slot")}
    return Milestone(id=name, **fields)


def call(tool: str = "get_kiln", name: str = "?", **fields: Any) -> Milestone:
    return Milestone(type="tool_call", id=name, tool=tool, **fields)


def says(kind: str, name: str = "?", slot: str | None = None) -> Milestone:
    return Milestone(type=kind, id=name, slot=slot)


def reply(after: str, text: str = "Yes.", *corrected: str, **texts: str) -> SimulatorTurn:
    updates = tuple(SlotUpdate(slot=name, source="literal:[9]") for name in corrected)
    return SimulatorTurn(after=after, content_template={"en": text, **texts}, slot_updates=updates)


def slot(name: str, visible: bool = True) -> dict[str, Slot]:
    return {name: Slot(name=name, source="literal:[1]", visible_in_first_turn=visible)}


def told(problems: list[Problem]) -> list[tuple[str | None, str]]:
    assert {problem.subject for problem in problems} <= {"fire"}
    return [(problem.field, str(problem).removeprefix(f"{problem.code}: fire: ")) for problem in problems]


ASK, CONFIRM, DECLINE, ANSWER = says("ask_for_slot"), says("ask_confirm"), says("decline"), says("final_answer")

GOOD = {
    "single_turn": template(call(), ANSWER),
    "multi_tool": template(call(call_group=5), call(call_group=5), ANSWER, policy="multi_tool"),
    "missing_slot": template(
        ASK,
        call(args={"kiln_id": "{kiln}"}),
        ANSWER,
        policy="missing_slot",
        slots=slot("kiln", visible=False),
        user_simulator_turns=(reply("ask_for_slot", "It is {kiln}."),),
    ),
    "confirmation": template(
        CONFIRM, call(), ANSWER, policy="confirmation", user_simulator_turns=(reply("ask_confirm"),)
    ),
    "correction": template(
        ANSWER,
        call(),
        says("final_answer", "end"),
        policy="correction",
        slots=slot("cone"),
        user_simulator_turns=(reply("final_answer@0", "No, {cone}.", "cone"),),
    ),
    "dependent_call": template(
        call(name="look"),
        call("get_firing", args={"firing_id": {"from_result": {"call": "look", "path": "kiln.firing"}}}),
        ANSWER,
        policy="dependent_call",
    ),
    "negative_path": template(call(), ANSWER, policy="negative_path"),
    "clarify_only": template(ASK, policy="clarify_only", slots=slot("kiln", visible=False)),
    "irrelevant": template(DECLINE, policy="irrelevant"),
}


@pytest.mark.parametrize("policy", list(GOOD))
def test_shape_problems_accepts_the_typical_conversation(policy: str) -> None:
    assert shape_problems(GOOD[policy]) == []
    assert outline(GOOD[policy]).turn_policy == policy


# --- order ----------------------------------------------------------------------------------------------------------


def test_outline_orders_turns_by_conversation_and_renumbers_groups() -> None:
    made = outline(
        template(
            says("ask_confirm", "first"),
            says("ask_confirm", "second"),
            call("start", call_group=7),
            call("start", call_group=7),
            call("look"),
            call("look"),
            call("start", call_group=0),
            ANSWER,
            policy="correction",
            slots=slot("cone"),
            user_simulator_turns=(reply("second"), reply("first", "No, {cone}.", "cone")),
        )
    )
    assert [step.to_json() for step in made.steps] == [
        {"kind": "user", "source": "first_turn"},
        {"kind": "text", "milestone_type": "ask_confirm"},
        {"kind": "user", "source": "simulator", "update_index": 0},
        {"kind": "text", "milestone_type": "ask_confirm"},
        {"kind": "user", "source": "simulator"},
        {"kind": "calls", "call_group": 0, "tools": ("start", "start")},
        {"kind": "calls", "call_group": 1, "tools": ("look",)},
        {"kind": "calls", "call_group": 2, "tools": ("look",)},
        {"kind": "calls", "call_group": 3, "tools": ("start",)},
        {"kind": "text", "milestone_type": "final_answer"},
    ]
    assert [(step.milestones, step.entry) for step in made.steps] == [
        ((), None),
        ((0,), None),
        ((), 1),
        ((1,), None),
        ((), 0),
        ((2, 3), None),
        ((4,), None),
        ((5,), None),
        ((6,), None),
        ((7,), None),
    ]
    assert (made.num_user_turns, made.num_tool_calls, made.has_slot_correction) == (3, 5, True)
    assert (made.has_user_confirmation, made.confirmed_groups) == (True, frozenset({0}))


def test_delivery_order_is_that_of_the_conversation() -> None:
    drawn = template(
        says("final_answer", "a"),
        says("final_answer", "b"),
        call(),
        user_simulator_turns=(reply("b"), reply("a")),
    )
    assert delivery_order(drawn) == (1, 0)
    with pytest.raises(StageError, match="simulator_after_unresolved"):
        delivery_order(template(call(), user_simulator_turns=(reply("b"),)))


def test_plans_publish_the_outline_for_each_task() -> None:
    made = outline(GOOD["confirmation"])
    fields = dict.fromkeys(Task.__slots__)
    tasks = [Task(**{**fields, "task_id": TaskId(name)}) for name in ("t1", "t2")]  # type: ignore[arg-type]
    first, second = plans(made, tasks)
    assert (first.task_id, second.task_id) == ("t1", "t2")
    assert (first.template_id, first.turn_policy) == ("fire", "confirmation")
    assert (first.num_user_turns, first.num_tool_calls, first.is_multi_turn) == (2, 1, True)
    assert (first.has_user_confirmation, first.has_slot_correction) == (True, False)
    assert first.steps == tuple(step.to_json() for step in made.steps)
    assert second == replace(first, task_id=TaskId("t2"))


# --- confirmation coverage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("milestones", "replies", "answered", "covered"),
    [
        ([says("ask_confirm", "c"), call(), call()], [reply("c")], True, {0}),
        ([says("ask_confirm", "c"), call(call_group=1), call(call_group=1)], [reply("c")], True, {0}),
        ([call(), says("ask_confirm", "c"), call()], [reply("c")], True, {1}),
        ([says("ask_confirm", "c"), call()], [reply("c", "No.", "cone")], False, set()),
        (
            [says("ask_confirm", "c"), says("final_answer", "f"), call()],
            [reply("c"), reply("f", "Wait.", "cone")],
            True,
            set(),
        ),
        ([says("ask_confirm", "c"), says("final_answer", "f"), call()], [reply("c"), reply("f")], True, {0}),
        ([says("ask_confirm", "c"), says("ask_for_slot", "q"), call()], [reply("c"), reply("q")], True, set()),
        (
            [says("ask_confirm", "c"), call(), says("ask_confirm", "d"), call()],
            [reply("c"), reply("d")],
            True,
            {0, 1},
        ),
        ([says("final_answer", "f"), call()], [reply("f")], False, set()),
    ],
)
def test_outline_covers_the_next_batch_only(
    milestones: list[Milestone], replies: list[SimulatorTurn], answered: bool, covered: set[int]
) -> None:
    policy = "correction" if any(turn.slot_updates for turn in replies) else "negative_path"
    drawn = template(*milestones, policy=policy, slots=slot("cone"), user_simulator_turns=tuple(replies))
    made = outline(drawn)
    assert (made.has_user_confirmation, made.confirmed_groups) == (answered, covered)


# --- structure ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("drawn", "code", "expected"),
    [
        (
            template(call(), policy="multi_tol"),
            "unknown_turn_policy",
            [
                (
                    "turn_policy",
                    (
                        "`multi_tol` is no turn policy; expected one of single_turn, multi_tool, missing_slot,"
                        " confirmation,"
                        " correction, dependent_call, negative_path, clarify_only, irrelevant\n"
                        "  fix: did you mean `multi_tool`?"
                    ),
                )
            ],
        ),
        (
            template(call(name="a"), call(name="b"), call(name="a")),
            "duplicate_milestone_id",
            [
                (
                    "assistant_milestones.2.id",
                    "milestones 0 and 2 share the id `a`; expected unique ids\n  fix: rename one of the two",
                )
            ],
        ),
        (
            template(call(name="")),
            "duplicate_milestone_id",
            [("assistant_milestones.0.id", "is empty; expected non-empty text")],
        ),
        (
            template(call(), says("final_answer", slot="kil"), slots=slot("kiln")),
            "unknown_slot",
            [
                (
                    "assistant_milestones.1.slot",
                    (
                        "milestone `final_answer@1` asks for `kil`, which is no slot of the template\n"
                        "  fix: did you mean `kiln`?"
                    ),
                )
            ],
        ),
        *(
            (
                template(call(call_group=0), between, call(call_group=0)),
                "call_group_not_contiguous",
                [
                    (
                        "assistant_milestones.2.call_group",
                        (
                            "call group 0 is interrupted before milestone 2; expected its calls side by side\n"
                            "  fix: move the calls together, or give the later ones another number"
                        ),
                    )
                ],
            )
            for between in (call(), call(call_group=1))
        ),
        (
            template(says("final_answer", "f"), call()),
            "text_milestone_without_reply",
            [
                (
                    "assistant_milestones.0",
                    (
                        "milestone `f` has no user reply; expected a simulator turn after it\n"
                        "  fix: add an entry with `after: f` to `user_simulator_turns`"
                    ),
                )
            ],
        ),
        (
            template(call(), says("ask_confirm", "c")),
            "text_milestone_without_reply",
            [
                (
                    "assistant_milestones.1",
                    (
                        "milestone `c` has no user reply; expected a simulator turn after it\n"
                        "  fix: add an entry with `after: c` to `user_simulator_turns`"
                    ),
                )
            ],
        ),
        (
            template(call(), says("final_answer", "end"), user_simulator_turns=(reply("ende"),)),
            "simulator_after_unresolved",
            [
                (
                    "user_simulator_turns.0.after",
                    (
                        "`ende` is neither a milestone id nor a milestone type of this template\n"
                        "  fix: did you mean `end`?"
                    ),
                )
            ],
        ),
        (
            template(call(name="look"), ANSWER, user_simulator_turns=(reply("look"),)),
            "simulator_after_unresolved",
            [("user_simulator_turns.0.after", "`look` names a tool call; expected a text milestone")],
        ),
        (
            template(call(), says("final_answer", "end"), user_simulator_turns=(reply("end"), reply("final_answer"))),
            "simulator_after_unresolved",
            [
                (
                    "user_simulator_turns.1.after",
                    "entries 0 and 1 both follow `final_answer`; expected one reply a milestone",
                )
            ],
        ),
        (
            template(ASK, user_simulator_turns=(reply("ask_for_slot"),)),
            "simulator_after_unresolved",
            [
                (
                    "user_simulator_turns.0.after",
                    "`ask_for_slot` is a closing question, which stays unanswered; expected no entry after it",
                )
            ],
        ),
    ],
)
def test_structure_problems_tells_a_breach(drawn: Template, code: str, expected: list[tuple[str, str]]) -> None:
    problems = structure_problems(drawn)
    assert {problem.code for problem in problems} == {code}
    assert told(problems) == expected


def test_structure_problems_tells_an_ambiguous_type() -> None:
    drawn = template(
        says("final_answer", "a"), says("final_answer", "b"), call(), user_simulator_turns=(reply("final_answer"),)
    )
    assert [(problem.code, problem.message) for problem in structure_problems(drawn)] == [
        ("simulator_after_unresolved", "`final_answer` names 2 milestones; expected exactly one"),
        ("text_milestone_without_reply", "milestone `a` has no user reply; expected a simulator turn after it"),
        ("text_milestone_without_reply", "milestone `b` has no user reply; expected a simulator turn after it"),
    ]


def test_after_prefers_an_id_to_a_type() -> None:
    drawn = template(
        says("ask_confirm", "c"),
        says("final_answer", "ask_confirm"),
        call(),
        user_simulator_turns=(reply("ask_confirm"), reply("c")),
    )
    assert structure_problems(drawn) == []
    assert delivery_order(drawn) == (1, 0)


# --- policies -------------------------------------------------------------------------------------------------------

_TWO_HIDDEN = {**slot("kiln", visible=False), **slot("cone", visible=False)}


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (
            template(says("final_answer", "f"), call(), ANSWER, user_simulator_turns=(reply("f"),)),
            [("user_simulator_turns", "policy `single_turn`: 2 user turns; expected exactly one")],
        ),
        (
            template(ANSWER),
            [("assistant_milestones", "policy `single_turn`: no tool call; expected at least one")],
        ),
        (
            template(call(), ANSWER, policy="multi_tool"),
            [("assistant_milestones", "policy `multi_tool`: 1 tool call; expected at least two")],
        ),
        (
            template(call(), ANSWER, policy="missing_slot", slots=slot("kiln")),
            [
                (
                    "slots",
                    "policy `missing_slot`: no slot is withheld; expected one with `visible_in_first_turn: false`",
                )
            ],
        ),
        (
            template(call(), ANSWER, policy="missing_slot", slots=slot("kiln", visible=False)),
            [
                (
                    "slots.kiln",
                    (
                        "policy `missing_slot`: slot `kiln` is withheld but not asked for; expected an `ask_for_slot`"
                        " before"
                        " the first call"
                    ),
                )
            ],
        ),
        (
            template(
                ASK,
                call(),
                policy="missing_slot",
                slots=_TWO_HIDDEN,
                user_simulator_turns=(reply("ask_for_slot", "{kiln} and {cone}"),),
            ),
            [
                (
                    f"slots.{name}",
                    (
                        f"policy `missing_slot`: slot `{name}` is withheld but not asked for; expected an"
                        f" `ask_for_slot`"
                        " naming it before the first call"
                    ),
                )
                for name in ("kiln", "cone")
            ],
        ),
        (
            template(
                ASK,
                call(),
                policy="missing_slot",
                slots=slot("kiln", visible=False),
                user_simulator_turns=(reply("ask_for_slot", "{kiln}", vi="Lò đó."),),
            ),
            [
                (
                    "slots.kiln",
                    (
                        "policy `missing_slot`: the reply to the question for `kiln` does not hold `{kiln}`;"
                        " expected it to"
                    ),
                )
            ],
        ),
        (
            template(
                call(),
                ASK,
                call(),
                policy="missing_slot",
                slots=slot("kiln", visible=False),
                user_simulator_turns=(reply("ask_for_slot", "{kiln}"),),
            ),
            [
                (
                    "slots.kiln",
                    (
                        "policy `missing_slot`: slot `kiln` is withheld but not asked for; expected an `ask_for_slot`"
                        " before"
                        " the first call"
                    ),
                )
            ],
        ),
        (
            template(call(), CONFIRM, policy="confirmation", user_simulator_turns=(reply("ask_confirm"),)),
            [
                (
                    "assistant_milestones",
                    (
                        "policy `confirmation`: no call follows an answered `ask_confirm`; expected one directly after"
                        " the"
                        " user's answer"
                    ),
                )
            ],
        ),
        (
            template(CONFIRM, call(), policy="correction", user_simulator_turns=(reply("ask_confirm"),)),
            [
                (
                    "user_simulator_turns",
                    "policy `correction`: no user turn with `slot_updates`; expected at least one",
                )
            ],
        ),
        (
            template(call(), call(), policy="dependent_call", call_order="any"),
            [
                ("call_order", "policy `dependent_call`: call order `any`; expected `strict`"),
                (
                    "assistant_milestones",
                    "policy `dependent_call`: no argument takes a `from_result`; expected at least one",
                ),
            ],
        ),
        (
            template(call(), policy="negative_path", success_assertions=()),
            [
                (
                    "success_assertions",
                    "policy `negative_path`: no success assertion; expected at least one that states the refusal",
                )
            ],
        ),
        (
            template(call(), call(), ANSWER, policy="irrelevant"),
            [
                ("assistant_milestones", "policy `irrelevant`: 2 tool calls; expected none"),
                ("assistant_milestones.2", "policy `irrelevant`: ends in `final_answer`; expected `decline`"),
            ],
        ),
        (
            template(DECLINE, policy="clarify_only"),
            [("assistant_milestones.0", "policy `clarify_only`: ends in `decline`; expected `ask_for_slot`")],
        ),
        *(
            (
                template(ANSWER, policy=policy, slots=slot("cone")),
                [("assistant_milestones", f"policy `{policy}`: no tool call; expected at least one")],
            )
            for policy in ("negative_path", "single_turn")
        ),
    ],
)
def test_policy_problems_tells_a_breach_of_shape(drawn: Template, expected: list[tuple[str, str]]) -> None:
    assert structure_problems(drawn) == []
    problems = policy_problems(drawn)
    assert {problem.code for problem in problems} == {"turn_policy_shape_violation"}
    assert told(problems) == expected
    with pytest.raises(StageError) as caught:
        outline(drawn)
    assert caught.value.problems == tuple(problems)


def test_shape_problems_judges_the_policy_on_a_sound_structure_only() -> None:
    broken = template(says("ask_confirm", "c"), call(), policy="confirmation")
    assert [problem.code for problem in shape_problems(broken)] == ["text_milestone_without_reply"]


# --- withheld slots -------------------------------------------------------------------------------------------------

_TOOL = Tool(name="get_kiln", parameters={"type": "object", "required": ["kiln"]})
_EARLY = (
    "call `tool_call@0` reads the withheld slot `kiln` before any reply states it; expected a reply holding `{kiln}`"
    " earlier"
)


def test_policy_problems_tells_a_withheld_slot_read_too_early() -> None:
    hidden = slot("kiln", visible=False)
    by_placeholder = template(call(args={"id": ["at {kiln}"]}), ANSWER, slots=hidden)
    by_name = template(call(), ANSWER, slots=hidden)
    assert [(each.code, each.field, each.message) for each in policy_problems(by_placeholder)] == [
        ("hidden_slot_used_before_reply", "assistant_milestones.0", _EARLY)
    ]
    # Without the catalog nobody knows which parameters the tool requires.
    assert policy_problems(by_name) == []
    assert [each.message for each in policy_problems(by_name, {"get_kiln": _TOOL})] == [_EARLY]


def test_policy_problems_accepts_a_withheld_slot_after_any_reply_that_states_it() -> None:
    drawn = template(
        CONFIRM,
        call(args={"id": "{kiln}"}),
        policy="confirmation",
        slots=slot("kiln", visible=False),
        user_simulator_turns=(reply("ask_confirm", "Yes, {kiln}."),),
    )
    assert policy_problems(drawn, {"get_kiln": _TOOL}) == []


def test_slots_read_sees_placeholders_and_same_named_required_parameters() -> None:
    drawn = template(call(), slots={**slot("kiln"), **slot("cone"), **slot("note")})
    tool = Tool(name="t", parameters={"required": ["kiln", "cone", "other"], "properties": {"note": {}}})
    marked = call(args={"cone": {"from_result": {"call": "a", "path": "{note}"}}, "x": {"y": ["{note} {gone}"]}})
    assert slots_read(marked, drawn, tool) == {"kiln", "note"}
    assert slots_read(marked, drawn, None) == {"note"}
    assert slots_read(call(), drawn, Tool(name="t")) == set()


def test_slots_read_sees_the_slot_whose_row_gives_an_argument() -> None:
    drawn = template(call(), slots={**slot("kiln"), **slot("zone")})
    marked = call(args={"zone": {"from_fixture": {"slot": "kiln", "field": "zone"}}})
    assert slots_read(marked, drawn, Tool(name="t", parameters={"required": ["zone"]})) == {"kiln"}
    assert slots_read(call(args={"x": {"from_fixture": {"slot": "gone", "field": "zone"}}}), drawn, None) == set()


def test_policy_problems_tells_a_row_of_a_withheld_slot_read_too_early() -> None:
    early = call(args={"zone": {"from_fixture": {"slot": "kiln", "field": "zone"}}})
    drawn = template(early, ANSWER, slots=slot("kiln", visible=False))
    assert [(each.code, each.message) for each in policy_problems(drawn)] == [("hidden_slot_used_before_reply", _EARLY)]


@pytest.mark.parametrize(("said", "early"), [("No, {kiln}.", True), ("No, {kiln} in {zone}.", False)])
def test_withheld_follower_is_withheld_again_when_its_row_changes(said: str, early: bool) -> None:
    slots = {
        "kiln": Slot(name="kiln", source="kilns.kiln_id", visible_in_first_turn=True),
        "zone": Slot(name="zone", source="kilns.zone", same_row_as="kiln", visible_in_first_turn=False),
    }
    drawn = template(
        says("ask_for_slot", "ask", "zone"),
        says("final_answer", "announce"),
        call(args={"zone": "{zone}"}),
        policy="correction",
        slots=slots,
        user_simulator_turns=(reply("ask", "In {zone}."), reply("announce", said, "kiln")),
    )
    codes = [(each.code, each.message) for each in policy_problems(drawn)]
    message = (
        "call `tool_call@2` reads the withheld slot `zone` before any reply states it; expected a reply holding"
        " `{zone}` earlier"
    )
    assert codes == ([("hidden_slot_used_before_reply", message)] if early else [])
