"""What does a format get to see of a published row? Rule: generation.md §7.

The row as published, and beside it every JSON column decoded once, so that no format parses or groups anything anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.tables.benchmark import BenchmarkRow


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportCall:
    """One expected call, arguments decoded and in the order derived."""

    turn_index: int
    """Ordinal of the assistant message that makes it, texts counted."""
    call_group: int
    position_in_group: int
    function_name: str
    arguments: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        """The call as exports carry it. Sorted keys lose the order of the arguments, never a value or its type."""
        return {
            "turn_index": self.turn_index,
            "call_group": self.call_group,
            "position_in_group": self.position_in_group,
            "function_name": self.function_name,
            "arguments": self.arguments,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CallGroup:
    """The calls of one assistant message."""

    turn_index: int
    call_group: int
    user_turn_index: int
    """Ordinal of the user message it follows, 0 for the first."""
    calls: tuple[int, ...]
    """Indexes into the row's calls, consecutive."""

    def to_json(self) -> dict[str, Json]:
        """The group as exports carry it."""
        return {
            "turn_index": self.turn_index,
            "call_group": self.call_group,
            "user_turn_index": self.user_turn_index,
            "is_parallel": len(self.calls) > 1,
            "calls": self.calls,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRow:
    """One published row, decoded and re-checked."""

    published: BenchmarkRow
    """Every column as the table holds it: descriptors are read from here."""
    messages: tuple[Mapping[str, Json], ...]
    """The conversation in chat protocol form: keys that do not apply are absent, `content` is null beside calls."""
    tools: tuple[Mapping[str, Json], ...]
    """`{type, function}` objects in `tools_present` order."""
    calls: tuple[ExportCall, ...]
    groups: tuple[CallGroup, ...]
    metadata: Mapping[str, Json]
    """The metadata column decoded: exactly language, expt_name, base_task_id, surface_source, profile_hash."""

    @property
    def task_id(self) -> str:
        """The row's id."""
        return self.published["task_id"]

    def user_turns(self) -> list[list[Mapping[str, Json]]]:
        """The messages cut before every user message but the first, which the system message leads."""
        return cut_by_user(self.messages)

    def calls_by_user_turn(self) -> list[list[ExportCall]]:
        """The expected calls of every user turn, turns without calls kept as empty lists."""
        turns: list[list[ExportCall]] = [[] for _ in self.user_turns()]
        for group in self.groups:
            turns[group.user_turn_index] += [self.calls[index] for index in group.calls]
        return turns


def cut_by_user(messages: Sequence[Mapping[str, Json]]) -> list[list[Mapping[str, Json]]]:
    """Messages cut into user turns; whatever stands before the first user message belongs to its turn."""
    turns: list[list[Mapping[str, Json]]] = [[]]
    spoken = False
    for message in messages:
        if message["role"] == "user":
            if spoken:
                turns.append([])
            spoken = True
        turns[-1].append(message)
    return turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The table that all exports of a run derive from, known once its last row was read."""

    file: str
    """Relative to the run directory."""
    content_hash: Digest
    rows: int
    pack_id: str
    pack_version: str
    tier: str
    gold_eligible: bool
    expt_name: str
