"""One record of the bundle: what a model is given, what is replayed to it, and what the record tells back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from bfcl.exports.bundle_record import dataset_record, read_truth
from bfcl.exports.exact import exact_digest
from bfcl.exports.format import TRUTH_FIELDS, truth_of
from tests.exports.staged import decoded, plain_row, row


def record(of: Any = None) -> Any:
    return copy.deepcopy(dataset_record(decoded(of or row())))


def test_seed_is_the_system_prompt_and_the_first_user_turn() -> None:
    assert record()["seed_messages"] == (
        {"role": "system", "content": "You operate the valves."},
        {"role": "user", "content": "Check V-1, then set it to 1 bär."},
    )


def test_steps_release_a_user_turn_and_its_results_at_a_time() -> None:
    first, second = record()["replay_steps"]
    assert (first["user_turn_index"], first["expected_call_indexes"]) == (0, [0, 1])
    assert [message["content"] for message in first["reference_assistant_messages"]] == [None, "Set V-1 to 1?"]
    assert [message["tool_call_id"] for message in first["tool_results"]] == ["call_0", "call_1"]
    assert second["user_message"] == {"role": "user", "content": "Yes."}
    assert (second["user_turn_index"], second["expected_call_indexes"]) == (1, [2])
    assert record(plain_row())["replay_steps"][0]["expected_call_indexes"] == []


@pytest.mark.parametrize("of", [row(), plain_row()])
def test_record_tells_the_truth_of_its_row(of: Any) -> None:
    told, wanted = read_truth(record(of)), truth_of(decoded(of))
    for field in TRUTH_FIELDS:
        assert exact_digest(getattr(told, field)) == exact_digest(getattr(wanted, field))


def _say(path: list[str | int], value: object) -> Callable[[Any], None]:
    def edit(told: Any) -> None:
        for step in path[:-1]:
            told = told[step]
        told[path[-1]] = value

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        _say(["seed_messages", 1, "content"], "Other."),
        _say(["replay_steps", 1, "user_message", "content"], "No."),
        _say(["replay_steps", 0, "tool_results"], []),
        _say(["replay_steps", 0, "reference_assistant_messages", 1, "content"], "Other."),
        _say(["replay_steps", 1, "tool_results", 0, "content"], "{}"),
        lambda told: told["replay_steps"].pop(),
        lambda told: told["replay_steps"][0]["tool_results"].reverse(),
    ],
)
def test_messages_come_back_as_null_where_seed_or_steps_tell_others(edit: Callable[[Any], None]) -> None:
    told = record()
    told["seed_messages"] = list(told["seed_messages"])
    edit(told)
    # The records share message objects with the trace; an edit of one place must stay in that place.
    told["reference_trace"] = copy.deepcopy(decoded(row()).messages)
    assert read_truth(told).messages is None
