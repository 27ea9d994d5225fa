"""What do a template's milestones and simulated replies declare? Rule: pack.md §5.3, §5.4, §5.6."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.canonical import Json
from bfcl.errors import did_you_mean
from bfcl.located import canonical_word
from bfcl.pack.placeholders import is_identifier
from bfcl.pack.shape import Pointer, Shape
from bfcl.records.ids import MILESTONES
from bfcl.records.template import Milestone, SimulatorTurn, SlotUpdate

_UPDATE_FIELDS = ("source", "filter", "bind_as")
_SIMULATOR_FIELDS = ("after", "content_template", "slot_updates")
_MILESTONE_FIELDS = {
    "tool_call": ("type", "id", "tool", "args", "call_group"),
    "ask_for_slot": ("type", "id", "slot", "content_template"),
    "ask_confirm": ("type", "id", "content_template"),
    "decline": ("type", "id", "content_template"),
    "final_answer": ("type", "id", "content_template"),
}


def read_milestones(entry: Mapping[str, Json], shape: Shape) -> tuple[Milestone, ...]:
    """`assistant_milestones` in order; a milestone without `id` is named `<type>@<index>`."""
    value = entry.get("assistant_milestones")
    if value is None:
        shape.missing(entry, (), "assistant_milestones")
    if value == []:
        shape.misfit(value, ("assistant_milestones",), "at least one milestone")
    found = []
    for index, item in enumerate(shape.items(value, ("assistant_milestones",))):
        pointer: Pointer = ("assistant_milestones", index)
        if not isinstance(item, dict):
            shape.misfit(item, pointer, "a mapping with `type`")
            continue
        kind = item.get("type")
        if not isinstance(kind, str) or kind not in _MILESTONE_FIELDS:
            fix = did_you_mean(kind, MILESTONES) if isinstance(kind, str) else None
            at: Pointer = (*pointer, "type") if "type" in item else pointer
            message = f"`assistant_milestones.{index}.type` is {canonical_word(kind)}; expected {', '.join(MILESTONES)}"
            shape.refuse(at, message, fix)
            continue
        found.append(_milestone(item, kind, pointer, shape))
    return tuple(found)


def _milestone(item: Mapping[str, Json], kind: str, pointer: Pointer, shape: Shape) -> Milestone:
    shape.closed(item, pointer, _MILESTONE_FIELDS[kind])
    declared = item.get("id")
    if declared is None:
        name = f"{kind}@{pointer[-1]}"
    else:
        name = shape.text(declared, (*pointer, "id"), blank=True) or ""
    return Milestone(
        type=kind,
        id=name,
        tool=shape.required_text(item, pointer, "tool") if kind == "tool_call" else None,
        args=shape.mapping(item.get("args"), (*pointer, "args")),
        call_group=shape.whole(item.get("call_group"), (*pointer, "call_group"), least=0),
        slot=shape.text(item.get("slot"), (*pointer, "slot")),
        content_template=shape.texts(item.get("content_template"), (*pointer, "content_template")),
    )


def read_simulator_turns(entry: Mapping[str, Json], shape: Shape) -> tuple[SimulatorTurn, ...]:
    """`user_simulator_turns` as declared, each with its slot updates sorted by slot name."""
    found = []
    for index, item in enumerate(shape.items(entry.get("user_simulator_turns"), ("user_simulator_turns",))):
        pointer: Pointer = ("user_simulator_turns", index)
        if not isinstance(item, dict):
            shape.misfit(item, pointer, "a mapping with `after` and `content_template`")
            continue
        shape.closed(item, pointer, _SIMULATOR_FIELDS)
        found.append(
            SimulatorTurn(
                after=shape.required_text(item, pointer, "after"),
                content_template=shape.required_texts(item, pointer, "content_template"),
                slot_updates=_slot_updates(item, (*pointer, "slot_updates"), shape),
            )
        )
    return tuple(found)


def _slot_updates(item: Mapping[str, Json], pointer: Pointer, shape: Shape) -> tuple[SlotUpdate, ...]:
    found = []
    for slot, value in sorted(shape.mapping(item.get("slot_updates"), pointer).items()):
        at: Pointer = (*pointer, slot)
        if not isinstance(value, dict):
            shape.misfit(value, at, "a mapping with `source`")
            continue
        shape.closed(value, at, _UPDATE_FIELDS)
        bind_as = shape.text(value.get("bind_as"), (*at, "bind_as"))
        if bind_as is not None and not is_identifier(bind_as):
            shape.misfit(bind_as, (*at, "bind_as"), "an identifier, since placeholders name it")
        found.append(
            SlotUpdate(
                slot=slot,
                source=shape.required_text(value, at, "source"),
                filter=shape.text(value.get("filter"), (*at, "filter")),
                bind_as=bind_as,
            )
        )
    return tuple(found)
