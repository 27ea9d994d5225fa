"""One tool of the catalog, as the model sees it and as the pipeline knows it. Rule: pack.md §3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bfcl.canonical import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A catalog entry. `parameters` is None where the entry declares none (check 3 fails it)."""

    name: str
    description: str | None = None
    strict: bool | None = None
    parameters: Mapping[str, Json] | None = None
    mutates: bool = False
    requires_confirmation: bool = False
    extensions: Mapping[str, Json] = field(default_factory=dict)
    """Further `x-*` keys of the entry, kept in the internal copy only."""

    def model_facing(self) -> dict[str, Json]:
        """`{type, function}` with no `x-*` key: what rows, prompts and exports carry."""
        function: dict[str, Json] = {"name": self.name}
        if self.description is not None:
            function["description"] = self.description
        if self.strict is not None:
            function["strict"] = self.strict
        if self.parameters is not None:
            function["parameters"] = self.parameters
        return {"type": "function", "function": function}

    def internal(self) -> dict[str, Json]:
        """The model-facing form plus every `x-*` key, defaults filled in."""
        return {
            **self.model_facing(),
            **self.extensions,
            "x-mutates": self.mutates,
            "x-requires-confirmation": self.requires_confirmation,
        }
