"""Which calls does a template make, and where does each argument come from? Rule: generation.md §3.4; pack.md §5.2."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from bfcl.canonical import Json
from bfcl.errors import Problem, did_you_mean
from bfcl.oracle.protocol import ResultPath
from bfcl.pack.placeholders import names_in
from bfcl.records.ids import TemplateId
from bfcl.records.plan import Outline
from bfcl.records.template import Milestone, Template
from bfcl.records.tool import Tool
from bfcl.stages.arguments import required_parameters
from bfcl.stages.row_links import MARKER as ROW_MARKER
from bfcl.stages.row_links import has_key, is_marker, read_marker, row_links

MARKER = "from_result"
BINDING_FAILED = "dependent_call_binding_failed"

_INDEX = re.compile(r"(?:0|[1-9][0-9]*)\Z")
_NEGATIVE = re.compile(r"-[0-9]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """Where one argument comes from.

    `value` is the literal; `slot` the name whose bound value is taken as it is: a slot's, or that of a row's field.
    """

    name: str
    kind: Literal["constant", "slot", "filled", "result"]
    value: Json = None
    slot: str = ""
    source: ResultPath | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """One call of the template: its place in the conversation, its arguments, the slots it reads."""

    turn_index: int
    call_group: int
    position_in_group: int
    tool: str
    corrections: int
    """How many corrections were delivered before it."""
    arguments: tuple[Argument, ...]
    reads: tuple[str, ...]


class Blueprint(NamedTuple):
    """The calls of a template in order, and what is wrong with them for every task alike."""

    calls: tuple[CallPlan, ...]
    problems: tuple[Problem, ...]


def blueprint(template: Template, outline: Outline, tools: Mapping[str, Tool]) -> Blueprint:
    """The calls in conversation order. An argument that has a problem is left out of its call.

    Problem codes: `unbound_argument`, `unbound_placeholder`, `dependent_call_binding_failed`,
    `superseded_slot_value_in_trace`. What is wrong with a `from_fixture` is among the problems of the slots.
    """
    reader = _Reader(template, outline)
    calls: list[CallPlan] = []
    corrections = 0
    assistant_turn = -1
    for step in outline.steps:
        if step.kind == "user":
            corrections += step.update_index is not None
            continue
        assistant_turn += 1
        for position, index in enumerate(step.milestones if step.kind == "calls" else ()):
            milestone = template.assistant_milestones[index]
            arguments = reader.arguments(milestone, index, tools.get(milestone.tool or ""), step.call_group or 0)
            calls.append(
                CallPlan(
                    turn_index=assistant_turn,
                    call_group=step.call_group or 0,
                    position_in_group=position,
                    tool=milestone.tool or "",
                    corrections=corrections,
                    arguments=arguments,
                    reads=_reads(arguments),
                )
            )
    late = [
        template_problem(
            template.template_id,
            "superseded_slot_value_in_trace",
            f"call {number} ({calls[number].tool}) reads slot `{slot}` before a later turn corrects it",
            fix="move the correction before the call, or the call behind the correction",
        )
        for number, slot in superseded(template, outline, calls)
    ]
    return Blueprint(tuple(calls), (*reader.problems, *late))


def superseded(template: Template, outline: Outline, calls: Sequence[CallPlan]) -> list[tuple[int, str]]:
    """(call number, name) of every call that reads a value which a later turn corrects; values do not matter."""
    links = row_links(template)
    deliveries = [
        {
            name
            for update in template.user_simulator_turns[step.entry].slot_updates
            for name in links.moved_by(update.slot)
        }
        for step in outline.steps
        if step.update_index is not None and step.entry is not None
    ]
    return [
        (number, slot)
        for number, call in enumerate(calls)
        for slot in call.reads
        if any(slot in later for later in deliveries[call.corrections :])
    ]


def _reads(arguments: Sequence[Argument]) -> tuple[str, ...]:
    read: dict[str, None] = {}
    for argument in arguments:
        if argument.kind == "slot":
            read[argument.slot] = None
        elif argument.kind == "filled":
            read.update((name, None) for name in names_in(argument.value))
    return tuple(read)


class _Reader:
    """Reads the arguments of one template's calls, in call order, and collects every problem."""

    def __init__(self, template: Template, outline: Outline) -> None:
        self.problems: list[Problem] = []
        self._template = template
        self._taken = {one.name for each in row_links(template).linked.values() for one in each}
        self._places: dict[str, tuple[int, int]] = {}
        """Milestone id to (call number, published group) of every call."""
        for step in outline.steps:
            for index in step.milestones if step.kind == "calls" else ():
                self._places[template.assistant_milestones[index].id] = (len(self._places), step.call_group or 0)

    def arguments(self, milestone: Milestone, index: int, tool: Tool | None, group: int) -> tuple[Argument, ...]:
        """Declared arguments in order, then each required parameter that a slot of its name fills."""
        field = f"assistant_milestones.{index}.args"
        found = [self._argument(name, value, f"{field}.{name}", group) for name, value in milestone.args.items()]
        for name in required_parameters(tool.parameters or {}) if tool is not None else ():
            if name in milestone.args:
                continue
            if name in self._template.slots:
                found.append(Argument(name=name, kind="slot", slot=name))
            else:
                message = (
                    f"required argument `{name}` of {milestone.tool} has no value in `args` and no slot of its name"
                )
                self._refuse("unbound_argument", field, message, f"add `args.{name}`, or declare slot `{name}`")
        return tuple(argument for argument in found if argument is not None)

    def _argument(self, name: str, value: Json, field: str, group: int) -> Argument | None:
        if isinstance(value, Mapping) and MARKER in value:
            source = self._marker(value, field, group)
            return None if source is None else Argument(name=name, kind="result", source=source)
        if is_marker(value):
            marker = read_marker(value)
            bound = marker is not None and marker.name in self._taken
            return Argument(name=name, kind="slot", slot=marker.name) if marker is not None and bound else None
        if has_key(value, ROW_MARKER):
            return None
        if has_key(value, MARKER):
            move_up = "move it up, so that it is the whole argument"
            self._refuse(BINDING_FAILED, field, "`from_result` stands below the top level of `args`", move_up)
            return None
        said = names_in(value)
        unbound = [placeholder for placeholder in said if placeholder not in self._template.slots]
        for placeholder in unbound:
            fix = (
                did_you_mean(placeholder, self._template.slots) or f"declare slot `{placeholder}`, or correct the name"
            )
            self._refuse("unbound_placeholder", field, f"`{name}` says {{{placeholder}}}, which is no slot", fix)
        if unbound:
            return None
        if not said:
            return Argument(name=name, kind="constant", value=value)
        if isinstance(value, str) and value == f"{{{said[0]}}}":
            return Argument(name=name, kind="slot", slot=said[0])
        return Argument(name=name, kind="filled", value=value)

    def _marker(self, value: Mapping[str, Json], field: str, group: int) -> ResultPath | None:
        marker = value[MARKER]
        if len(value) > 1 or not isinstance(marker, Mapping) or set(marker) != {"call", "path"}:
            expected = "`from_result` takes exactly `call` and `path`, and nothing beside it"
            self._refuse(BINDING_FAILED, field, expected, "write `{from_result: {call: <id>, path: <path>}}`")
            return None
        if self._template.turn_policy != "dependent_call":
            message = f"`from_result` needs turn policy dependent_call; the template's is {self._template.turn_policy}"
            self._refuse(BINDING_FAILED, field, message, "set `turn_policy: dependent_call`")
            return None
        call, path = marker["call"], marker["path"]
        place = self._places.get(call) if isinstance(call, str) else None
        if place is None:
            fix = did_you_mean(str(call), self._places) or "name the `id` of an earlier tool_call"
            self._refuse(BINDING_FAILED, field, f"`{call}` is no tool_call of the template", fix)
            return None
        if place[1] >= group:
            message = f"`{call}` is not issued in an earlier batch than the call that uses its result"
            self._refuse(BINDING_FAILED, field, message, "name an earlier call, or put it into a lower group")
            return None
        steps = _path(path)
        if steps is None:
            message = f"path {path!r} is no dotted path of keys and non-negative list indices"
            self._refuse(BINDING_FAILED, field, message, "write a path such as `items.0.id`")
            return None
        return ResultPath(call=place[0], path=steps)

    def _refuse(self, code: str, field: str, message: str, fix: str) -> None:
        text = f"{field}: {message}"
        self.problems.append(template_problem(self._template.template_id, code, text, field=field, fix=fix))


def _path(path: Json) -> tuple[str | int, ...] | None:
    """A dotted path as keys and indices; None where it is malformed."""
    if isinstance(path, int) and not isinstance(path, bool):
        path = str(path)
    if not isinstance(path, str):
        return None
    segments = path.split(".")
    if any(not segment or _NEGATIVE.match(segment) for segment in segments):
        return None
    return tuple(int(segment) if _INDEX.match(segment) else segment for segment in segments)


def template_problem(
    template_id: TemplateId, code: str, message: str, *, field: str | None = None, fix: str | None = None
) -> Problem:
    """A problem whose subject is a template."""
    return Problem(code=code, subject=template_id, field=field, message=message, fix=fix)
