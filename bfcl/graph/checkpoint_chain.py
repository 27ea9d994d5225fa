"""Is the chain of checkpoints still what a run left, and is all it names still there? Rule: generation.md §5.

First the files, then what they say: every checkpoint is made again from the results it names and must come out equal.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.digest import blake3_json, blake3_of, sha256_json, sha256_of
from bfcl.errors import DriftError, Problem, raise_all
from bfcl.graph.checkpoint_files import CHECKPOINTS, MANIFEST, STATE, directory
from bfcl.graph.checkpoint_form import (
    CONTRACT,
    STAGE_CONTRACT_VERSION,
    STATE_CONTRACT,
    Artifacts,
    Checkpoint,
    documents,
)
from bfcl.graph.layout import RunTree
from bfcl.graph.pointers import Pointer, parse_pointer
from bfcl.graph.session import Session
from bfcl.graph.shards import ROWS_FILE
from bfcl.graph.store import Store
from bfcl.stages import SHARDED, Stage

CODE: Final = "stage_resume_invalid"

_MANIFEST_FIELDS: Final = frozenset(
    {
        "contract",
        "stage",
        "stage_index",
        "stage_contract_version",
        "dependency",
        "identity",
        "state",
        "task_ids",
        "task_count",
        "task_set_hash",
        "input_artifacts",
        "output_artifacts",
        "produced_artifacts",
        "parent",
        "checkpoint_id",
    }
)
_STATE_FIELDS: Final = frozenset({"contract", "stage", "task_ids", "task_set_hash", "payload"})
_SAME_TASKS: Final = frozenset(stage.name for stage in SHARDED)
"""Stages whose tables carry the same tasks in the same order."""

_SHOWN_CHARACTERS: Final = 200


class ReadCheckpoint(NamedTuple):
    """A checkpoint as it lies on the disk, its form found good."""

    stage: Stage
    manifest: Mapping[str, Any]
    state: Mapping[str, Any]
    pointer: Pointer
    digests: Mapping[str, str]
    """File name to BLAKE3."""

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.manifest["identity"]  # type: ignore[no-any-return]


class ChainReader:
    """The checkpoints of `stages`, which are those from the first to the predecessor of where a run goes on."""

    def __init__(self, run: RunTree, stages: Sequence[Stage]) -> None:
        self._run = run
        self.stages = stages

    def check_place(self, known: Sequence[Stage]) -> None:
        """Whether the checkpoints lie where they should and nothing else does: `known` are all stages of the run.

        Raises: DriftError `stage_resume_invalid`.
        """
        root = directory(self._run)
        if not os.path.lexists(root):
            raise DriftError(self.problem(CHECKPOINTS, "no checkpoint is there"))
        if root.is_symlink() or not root.is_dir():
            raise DriftError(self.problem(CHECKPOINTS, "is not a directory"))
        names = {stage.name for stage in known}
        strange = sorted(item.name for item in root.iterdir() if item.name not in names)
        problems = [
            self.problem(f"{CHECKPOINTS}/{name}", "is no checkpoint of a stage of this run") for name in strange
        ]
        for stage in self.stages:
            problems += self._place_problems(root / stage.name)
        raise_all(DriftError, problems)

    def _place_problems(self, path: Path) -> Iterator[Problem]:
        shown = f"{CHECKPOINTS}/{path.name}"
        if path.is_symlink() or not path.is_dir():
            message = "is not a directory" if os.path.lexists(path) else "this checkpoint is missing"
            yield self.problem(shown, message)
            return
        present = {item.name: item for item in path.iterdir()}
        for name in sorted({MANIFEST, STATE, *present}):
            item = present.get(name)
            if item is None:
                yield self.problem(f"{shown}/{name}", "is missing")
            elif name not in (MANIFEST, STATE):
                yield self.problem(f"{shown}/{name}", "is no file of a checkpoint")
            elif item.is_symlink() or not item.is_file():
                yield self.problem(f"{shown}/{name}", "is not a regular file")

    def read(self, stage: Stage) -> ReadCheckpoint:
        """One checkpoint whose form is good. Raises: DriftError `stage_resume_invalid`."""
        path = directory(self._run) / stage.name
        data = {name: (path / name).read_bytes() for name in (MANIFEST, STATE)}
        manifest, state = (self._parsed(stage, name, data[name]) for name in (MANIFEST, STATE))
        raise_all(DriftError, [*self._manifest_problems(stage, manifest), *self._state_problems(stage, state)])
        named = manifest["state"]
        seen = {"file": STATE, "content_hash": sha256_of(data[STATE]), "size": len(data[STATE])}
        if named != seen:
            raise DriftError(self._odd(stage, STATE, "is not the state its manifest names"))
        return ReadCheckpoint(
            stage=stage,
            manifest=manifest,
            state=state,
            pointer=self._pointer(stage, state),
            digests={name: blake3_of(each) for name, each in data.items()},
        )

    def _parsed(self, stage: Stage, name: str, data: bytes) -> Mapping[str, Any]:
        try:
            value = json.loads(data)
            # What cannot be written cannot be hashed: NaN, half a surrogate pair.
            canonical_json(value)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise DriftError(self._odd(stage, name, "is not a JSON object"))
        return value

    def _manifest_problems(self, stage: Stage, manifest: Mapping[str, Any]) -> Iterator[Problem]:
        yield from self._field_problems(stage, MANIFEST, manifest, _MANIFEST_FIELDS)
        yield from self._value_problems(
            stage,
            MANIFEST,
            manifest,
            {"contract": CONTRACT, "stage": stage.name, "stage_contract_version": STAGE_CONTRACT_VERSION},
        )
        if "identity" in manifest and not _is_identity(manifest["identity"]):
            yield self._odd(stage, MANIFEST, "`identity` has not the fields of an identity")
        rest = {name: value for name, value in manifest.items() if name != "checkpoint_id"}
        if manifest.get("checkpoint_id") != sha256_json(rest):
            yield self._odd(stage, MANIFEST, "does not match its own checkpoint_id")

    def _state_problems(self, stage: Stage, state: Mapping[str, Any]) -> Iterator[Problem]:
        yield from self._field_problems(stage, STATE, state, _STATE_FIELDS)
        yield from self._value_problems(stage, STATE, state, {"contract": STATE_CONTRACT, "stage": stage.name})

    def _field_problems(
        self, stage: Stage, name: str, value: Mapping[str, Any], wanted: frozenset[str]
    ) -> Iterator[Problem]:
        missing, strange = sorted(wanted - value.keys()), sorted(value.keys() - wanted)
        if missing or strange:
            message = f"fields missing: {', '.join(missing) or 'none'}; unexpected: {', '.join(strange) or 'none'}"
            yield self._odd(stage, name, message)

    def _value_problems(
        self, stage: Stage, name: str, value: Mapping[str, Any], wanted: Mapping[str, Json]
    ) -> Iterator[Problem]:
        for field, expected in wanted.items():
            if field in value and value[field] != expected:
                yield self._odd(stage, name, _differs(field, value[field], expected))

    def _pointer(self, stage: Stage, state: Mapping[str, Any]) -> Pointer:
        payload = state["payload"]
        if not isinstance(payload, dict) or payload.keys() != {"pointer"}:
            raise DriftError(self._odd(stage, STATE, "`payload` must hold `pointer` and nothing else"))
        try:
            pointer = parse_pointer(payload["pointer"])
            good = pointer.stage == stage.name and json.loads(canonical_json(pointer.to_json())) == payload["pointer"]
        except (KeyError, TypeError, AttributeError, ValueError):
            good = False
        if not good:
            raise DriftError(self._odd(stage, STATE, f"`payload.pointer` is no pointer to a result of {stage.name}"))
        return pointer

    # --- what a checkpoint says ---

    def verified(self, read: Sequence[ReadCheckpoint], session: Session, prepared: Artifacts) -> list[Checkpoint]:
        """The checkpoints from the root on, each made again from the results it names and found equal.

        `prepared` are the inputs of the first stage. Raises: DriftError `stage_resume_invalid`; `build_cache_tampered`
        where a stored result is not as stored.
        """
        links: list[Checkpoint] = []
        for one in read:
            self._check_results(one, session.store)
            chain = session.chain
            made = documents(
                one.stage, chain.origin, links[-1] if links else prepared, chain.result(one.stage, one.pointer)
            )
            problems = [
                *(self._odd(one.stage, MANIFEST, text) for text in _differences("", one.manifest, made.manifest)),
                *(self._odd(one.stage, STATE, text) for text in _differences("", one.state, made.state)),
                *self._order_problems(one.stage, links, made.checkpoint),
            ]
            raise_all(DriftError, problems)
            changed = [name for name, data in made.files.items() if blake3_of(data) != one.digests[name]]
            raise_all(DriftError, [self._odd(one.stage, name, "has changed since it was written") for name in changed])
            links.append(made.checkpoint)
        return links

    def _check_results(self, one: ReadCheckpoint, store: Store) -> None:
        """The results a checkpoint names are there, of its stage, and shards and table belong together."""
        pointer = one.pointer
        problems: list[Problem] = []
        for shard in pointer.shards:
            entry = store.find(shard.fp)
            if entry is None:
                problems.append(self.problem(f"build/{shard.fp}", f"a shard of {one.stage.name} is gone"))
            elif entry.files.get(ROWS_FILE) != shard.digest or entry.key.get("stage") != one.stage.name:
                problems.append(
                    self._odd(one.stage, STATE, f"shard `{shard.label}` is not what build/{shard.fp} holds")
                )
        table = store.find(pointer.fp)
        if table is None:
            problems.append(self.problem(f"build/{pointer.fp}", f"the result of {one.stage.name} is gone"))
        elif table.record_digest != pointer.record_digest or not _is_made_of(table.key, one):
            problems.append(self._odd(one.stage, STATE, f"its shards are not those of build/{pointer.fp}"))
        raise_all(DriftError, problems)

    def _order_problems(self, stage: Stage, links: Sequence[Checkpoint], made: Checkpoint) -> Iterator[Problem]:
        """The tables up to replay carry the same tasks; a later stage keeps some of them, in their order."""
        before = links[-1].tasks.ids if links else []
        if not before:
            return
        same = made.tasks.ids == before
        if not same and (stage.name in _SAME_TASKS or not _is_part(made.tasks.ids, before)):
            yield self._odd(stage, MANIFEST, f"its tasks are not those of {links[-1].stage} in the same order")

    # --- telling ---

    def _odd(self, stage: Stage, name: str, message: str) -> Problem:
        return self.problem(f"{CHECKPOINTS}/{stage.name}/{name}", message)

    def problem(self, subject: str, message: str) -> Problem:
        """A refusal with the way back: a whole run writes the chain anew."""
        return Problem(
            code=CODE,
            subject=subject,
            message=message,
            fix=f"delete {directory(self._run)} and leave `skip_until=` out: that run takes what still holds from the "
            "store and writes the checkpoints again",
        )


def _is_made_of(key: Mapping[str, Any], one: ReadCheckpoint) -> bool:
    """Whether a table's key names this very stage and these very shards. Rule: `graph/keys.merge_key`."""
    ordered = [[shard.label, shard.digest] for shard in one.pointer.shards]
    return key.get("stage") == one.stage.name and key.get("inputs", {}).get("shards") == blake3_json(ordered)


def _is_identity(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"generation_config_hash", "pack_fingerprint", "endpoint", "pipeline"}
        and isinstance(value["pipeline"], dict)
        and value["pipeline"].keys() == {"source_hash", "dependency_lock_hash", "worker_image_digest"}
    )


def _is_part(some: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether `some` are elements of `whole` in the same order."""
    rest = iter(whole)
    return all(any(one == other for other in rest) for one in some)


def _differences(place: str, seen: Any, expected: Any) -> Iterator[str]:
    """Where two JSON values differ, object by object; lists and scalars are told whole."""
    if isinstance(seen, dict) and isinstance(expected, Mapping):
        for name in sorted(seen.keys() | expected.keys()):
            inner = f"{place}.{name}" if place else name
            if inner in ("checkpoint_id", "state"):
                # They follow from what is told already.
                continue
            if name not in seen:
                yield f"`{inner}` is missing"
            elif name not in expected:
                yield f"`{inner}` is not expected"
            else:
                yield from _differences(inner, seen[name], expected[name])
    elif canonical_text(seen) != canonical_text(expected):
        yield _differs(place, seen, expected)


def _differs(place: str, seen: Json, expected: Json) -> str:
    if isinstance(seen, list) and isinstance(expected, list | tuple):
        pairs = enumerate(zip(seen, expected, strict=False))
        at = next((number for number, (one, other) in pairs if one != other), min(len(seen), len(expected)))
        return f"`{place}` has {len(seen)} elements, expected {len(expected)}; they part at element {at + 1}"
    return f"`{place}` is {_shown(seen)}, expected {_shown(expected)}"


def _shown(value: Json) -> str:
    text = canonical_text(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
