"""How a score reads as a row of the table: which flag mirrors what, in both modes."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.evaluate.records import TaskScore
from bfcl.evaluate.score.result_rows import result_row
from bfcl.tables.task_results import FLAGS
from tests.evaluate.driven import script
from tests.evaluate.score.episodes import ANSWERS, Told, assertions, executed, scored, traced


def flags(score: TaskScore) -> dict[str, bool | None]:
    row: dict[str, Any] = dict(result_row(score, "source:model@pin"))
    return {name: row[name] for name in FLAGS}


def test_row_tells_who_what_and_every_failure() -> None:
    row = result_row(scored(traced({0: ANSWERS["permuted"]})), "source:model@pin")
    assert (row["candidate_alias"], row["candidate_canonical_id"], row["mode"]) == (
        "small",
        "source:model@pin",
        "trace",
    )
    assert (row["episode_status"], row["non_candidate_stop"], row["task_success"]) == (
        "candidate_mismatch",
        False,
        False,
    )
    assert row["failure_codes"] == [
        "episode.candidate_mismatch",
        "call_ordering.mismatch",
        "trace_completion.mismatch",
    ]
    assert [one["code"] for one in row["failure_records"]] == row["failure_codes"]
    assert row["failure_records"][1] == {
        "layer": "gate",
        "code": "call_ordering.mismatch",
        "attribution": "candidate",
        "subject": "call_ordering",
    }


def test_trace_flags_mirror_gates_and_the_last_four_are_null() -> None:
    assert flags(scored(traced({0: ANSWERS["too_many"]}))) == {
        "schema_valid": True,
        "tool_name_correct": False,
        "arguments_correct": True,
        "call_group_correct": False,
        "call_order_correct": True,
        "required_subset_correct": False,
        "milestones_correct": None,
        "execution_success": None,
        "assertions_passed": None,
        "final_answer_passed": None,
    }


def test_executable_flags_hold_names_and_milestones_to_their_counts() -> None:
    told = Told(closing=assertions("passed", ("final_answer", "failed")))
    # A call too many fails the selection and leaves every gold call named.
    assert flags(scored(executed({0: ANSWERS["too_many"]}, told))) == {
        "schema_valid": True,
        "tool_name_correct": True,
        "arguments_correct": True,
        "call_group_correct": False,
        "call_order_correct": True,
        "required_subset_correct": False,
        "milestones_correct": False,
        "execution_success": True,
        "assertions_passed": False,
        "final_answer_passed": False,
    }


@pytest.mark.parametrize("passes", [True, False])
def test_executable_flags_of_a_good_episode_are_true_or_null(passes: bool) -> None:
    of = script()
    closing = assertions("passed", ("final_answer", "passed")) if passes else {}
    found = flags(scored(executed(told=Told(closing=closing), of=of), of=of))
    open_ = {name for name, flag in found.items() if flag is None}
    assert open_ == (set() if passes else {"assertions_passed", "final_answer_passed"})
    assert all(found[name] for name in found if name not in open_)
