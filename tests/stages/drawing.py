"""Slots, corrections and rows for tests of what they bind."""

from __future__ import annotations

from typing import Any

from bfcl.canonical import Json
from bfcl.errors import Problem
from bfcl.pack.model import Confirmation, Manifest
from bfcl.records.ids import TemplateId
from bfcl.records.template import Milestone, Paraphrase, SimulatorTurn, Slot, SlotUpdate, Template
from bfcl.records.tool import Tool
from bfcl.stages.bindings import Sources
from bfcl.stages.slot_problems import slot_problems

FIXTURES: dict[str, Any] = {
    "kilns": [
        {"kiln_id": "K-1", "zone": "north", "load": 3, "tags": ["old"]},
        {"kiln_id": "K-2", "zone": "south", "load": None, "tags": ["new"]},
        {"kiln_id": "K-3", "zone": "south", "tags": ["new"]},
    ],
    "firings": [{"firing_id": 10, "kiln_id": "K-3"}],
    "shelves": [],
    "opening_hours": "9-17",
}

TOOLS = (
    Tool(
        name="start_firing",
        parameters={
            "type": "object",
            "properties": {
                "kiln_id": {"type": "string"},
                "atmosphere": {"type": ["string", "null"], "enum": ["oxidation", None, "reduction"]},
                "glaze": {"$ref": "#/$defs/glaze"},
                "finish": {"allOf": [{"$ref": "#/$defs/glaze"}, {"enum": ["matt", 1, "satin"]}]},
                "box": {"enum": [{"a": 1}]},
                "loop": {"$ref": "#/$defs/loop"},
            },
            "$defs": {"glaze": {"enum": ["gloss", "matt", True]}, "loop": {"$ref": "#/$defs/loop"}},
        },
    ),
)


def sources(fixtures: dict[str, Any] = FIXTURES, reserved: frozenset[str] = frozenset(), **fields: Any) -> Sources:
    values: dict[str, Any] = {
        "pack_id": "kiln_studio",
        "version": "1.0",
        "languages": ("en",),
        "default_language": "en",
        "clock": None,
        "primary_keys": {"firings": "firing_id"},
        "absent_ids": {"kilns": ("K-90", "K-91")},
        "system_prompt": None,
        "assistant_turn_templates": {},
        "confirmation": Confirmation(),
        "tool_names_exempt": (),
        "values": {},
    }
    return Sources(TOOLS, fixtures, Manifest(**{**values, **fields}), reserved)


def template(
    slots: dict[str, Slot], *updates: SlotUpdate, policy: str = "single_turn", args: dict[str, Json] | None = None
) -> Template:
    """`updates` come after a question; `args` are those of one call at the end."""
    turns = (SimulatorTurn(after="ask", content_template={"en": "No."}, slot_updates=updates),) if updates else ()
    call = Milestone(type="tool_call", id="call", tool="start_firing", args=args or {})
    return Template(
        template_id=TemplateId("fire"),
        intent=None,
        category="firings",
        difficulty=None,
        turn_policy="correction" if updates and policy == "single_turn" else policy,
        mutates=False,
        call_order="strict",
        call_order_prefix=None,
        required_tools=(),
        tools_present=(),
        slots=slots,
        success_assertions=(),
        user_turn_templates={"en": "Fire it."},
        assistant_milestones=(Milestone(type="ask_confirm", id="ask"), *([] if args is None else [call])),
        user_simulator_turns=turns,
        assistant_turn_templates={},
        paraphrase=Paraphrase(),
        edge_signatures=(),
    )


def slot(source: str, filter_text: str | None = None, visible: bool | None = True, name: str = "kiln") -> Slot:
    return Slot(name=name, source=source, filter=filter_text, visible_in_first_turn=visible)


def follower(source: str, leader: str = "kiln", filter_text: str | None = None, name: str = "zone") -> Slot:
    return Slot(name=name, source=source, filter=filter_text, visible_in_first_turn=True, same_row_as=leader)


def of_row(slot: object = "kiln", field: object = "zone", **more: Json) -> dict[str, Json]:
    return {"from_fixture": {"slot": slot, "field": field}, **more}  # type: ignore[dict-item]


def found(source: str, filter_text: str | None = None, known: Sources | None = None) -> list[Problem]:
    return slot_problems(template({"kiln": slot(source, filter_text)}), known or sources())
