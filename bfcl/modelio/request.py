"""What makes two requests of a role the same one? The key of a recorded reply. Rule: translation.md §13.5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json, sha256_of

SCHEMA_VERSION: Final = "1.1"


@dataclass(frozen=True, kw_only=True)
class RoleRequest:
    """One request, as far as its reply hangs on it: no address, credential, timeout, batch or retry."""

    model_canonical: str
    prompt_hash: Digest
    """See the function of that name."""
    input: Json
    inference_parameters: Mapping[str, Json]
    """Only the fields that are sent."""
    output_schema: Mapping[str, Json]
    seed: int

    @cached_property
    def input_hash(self) -> Digest:
        """Of the input alone."""
        return sha256_json(self.input)

    @cached_property
    def request_hash(self) -> Digest:
        """The key."""
        return sha256_json(
            {
                "schema_version": SCHEMA_VERSION,
                "model_canonical": self.model_canonical,
                "prompt_hash": self.prompt_hash,
                "input": self.input,
                "inference_parameters": self.inference_parameters,
                "output_schema": self.output_schema,
                "seed": self.seed,
            }
        )


def prompt_hash(version: str, system: str, user: str) -> Digest:
    """SHA-256 of a prompt's version, system text and user template, joined by line feeds."""
    return sha256_of("\n".join((version, system, user)).encode())
