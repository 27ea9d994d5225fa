"""Pointers: small files naming a stage's result. They are doit's targets and the stages' only messages to each other.

An unchanged pointer stops the wave. Rule: generation.md §9.3.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bfcl.canonical import Json, canonical_json, readable_json
from bfcl.digest import Fingerprint, blake3_json
from bfcl.files import write_atomic
from bfcl.graph.store import Entry, tampered

_ADDRESS: Final = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One shard's result: its address, the BLAKE3 of its rows file, its number of rows."""

    label: str
    """`<template_id>`, or `<template_id>/<n>` for chunk n of a large template."""
    fp: Fingerprint
    digest: Fingerprint
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """The result of one stage. `shards` keep template order."""

    stage: str
    fp: Fingerprint
    record_digest: Fingerprint
    shards: tuple[Shard, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {
            "stage": self.stage,
            "fp": self.fp,
            "record_digest": self.record_digest,
            "shards": [
                {"label": shard.label, "fp": shard.fp, "digest": shard.digest, "rows": shard.rows}
                for shard in self.shards
            ],
        }

    def check(self, entry: Entry) -> None:
        """Refuse a pointer that disagrees with the entry it names."""
        if entry.record_digest != self.record_digest:
            raise tampered(f"refs/{self.stage}.json", f"disagrees with build/{self.fp}/record.json")


def write_pointer(path: Path, pointer: Pointer) -> None:
    """Write it, or leave the file alone where it already says the same, so that nothing downstream wakes up."""
    data = readable_json(_sealed(pointer.to_json()))
    if path.is_file() and path.read_bytes() == data:
        return
    write_atomic(path, data)


def read_pointer(path: Path) -> Pointer | None:
    """The pointer at `path`, None where there is none. Raises DriftError `build_cache_tampered` where unreadable."""
    try:
        pointer = _intact(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, KeyError, TypeError, AttributeError, ValueError, RecursionError):
        raise tampered(_shown(path), "is not a pointer") from None
    if pointer is None:
        raise tampered(_shown(path), "has changed since it was written")
    return pointer


@functools.lru_cache(maxsize=32)
def _intact(data: bytes) -> Pointer | None:
    """The pointer these bytes are, None where they disagree with their own digest: asked many times in a run."""
    value = json.loads(data)
    pointer = parse_pointer(value)
    return pointer if value == _sealed(json.loads(canonical_json(pointer.to_json()))) else None


def _sealed(value: dict[str, Json]) -> dict[str, Json]:
    """With the digest of the rest: shards of a pointer are trusted without opening each."""
    return {**value, "pointer_digest": blake3_json(value)}


def parse_pointer(value: Mapping[str, Any]) -> Pointer:
    """Inverse of `Pointer.to_json`. Raises: KeyError, TypeError, AttributeError, ValueError on another form."""
    return Pointer(
        stage=str(value["stage"]),
        fp=_address(value["fp"]),
        record_digest=Fingerprint(str(value["record_digest"])),
        shards=tuple(
            Shard(
                label=str(shard["label"]),
                fp=_address(shard["fp"]),
                digest=Fingerprint(str(shard["digest"])),
                rows=int(shard["rows"]),
            )
            for shard in value["shards"]
        ),
    )


def _address(value: object) -> Fingerprint:
    """An address is joined to `build/`, also by what deletes: it must never lead anywhere else."""
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise ValueError("not an address")
    return Fingerprint(value)


def _shown(path: Path) -> str:
    return f"build/refs/{path.parent.name}/{path.name}"
