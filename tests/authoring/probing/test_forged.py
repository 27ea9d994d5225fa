"""Mutants that forge an answer or the final state."""

from __future__ import annotations

import json

import pytest

from bfcl.authoring.probing.forged import forged
from tests.packs import put


@pytest.mark.parametrize("template_id", ["kiln_status", "kiln_and_firing", "start_confirmed", "out_of_scope"])
def test_calls_stay_and_either_an_answer_or_the_state_is_another(play, template_id):
    expected, values, _ = play(template_id)
    for mutant in forged(expected, values):
        trace = json.loads(mutant.given.trace)
        assert mutant.calls is None
        assert [call["tool"] for call in trace] == [call.tool for call in expected.episode.calls]
        assert [call["arguments"] for call in trace] == [call.arguments for call in expected.episode.calls]
        answers = [call["result"] for call in trace] != list(expected.results)
        assert answers != (mutant.given.state != expected.after)


def test_answer_has_elements_left_out_added_and_swapped(play):
    many = put("fixtures.json", ("kilns", 0, "recent_firings"), ["F-11", "F-10", "F-12", "F-13"])
    expected, values, _ = play("kiln_status", many)
    found = {
        (mutant.kind, tuple(json.loads(mutant.given.trace)[0]["result"]["kiln"]["recent_firings"]))
        for mutant in forged(expected, values)
        if mutant.kind in ("drop_element", "add_element", "reorder_list")
    }
    assert found == {
        ("drop_element", ("F-10", "F-12", "F-13")),
        ("drop_element", ("F-11", "F-10", "F-13")),
        ("drop_element", ("F-11", "F-10", "F-12")),
        ("add_element", ("F-11", "F-10", "F-12", "F-13", "F-12")),
        ("reorder_list", ("F-10", "F-11", "F-12", "F-13")),
    }


def test_state_that_grew_has_elements_left_out_and_added_but_is_not_reordered(play):
    expected, values, _ = play("start_confirmed")
    mutants = [one for one in forged(expected, values) if one.call is None]
    recent = [(one.kind, json.loads(one.given.state)["kilns"]["K-1"]["recent_firings"]) for one in mutants]
    assert [pair for pair in recent if pair[0] in ("drop_element", "add_element", "reorder_list")] == [
        ("drop_element", ["F-14"]),
        ("add_element", ["F-14", "F-11", "F-10"]),
    ]
    assert len({one.given.state for one in mutants}) == len(mutants)


def test_refusal_that_is_expected_becomes_an_empty_answer(play):
    expected, values, _ = play("kiln_unknown", templates=("kiln_unknown",))
    (refused,) = [one for one in forged(expected, values) if one.kind == "refuse_result"]
    assert json.loads(refused.given.trace)[0]["result"] == {}
    assert refused.what == "call 0 `get_kiln` answers {}"
