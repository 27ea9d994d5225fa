"""What follows from a candidate's fields."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bfcl.records.ids import TaskId, TemplateId
from bfcl.stages.balancing.candidate import Candidate, lot

CANDIDATE = Candidate(
    task_id=TaskId("kiln_studio__fire__00"),
    template_id=TemplateId("fire"),
    language="en",
    source="template",
    intent="fire",
    category="firings",
    difficulty="easy",
    turn_policy="confirmation",
    edge_signatures=("late", "rare"),
    required_tools=("start",),
    tools_present=("look", "start"),
    num_turns=1,
    num_tool_calls=0,
    text_hash="00",
    capability_signature="11",
    execution_case="22",
    judge_error=False,
    advisory_failures=0,
    failed_checks=0,
)


def test_turn_class_is_multi_from_two_user_turns_on() -> None:
    assert [replace(CANDIDATE, num_turns=turns).turn_class for turns in (1, 2, 5)] == [
        "single_turn",
        "multi_turn",
        "multi_turn",
    ]


@pytest.mark.parametrize(("calls", "bucket"), [(0, "0"), (1, "1"), (2, "2"), (3, "3+"), (9, "3+")])
def test_tool_call_bucket_ends_open(calls: int, bucket: str) -> None:
    assert replace(CANDIDATE, num_tool_calls=calls).tool_call_bucket == bucket


def test_coverage_bucket_is_language_policy_and_edges() -> None:
    assert CANDIDATE.coverage_bucket == ("en", "confirmation", ("late", "rare"))


def test_lot_is_pinned_and_hangs_on_seed_and_id() -> None:
    assert lot(7, CANDIDATE.task_id) == "8239664ea8420258649fd7aba6e234a9fad6f5d2d49c994dedace695f3cd7d57"
    assert len({lot(seed, TaskId(name)) for seed in (0, 1) for name in ("a", "b")}) == 4
