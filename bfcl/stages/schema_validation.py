"""Can every expected call be made with the task's tools, and in the order it asks for? Rule: generation.md §3.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bfcl.canonical import Json
from bfcl.records.ids import CALL_ORDERS
from bfcl.records.plan import Outline
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.records.tool import Tool
from bfcl.records.trace import Call, Trace
from bfcl.records.verdict import SchemaFailure, SchemaVerdict
from bfcl.stages.arguments import Checker, checker
from bfcl.stages.divergence import shortened
from bfcl.stages.expected_trace import superseded_calls

MISMATCH = "expected_trace_schema_mismatch"
NOT_DERIVED = "trace_not_derived"

_WITHOUT_CALLS = ("irrelevant", "clarify_only")


class _ToolRules(NamedTuple):
    """What is checked of every call of a tool. `confirmed_by_default` is the confirmation a call without it implies."""

    arguments: Checker
    confirmed_by_default: bool


def validate(
    template: Template,
    outline: Outline,
    tasks: Sequence[Task],
    traces: Sequence[Trace],
    catalog: Mapping[str, Tool],
    confirmation_parameter: str,
) -> list[SchemaVerdict]:
    """The verdict on each task's trace, in input order; `tasks` and `traces` are parallel.

    All failures of a task are kept: those of its calls by call number, then those of the trace as a whole.
    """
    # Only of tools that are called: large catalogs make the rest the dearer part.
    called = {call.function_name for trace in traces for call in trace.calls}
    rules = {name: _rules(catalog[name], confirmation_parameter) for name in called if name in catalog}
    superseded = tuple(_superseded(template, outline, catalog))
    shapes: dict[object, tuple[SchemaFailure, ...]] = {}
    verdicts: list[SchemaVerdict] = []
    for task, trace in zip(tasks, traces, strict=True):
        if not trace.derived:
            verdicts.append(_verdict(task, NOT_DERIVED, ()))
            continue
        failures = _call_failures(task, trace, outline, rules, confirmation_parameter)
        if any(failure.code == "bad_struct_field" for failure in failures):
            # Order and groups of a trace mean nothing while its numbers do not.
            verdicts.append(_verdict(task, MISMATCH, tuple(failures)))
            continue
        # Tasks of one template nearly always share the shape of their trace: order and groups are judged once.
        shape = (_placed(trace), task.required_tools, task.call_order, task.call_order_prefix, task.turn_policy)
        whole = shapes.get(shape)
        if whole is None:
            whole = shapes[shape] = (*superseded, *_trace_failures(task, trace))
        failures += whole
        verdicts.append(_verdict(task, MISMATCH if failures else None, tuple(failures)))
    return verdicts


def _verdict(task: Task, reject_reason: str | None, failures: tuple[SchemaFailure, ...]) -> SchemaVerdict:
    return SchemaVerdict(
        task_id=task.task_id,
        template_id=task.template_id,
        valid=reject_reason is None,
        reject_reason=reject_reason,
        failures=failures,
    )


# --- single calls -------------------------------------------------------------------------------------------------


def _rules(tool: Tool, confirmation_parameter: str) -> _ToolRules:
    schema: Mapping[str, Json] = tool.parameters or {}
    properties = schema.get("properties")
    declared = properties.get(confirmation_parameter) if isinstance(properties, Mapping) else None
    default = isinstance(declared, Mapping) and declared.get("default") is True
    return _ToolRules(checker(schema), tool.requires_confirmation and default)


def _call_failures(
    task: Task, trace: Trace, outline: Outline, rules: Mapping[str, _ToolRules], confirmation_parameter: str
) -> list[SchemaFailure]:
    failures: list[SchemaFailure] = []
    for index, call in enumerate(trace.calls):
        failures += _field_failures(call, index)
        name, arguments = call.function_name, call.arguments
        if not isinstance(arguments, Mapping):
            message = f"arguments are {shortened(arguments)}; expected an object"
            failures.append(SchemaFailure(code="arguments_not_object", message=message, call_index=index))
        rule = rules.get(name)
        if rule is None:
            failures.append(_failure("unknown_tool", f"`{name}` is not in the catalog", index))
            continue
        if name not in task.tools_present:
            failures.append(_failure("tool_not_exposed", f"`{name}` is not in the task's tools_present", index))
        if not isinstance(arguments, Mapping):
            continue
        failures += [
            SchemaFailure(code=one.code, message=one.message, call_index=index, pointer=one.pointer)
            for one in rule.arguments(arguments)
        ]
        confirmed = arguments.get(confirmation_parameter, rule.confirmed_by_default) is True
        if confirmed and call.call_group not in outline.confirmed_groups:
            failures.append(_unconfirmed(name, confirmation_parameter, index))
    return failures


def _field_failures(call: Call, index: int) -> list[SchemaFailure]:
    """Fields of a call that are not what they are named: numbers from 0, and a tool's name."""
    failures: list[SchemaFailure] = []
    for field in ("turn_index", "call_group", "position_in_group"):
        value = getattr(call, field)
        if type(value) is not int or value < 0:
            message = f"{field} is {shortened(value)}; expected a number from 0"
            failures.append(_failure("bad_struct_field", message, index))
    if not isinstance(call.function_name, str) or not call.function_name:
        message = f"function_name is {shortened(call.function_name)}; expected a tool name"
        failures.append(_failure("bad_struct_field", message, index))
    return failures


def _unconfirmed(tool: str, parameter: str, index: int) -> SchemaFailure:
    return SchemaFailure(
        code="confirmed_mutation_without_user_confirmation",
        message=f"{tool} is called with `{parameter}: true`, but no answered ask_confirm covers this batch",
        call_index=index,
        pointer=f"/{parameter}",
    )


def _superseded(template: Template, outline: Outline, catalog: Mapping[str, Tool]) -> list[SchemaFailure]:
    return [
        _failure("superseded_slot_value_in_trace", f"the call reads slot `{slot}`, which a later turn corrects", number)
        for number, slot in superseded_calls(template, outline, catalog)
    ]


# --- the trace as a whole -----------------------------------------------------------------------------------------


def _placed(trace: Trace) -> tuple[object, ...]:
    """What the judgement of a whole trace depends on, call by call."""
    return tuple((call.function_name, call.turn_index, call.call_group, call.position_in_group) for call in trace.calls)


def _trace_failures(task: Task, trace: Trace) -> list[SchemaFailure]:
    failures = _group_failures(trace)
    if task.turn_policy in _WITHOUT_CALLS and trace.calls:
        message = f"turn policy {task.turn_policy} expects no call; the trace has {len(trace.calls)}"
        failures.append(_failure("irrelevant_task_has_calls", message))
    if task.turn_policy == "dependent_call" and task.call_order != "strict":
        message = f"call order is {task.call_order}; a dependent call needs strict"
        failures.append(_failure("dependent_call_requires_strict_order", message))
    return failures + _order_failures(task, trace)


def _group_failures(trace: Trace) -> list[SchemaFailure]:
    turns: dict[int, int] = {}
    positions: dict[int, list[int]] = {}
    failures: list[SchemaFailure] = []
    for index, call in enumerate(trace.calls):
        turn = turns.setdefault(call.call_group, call.turn_index)
        positions.setdefault(call.call_group, []).append(call.position_in_group)
        if call.turn_index != turn:
            message = f"call group {call.call_group} is in turn {turn} and in turn {call.turn_index}"
            failures.append(_failure("call_group_spans_turns", message, index))
    for group, found in positions.items():
        if found != list(range(len(found))):
            shown = ", ".join(map(str, found))
            message = f"call group {group} has positions {shown}; expected 0 to {len(found) - 1} in order"
            failures.append(_failure("non_contiguous_group_positions", message))
    return failures


def _order_failures(task: Task, trace: Trace) -> list[SchemaFailure]:
    """`strict`: first appearances equal `required_tools`; `prefix`: n of them, the rest as a set; `any`: presence."""
    required = list(dict.fromkeys(task.required_tools))
    called = dict.fromkeys(call.function_name for call in trace.calls)
    firsts = [name for name in called if name in required]
    failures = [
        _failure("required_tool_not_called", f"required tool `{name}` is never called")
        for name in required
        if name not in called
    ]
    order, prefix = task.call_order, task.call_order_prefix
    if order not in CALL_ORDERS:
        failures.append(_failure("unknown_call_order", f"call order `{order}`; expected {', '.join(CALL_ORDERS)}"))
    if prefix is not None and order != "prefix":
        message = f"call_order_prefix is {prefix}, but call order is {order}"
        failures.append(_failure("call_order_prefix_without_prefix_order", message))
    if order == "strict" and firsts != required:
        failures.append(_mismatch("call_order_mismatch", firsts, required))
    if order == "prefix":
        if type(prefix) is not int or not 1 <= prefix <= len(required):
            message = f"call_order_prefix is {shortened(prefix)}; expected 1 to {len(required)}"
            failures.append(_failure("bad_call_order_prefix", message))
        elif firsts[:prefix] != required[:prefix]:
            failures.append(_mismatch("call_order_mismatch", firsts[:prefix], required[:prefix]))
        elif set(firsts[prefix:]) != set(required[prefix:]):
            failures.append(_mismatch("call_order_remainder_mismatch", firsts[prefix:], sorted(required[prefix:])))
    return failures


def _mismatch(code: str, seen: Sequence[str], expected: Sequence[str]) -> SchemaFailure:
    shown, wanted = (", ".join(names) or "none" for names in (seen, expected))
    return _failure(code, f"first calls of required tools are {shown}; expected {wanted}")


def _failure(code: str, message: str, call_index: int | None = None) -> SchemaFailure:
    return SchemaFailure(code=code, message=message, call_index=call_index)
