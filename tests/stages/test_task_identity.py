"""Ids and seeds of tasks."""

from __future__ import annotations

import dataclasses

from bfcl.records.ids import TemplateId
from bfcl.records.task import SlotDelivery
from bfcl.stages.task_identity import TaskIdentity, bound_at, identity_of
from tests.release.samples import task


def identity(**edits: object) -> TaskIdentity:
    given = TaskIdentity(
        pack_id="plant", pack_version="1.0", template_id=TemplateId("t"), fixture_refs=("r",), bindings={"a": 1}
    )
    return dataclasses.replace(given, **edits)  # type: ignore[arg-type]


def test_id_and_seed_are_pinned() -> None:
    assert identity().task_id == "plant__t__bd5587683fd57719"
    assert identity().seed(7) == 17657677566635238807


def test_id_does_not_depend_on_the_seed_of_the_run_and_the_seed_does() -> None:
    assert identity().seed(7) != identity().seed(8)
    others = [
        identity(bindings={"a": 2}),
        identity(variant_index=1),
        identity(fixture_refs=()),
        identity(pack_version="2"),
    ]
    assert len({each.task_id for each in [identity(), *others]}) == 5
    assert len({each.seed(7) for each in [identity(), *others]}) == 5


def test_corrections_of_a_task_are_bound_under_their_entry() -> None:
    update = SlotDelivery(entry_index=2, values={"bar": 9}, aliases={})
    corrected = dataclasses.replace(task(), slot_updates=(update,))
    assert identity_of(corrected).bindings == {**task().slots_initial, bound_at("bar", 2): 9}
    assert bound_at("bar", 2) == "bar@correction2"
