"""How does every task of a template read, and which guards does its wording break? Rule: generation.md §3.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bfcl.canonical import Json
from bfcl.errors import Problem, StageError, raise_all
from bfcl.pack.placeholders import fill, names
from bfcl.records.plan import Outline, Step
from bfcl.records.surface import Surface, Turn
from bfcl.records.task import Task
from bfcl.records.template import Milestone, Template
from bfcl.stages.mentions import TOOL_NAMES, guards, violations
from bfcl.stages.reply_links import reply_links
from bfcl.stages.wording import (
    SLOT_NAME,
    Wording,
    asked_slot,
    empty_turn,
    milestone_text,
    slot_label,
    template_text_problems,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One step of the conversation, as far as all tasks share it."""

    kind: str
    text: str
    fixed: Turn | None
    """The finished turn where no task changes it."""
    label: str | None
    """What `{slot_name}` becomes, where the text says it."""
    update_index: int | None


def render(template: Template, outline: Outline, tasks: Sequence[Task], wording: Wording) -> list[Surface]:
    """The surface of each task, in input order; broken guards are recorded, `accepted` means none is.

    A correction's turn speaks with its new values and aliases, earlier turns with the values then in force.
    Raises StageError with every gap in the wording, or with every turn that comes out empty.
    """
    raise_all(StageError, template_text_problems(template, wording.assistant_turn_templates, wording.language))
    answered = reply_links(template).answered()
    lines = [_line(template, step, wording, answered) for step in outline.steps]
    rules = guards(template, _forbidden_tools(template, wording))
    user_turn_count = outline.num_user_turns
    empty: list[Problem] = []
    surfaces: list[Surface] = []
    for task in tasks:
        turns = _turns(lines, task)
        empty += [
            empty_turn(template, f"turn {number} of task {task.task_id} comes out empty")
            for number, turn in enumerate(turns)
            if turn.content is not None and not turn.content.strip()
        ]
        spoken = [turn.content for turn in turns if turn.kind == "user" and turn.content is not None]
        broken = violations(rules, task, spoken)
        surfaces.append(
            Surface(
                task_id=task.task_id,
                base_task_id=task.base_task_id,
                variant_index=task.variant_index,
                source="template",
                language=wording.language,
                system_prompt_id=wording.system_prompt_id,
                paraphrase_model=None,
                paraphrase_model_canonical=None,
                profile_hash=None,
                num_user_turns=user_turn_count,
                accepted=not broken,
                guard_violations=broken,
                turns=turns,
            )
        )
    raise_all(StageError, empty)
    return surfaces


def _forbidden_tools(template: Template, wording: Wording) -> list[str]:
    if not wording.prevent_tool_name_leakage and TOOL_NAMES not in template.paraphrase.must_not_mention:
        return []
    return [name for name in wording.tool_names if name not in wording.tool_names_exempt]


def _line(template: Template, step: Step, wording: Wording, answered: Mapping[int, int]) -> _Line:
    if step.kind == "calls":
        fixed = Turn(kind="calls", call_group=step.call_group)
        return _Line(kind="calls", text="", fixed=fixed, label=None, update_index=None)
    text, milestone = _text(template, step, wording, answered)
    said = names(text)
    label = None
    if SLOT_NAME in said:
        slot = asked_slot(template, milestone)
        label = None if slot is None else slot_label(template, slot, wording.language)
    turn = None if said else _spoken(step.kind, text)
    return _Line(kind=step.kind, text=text, fixed=turn, label=label, update_index=step.update_index)


def _text(
    template: Template, step: Step, wording: Wording, answered: Mapping[int, int]
) -> tuple[str, Milestone | None]:
    """The text of a step, and the milestone that `{slot_name}` in it speaks of."""
    milestone = None
    if step.kind == "text":
        milestone = template.assistant_milestones[step.milestones[0]]
        text = milestone_text(template, milestone, wording.assistant_turn_templates, wording.language)
    elif step.entry is None:
        text = template.user_turn_templates.get(wording.language)
    else:
        turn = template.user_simulator_turns[step.entry]
        milestone = template.assistant_milestones[answered[step.entry]]
        text = turn.content_template.get(wording.language)
    if text is None:
        raise ValueError(f"{template.template_id}: a step without text passed the wording check")
    return text, milestone


def _turns(lines: Sequence[_Line], task: Task) -> tuple[Turn, ...]:
    slots: Mapping[str, Json] = task.slots_initial
    aliases: Mapping[str, Json] = {}
    values = slots
    turns: list[Turn] = []
    for line in lines:
        if line.update_index is not None:
            delivery = task.slot_updates[line.update_index]
            slots = {**slots, **delivery.values}
            aliases = {**aliases, **delivery.aliases}
            # Slots win over aliases: a turn and the call it leads to must show one value.
            values = {**aliases, **slots}
        if line.fixed is not None:
            turns.append(line.fixed)
            continue
        content = fill(line.text, values if line.label is None else {**values, SLOT_NAME: line.label})
        turns.append(_spoken(line.kind, content))
    return tuple(turns)


def _spoken(kind: str, content: str) -> Turn:
    return Turn(kind="user" if kind == "user" else "assistant_text", content=content)
