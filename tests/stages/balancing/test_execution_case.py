"""Digests of what a task does and of what it exercises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bfcl.records.ids import TaskId
from bfcl.records.plan import Outline, Step
from bfcl.records.task import SlotDelivery
from bfcl.stages.balancing.execution_case import capability_signature, confirmed_call_turns, execution_case
from tests.packs import ALL_POLICIES
from tests.stages.studio import studio

STUDIO = studio()
TASK, OUTLINE = STUDIO.tasks("cone_corrected")[0], STUDIO.outline("cone_corrected")


def test_execution_case_and_capability_are_pinned() -> None:
    assert execution_case(TASK, OUTLINE) == "a92bae47fcbd0b9d14bc30fc7f47f7bb423a4f6d03589daec4c9e5fc734ff928"
    assert capability_signature(TASK) == "95aadcbafd2a2f521985794c1b40b53f48db5919f68e44fef36ee400d6dbe32b"


@pytest.mark.parametrize(
    "fields",
    [
        {"intent": "other"},
        {"category": "other"},
        {"slots_initial": {"cone": 1}},
        {"slots": {"cone": 1}},
        {"slot_updates": (SlotDelivery(entry_index=0, values={}, aliases={}),)},
        {"fixture_refs": ()},
        {"required_tools": ()},
        {"tools_present": ()},
        {"success_assertions": ("other",)},
        {"turn_policy": "confirmation"},
        {"call_order": "any"},
        {"call_order_prefix": 1},
        {"edge_signatures": ("rare",)},
    ],
)
def test_execution_case_differs_with_each_field_that_counts(fields: dict[str, Any]) -> None:
    assert execution_case(replace(TASK, **fields), OUTLINE) != execution_case(TASK, OUTLINE)


def test_execution_case_is_shared_by_variants_of_one_task() -> None:
    variant = replace(TASK, task_id=TaskId("other"), variant_index=3, seed=5, difficulty="hard", template_id="other")
    assert execution_case(variant, OUTLINE) == execution_case(TASK, OUTLINE)


def test_execution_case_differs_with_the_conversation() -> None:
    for changed in (
        replace(OUTLINE, confirmed_groups=frozenset()),
        replace(OUTLINE, has_user_confirmation=not OUTLINE.has_user_confirmation),
        replace(OUTLINE, steps=(*OUTLINE.steps, Step(kind="calls", call_group=9, tools=("t",)))),
    ):
        assert execution_case(TASK, changed) != execution_case(TASK, OUTLINE)


@pytest.mark.parametrize(
    ("fields", "same"),
    [
        ({"required_tools": TASK.required_tools[::-1], "tools_present": TASK.tools_present[::-1]}, True),
        ({"slots": {}, "turn_policy": "confirmation", "category": "other", "edge_signatures": ("rare",)}, True),
        ({"required_tools": ()}, False),
        ({"tools_present": ()}, False),
        ({"success_assertions": ("other",)}, False),
        ({"mutates": not TASK.mutates}, False),
        ({"call_order": "any"}, False),
        ({"call_order_prefix": 1}, False),
    ],
)
def test_capability_is_of_tools_assertions_mutation_and_order(fields: dict[str, Any], same: bool) -> None:
    assert (capability_signature(replace(TASK, **fields)) == capability_signature(TASK)) is same


def _outline(*kinds: str, confirmed: set[int]) -> Outline:
    groups = iter(range(9))
    steps = tuple(
        Step(kind="calls", call_group=next(groups), tools=("t",)) if kind == "calls" else Step(kind=kind)  # type: ignore[arg-type]
        for kind in kinds
    )
    return replace(OUTLINE, steps=steps, confirmed_groups=frozenset(confirmed))


def test_confirmed_call_turns_count_assistant_messages() -> None:
    kinds = ("user", "calls", "text", "user", "calls", "calls", "text")
    assert confirmed_call_turns(_outline(*kinds, confirmed=set())) == ()
    assert confirmed_call_turns(_outline(*kinds, confirmed={1})) == (2,)
    assert confirmed_call_turns(_outline(*kinds, confirmed={0, 2})) == (0, 3)


@pytest.mark.parametrize("template_id", ALL_POLICIES)
def test_confirmed_call_turns_are_there_for_each_covered_group(template_id: str) -> None:
    outline = STUDIO.outline(template_id)
    turns = confirmed_call_turns(outline)
    assert len(turns) == len(outline.confirmed_groups)
    assistant = [step for step in outline.steps if step.kind != "user"]
    assert {assistant[turn].call_group for turn in turns} == outline.confirmed_groups
