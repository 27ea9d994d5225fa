"""Values of later calls are read from the results that were given back."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.scripted.live_values import as_lived
from tests.evaluate.scripted.rows import answer, conversation, dependent_row
from tests.exports.staged import decoded

ROW = dependent_row()
SCRIPT = read_script(decoded(ROW))


def last_arguments(*results: Json, until: int = 7) -> Mapping[str, Json]:
    """What the last call is made with after these results of the first two."""
    sent = conversation(ROW, until)
    for place, result in enumerate(results, 3):
        text = result if isinstance(result, str) else canonical_text(result)
        sent[place] = answer(sent[place], str(sent[place]["tool_call_id"]), text)
    return as_lived(SCRIPT, sent).gold_calls[2].arguments


def test_recorded_results_leave_the_script_as_it_is() -> None:
    assert as_lived(SCRIPT, conversation(ROW, 7)) == SCRIPT


def test_value_is_read_from_the_same_place_of_another_result() -> None:
    assert last_arguments({"next": {"valve": "V-5", "bar": 7}}) == {"bar": 7, "valve": "V-5"}


def test_value_in_a_list_is_read_by_its_index() -> None:
    assert last_arguments({"next": {"valve": "V-9", "bar": 7}}, {"items": [{"bar": 8}]}) == {"bar": 8, "valve": "V-9"}


def test_results_that_disagree_leave_the_recorded_value() -> None:
    disagreeing: list[Json] = [{"next": {"valve": "V-9", "bar": 5}}, {"items": [{"bar": 6}]}]
    assert last_arguments(*disagreeing) == {"bar": 7, "valve": "V-9"}


def test_place_that_is_gone_or_of_another_type_leaves_the_recorded_value() -> None:
    others: list[Json] = [{"next": {}}, {"next": {"valve": 5, "bar": True}}, "gone", {"next": {"valve": None}}]
    for result in others:
        assert last_arguments(result, {"items": []}) == {"bar": 7, "valve": "V-9"}


def test_calls_of_turns_without_results_are_left_alone() -> None:
    assert as_lived(SCRIPT, conversation(ROW, 2)) == SCRIPT
