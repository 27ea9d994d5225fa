"""Who ended an episode, which calls a script expects, and when a call is matched in full."""

from __future__ import annotations

from typing import get_args

import pytest

from bfcl.evaluate.records import CANDIDATE_STATUSES, GATES, TRACE_GATES, CallMatch, EpisodeStatus, attribution
from tests.evaluate.driven import script

STATUSES: tuple[EpisodeStatus, ...] = get_args(EpisodeStatus)


@pytest.mark.parametrize("status", STATUSES)
def test_every_episode_was_ended_by_its_success_the_candidate_or_infrastructure(status: EpisodeStatus) -> None:
    by_candidate = status in CANDIDATE_STATUSES
    wanted = "success" if status == "completed" else "candidate" if by_candidate else "infrastructure"
    assert attribution(status) == wanted


def test_statuses_of_a_candidate_are_statuses() -> None:
    assert set(STATUSES) > CANDIDATE_STATUSES
    assert "completed" not in CANDIDATE_STATUSES


def test_gold_calls_are_those_of_all_turns_in_order() -> None:
    assert [call.index for call in script().gold_calls] == [0, 1, 2]
    assert script().gold_calls == tuple(call for turn in script().turns for call in turn.calls)


@pytest.mark.parametrize(
    ("gold_index", "name", "arguments", "full"),
    [(0, True, True, True), (None, True, True, False), (0, False, True, False), (0, True, False, False)],
)
def test_call_is_matched_in_full_where_it_claims_a_call_by_name_and_arguments(
    gold_index: int | None, name: bool, arguments: bool, full: bool
) -> None:
    match = CallMatch(
        call_index=0, gold_index=gold_index, name_matches=name, arguments_match=arguments, schema_reasons=()
    )
    assert match.full is full


def test_trace_gates_come_first_among_all_gates() -> None:
    assert len(set(GATES)) == len(GATES) == 12
    assert GATES[: len(TRACE_GATES)] == TRACE_GATES
    assert TRACE_GATES[-1] == "trace_completion"
