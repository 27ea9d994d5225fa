"""A conversation template as its author declared it, defaults filled in. Rule: pack.md §5.

A record may still hold what a check refuses (an unknown policy, an unparsable source): loading settles the shape of
fields, the checks settle their meaning, with the same functions the stages use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bfcl.canonical import Json
from bfcl.records.ids import TemplateId

Texts = Mapping[str, str]
"""Language code to text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A value a template binds. `source` and `filter` are the author's text; `pack.slots` parses them."""

    name: str
    source: str
    filter: str | None = None
    visible_in_first_turn: bool | None = None
    label: Texts = field(default_factory=dict)
    same_row_as: str | None = None
    """The slot whose row this one's value is taken from, so that the two never come apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    """One assistant step.

    `args` values are literals with placeholders, or one of the markers `{"from_result": {call, path}}` and
    `{"from_fixture": {slot, field}}`.
    """

    type: str
    id: str
    """Declared, else `<type>@<index>`."""
    tool: str | None = None
    args: Mapping[str, Json] = field(default_factory=dict)
    call_group: int | None = None
    slot: str | None = None
    content_template: Texts = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotUpdate:
    """A replacement value for a slot, drawn like any slot; `bind_as` is a surface-only alias."""

    slot: str
    source: str
    filter: str | None = None
    bind_as: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatorTurn:
    """A user reply to the text milestone that `after` names (by id, or by a type that occurs once)."""

    after: str
    content_template: Texts
    slot_updates: tuple[SlotUpdate, ...] = ()
    """Sorted by slot name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paraphrase:
    """What a rewording may and may not touch."""

    allowed: bool = False
    max_variants: int | None = None
    must_preserve: tuple[str, ...] = ()
    must_omit: tuple[str, ...] = ()
    must_not_mention: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One conversation template. `slots` keeps declaration order; `user_simulator_turns` too."""

    template_id: TemplateId
    intent: str | None
    category: str
    difficulty: str | None
    turn_policy: str
    mutates: bool
    call_order: str
    call_order_prefix: int | None
    required_tools: tuple[str, ...]
    tools_present: tuple[str, ...]
    """Catalog order."""
    slots: Mapping[str, Slot]
    success_assertions: tuple[str, ...]
    user_turn_templates: Texts
    assistant_milestones: tuple[Milestone, ...]
    user_simulator_turns: tuple[SimulatorTurn, ...]
    assistant_turn_templates: Mapping[str, Texts]
    """Milestone type to language to text."""
    paraphrase: Paraphrase
    edge_signatures: tuple[str, ...]
