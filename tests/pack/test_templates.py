from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.pack.templates import template_json
from bfcl.records.template import Milestone, Paraphrase, SimulatorTurn, Slot, SlotUpdate, Template
from tests.pack.conftest import Load, Refused
from tests.pack.templates_back import template_from_json
from tests.packs import ALL_POLICIES, ROW_LINKS, Edit, drop_template, put, put_template, text

T = "task_templates.yaml"
K = "kiln_status"
NAMED = f"template `{K}`: "


def _put(value: object, *pointer: str | int) -> Edit:
    return put_template(K, pointer, value)


@pytest.mark.parametrize(
    ("edit", "field", "message"),
    [
        (text(T, "a: 1\n"), None, 'the value is {"a": 1}; expected a list of templates'),
        (put(T, (0,), "x"), "0", '`0` is "x"; expected a mapping with `template_id`'),
        (drop_template(K, ("template_id",)), "0", "template 0: `template_id` is required\n  fix: add `template_id`"),
        (
            put(T, (0, "template_id"), 7),
            "0.template_id",
            "template 0: `template_id` is 7; expected text\n  fix: quote it to make it text",
        ),
        (put(T, (0, "template_id"), ""), "0.template_id", 'template 0: `template_id` is ""; expected non-empty text'),
        (
            put(T, (0, "template_id"), "a/b"),
            "0.template_id",
            (
                'template `a/b`: `template_id` is "a/b", but it holds the separator `/`; '
                "task ids carry it as a path component\n  fix: use letters, digits, `_` and `-`"
            ),
        ),
        (
            put(T, (1, "template_id"), K),
            "1.template_id",
            f"template 1: `template_id` `{K}` is taken by template 0\n  fix: give each template its own id",
        ),
        (_put(1, "slot"), "0.slot", f"{NAMED}unknown key `slot`\n  fix: did you mean `slots`?"),
        (_put(3, "intent"), "0.intent", f"{NAMED}`intent` is 3; expected text\n  fix: quote it to make it text"),
        (_put("", "category"), "0.category", f'{NAMED}`category` is ""; expected non-empty text'),
        (_put([], "difficulty"), "0.difficulty", f"{NAMED}`difficulty` is []; expected text"),
        (_put([], "turn_policy"), "0.turn_policy", f"{NAMED}`turn_policy` is []; expected text"),
        (_put("yes", "mutates"), "0.mutates", f'{NAMED}`mutates` is "yes"; expected true or false'),
        (
            _put(1, "call_order"),
            "0.call_order",
            f"{NAMED}`call_order` is 1; expected text\n  fix: quote it to make it text",
        ),
        (
            _put("1", "call_order_prefix"),
            "0.call_order_prefix",
            f'{NAMED}`call_order_prefix` is "1"; expected an integer',
        ),
        (
            _put("get_kiln", "required_tools"),
            "0.required_tools",
            f'{NAMED}`required_tools` is "get_kiln"; expected a list',
        ),
        (
            _put([1], "tools_present"),
            "0.tools_present.0",
            f"{NAMED}`tools_present.0` is 1; expected text\n  fix: quote it to make it text",
        ),
        (
            _put(["a", "a"], "success_assertions"),
            "0.success_assertions.1",
            f'{NAMED}`success_assertions` lists "a" twice\n  fix: keep one of the two',
        ),
        (
            _put([" "], "edge_signatures"),
            "0.edge_signatures.0",
            f'{NAMED}`edge_signatures.0` is " "; expected non-empty text',
        ),
        (drop_template(K, ("slots",)), "0", f"{NAMED}`slots` is required\n  fix: add `slots`"),
        (_put([], "slots"), "0.slots", f"{NAMED}`slots` is []; expected a mapping"),
        (
            _put("x", "slots", "kiln_id"),
            "0.slots.kiln_id",
            f'{NAMED}`slots.kiln_id` is "x"; expected a mapping with `source`',
        ),
        (
            _put({"source": "literal:1"}, "slots", "1st"),
            "0.slots.1st",
            (
                f'{NAMED}slot name "1st" is not an identifier, so no placeholder could name it\n'
                "  fix: use letters, digits and `_`, not starting with a digit"
            ),
        ),
        (
            drop_template(K, ("slots", "kiln_id", "source")),
            "0.slots.kiln_id",
            f"{NAMED}`slots.kiln_id.source` is required\n  fix: add `source`",
        ),
        (
            _put("x", "slots", "kiln_id", "filtr"),
            "0.slots.kiln_id.filtr",
            f"{NAMED}unknown key `filtr` in `slots.kiln_id`\n  fix: did you mean `filter`?",
        ),
        (
            _put(1, "slots", "kiln_id", "visible_in_first_turn"),
            "0.slots.kiln_id.visible_in_first_turn",
            f"{NAMED}`slots.kiln_id.visible_in_first_turn` is 1; expected true or false",
        ),
        (
            _put("x", "slots", "kiln_id", "label"),
            "0.slots.kiln_id.label",
            f'{NAMED}`slots.kiln_id.label` is "x"; expected a mapping',
        ),
        (
            drop_template(K, ("user_turn_templates",)),
            "0",
            f"{NAMED}`user_turn_templates` is required\n  fix: add `user_turn_templates`",
        ),
        (
            _put({}, "user_turn_templates"),
            "0.user_turn_templates",
            f"{NAMED}`user_turn_templates` is {{}}; expected text in at least one language",
        ),
        (
            _put(1, "user_turn_templates", "en"),
            "0.user_turn_templates.en",
            f"{NAMED}`user_turn_templates.en` is 1; expected text\n  fix: quote it to make it text",
        ),
        (
            drop_template(K, ("assistant_milestones",)),
            "0",
            f"{NAMED}`assistant_milestones` is required\n  fix: add `assistant_milestones`",
        ),
        (
            _put([], "assistant_milestones"),
            "0.assistant_milestones",
            f"{NAMED}`assistant_milestones` is []; expected at least one milestone",
        ),
        (
            _put("x", "assistant_milestones", 0),
            "0.assistant_milestones.0",
            f'{NAMED}`assistant_milestones.0` is "x"; expected a mapping with `type`',
        ),
        (
            _put("tool_cal", "assistant_milestones", 0, "type"),
            "0.assistant_milestones.0.type",
            (
                f'{NAMED}`assistant_milestones.0.type` is "tool_cal"; '
                "expected tool_call, ask_for_slot, ask_confirm, decline, final_answer\n  fix: did you mean `tool_call`?"
            ),
        ),
        (
            drop_template(K, ("assistant_milestones", 0, "type")),
            "0.assistant_milestones.0",
            (
                f"{NAMED}`assistant_milestones.0.type` is null; "
                "expected tool_call, ask_for_slot, ask_confirm, decline, final_answer"
            ),
        ),
        (
            drop_template(K, ("assistant_milestones", 0, "tool")),
            "0.assistant_milestones.0",
            f"{NAMED}`assistant_milestones.0.tool` is required\n  fix: add `tool`",
        ),
        (
            _put([], "assistant_milestones", 0, "args"),
            "0.assistant_milestones.0.args",
            f"{NAMED}`assistant_milestones.0.args` is []; expected a mapping",
        ),
        (
            _put(-1, "assistant_milestones", 0, "call_group"),
            "0.assistant_milestones.0.call_group",
            f"{NAMED}`assistant_milestones.0.call_group` is -1; expected an integer of at least 0",
        ),
        (
            _put(True, "assistant_milestones", 0, "call_group"),
            "0.assistant_milestones.0.call_group",
            f"{NAMED}`assistant_milestones.0.call_group` is true; expected an integer of at least 0",
        ),
        (
            _put("kiln_id", "assistant_milestones", 1, "slot"),
            "0.assistant_milestones.1.slot",
            f"{NAMED}unknown key `slot` in `assistant_milestones.1`\n  fix: use one of content_template, id, type",
        ),
        (
            _put("x", "assistant_milestones", 1, "content_template"),
            "0.assistant_milestones.1.content_template",
            f'{NAMED}`assistant_milestones.1.content_template` is "x"; expected a mapping',
        ),
        (
            _put(["x"], "user_simulator_turns"),
            "0.user_simulator_turns.0",
            f'{NAMED}`user_simulator_turns.0` is "x"; expected a mapping with `after` and `content_template`',
        ),
        (
            _put([{"content_template": {"en": "x"}}], "user_simulator_turns"),
            "0.user_simulator_turns.0",
            f"{NAMED}`user_simulator_turns.0.after` is required\n  fix: add `after`",
        ),
        (
            _put([{"after": "x"}], "user_simulator_turns"),
            "0.user_simulator_turns.0",
            f"{NAMED}`user_simulator_turns.0.content_template` is required\n  fix: add `content_template`",
        ),
        (
            _put(
                [{"after": "x", "content_template": {"en": "x"}, "slot_updates": {"kiln_id": "x"}}],
                "user_simulator_turns",
            ),
            "0.user_simulator_turns.0.slot_updates.kiln_id",
            f'{NAMED}`user_simulator_turns.0.slot_updates.kiln_id` is "x"; expected a mapping with `source`',
        ),
        (
            _put(
                [
                    {
                        "after": "x",
                        "content_template": {"en": "x"},
                        "slot_updates": {"a": {"source": "b", "bind_as": "c d"}},
                    }
                ],
                "user_simulator_turns",
            ),
            "0.user_simulator_turns.0.slot_updates.a.bind_as",
            (
                f'{NAMED}`user_simulator_turns.0.slot_updates.a.bind_as` is "c d"; '
                "expected an identifier, since placeholders name it"
            ),
        ),
        (
            _put({"tool_call": {"en": "x"}}, "assistant_turn_templates"),
            "0.assistant_turn_templates.tool_call",
            (
                f"{NAMED}unknown key `tool_call` in `assistant_turn_templates`\n"
                "  fix: use one of ask_confirm, ask_for_slot, decline, final_answer"
            ),
        ),
        (
            _put({"allow": True}, "paraphrase"),
            "0.paraphrase.allow",
            f"{NAMED}unknown key `allow` in `paraphrase`\n  fix: did you mean `allowed`?",
        ),
        (
            _put({"max_variants": -1}, "paraphrase"),
            "0.paraphrase.max_variants",
            f"{NAMED}`paraphrase.max_variants` is -1; expected an integer of at least 0",
        ),
    ],
)
def test_template_field_of_the_wrong_shape_is_refused(
    refused: Refused, edit: Edit, field: str | None, message: str
) -> None:
    (problem,) = refused(edit)
    assert problem.code == "task_templates_invalid"
    assert problem.field == field
    assert str(problem) == f"pack/task_templates.yaml:{problem.line}: task_templates_invalid: {message}"


def test_template_problem_stands_at_the_line_to_edit(refused: Refused) -> None:
    (problem,) = refused(_put("yes", "slots", "kiln_id", "visible_in_first_turn"))
    assert (problem.line, problem.column) == (11, 7)
    (problem,) = refused(drop_template("start_confirmed", ("slots",)))
    assert (problem.line, problem.column) == (22, 3)


def test_templates_collect_the_problems_of_all_entries(refused: Refused) -> None:
    problems = refused(_put(1, "mutates"), _put(2, "slots"), put_template("out_of_scope", ("intent",), 4))
    assert [problem.field for problem in problems] == ["0.slots", "0.mutates", "3.intent"]


@pytest.mark.parametrize(
    "edit",
    [
        put(T, (), []),
        _put("chat", "turn_policy"),
        drop_template(K, ("turn_policy",)),
        _put("sorted", "call_order"),
        _put(9, "call_order_prefix"),
        _put(["no_such_tool"], "required_tools"),
        _put("no_such_tool", "assistant_milestones", 0, "tool"),
        _put("", "assistant_milestones", 0, "id"),
        _put("final_answer@1", "assistant_milestones", 0, "id"),
        _put("nowhere:x", "slots", "kiln_id", "source"),
        _put("a or b", "slots", "kiln_id", "filter"),
        _put({"source": "literal:1"}, "slots", "slot_name"),
        drop_template(K, ("slots", "kiln_id", "visible_in_first_turn")),
        _put([], "success_assertions"),
        _put([{"after": "nothing", "content_template": {"en": "x"}}], "user_simulator_turns"),
        _put({}, "slots"),
    ],
)
def test_what_only_a_check_may_refuse_loads(load: Load, edit: Edit) -> None:
    load(edit)


def test_template_defaults_are_filled_in(load: Load) -> None:
    pack = load(
        drop_template(K, ("category",)),
        drop_template(K, ("required_tools",)),
        drop_template(K, ("turn_policy",)),
        drop_template("kiln_and_firing", ("required_tools",)),
    )
    template = pack.templates[0]
    assert template.category == K
    assert template.turn_policy == ""
    assert (template.call_order, template.call_order_prefix, template.mutates) == ("strict", None, False)
    assert template.required_tools == ("get_kiln",)
    assert template.tools_present == ("get_kiln", "get_firing", "start_firing")
    assert [milestone.id for milestone in template.assistant_milestones] == ["tool_call@0", "final_answer@1"]
    assert template.paraphrase == Paraphrase()
    assert pack.templates[2].required_tools == ("get_kiln", "get_firing")


def test_tools_present_follow_the_catalog_with_unknown_names_last(load: Load) -> None:
    pack = load(_put(["nope", "start_firing", "get_kiln"], "tools_present"))
    assert pack.templates[0].tools_present == ("get_kiln", "start_firing", "nope")


def test_slots_keep_declaration_order_and_updates_are_sorted(load: Load) -> None:
    updates = {name: {"source": "literal:1"} for name in ("b", "a")}
    pack = load(
        _put({"z": {"source": "literal:1"}, "a": {"source": "literal:2"}}, "slots"),
        _put([{"after": "x", "content_template": {"en": "x"}, "slot_updates": updates}], "user_simulator_turns"),
    )
    assert list(pack.templates[0].slots) == ["z", "a"]
    assert [one.slot for one in pack.templates[0].user_simulator_turns[0].slot_updates] == ["a", "b"]


def test_missing_intent_is_a_warning(load: Load) -> None:
    (warning,) = load(drop_template("start_confirmed", ("intent",))).warnings
    assert str(warning) == (
        "pack/task_templates.yaml:22: template_without_intent: template `start_confirmed` has no `intent`, "
        "so its rows publish none\n  fix: add `intent`"
    )


NAMES = st.text("abc_", min_size=1, max_size=3)
TEXTS = st.dictionaries(st.sampled_from(["en", "vi"]), st.text(max_size=5), max_size=2)
OPTIONAL = st.none() | st.text(max_size=4)
TUPLES = st.lists(st.text(max_size=3), max_size=3).map(tuple)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
SLOTS = st.builds(
    Slot,
    name=NAMES,
    source=st.text(max_size=4),
    filter=OPTIONAL,
    visible_in_first_turn=st.none() | st.booleans(),
    label=TEXTS,
    same_row_as=OPTIONAL,
)
MILESTONES = st.builds(
    Milestone,
    type=st.sampled_from(["tool_call", "final_answer"]),
    id=NAMES,
    tool=OPTIONAL,
    args=st.dictionaries(NAMES, VALUES, max_size=3),
    call_group=st.none() | st.integers(0, 3),
    slot=OPTIONAL,
    content_template=TEXTS,
)
UPDATES = st.builds(SlotUpdate, slot=NAMES, source=st.text(max_size=4), filter=OPTIONAL, bind_as=OPTIONAL)
TURNS = st.builds(
    SimulatorTurn, after=NAMES, content_template=TEXTS, slot_updates=st.lists(UPDATES, max_size=2).map(tuple)
)
TEMPLATES = st.builds(
    Template,
    template_id=NAMES,
    intent=OPTIONAL,
    category=NAMES,
    difficulty=OPTIONAL,
    turn_policy=NAMES,
    mutates=st.booleans(),
    call_order=NAMES,
    call_order_prefix=st.none() | st.integers(),
    required_tools=TUPLES,
    tools_present=TUPLES,
    slots=st.lists(SLOTS, max_size=3).map(lambda slots: {slot.name: slot for slot in slots}),
    success_assertions=TUPLES,
    user_turn_templates=TEXTS,
    assistant_milestones=st.lists(MILESTONES, max_size=3).map(tuple),
    user_simulator_turns=st.lists(TURNS, max_size=2).map(tuple),
    assistant_turn_templates=st.dictionaries(st.sampled_from(["decline", "ask_confirm"]), TEXTS),
    paraphrase=st.builds(
        Paraphrase,
        allowed=st.booleans(),
        max_variants=st.none() | st.integers(0, 3),
        must_preserve=TUPLES,
        must_omit=TUPLES,
        must_not_mention=TUPLES,
    ),
    edge_signatures=TUPLES,
)


@given(TEMPLATES)
def test_template_survives_a_trip_through_canonical_json(template: Template) -> None:
    wire = canonical_json(template_json(template))
    back = template_from_json(json.loads(wire))
    assert back == template
    assert list(back.slots) == list(template.slots)
    assert [list(one.args) for one in back.assistant_milestones] == [
        list(one.args) for one in template.assistant_milestones
    ]
    assert canonical_json(template_json(back)) == wire


def test_every_ready_made_template_survives_the_trip(load: Load) -> None:
    for template in load(templates=(*ALL_POLICIES, *ROW_LINKS)).templates:
        wire: dict[str, Any] = json.loads(canonical_json(template_json(template)))
        assert template_from_json(wire) == template


def test_normal_form_tells_of_a_shared_row_only_where_there_is_one(load: Load) -> None:
    followed, *_ = load(templates=ROW_LINKS).templates
    slots = template_json(followed)["slots"]
    assert isinstance(slots, list)
    assert [one.get("same_row_as") for one in slots] == [None, "kiln_id"]
    assert ["same_row_as" in one for one in slots] == [False, True]


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (["kiln_id"], '["kiln_id"]; expected text'),
        ("", '""; expected non-empty text'),
        (7, "7; expected text\n  fix: quote it to make it text"),
    ],
)
def test_same_row_as_of_another_shape_is_refused(refused: Refused, value: object, seen: str) -> None:
    (problem,) = refused(_put(value, "slots", "kiln_id", "same_row_as"))
    assert str(problem) == (
        f"pack/task_templates.yaml:12: task_templates_invalid: template `{K}`: `slots.kiln_id.same_row_as` is {seen}"
    )


@pytest.mark.parametrize("content", ["", "# none yet\n", "[]\n"])
def test_file_without_templates_loads_as_an_empty_list(load: Load, content: str) -> None:
    pack = load(text(T, content), text("validation_cases.yaml", content))
    assert (pack.templates, pack.cases) == ((), ())
