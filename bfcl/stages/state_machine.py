"""In which order does a conversation go, and does it fit its policy? Rule: generation.md §3.2, pack.md §5.3-§5.6.

Two families of problems, each found in one place: `structure_problems` (milestones, call groups, links; what check 1
reports) and `policy_problems` (what check 7 and this stage report). Fields are dotted paths inside the template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bfcl.canonical import Json
from bfcl.errors import Problem, StageError, did_you_mean, raise_all
from bfcl.pack.placeholders import names, names_in
from bfcl.records.ids import TURN_POLICIES
from bfcl.records.plan import Outline, Plan, Step
from bfcl.records.task import Task
from bfcl.records.template import Milestone, Template, Texts
from bfcl.records.tool import Tool
from bfcl.stages.arguments import required_parameters
from bfcl.stages.reply_links import reply_links
from bfcl.stages.row_links import read_marker

_SILENT_POLICIES = {"irrelevant": "decline", "clarify_only": "ask_for_slot"}
"""Policies without calls, and the milestone each must end in."""


def outline(template: Template, catalog: Mapping[str, Tool] | None = None) -> Outline:
    """The conversation order every task of the template shares.

    Raises: StageError with all `shape_problems`.
    """
    raise_all(StageError, shape_problems(template, catalog))
    steps = _steps(template, reply_links(template).replies)
    coverage = _coverage(steps)
    return Outline(
        template_id=template.template_id,
        turn_policy=template.turn_policy,
        steps=steps,
        has_user_confirmation=coverage.answered,
        confirmed_groups=coverage.groups,
        has_slot_correction=any(step.update_index is not None for step in steps),
    )


def plans(outline: Outline, tasks: Sequence[Task]) -> list[Plan]:
    """The rows of `conversation_plans` of one template's tasks, in their order."""
    published = tuple(step.to_json() for step in outline.steps)
    user_turns, calls = outline.num_user_turns, outline.num_tool_calls
    return [
        Plan(
            task_id=task.task_id,
            template_id=outline.template_id,
            turn_policy=outline.turn_policy,
            num_user_turns=user_turns,
            num_tool_calls=calls,
            is_multi_turn=user_turns > 1,
            has_user_confirmation=outline.has_user_confirmation,
            has_slot_correction=outline.has_slot_correction,
            steps=published,
        )
        for task in tasks
    ]


def delivery_order(template: Template) -> tuple[int, ...]:
    """Indexes into `user_simulator_turns` in conversation order. Raises StageError where a link does not resolve."""
    links = reply_links(template)
    raise_all(StageError, links.problems)
    return tuple(links.replies[index] for index in sorted(links.replies))


def shape_problems(template: Template, catalog: Mapping[str, Tool] | None = None) -> list[Problem]:
    """All structure problems, or, where the structure stands, all policy problems.

    A policy is judged on a sound structure only: one broken link would otherwise be told several times over.
    """
    return structure_problems(template) or policy_problems(template, catalog)


# --- structure: milestones, call groups, links ----------------------------------------------------------------------


def structure_problems(template: Template) -> list[Problem]:
    """Problems of policy name, milestones and simulator links: the part check 1 reports. Rule: pack.md §5.3, §5.4."""
    problems: list[Problem] = []
    if template.turn_policy not in TURN_POLICIES:
        seen = f"`{template.turn_policy}` is no turn policy" if template.turn_policy else "`turn_policy` is missing"
        message = f"{seen}; expected one of {', '.join(TURN_POLICIES)}"
        fix = did_you_mean(template.turn_policy, TURN_POLICIES) if template.turn_policy else "add `turn_policy`"
        problems.append(_problem(template, "unknown_turn_policy", "turn_policy", message, fix))
    problems += _id_problems(template)
    problems += _slot_name_problems(template)
    problems += _group_problems(template)
    links = reply_links(template)
    problems += links.problems
    problems += _reply_problems(template, links.replies)
    return problems


def _id_problems(template: Template) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for index, milestone in enumerate(template.assistant_milestones):
        field = f"assistant_milestones.{index}.id"
        if not milestone.id:
            yield _problem(template, "duplicate_milestone_id", field, "is empty; expected non-empty text")
        elif milestone.id in first:
            message = f"milestones {first[milestone.id]} and {index} share the id `{milestone.id}`; expected unique ids"
            yield _problem(template, "duplicate_milestone_id", field, message, "rename one of the two")
        first.setdefault(milestone.id, index)


def _slot_name_problems(template: Template) -> Iterator[Problem]:
    for index, milestone in enumerate(template.assistant_milestones):
        if milestone.slot is not None and milestone.slot not in template.slots:
            message = f"milestone `{milestone.id}` asks for `{milestone.slot}`, which is no slot of the template"
            fix = did_you_mean(milestone.slot, template.slots)
            yield _problem(template, "unknown_slot", f"assistant_milestones.{index}.slot", message, fix)


def _group_problems(template: Template) -> Iterator[Problem]:
    opened: set[int] = set()
    for batch in _batches(template.assistant_milestones):
        group = template.assistant_milestones[batch[0]].call_group
        if group in opened:
            message = f"call group {group} is interrupted before milestone {batch[0]}; expected its calls side by side"
            field = f"assistant_milestones.{batch[0]}.call_group"
            fix = "move the calls together, or give the later ones another number"
            yield _problem(template, "call_group_not_contiguous", field, message, fix)
        if group is not None:
            opened.add(group)


def _reply_problems(template: Template, replies: Mapping[int, int]) -> Iterator[Problem]:
    last = len(template.assistant_milestones) - 1
    for index, milestone in enumerate(template.assistant_milestones):
        if milestone.type == "tool_call" or index in replies:
            continue
        if index < last or milestone.type == "ask_confirm":
            message = f"milestone `{milestone.id}` has no user reply; expected a simulator turn after it"
            fix = f"add an entry with `after: {milestone.id}` to `user_simulator_turns`"
            yield _problem(template, "text_milestone_without_reply", f"assistant_milestones.{index}", message, fix)


# --- steps ----------------------------------------------------------------------------------------------------------


def _batches(milestones: Sequence[Milestone]) -> Iterator[list[int]]:
    """Indexes of milestones that form one call batch; directly following calls share one by declared group."""
    batch: list[int] = []
    for index, milestone in enumerate(milestones):
        joins = bool(batch) and milestone.type == "tool_call" and milestone.call_group is not None
        if joins and milestones[batch[-1]].call_group == milestone.call_group:
            batch.append(index)
            continue
        if batch:
            yield batch
        batch = [index] if milestone.type == "tool_call" else []
    if batch:
        yield batch


def _steps(template: Template, replies: Mapping[int, int]) -> tuple[Step, ...]:
    batches = {batch[0]: (group, batch) for group, batch in enumerate(_batches(template.assistant_milestones))}
    steps = [Step(kind="user", source="first_turn")]
    updates = 0
    for index, milestone in enumerate(template.assistant_milestones):
        if index in batches:
            group, batch = batches[index]
            tools = tuple(template.assistant_milestones[each].tool or "" for each in batch)
            steps.append(Step(kind="calls", call_group=group, tools=tools, milestones=tuple(batch)))
        elif milestone.type != "tool_call":
            steps.append(Step(kind="text", milestone_type=milestone.type, milestones=(index,)))
            entry = replies.get(index)
            if entry is not None:
                corrects = bool(template.user_simulator_turns[entry].slot_updates)
                update = updates if corrects else None
                updates += corrects
                steps.append(Step(kind="user", source="simulator", update_index=update, entry=entry))
    return tuple(steps)


class _Coverage(NamedTuple):
    """Was any confirmation question answered, and which published groups does an answer cover."""

    answered: bool
    groups: frozenset[int]


def _coverage(steps: Sequence[Step]) -> _Coverage:
    """Positions, not labels: one answer covers the next batch; a correction or `ask_for_slot` withdraws it."""
    answered = asked = covered = False
    groups = set()
    for step in steps:
        if step.kind == "calls":
            if covered and step.call_group is not None:
                groups.add(step.call_group)
            covered = False
        elif step.kind == "text":
            asked = step.milestone_type == "ask_confirm"
            covered = covered and step.milestone_type != "ask_for_slot"
        elif step.update_index is not None:
            covered = False
        elif asked:
            answered = covered = True
        if step.kind != "text":
            asked = False
    return _Coverage(answered, frozenset(groups))


# --- policies -------------------------------------------------------------------------------------------------------


def policy_problems(template: Template, catalog: Mapping[str, Tool] | None = None) -> list[Problem]:
    """Breaches of the turn policy's shape, and calls that read a hidden slot too early. Rule: pack.md §5.5.

    Expects a template without `structure_problems`. A call also reads a slot through a required parameter of that
    name; that is known only where `catalog` (name to tool) is given.
    """
    steps = _steps(template, reply_links(template).replies)
    problems = [
        _problem(template, "turn_policy_shape_violation", field, f"policy `{template.turn_policy}`: {message}")
        for field, message in _breaches(template, steps)
    ]
    return problems + list(_early_reads(template, steps, catalog or {}))


def _breaches(template: Template, steps: tuple[Step, ...]) -> Iterator[tuple[str, str]]:
    """(field, what was seen and what the policy needs) of each broken rule."""
    policy = template.turn_policy
    calls = sum(len(step.tools) for step in steps)
    if policy in _SILENT_POLICIES:
        yield from _silent_breaches(template, calls, _SILENT_POLICIES[policy])
        return
    if not calls:
        yield "assistant_milestones", "no tool call; expected at least one"
    users = sum(step.kind == "user" for step in steps)
    match policy:
        case "single_turn" if users != 1:
            yield "user_simulator_turns", f"{users} user turns; expected exactly one"
        case "multi_tool" if calls == 1:
            yield "assistant_milestones", "1 tool call; expected at least two"
        case "missing_slot":
            yield from _missing_slot_breaches(template, steps)
        case "confirmation" if not _coverage(steps).groups:
            yield (
                "assistant_milestones",
                "no call follows an answered `ask_confirm`; expected one directly after the user's answer",
            )
        case "correction" if not any(step.update_index is not None for step in steps):
            yield "user_simulator_turns", "no user turn with `slot_updates`; expected at least one"
        case "dependent_call":
            if template.call_order != "strict":
                yield "call_order", f"call order `{template.call_order}`; expected `strict`"
            if not any(_is_marker(value) for each in template.assistant_milestones for value in each.args.values()):
                yield "assistant_milestones", "no argument takes a `from_result`; expected at least one"
        case "negative_path" if not template.success_assertions:
            yield "success_assertions", "no success assertion; expected at least one that states the refusal"


def _silent_breaches(template: Template, calls: int, closing: str) -> Iterator[tuple[str, str]]:
    last = len(template.assistant_milestones) - 1
    if calls:
        yield "assistant_milestones", f"{calls} tool call{'s' if calls > 1 else ''}; expected none"
    if last < 0 or template.assistant_milestones[last].type != closing:
        ends = "nothing" if last < 0 else f"`{template.assistant_milestones[last].type}`"
        yield f"assistant_milestones.{max(last, 0)}", f"ends in {ends}; expected `{closing}`"


def _missing_slot_breaches(template: Template, steps: Sequence[Step]) -> Iterator[tuple[str, str]]:
    hidden = _hidden(template)
    if not hidden:
        yield "slots", "no slot is withheld; expected one with `visible_in_first_turn: false`"
    answers: dict[str, Texts] = {}
    for step, reply in pairwise(steps):
        if step.kind == "calls":
            break
        if step.milestone_type == "ask_for_slot" and reply.entry is not None:
            asked = template.assistant_milestones[step.milestones[0]].slot
            if asked is None and len(hidden) == 1:
                asked = hidden[0]
            if asked is not None and not _states(answers.get(asked, {}), asked):
                answers[asked] = template.user_simulator_turns[reply.entry].content_template
    question = "an `ask_for_slot` naming it" if len(hidden) > 1 else "an `ask_for_slot`"
    for name in hidden:
        if name not in answers:
            yield (
                f"slots.{name}",
                f"slot `{name}` is withheld but not asked for; expected {question} before the first call",
            )
        elif not _states(answers[name], name):
            yield f"slots.{name}", f"the reply to the question for `{name}` does not hold `{{{name}}}`; expected it to"


def _early_reads(template: Template, steps: Sequence[Step], catalog: Mapping[str, Tool]) -> Iterator[Problem]:
    withheld = _hidden(template)
    for step in steps:
        if step.entry is not None:
            turn = template.user_simulator_turns[step.entry]
            corrected = {update.slot for update in turn.slot_updates}
            # What moved with a correction is withheld again: a reply before it stated the row that is void now.
            moved = [name for name in _hidden(template) if template.slots[name].same_row_as in corrected]
            withheld = list(dict.fromkeys((*withheld, *moved)))
            withheld = [name for name in withheld if not _states(turn.content_template, name)]
        for index in step.milestones if step.kind == "calls" else ():
            milestone = template.assistant_milestones[index]
            read = slots_read(milestone, template, catalog.get(milestone.tool or ""))
            for name in withheld:
                if name in read:
                    message = (
                        f"call `{milestone.id}` reads the withheld slot `{name}` before any reply states it;"
                        f" expected a reply holding `{{{name}}}` earlier"
                    )
                    field = f"assistant_milestones.{index}"
                    yield _problem(template, "hidden_slot_used_before_reply", field, message)


def slots_read(milestone: Milestone, template: Template, tool: Tool | None) -> frozenset[str]:
    """The slots a call's arguments take: by placeholder, as the row a field of which they are, or by shorthand.

    Shorthand: a required parameter of the same name that `args` lacks; not seen without `tool`. Rule: pack.md §5.2.
    """
    read = {name for value in milestone.args.values() if not _is_marker(value) for name in names_in(value)}
    read.update(marker.slot for marker in map(read_marker, milestone.args.values()) if marker is not None)
    required = required_parameters(tool.parameters or {}) if tool is not None else []
    read.update(name for name in required if name not in milestone.args)
    return frozenset(read & template.slots.keys())


def _is_marker(value: Json) -> bool:
    return isinstance(value, Mapping) and value.keys() == {"from_result"}


def _hidden(template: Template) -> list[str]:
    return [name for name, slot in template.slots.items() if slot.visible_in_first_turn is False]


def _states(content: Texts, slot: str) -> bool:
    """Does every language's text hold the slot's placeholder."""
    return bool(content) and all(slot in names(text) for text in content.values())


def _problem(template: Template, code: str, field: str, message: str, fix: str | None = None) -> Problem:
    return Problem(code=code, subject=template.template_id, field=field, message=message, fix=fix)
