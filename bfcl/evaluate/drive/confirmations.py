"""Has the user agreed to what a call is about to do? Rule: evaluation.md §7, pack.md §5.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bfcl.canonical import Json
from bfcl.exports.row import CallGroup
from bfcl.pack.model import Pack
from bfcl.records.plan import Outline


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmations:
    """What counts as acting in earnest, and in which turns of a script the user has just agreed to that."""

    parameter: str
    by_default: frozenset[str]
    """Tools that need a confirmation and take it for given where the parameter is left out."""
    turns: frozenset[int]
    """Indexes of the script's covered turns."""

    def asked_by(self, tool: str, arguments: Mapping[str, Json]) -> bool:
        """Whether a call claims that the user has agreed."""
        return arguments.get(self.parameter, tool in self.by_default) is True


def confirmations(pack: Pack, outline: Outline, groups: Sequence[CallGroup]) -> Confirmations:
    """Of one row: its template's outline says which published call groups an answer covers."""
    parameter = pack.manifest.confirmation.parameter
    return Confirmations(
        parameter=parameter,
        by_default=frozenset(
            tool.name
            for tool in pack.tools
            if tool.requires_confirmation and _default(tool.parameters or {}, parameter) is True
        ),
        turns=frozenset(group.turn_index for group in groups if group.call_group in outline.confirmed_groups),
    )


def _default(schema: Mapping[str, Json], parameter: str) -> Json:
    properties = schema.get("properties")
    declared = properties.get(parameter) if isinstance(properties, Mapping) else None
    return declared.get("default") if isinstance(declared, Mapping) else None
