"""Which id and which seed does a task have? Rule: generation.md §3.9.

The id does not depend on the run's seed, and the task's seed does; both follow from what the task binds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_bytes, sha256_hex
from bfcl.records.ids import TaskId, TemplateId
from bfcl.records.task import Task

_ID_DIGITS = 16
_SEED_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIdentity:
    """What makes a task this one. `bindings` maps a slot, or `<slot>@correction<entry>`, to its value."""

    pack_id: str
    pack_version: str
    template_id: TemplateId
    fixture_refs: Sequence[str]
    """Sorted."""
    bindings: Mapping[str, Json]
    variant_index: int = 0

    @property
    def task_id(self) -> TaskId:
        digest = sha256_hex(canonical_json(self._plain()))
        return TaskId(f"{self.pack_id}__{self.template_id}__{digest[:_ID_DIGITS]}")

    def seed(self, global_seed: int) -> int:
        """The task's own seed in a run of this seed: an unsigned number of 64 bits."""
        digest = sha256_bytes(canonical_json({**self._plain(), "global_seed": global_seed}))
        return int.from_bytes(digest[:_SEED_BYTES])

    def _plain(self) -> dict[str, Json]:
        return {
            "pack_id": self.pack_id,
            "pack_version": self.pack_version,
            "template_id": self.template_id,
            "fixture_refs": self.fixture_refs,
            "slot_bindings": self.bindings,
            "variant_index": self.variant_index,
        }


def bound_at(slot: str, entry_index: int) -> str:
    """The name under which a correction binds a slot."""
    return f"{slot}@correction{entry_index}"


def identity_of(task: Task) -> TaskIdentity:
    """The identity that an expanded task was given."""
    corrected = {
        bound_at(slot, update.entry_index): value
        for update in task.slot_updates
        for slot, value in update.values.items()
    }
    return TaskIdentity(
        pack_id=task.pack_id,
        pack_version=task.pack_version,
        template_id=task.template_id,
        fixture_refs=task.fixture_refs,
        bindings={**task.slots_initial, **corrected},
        variant_index=task.variant_index,
    )
