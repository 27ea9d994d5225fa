"""A pack once loaded: typed content, the files it came from, and where each value stands in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.errors import Problem
from bfcl.located import Document
from bfcl.records.template import Template, Texts
from bfcl.records.tool import Tool

Role = Literal[
    "manifest",
    "tools",
    "templates",
    "assertions",
    "validation_cases",
    "backend",
    "fixtures",
    "system_prompt",
    "held_out",
    "endpoint",
    "ca_bundle",
]

CODE_ROLES: Final[tuple[Role, ...]] = ("backend", "assertions")
"""The files that hold Python of the pack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackFile:
    """One declared file. `logical` is `tree/<rel>` or `declared/<role>`; `origin` says which rule named it."""

    role: Role
    path: Path
    """Absolute, resolved."""
    logical: str
    origin: Literal["config", "manifest", "canonical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """The pack's confirmation vocabulary."""

    parameter: str = "confirm"
    status_field: str = "status"
    pending_status: str = "awaiting_confirmation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`manifest.yaml`, normalised. `values` is the whole normalised mapping as written to `pack_manifest.json`."""

    pack_id: str
    version: str
    languages: tuple[str, ...]
    default_language: str | None
    clock: str | None
    primary_keys: Mapping[str, str]
    absent_ids: Mapping[str, tuple[Json, ...]]
    system_prompt: str | None
    """Inline or from the file, trimmed; None means the built-in English default."""
    assistant_turn_templates: Mapping[str, Texts]
    confirmation: Confirmation
    tool_names_exempt: tuple[str, ...]
    values: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A direct probe of `validation_cases.yaml`. `expect` holds the author's keys; an absent key claims nothing."""

    id: str
    tool: str
    arguments: Mapping[str, Json]
    reset_before: bool
    expect: Mapping[str, Json]
    coverage: Literal["negative"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """`held_out.yaml`, normalised: what generation must never bind. Rule: pack.md §8."""

    version: str
    fixtures: Mapping[str, tuple[str | int, ...]]
    """Collection to the primary ids reserved of it, as the rows carry them; ordered by their text."""
    templates: tuple[str, ...]
    """Sorted template ids."""
    fixtures_in_backend_state: bool
    """Whether the oracle still sees the reserved rows."""
    seed: int
    source: str
    """Logical path of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """`endpoint_config.yaml`: a service that answers in place of a backend."""

    base_url: str
    """Without a trailing slash."""
    attestation_digest: str | None
    """The pin of its conformance attestation; None where nobody has attested it."""
    ca_bundle_path: str | None
    """As written: relative to the directory of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """A loaded pack. `fixtures` is the whole `fixtures.json` object (empty where there is none)."""

    root: Path
    files: Mapping[Role, PackFile]
    manifest: Manifest
    tools: tuple[Tool, ...]
    """Catalog order."""
    fixtures: Mapping[str, Json]
    has_fixtures: bool
    templates: tuple[Template, ...]
    cases: tuple[Case, ...]
    fingerprint: Digest
    entries: Mapping[str, Digest]
    """Logical path to SHA-256 of each fingerprinted file."""
    paths: Mapping[str, Path]
    """Logical path to where each fingerprinted file lies: names on disk need not be normalised (NFC)."""
    code: Mapping[Role, bytes] = field(repr=False)
    """Bytes of backend and assertions as they were read at loading; a role without a file has none."""
    documents: Mapping[Role, Document] = field(repr=False)
    """Parsed sources of the data files, for locating a value's line."""
    warnings: tuple[Problem, ...] = ()
    displaced: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    """Role to logical names that another file has taken it from, whether or not there is such a file."""
    held_out: HeldOut | None = None
    """The held-out policy; None without one."""
    endpoint: Endpoint | None = None
    """The service that is the oracle; None for a pack with a backend."""

    def tool(self, name: str) -> Tool | None:
        """The catalog entry called `name`."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def shown_path(self, role: Role) -> str:
        """How a message names a file: relative to the pack root, or its logical name outside."""
        logical = self.files[role].logical
        return logical.removeprefix("tree/")
