"""Where each argument of a template's calls comes from, and the faults no task escapes."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.oracle.protocol import ResultPath
from bfcl.stages.call_plan import Argument, blueprint
from bfcl.stages.expected_trace import superseded_calls
from tests.packs import ROW_LINKS, TEMPLATES, Edit, put, put_template
from tests.stages.studio import studio


def _problems(template_id: str, *edits: Edit) -> list[str]:
    pack = studio(*edits)
    made = blueprint(pack.templates[template_id], pack.outline(template_id), pack.tools)
    return [str(one) for one in made.problems]


def _marker(call: object = "look", path: object = "kiln.recent_firings.0") -> dict[str, Any]:
    return {"from_result": {"call": call, "path": path}}


def _second_call(value: object) -> Edit:
    return put_template("last_firing", ("assistant_milestones", 1, "args", "firing_id"), value)


def _failed(message: str, fix: str) -> list[str]:
    field = "assistant_milestones.1.args.firing_id"
    return [f"dependent_call_binding_failed: last_firing: {field}: {message}\n  fix: {fix}"]


def test_blueprint_places_calls_and_keeps_argument_order() -> None:
    pack = studio()
    plan = blueprint(pack.templates["start_confirmed"], pack.outline("start_confirmed"), pack.tools)
    assert plan.problems == ()
    call = plan.calls[0]
    assert (call.turn_index, call.call_group, call.position_in_group, call.tool) == (1, 0, 0, "start_firing")
    assert call.arguments == (
        Argument(name="cone", kind="slot", slot="cone"),
        Argument(name="confirm", kind="constant", value=True),
        Argument(name="kiln_id", kind="slot", slot="kiln_id"),
    )
    assert call.reads == ("cone", "kiln_id")


def test_blueprint_reads_a_dependent_argument() -> None:
    pack = studio()
    call = blueprint(pack.templates["last_firing"], pack.outline("last_firing"), pack.tools).calls[1]
    assert (call.turn_index, call.call_group, call.position_in_group) == (1, 1, 0)
    source = ResultPath(call=0, path=("kiln", "recent_firings", 0))
    assert call.arguments == (Argument(name="firing_id", kind="result", source=source),)


def test_blueprint_reads_a_path_that_is_one_index() -> None:
    pack = studio(_second_call(_marker(path=0)))
    call = blueprint(pack.templates["last_firing"], pack.outline("last_firing"), pack.tools).calls[1]
    assert call.arguments == (Argument(name="firing_id", kind="result", source=ResultPath(call=0, path=(0,))),)


def test_blueprint_counts_corrections_before_each_call() -> None:
    pack = studio()
    plan = blueprint(pack.templates["cone_corrected"], pack.outline("cone_corrected"), pack.tools)
    assert [call.corrections for call in plan.calls] == [1]


def test_trace_problems_are_none_for_the_good_pack() -> None:
    pack = studio()
    assert [name for name in pack.templates if _problems(name)] == []


def test_trace_problems_name_a_required_argument_without_value() -> None:
    parameters = ("function", "parameters", "required")
    assert _problems("kiln_status", put("tools.json", (0, *parameters), ["kiln_id", "zone"])) == [
        (
            "unbound_argument: kiln_status: assistant_milestones.0.args: required argument `zone` of get_kiln has no "
            "value in `args` and no slot of its name\n  fix: add `args.zone`, or declare slot `zone`"
        )
    ]


def test_trace_problems_name_placeholders_that_are_no_slot_at_any_depth() -> None:
    args = {"kiln_id": "{kilnid}", "note": [{"deep": "{slot_name} {x}"}]}
    assert _problems("kiln_status", put_template("kiln_status", ("assistant_milestones", 0, "args"), args)) == [
        (
            "unbound_placeholder: kiln_status: assistant_milestones.0.args.kiln_id: `kiln_id` says {kilnid}, "
            "which is no slot\n  fix: did you mean `kiln_id`?"
        ),
        (
            "unbound_placeholder: kiln_status: assistant_milestones.0.args.note: `note` says {slot_name}, "
            "which is no slot\n  fix: declare slot `slot_name`, or correct the name"
        ),
        (
            "unbound_placeholder: kiln_status: assistant_milestones.0.args.note: `note` says {x}, "
            "which is no slot\n  fix: declare slot `x`, or correct the name"
        ),
    ]


def test_trace_problems_keep_aliases_out_of_arguments() -> None:
    args = put_template("kiln_corrected", ("assistant_milestones", 1, "args"), {"kiln_id": "{right_kiln}"})
    assert _problems("kiln_corrected", args)[0].startswith(
        "unbound_placeholder: kiln_corrected: assistant_milestones.1.args.kiln_id: `kiln_id` says {right_kiln}"
    )


def test_trace_problems_refuse_a_marker_under_another_policy() -> None:
    edits = [put_template("last_firing", ("turn_policy",), "multi_tool")]
    assert _problems("last_firing", *edits) == _failed(
        "`from_result` needs turn policy dependent_call; the template's is multi_tool",
        "set `turn_policy: dependent_call`",
    )


@pytest.mark.parametrize("value", [{"from_result": "look"}, {"from_result": {"call": "look"}}, {**_marker(), "x": 1}])
def test_trace_problems_refuse_a_malformed_marker(value: object) -> None:
    keep = put_template("last_firing", ("assistant_milestones", 1, "args", "extra"), _marker())
    assert _problems("last_firing", _second_call(value), keep) == _failed(
        "`from_result` takes exactly `call` and `path`, and nothing beside it",
        "write `{from_result: {call: <id>, path: <path>}}`",
    )


def test_trace_problems_refuse_a_marker_below_the_top_level() -> None:
    keep = put_template("last_firing", ("assistant_milestones", 1, "args", "extra"), _marker())
    assert _problems("last_firing", _second_call([{"deep": _marker()}]), keep) == [
        (
            "dependent_call_binding_failed: last_firing: assistant_milestones.1.args.firing_id: `from_result` stands "
            "below the top level of `args`\n  fix: move it up, so that it is the whole argument"
        )
    ]


@pytest.mark.parametrize(
    ("call", "fix"), [("lok", "did you mean `look`?"), (7, "name the `id` of an earlier tool_call")]
)
def test_trace_problems_refuse_a_marker_that_names_no_call(call: object, fix: str) -> None:
    assert _problems("last_firing", _second_call(_marker(call))) == _failed(
        f"`{call}` is no tool_call of the template", fix
    )


def test_trace_problems_refuse_a_marker_on_the_same_batch_or_a_later_one() -> None:
    message = "`look` is not issued in an earlier batch than the call that uses its result"
    batch = [put_template("last_firing", ("assistant_milestones", index, "call_group"), 0) for index in (0, 1)]
    fix = "name an earlier call, or put it into a lower group"
    assert _problems("last_firing", *batch) == _failed(message, fix)
    itself = put_template("last_firing", ("assistant_milestones", 1, "id"), "again")
    assert _problems("last_firing", itself, _second_call(_marker("again"))) == _failed(
        message.replace("look", "again"), fix
    )


@pytest.mark.parametrize("path", ["", "kiln..zone", "kiln.", ".kiln", "kiln.recent_firings.-1", None, True, ["kiln"]])
def test_trace_problems_refuse_a_malformed_path(path: object) -> None:
    assert _problems("last_firing", _second_call(_marker(path=path))) == _failed(
        f"path {path!r} is no dotted path of keys and non-negative list indices", "write a path such as `items.0.id`"
    )


def test_trace_problems_name_each_call_that_reads_a_slot_corrected_later() -> None:
    early = put_template(
        "kiln_corrected",
        ("assistant_milestones",),
        [
            {"type": "tool_call", "tool": "get_kiln"},
            {"type": "final_answer", "id": "announce", "content_template": {"en": "Looking."}},
            {"type": "tool_call", "tool": "get_kiln"},
            {"type": "final_answer", "id": "answer"},
        ],
    )
    assert _problems("kiln_corrected", early) == [
        (
            "superseded_slot_value_in_trace: kiln_corrected: call 0 (get_kiln) reads slot `kiln_id` before a later "
            "turn corrects it\n  fix: move the correction before the call, or the call behind the correction"
        )
    ]
    pack = studio(early)
    template = pack.templates["kiln_corrected"]
    assert superseded_calls(template, pack.outline("kiln_corrected"), pack.tools) == [(0, "kiln_id")]


def test_superseded_calls_leave_calls_that_read_other_slots() -> None:
    milestones = TEMPLATES["cone_corrected"]["assistant_milestones"]
    look = {"type": "tool_call", "tool": "get_kiln"}
    pack = studio(put_template("cone_corrected", ("assistant_milestones",), [look, *milestones]))
    template, outline = pack.templates["cone_corrected"], pack.outline("cone_corrected")
    assert [step.kind for step in outline.steps[:2]] == ["user", "calls"]
    assert superseded_calls(template, outline, pack.tools) == []


# --- values of a row ------------------------------------------------------------------------------------------------

FIRING_ROW = {"from_fixture": {"slot": "firing_id", "field": "kiln_id"}}


def test_blueprint_reads_a_field_of_a_slots_row() -> None:
    pack = studio(templates=ROW_LINKS)
    plan = blueprint(pack.templates["firing_corrected"], pack.outline("firing_corrected"), pack.tools)
    assert plan.problems == ()
    assert plan.calls[0].arguments == (Argument(name="kiln_id", kind="slot", slot="firing_id.kiln_id"),)
    assert plan.calls[0].reads == ("firing_id.kiln_id",)


def test_field_of_a_row_hides_the_slot_of_the_parameters_name() -> None:
    slots = {
        "firing_id": {"source": "firings.firing_id", "visible_in_first_turn": True},
        "kiln_id": {"source": "kilns.kiln_id", "visible_in_first_turn": True},
    }
    pack = studio(put_template("kiln_of_firing", ("slots",), slots), templates=ROW_LINKS)
    plan = blueprint(pack.templates["kiln_of_firing"], pack.outline("kiln_of_firing"), pack.tools)
    assert plan.calls[0].arguments == (Argument(name="kiln_id", kind="slot", slot="firing_id.kiln_id"),)


@pytest.mark.parametrize("value", [{"from_fixture": {"slot": "nope", "field": "x"}}, [FIRING_ROW]])
def test_blueprint_leaves_out_an_argument_that_the_slots_problems_tell(value: object) -> None:
    edit = put_template("kiln_of_firing", ("assistant_milestones", 0, "args", "kiln_id"), value)
    pack = studio(edit, templates=ROW_LINKS)
    plan = blueprint(pack.templates["kiln_of_firing"], pack.outline("kiln_of_firing"), pack.tools)
    assert (plan.problems, plan.calls[0].arguments) == ((), ())


def test_placeholder_cannot_name_a_field_of_a_row() -> None:
    edit = put_template("kiln_of_firing", ("assistant_milestones", 0, "args", "note"), "{firing_id.kiln_id}")
    pack = studio(edit, templates=ROW_LINKS)
    plan = blueprint(pack.templates["kiln_of_firing"], pack.outline("kiln_of_firing"), pack.tools)
    assert plan.calls[0].arguments[1] == Argument(name="note", kind="constant", value="{firing_id.kiln_id}")


@pytest.mark.parametrize(
    ("args", "name"), [({"kiln_id": FIRING_ROW}, "firing_id.kiln_id"), ({"kiln_id": "{cone}"}, "cone")]
)
def test_trace_problems_name_each_call_that_reads_a_row_corrected_later(args: dict[str, Any], name: str) -> None:
    milestones = [
        {"type": "tool_call", "tool": "get_kiln", "args": args},
        {"type": "final_answer", "id": "announce"},
        {"type": "final_answer", "id": "answer"},
    ]
    pack = studio(put_template("firing_corrected", ("assistant_milestones",), milestones), templates=ROW_LINKS)
    drawn, order = pack.templates["firing_corrected"], pack.outline("firing_corrected")
    assert [str(one) for one in blueprint(drawn, order, pack.tools).problems] == [
        f"superseded_slot_value_in_trace: firing_corrected: call 0 (get_kiln) reads slot `{name}` before a later turn"
        " corrects it\n  fix: move the correction before the call, or the call behind the correction"
    ]
    assert superseded_calls(drawn, order, pack.tools) == [(0, name)]
