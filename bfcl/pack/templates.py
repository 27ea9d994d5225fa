"""What do the entries of `task_templates.yaml` declare, and how does a template travel between processes?

Loading settles shapes and defaults; meaning is judged by the checks. Rule: pack.md §5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bfcl.canonical import Json
from bfcl.errors import Problem
from bfcl.located import Document, canonical_word
from bfcl.pack.conversation import read_milestones, read_simulator_turns
from bfcl.pack.placeholders import is_identifier
from bfcl.pack.shape import Pointer, Shape, path_component_fault
from bfcl.records.ids import TEXT_MILESTONES, TemplateId
from bfcl.records.template import Milestone, Paraphrase, SimulatorTurn, Slot, SlotUpdate, Template
from bfcl.records.tool import Tool

_FIELDS = (
    "template_id",
    "intent",
    "category",
    "difficulty",
    "turn_policy",
    "mutates",
    "call_order",
    "call_order_prefix",
    "required_tools",
    "tools_present",
    "slots",
    "success_assertions",
    "user_turn_templates",
    "assistant_milestones",
    "user_simulator_turns",
    "assistant_turn_templates",
    "paraphrase",
    "edge_signatures",
)
_SLOT_FIELDS = ("source", "filter", "visible_in_first_turn", "label")
_PARAPHRASE_FIELDS = ("allowed", "max_variants", "must_preserve", "must_omit", "must_not_mention")


def load_templates(document: Document, tools: Sequence[Tool], shown: str) -> tuple[tuple[Template, ...], list[Problem]]:
    """Templates in file order and every `task_templates_invalid` problem; `shown` is the path that problems name.

    A template with a problem is left out. What a check refuses (unknown policy or tool, bad source, missing
    visibility flag) loads.
    """
    shape = Shape(document, "task_templates_invalid", path=shown)
    if not isinstance(document.value, list):
        shape.misfit(document.value, (), "a list of templates")
        return (), shape.problems
    catalog = tuple(tool.name for tool in tools)
    first: dict[str, int] = {}
    templates = []
    for index, entry in enumerate(document.value):
        before = len(shape.problems)
        template = _template(entry, index, shape, catalog)
        if template is None:
            continue
        earlier = first.setdefault(template.template_id, index)
        if earlier != index:
            message = f"template {index}: `template_id` `{template.template_id}` is taken by template {earlier}"
            shape.refuse((index, "template_id"), message, "give each template its own id")
        if len(shape.problems) == before:
            templates.append(template)
    return tuple(templates), shape.problems


def _template(entry: Json, index: int, outer: Shape, catalog: tuple[str, ...]) -> Template | None:
    if not isinstance(entry, dict):
        outer.misfit(entry, (index,), "a mapping with `template_id`")
        return None
    given = entry.get("template_id")
    label = f"template `{given}`" if isinstance(given, str) and given.strip() else f"template {index}"
    shape = outer.inside((index,), label)
    shape.closed(entry, (), _FIELDS)
    template_id = _template_id(entry, shape)
    milestones = read_milestones(entry, shape)
    called = tuple(dict.fromkeys(one.tool for one in milestones if one.tool))
    required = entry.get("required_tools")
    return Template(
        template_id=TemplateId(template_id),
        intent=shape.text(entry.get("intent"), ("intent",)),
        category=shape.text(entry.get("category"), ("category",)) or template_id,
        difficulty=shape.text(entry.get("difficulty"), ("difficulty",)),
        turn_policy=shape.text(entry.get("turn_policy"), ("turn_policy",), blank=True) or "",
        mutates=bool(shape.flag(entry.get("mutates"), ("mutates",))),
        call_order=_call_order(entry, shape),
        call_order_prefix=shape.whole(entry.get("call_order_prefix"), ("call_order_prefix",)),
        required_tools=called if required is None else shape.names(required, ("required_tools",)),
        tools_present=_tools_present(entry, shape, catalog),
        slots=_slots(entry, shape),
        success_assertions=shape.names(entry.get("success_assertions"), ("success_assertions",)),
        user_turn_templates=shape.required_texts(entry, (), "user_turn_templates"),
        assistant_milestones=milestones,
        user_simulator_turns=read_simulator_turns(entry, shape),
        assistant_turn_templates=shape.typed_texts(
            entry.get("assistant_turn_templates"), ("assistant_turn_templates",), TEXT_MILESTONES
        ),
        paraphrase=_paraphrase(entry, shape),
        edge_signatures=shape.names(entry.get("edge_signatures"), ("edge_signatures",)),
    )


def _template_id(entry: Mapping[str, Json], shape: Shape) -> str:
    template_id = shape.required_text(entry, (), "template_id")
    fault = path_component_fault(template_id)
    if fault:
        message = f"`template_id` is {canonical_word(template_id)}, but {fault}; task ids carry it as a path component"
        shape.refuse(("template_id",), message, "use letters, digits, `_` and `-`")
    return template_id


def _call_order(entry: Mapping[str, Json], shape: Shape) -> str:
    if entry.get("call_order") is None:
        return "strict"
    return shape.text(entry["call_order"], ("call_order",), blank=True) or ""


def _tools_present(entry: Mapping[str, Json], shape: Shape, catalog: tuple[str, ...]) -> tuple[str, ...]:
    """Catalog order; names the catalog lacks stay at the end, for check 1 to refuse."""
    if entry.get("tools_present") is None:
        return catalog
    listed = shape.names(entry["tools_present"], ("tools_present",))
    known = set(catalog)
    chosen = set(listed)
    return (*(name for name in catalog if name in chosen), *(name for name in listed if name not in known))


def _slots(entry: Mapping[str, Json], shape: Shape) -> Mapping[str, Slot]:
    if entry.get("slots") is None:
        shape.missing(entry, (), "slots")
        return {}
    found = {}
    for name, value in shape.mapping(entry["slots"], ("slots",)).items():
        pointer: Pointer = ("slots", name)
        if not is_identifier(name):
            message = f"slot name {canonical_word(name)} is not an identifier, so no placeholder could name it"
            shape.refuse(pointer, message, "use letters, digits and `_`, not starting with a digit")
        if not isinstance(value, dict):
            shape.misfit(value, pointer, "a mapping with `source`")
            continue
        shape.closed(value, pointer, _SLOT_FIELDS)
        found[name] = Slot(
            name=name,
            source=shape.required_text(value, pointer, "source"),
            filter=shape.text(value.get("filter"), (*pointer, "filter")),
            visible_in_first_turn=shape.flag(value.get("visible_in_first_turn"), (*pointer, "visible_in_first_turn")),
            label=shape.texts(value.get("label"), (*pointer, "label")),
        )
    return found


def _paraphrase(entry: Mapping[str, Json], shape: Shape) -> Paraphrase:
    pointer: Pointer = ("paraphrase",)
    value = shape.mapping(entry.get("paraphrase"), pointer)
    shape.closed(value, pointer, _PARAPHRASE_FIELDS)
    return Paraphrase(
        allowed=bool(shape.flag(value.get("allowed"), (*pointer, "allowed"))),
        max_variants=shape.whole(value.get("max_variants"), (*pointer, "max_variants"), least=0),
        must_preserve=shape.names(value.get("must_preserve"), (*pointer, "must_preserve")),
        must_omit=shape.names(value.get("must_omit"), (*pointer, "must_omit")),
        must_not_mention=shape.names(value.get("must_not_mention"), (*pointer, "must_not_mention")),
    )


def template_json(template: Template) -> dict[str, Json]:
    """The normalised form: every field present, defaults filled in. `template_from_json` is the inverse.

    Maps whose order matters (slots, arguments) become lists, since canonical JSON sorts keys.
    """
    paraphrase = template.paraphrase
    return {
        "template_id": template.template_id,
        "intent": template.intent,
        "category": template.category,
        "difficulty": template.difficulty,
        "turn_policy": template.turn_policy,
        "mutates": template.mutates,
        "call_order": template.call_order,
        "call_order_prefix": template.call_order_prefix,
        "required_tools": template.required_tools,
        "tools_present": template.tools_present,
        "slots": [_slot(slot) for slot in template.slots.values()],
        "success_assertions": template.success_assertions,
        "user_turn_templates": template.user_turn_templates,
        "assistant_milestones": [_milestone(one) for one in template.assistant_milestones],
        "user_simulator_turns": [_simulator_turn(one) for one in template.user_simulator_turns],
        "assistant_turn_templates": template.assistant_turn_templates,
        "paraphrase": {
            "allowed": paraphrase.allowed,
            "max_variants": paraphrase.max_variants,
            "must_preserve": paraphrase.must_preserve,
            "must_omit": paraphrase.must_omit,
            "must_not_mention": paraphrase.must_not_mention,
        },
        "edge_signatures": template.edge_signatures,
    }


def template_from_json(value: Mapping[str, Any]) -> Template:
    """The record behind `template_json`'s output, also after a trip through JSON text."""
    return Template(
        template_id=TemplateId(value["template_id"]),
        intent=value["intent"],
        category=value["category"],
        difficulty=value["difficulty"],
        turn_policy=value["turn_policy"],
        mutates=value["mutates"],
        call_order=value["call_order"],
        call_order_prefix=value["call_order_prefix"],
        required_tools=tuple(value["required_tools"]),
        tools_present=tuple(value["tools_present"]),
        slots={one["name"]: Slot(**one) for one in value["slots"]},
        success_assertions=tuple(value["success_assertions"]),
        user_turn_templates=value["user_turn_templates"],
        assistant_milestones=tuple(
            Milestone(**{**one, "args": dict(one["args"])}) for one in value["assistant_milestones"]
        ),
        user_simulator_turns=tuple(_simulator_turn_from(one) for one in value["user_simulator_turns"]),
        assistant_turn_templates=value["assistant_turn_templates"],
        paraphrase=_paraphrase_from(value["paraphrase"]),
        edge_signatures=tuple(value["edge_signatures"]),
    )


def _slot(slot: Slot) -> dict[str, Json]:
    return {
        "name": slot.name,
        "source": slot.source,
        "filter": slot.filter,
        "visible_in_first_turn": slot.visible_in_first_turn,
        "label": slot.label,
    }


def _milestone(milestone: Milestone) -> dict[str, Json]:
    return {
        "type": milestone.type,
        "id": milestone.id,
        "tool": milestone.tool,
        "args": [[name, value] for name, value in milestone.args.items()],
        "call_group": milestone.call_group,
        "slot": milestone.slot,
        "content_template": milestone.content_template,
    }


def _simulator_turn(turn: SimulatorTurn) -> dict[str, Json]:
    return {
        "after": turn.after,
        "content_template": turn.content_template,
        "slot_updates": [
            {"slot": one.slot, "source": one.source, "filter": one.filter, "bind_as": one.bind_as}
            for one in turn.slot_updates
        ],
    }


def _simulator_turn_from(value: Mapping[str, Any]) -> SimulatorTurn:
    return SimulatorTurn(
        after=value["after"],
        content_template=value["content_template"],
        slot_updates=tuple(SlotUpdate(**one) for one in value["slot_updates"]),
    )


def _paraphrase_from(value: Mapping[str, Any]) -> Paraphrase:
    lists = ("must_preserve", "must_omit", "must_not_mention")
    return Paraphrase(
        allowed=value["allowed"],
        max_variants=value["max_variants"],
        **{name: tuple(value[name]) for name in lists},
    )
