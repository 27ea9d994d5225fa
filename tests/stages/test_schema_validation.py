"""Which expected traces are valid, and every reason against one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.records.task import Task
from bfcl.records.trace import Call, Trace
from bfcl.records.verdict import SchemaVerdict
from bfcl.stages.expected_trace import derive_chunk
from bfcl.stages.schema_validation import validate
from tests.packs import ALL_POLICIES, put, put_template
from tests.stages.studio import Studio, studio

STUDIO = studio()


def _call(name: str = "get_kiln", turn: Any = 0, group: Any = 0, position: Any = 0, **arguments: Any) -> Call:
    values = {"get_kiln": {"kiln_id": "K-1"}, "get_firing": {"firing_id": "F-1"}}.get(name, {})
    return Call(
        turn_index=turn,
        call_group=group,
        position_in_group=position,
        function_name=name,
        arguments=arguments or values,
    )


def _validate(template_id: str, calls: list[Call], pack: Studio = STUDIO, **task_fields: Any) -> SchemaVerdict:
    task = replace(pack.tasks(template_id)[0], **task_fields)
    trace = Trace(
        task_id=task.task_id,
        template_id=task.template_id,
        turn_policy=task.turn_policy,
        derived=True,
        drop_reason=None,
        calls=tuple(calls),
    )
    outline = pack.outline(template_id)
    return validate(pack.templates[template_id], outline, [task], [trace], pack.tools, "confirm")[0]


def _failures(*arguments: Any, **fields: Any) -> list[tuple[str, int | None, str | None, str]]:
    verdict = _validate(*arguments, **fields)
    assert verdict.valid is (not verdict.failures)
    assert verdict.reject_reason == ("expected_trace_schema_mismatch" if verdict.failures else None)
    return [(one.code, one.call_index, one.pointer, one.message) for one in verdict.failures]


@pytest.mark.parametrize("template_id", [name for name in ALL_POLICIES if name != "last_firing"])
def test_validate_accepts_every_trace_of_the_good_pack(template_id: str) -> None:
    template, outline, tasks = STUDIO.templates[template_id], STUDIO.outline(template_id), STUDIO.tasks(template_id)
    traces = derive_chunk(template, outline, tasks, STUDIO.tools, None)
    verdicts = validate(template, outline, tasks, traces, STUDIO.tools, "confirm")
    assert [verdict.task_id for verdict in verdicts] == [task.task_id for task in tasks]
    assert [verdict for verdict in verdicts if not verdict.valid or verdict.failures] == []


def test_validate_rejects_an_underived_trace_without_failures() -> None:
    task = STUDIO.tasks("kiln_status")[0]
    trace = Trace(
        task_id=task.task_id,
        template_id=task.template_id,
        turn_policy=task.turn_policy,
        derived=False,
        drop_reason="dependent_call_binding_failed: null_value",
        calls=(),
    )
    outline = STUDIO.outline("kiln_status")
    verdict = validate(STUDIO.templates["kiln_status"], outline, [task], [trace], STUDIO.tools, "confirm")[0]
    assert (verdict.valid, verdict.reject_reason, verdict.failures) == (False, "trace_not_derived", ())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (_call(turn=-1), "turn_index is -1; expected a number from 0"),
        (_call(group=True), "call_group is true; expected a number from 0"),
        (_call(position="0"), 'position_in_group is "0"; expected a number from 0'),
    ],
)
def test_validate_names_a_bad_field(call: Call, message: str) -> None:
    assert _failures("kiln_status", [call]) == [("bad_struct_field", 0, None, message)]


def test_validate_names_an_empty_tool_name() -> None:
    assert _failures("kiln_status", [_call("")]) == [
        ("bad_struct_field", 0, None, 'function_name is ""; expected a tool name'),
        ("unknown_tool", 0, None, "`` is not in the catalog"),
    ]


def test_validate_names_arguments_that_are_no_object() -> None:
    call = replace(_call(), arguments=["K-1"])
    assert _failures("kiln_status", [call]) == [
        ("arguments_not_object", 0, None, 'arguments are ["K-1"]; expected an object')
    ]


def test_validate_names_tools_that_are_unknown_or_not_exposed() -> None:
    calls = [_call(), _call("get_kilns", 1, 1), _call("get_firing", 2, 2)]
    assert _failures("kiln_status", calls, tools_present=("get_kiln",)) == [
        ("unknown_tool", 1, None, "`get_kilns` is not in the catalog"),
        ("tool_not_exposed", 2, None, "`get_firing` is not in the task's tools_present"),
    ]


def test_validate_collects_argument_failures_of_every_call() -> None:
    assert _failures("kiln_status", [_call(kiln_id=1, zone="x"), _call(turn=1, group=1, zone=2)]) == [
        ("argument_type_mismatch", 0, "/kiln_id", "1 is integer; expected string"),
        ("unknown_argument", 0, "/zone", "`zone` is no argument of the schema"),
        ("missing_required_argument", 1, "", "`kiln_id` is missing; the schema requires it"),
        ("unknown_argument", 1, "/zone", "`zone` is no argument of the schema"),
    ]


def _start(group: int = 0, **arguments: Any) -> Call:
    return _call("start_firing", group, group, 0, **{"kiln_id": "K-1", "cone": 4, **arguments})


def test_validate_wants_a_user_confirmation_for_the_very_batch() -> None:
    unconfirmed = (
        "confirmed_mutation_without_user_confirmation",
        1,
        "/confirm",
        "start_firing is called with `confirm: true`, but no answered ask_confirm covers this batch",
    )
    assert _failures("start_confirmed", [_start(confirm=True)]) == []
    assert _failures("start_confirmed", [_start(confirm=True), _start(1, confirm=True)]) == [unconfirmed]
    assert _failures("start_confirmed", [_start(confirm=True), _start(1, confirm=False), _start(2)]) == []


def test_validate_wants_it_of_any_tool_and_of_a_default_that_confirms() -> None:
    pack = studio(put("tools.json", (2, "function", "parameters", "properties", "confirm", "default"), True))
    codes = [
        code for code, *_ in _failures("start_confirmed", [_start(), _start(1), _start(2, confirm=False)], pack=pack)
    ]
    assert codes == ["confirmed_mutation_without_user_confirmation"]
    ungated = studio(put("tools.json", (2, "x-requires-confirmation"), False))
    codes = [code for code, *_ in _failures("start_confirmed", [_start(), _start(1, confirm=True)], pack=ungated)]
    assert codes == ["confirmed_mutation_without_user_confirmation"]


def test_validate_names_a_call_before_the_correction_of_its_slot() -> None:
    early = put_template(
        "kiln_corrected",
        ("assistant_milestones",),
        [
            {"type": "tool_call", "tool": "get_kiln"},
            {"type": "final_answer", "id": "announce", "content_template": {"en": "Looking."}},
        ],
    )
    assert _failures("kiln_corrected", [_call()], pack=studio(early)) == [
        ("superseded_slot_value_in_trace", 0, None, "the call reads slot `kiln_id`, which a later turn corrects")
    ]


def test_validate_names_calls_of_a_policy_without_calls() -> None:
    assert _failures("out_of_scope", [_call()]) == [
        ("irrelevant_task_has_calls", None, None, "turn policy irrelevant expects no call; the trace has 1")
    ]
    assert _failures("kiln_unclear", [_call()])[0][3] == "turn policy clarify_only expects no call; the trace has 1"


def test_validate_wants_strict_order_of_dependent_calls() -> None:
    calls = [_call(), _call("get_firing", 1, 1)]
    assert _failures("last_firing", calls) == []
    assert _failures("last_firing", calls, call_order="any") == [
        ("dependent_call_requires_strict_order", None, None, "call order is any; a dependent call needs strict")
    ]


def test_validate_judges_groups_by_turn_and_position() -> None:
    calls = [_call(), _call("get_firing", 1, 0, 1)]
    assert _failures("kiln_and_firing", calls) == [
        ("call_group_spans_turns", 1, None, "call group 0 is in turn 0 and in turn 1")
    ]
    calls = [_call(), _call("get_firing", 0, 0, 2)]
    assert _failures("kiln_and_firing", calls) == [
        (
            "non_contiguous_group_positions",
            None,
            None,
            "call group 0 has positions 0, 2; expected 0 to 1 in order",
        )
    ]


KILN, FIRING, START = _call(), _call("get_firing", 1, 1), _start(2)
MISMATCH = "call_order_mismatch"


@pytest.mark.parametrize(
    ("calls", "order", "prefix", "failures"),
    [
        ([KILN, FIRING, START], "strict", None, []),
        (
            [FIRING, KILN, START],
            "strict",
            None,
            [(MISMATCH, "first calls of required tools are get_firing, get_kiln, start_firing; expected {all}")],
        ),
        ([START, FIRING, KILN], "any", None, []),
        ([KILN, FIRING], "any", None, [("required_tool_not_called", "required tool `start_firing` is never called")]),
        (
            [KILN, FIRING],
            "strict",
            None,
            [
                ("required_tool_not_called", "required tool `start_firing` is never called"),
                (MISMATCH, "first calls of required tools are get_kiln, get_firing; expected {all}"),
            ],
        ),
        ([KILN, START, FIRING], "prefix", 1, []),
        (
            [KILN, START, FIRING],
            "prefix",
            2,
            [(MISMATCH, "first calls of required tools are get_kiln, start_firing; expected get_kiln, get_firing")],
        ),
        (
            [KILN, START],
            "prefix",
            1,
            [
                ("required_tool_not_called", "required tool `get_firing` is never called"),
                (
                    "call_order_remainder_mismatch",
                    "first calls of required tools are start_firing; expected get_firing, start_firing",
                ),
            ],
        ),
        (
            [KILN, FIRING, START],
            "prefix",
            None,
            [("bad_call_order_prefix", "call_order_prefix is null; expected 1 to 3")],
        ),
        ([KILN, FIRING, START], "prefix", 4, [("bad_call_order_prefix", "call_order_prefix is 4; expected 1 to 3")]),
        (
            [KILN, FIRING, START],
            "prefix",
            True,
            [("bad_call_order_prefix", "call_order_prefix is true; expected 1 to 3")],
        ),
        (
            [KILN, FIRING, START],
            "any",
            1,
            [("call_order_prefix_without_prefix_order", "call_order_prefix is 1, but call order is any")],
        ),
        (
            [KILN, FIRING, START],
            "loose",
            None,
            [("unknown_call_order", "call order `loose`; expected strict, any, prefix")],
        ),
    ],
)
def test_validate_judges_the_order_of_required_tools(
    calls: list[Call], order: str, prefix: Any, failures: list[tuple[str, str]]
) -> None:
    required = ("get_kiln", "get_firing", "start_firing")
    found = _failures("start_confirmed", calls, required_tools=required, call_order=order, call_order_prefix=prefix)
    assert found == [(code, None, None, text.format(all=", ".join(required))) for code, text in failures]


@given(st.lists(st.sampled_from(["get_kiln", "get_firing"]), max_size=5))
def test_validate_orders_first_appearances_only(names: list[str]) -> None:
    calls = [_call(name, index, index) for index, name in enumerate(names)]
    firsts = list(dict.fromkeys(names))
    verdict = _validate("last_firing", calls)
    assert verdict.valid is (firsts == ["get_kiln", "get_firing"])
    assert _validate("last_firing", calls, call_order="any", turn_policy="multi_tool").valid is (len(firsts) == 2)


def test_validate_judges_each_task_by_its_own_trace() -> None:
    tasks: list[Task] = STUDIO.tasks("kiln_status")
    template, outline = STUDIO.templates["kiln_status"], STUDIO.outline("kiln_status")
    traces = derive_chunk(template, outline, tasks, STUDIO.tools, None)
    traces[1] = replace(traces[1], calls=(*traces[1].calls, _call("get_firing", 1, 1)))
    traces[2] = replace(traces[2], calls=())
    verdicts = validate(template, outline, tasks, traces, STUDIO.tools, "confirm")
    assert [[one.code for one in verdict.failures] for verdict in verdicts] == [
        [],
        [],
        ["required_tool_not_called", "call_order_mismatch"],
    ]
