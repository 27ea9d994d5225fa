"""What do the entries of `task_templates.yaml` declare, and how does a template travel between processes?

Loading settles shapes and defaults; meaning is judged by the checks. Rule: pack.md §5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bfcl.canonical import Json
from bfcl.errors import Problem
from bfcl.located import Document
from bfcl.pack.conform import Label, conforms, entries_that_conform
from bfcl.pack.conversation import read_milestones, read_simulator_turns
from bfcl.pack.shape import Shape
from bfcl.records.ids import TemplateId
from bfcl.records.template import Milestone, Paraphrase, SimulatorTurn, Slot, Template
from bfcl.records.tool import Tool

_LABEL = Label("template", "template_id")


def load_templates(document: Document, tools: Sequence[Tool], shown: str) -> tuple[tuple[Template, ...], list[Problem]]:
    """Templates in file order and every `task_templates_invalid` problem; `shown` is the path that problems name.

    A template at fault is left out. What a check refuses (unknown policy or tool, bad source, missing visibility flag)
    loads. `tools` fills the default of `tools_present`. A file without content is the empty list.
    """
    shape = Shape(document, "task_templates_invalid", path=shown)
    if not isinstance(document.value, list):
        conforms("task_templates", document.value, shape)
        return (), shape.problems
    catalog = tuple(tool.name for tool in tools)
    first: dict[str, int] = {}
    templates = []
    for index, value, fits in entries_that_conform("task_templates", shape, document.value, _LABEL):
        template_id = value.get("template_id")
        if not isinstance(template_id, str) or not template_id.strip():
            continue
        earlier = first.setdefault(template_id, index)
        if earlier != index:
            message = f"template {index}: `template_id` `{template_id}` is taken by template {earlier}"
            shape.refuse((index, "template_id"), message, "give each template its own id")
        elif fits:
            templates.append(_template(value, catalog))
    return tuple(templates), shape.problems


def _template(entry: Mapping[str, Any], catalog: tuple[str, ...]) -> Template:
    """The template behind an entry that conforms to its schema."""
    milestones = read_milestones(entry)
    required = entry.get("required_tools")
    called = dict.fromkeys(one.tool for one in milestones if one.tool)
    call_order = entry.get("call_order")
    return Template(
        template_id=TemplateId(entry["template_id"]),
        intent=entry.get("intent"),
        category=entry.get("category") or entry["template_id"],
        difficulty=entry.get("difficulty"),
        turn_policy=entry.get("turn_policy") or "",
        mutates=bool(entry.get("mutates")),
        call_order="strict" if call_order is None else call_order,
        call_order_prefix=entry.get("call_order_prefix"),
        required_tools=tuple(called if required is None else required),
        tools_present=_tools_present(entry, catalog),
        slots={name: _declared_slot(name, value) for name, value in entry["slots"].items()},
        success_assertions=tuple(entry.get("success_assertions") or ()),
        user_turn_templates=entry["user_turn_templates"],
        assistant_milestones=milestones,
        user_simulator_turns=read_simulator_turns(entry),
        assistant_turn_templates={
            kind: texts or {} for kind, texts in (entry.get("assistant_turn_templates") or {}).items()
        },
        paraphrase=_paraphrase(entry.get("paraphrase") or {}),
        edge_signatures=tuple(entry.get("edge_signatures") or ()),
    )


def _tools_present(entry: Mapping[str, Any], catalog: tuple[str, ...]) -> tuple[str, ...]:
    """Catalog order; names the catalog lacks stay at the end, for check 1 to refuse."""
    if entry.get("tools_present") is None:
        return catalog
    listed = entry["tools_present"]
    known = set(catalog)
    chosen = set(listed)
    return (*(name for name in catalog if name in chosen), *(name for name in listed if name not in known))


def _declared_slot(name: str, value: Mapping[str, Any]) -> Slot:
    return Slot(
        name=name,
        source=value["source"],
        filter=value.get("filter"),
        visible_in_first_turn=value.get("visible_in_first_turn"),
        label=value.get("label") or {},
        same_row_as=value.get("same_row_as"),
    )


def _paraphrase(value: Mapping[str, Any]) -> Paraphrase:
    return Paraphrase(
        allowed=bool(value.get("allowed")),
        max_variants=value.get("max_variants"),
        must_preserve=tuple(value.get("must_preserve") or ()),
        must_omit=tuple(value.get("must_omit") or ()),
        must_not_mention=tuple(value.get("must_not_mention") or ()),
    )


def template_json(template: Template) -> dict[str, Json]:
    """The normalised form: every field present, defaults filled in. Nothing of a template is lost.

    Maps whose order matters (slots, arguments) become lists, since canonical JSON sorts keys. `same_row_as` is present
    where a slot has it only, so that templates without it keep the digest they had before there was such a field.
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


def _slot(slot: Slot) -> dict[str, Json]:
    normal: dict[str, Json] = {
        "name": slot.name,
        "source": slot.source,
        "filter": slot.filter,
        "visible_in_first_turn": slot.visible_in_first_turn,
        "label": slot.label,
    }
    return normal if slot.same_row_as is None else {**normal, "same_row_as": slot.same_row_as}


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
