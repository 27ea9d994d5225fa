"""What record does the normalised form of a template stand for?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bfcl.records.ids import TemplateId
from bfcl.records.template import Milestone, Paraphrase, SimulatorTurn, Slot, SlotUpdate, Template


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
