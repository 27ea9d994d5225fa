"""What does a checkpoint say? Its two documents, made from what a stage left. Rule: generation.md §5.

The writer and whoever verifies a chain make them with the same function, so a checkpoint is good where it equals what
would be written today. Data is not copied: an artifact is named by the build entry that holds it (spec README, ruling
5). Ids are listed once a stage: the artifacts of that stage and of all later ones name the stage instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from bfcl.canonical import Json, canonical_json, readable_json
from bfcl.digest import Digest, sha256_file, sha256_of
from bfcl.graph.checkpoint_files import MANIFEST, STATE
from bfcl.graph.pointers import Pointer
from bfcl.graph.store import Entry
from bfcl.stages import Stage
from bfcl.tables.footprint import footprint

CONTRACT: Final = "bfcl-generation-checkpoint/1.0"
STATE_CONTRACT: Final = "bfcl-generation-state/1.0"
STAGE_CONTRACT_VERSION: Final = "1.0"

_LINES: Final = json.JSONEncoder(separators=(",\n    ", ": "), ensure_ascii=False)
_IDS: Final = "\0"
"""Stands for the id list while a document is laid out; no text of ours holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactFacts:
    """What a checkpoint says of one artifact. Rows, schema and tasks are those of a Parquet table, else None."""

    source: str
    """`build/<fp>/<file>`: where its bytes are kept."""
    content_hash: Digest
    size: int
    """Bytes."""
    format: str
    row_count: int | None
    schema_fingerprint: Digest | None
    task_ids: str | tuple[str, ...] | None
    """The stage whose checkpoint lists them; the ids themselves where no stage's list is the table's own."""
    task_set_hash: Digest | None

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


Artifacts = Mapping[str, ArtifactFacts]
"""File name to facts."""


class TaskIds:
    """An ordered list of task ids, encoded once however many documents hold it."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = list(ids)

    @cached_property
    def canonical(self) -> bytes:
        """The list as canonical JSON."""
        return canonical_json(self.ids)

    @cached_property
    def set_hash(self) -> Digest:
        """SHA-256 of the canonical JSON of the ordered list."""
        return sha256_of(self.canonical)

    @cached_property
    def lines(self) -> str:
        """The list as `readable_json` prints it one level down."""
        if not self.ids:
            return "[]"
        # One id a line, by the encoder in C: the indenting one takes ten times as long.
        return "[\n    " + _LINES.encode(self.ids)[1:-1] + "\n  ]"


class Origin(NamedTuple):
    """What all checkpoints of a run share: the configuration, pack and program that made them."""

    generation_config_hash: Digest
    pack_fingerprint: Digest
    source_hash: Digest
    dependency_lock_hash: Digest

    def to_json(self) -> dict[str, Json]:
        return {
            "generation_config_hash": self.generation_config_hash,
            "pack_fingerprint": self.pack_fingerprint,
            "endpoint": {"identity": None, "identity_digest": None, "config_content_hash": None},
            "pipeline": self.pipeline,
        }

    @property
    def pipeline(self) -> dict[str, Json]:
        return {
            "source_hash": self.source_hash,
            "dependency_lock_hash": self.dependency_lock_hash,
            "worker_image_digest": None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """One stage's place in the chain."""

    stage: str
    checkpoint_id: Digest
    """SHA-256 of the canonical JSON of the rest of its manifest."""
    pointer: Pointer
    tasks: TaskIds
    outputs: Artifacts
    """What the next stage finds: everything inherited, and what this stage made."""


class Documents(NamedTuple):
    """A checkpoint as it is written."""

    checkpoint: Checkpoint
    manifest: dict[str, Json]
    state: dict[str, Json]
    files: dict[str, bytes]


class Result(NamedTuple):
    """What a stage left: its pointer, the verified entry that names, and the entry's files that are artifacts."""

    pointer: Pointer
    entry: Entry
    files: Sequence[str]


def documents(stage: Stage, origin: Origin, parent: Checkpoint | Artifacts, result: Result) -> Documents:
    """The checkpoint of a stage; the first one's `parent` is what `prepare` left.

    Reads each of the stage's own artifacts once. Raises: DriftError `table_unreadable`.
    """
    before = parent if isinstance(parent, Checkpoint) else None
    inputs = parent.outputs if isinstance(parent, Checkpoint) else parent
    tasks, produced = _produced(stage, result, before)
    outputs = {**inputs, **produced}
    state: dict[str, Json] = {
        "contract": STATE_CONTRACT,
        "stage": stage.name,
        "task_ids": tasks.ids,
        "task_set_hash": tasks.set_hash,
        "payload": {"pointer": result.pointer.to_json()},
    }
    data = _laid_out(state, tasks)
    manifest: dict[str, Json] = {
        "contract": CONTRACT,
        "stage": stage.name,
        "stage_index": stage.index,
        "stage_contract_version": STAGE_CONTRACT_VERSION,
        "dependency": None if before is None else before.stage,
        "identity": origin.to_json(),
        "state": {"file": STATE, "content_hash": sha256_of(data), "size": len(data)},
        "task_ids": tasks.ids,
        "task_count": len(tasks.ids),
        "task_set_hash": tasks.set_hash,
        "input_artifacts": _json(inputs),
        "output_artifacts": _json(outputs),
        "produced_artifacts": _json(produced),
        "parent": None if before is None else {"stage": before.stage, "checkpoint_id": before.checkpoint_id},
    }
    checkpoint_id = sha256_of(_canonical(manifest, tasks))
    manifest["checkpoint_id"] = checkpoint_id
    return Documents(
        checkpoint=Checkpoint(
            stage=stage.name, checkpoint_id=checkpoint_id, pointer=result.pointer, tasks=tasks, outputs=outputs
        ),
        manifest=manifest,
        state=state,
        files={STATE: data, MANIFEST: _laid_out(manifest, tasks)},
    )


def plain_facts(entry: Entry, name: str) -> ArtifactFacts:
    """The facts of an artifact that is no table."""
    path = entry.file(name)
    return ArtifactFacts(
        source=f"build/{entry.fp}/{name}",
        content_hash=sha256_file(path),
        size=path.stat().st_size,
        format=PurePosixPath(name).suffix.removeprefix("."),
        row_count=None,
        schema_fingerprint=None,
        task_ids=None,
        task_set_hash=None,
    )


def _produced(stage: Stage, result: Result, parent: Checkpoint | None) -> tuple[TaskIds, Artifacts]:
    """The tasks of a stage, those of its last table that has any, and the facts of all it made."""
    found: dict[str, ArtifactFacts] = {}
    lists: dict[str, TaskIds] = {}
    for name in result.files:
        facts = plain_facts(result.entry, name)
        if facts.format == "parquet":
            seen = footprint(result.entry.file(name))
            facts = replace(facts, row_count=seen.rows, schema_fingerprint=seen.schema_fingerprint)
            if seen.task_ids is not None:
                lists[name] = _shared(seen.task_ids, parent)
        found[name] = facts
    tasks = next(reversed(lists.values()), TaskIds(()))
    for name, own in lists.items():
        same = own.ids == tasks.ids
        found[name] = replace(found[name], task_ids=stage.name if same else tuple(own.ids), task_set_hash=own.set_hash)
    return tasks, found


def _shared(ids: list[str], parent: Checkpoint | None) -> TaskIds:
    """The parent's list where it is the same, so that it is hashed and laid out once a run."""
    return parent.tasks if parent is not None and parent.tasks.ids == ids else TaskIds(ids)


def _json(artifacts: Artifacts) -> dict[str, Json]:
    return {name: facts.to_json() for name, facts in artifacts.items()}


def _canonical(document: Mapping[str, Json], tasks: TaskIds) -> bytes:
    """`canonical_json` of a document whose `task_ids` are these."""
    return canonical_json({**document, "task_ids": _IDS}).replace(canonical_json(_IDS), tasks.canonical, 1)


def _laid_out(document: Mapping[str, Json], tasks: TaskIds) -> bytes:
    """`readable_json` of a document whose `task_ids` are these."""
    text = readable_json({**document, "task_ids": _IDS})
    return text.replace(canonical_json(_IDS), tasks.lines.encode(), 1)
