"""Each departure fails exactly the gates that the rules name, by the real driver and scorer. Rule: §9."""

from __future__ import annotations

import json

import pytest

from bfcl.evaluate.scripted import departures
from bfcl.evaluate.scripted.departures import Departure
from bfcl.evaluate.scripted.said import Said, gold_play
from tests.evaluate import driven
from tests.evaluate.scripted.plays import READ, SET, outcome, read, script, set_, wire

MISMATCH = "candidate_mismatch"
T = "trace_completion"
GROUP = script([read("V-1"), read("V-2"), set_()], "Done.")
ONE = script([set_()], "Done.")
SILENT = script("I cannot help with that.")
CONFIRMED = script(("Shall I?", "Yes."), [set_(confirm=True)], "Done.")

SIGNATURES: list[tuple[Departure, str, list[str]]] = [
    (departures.silent, MISMATCH, ["tool_selection", "arguments", "call_grouping", T]),
    (departures.wrong_tool, MISMATCH, ["tool_selection", "arguments", T]),
    (departures.undeclared_tool, MISMATCH, ["tool_selection", "arguments", "schema_valid", T]),
    (departures.wrong_value, MISMATCH, ["arguments", T]),
    (departures.number_as_text, MISMATCH, ["arguments", "schema_valid", T]),
    (departures.omitted_required_default, MISMATCH, ["arguments", "schema_valid", T]),
    (departures.explicit_default, "completed", []),
    (departures.unconstrained_value, "completed", []),
    (departures.extra_call, MISMATCH, ["tool_selection", "call_grouping", T]),
    (departures.missing_call, MISMATCH, ["tool_selection", "arguments", "call_grouping", T]),
    (departures.invalid_json, MISMATCH, ["arguments", "schema_valid", T]),
    (departures.arguments_object, MISMATCH, ["arguments", "schema_valid", T]),
    (departures.missing_ids, "unusable_tool_call_ids", [T]),
    (departures.truncated, MISMATCH, [T]),
    (departures.call_on_text_turn, MISMATCH, ["tool_selection", "text_turn", T]),
    (departures.blank_text, MISMATCH, ["text_turn", T]),
]


def name(departure: object) -> str:
    return getattr(departure, "__name__", "")


@pytest.mark.parametrize(("departure", "status", "gates"), SIGNATURES, ids=name)
def test_departure_fails_its_gates_on_a_group(departure: Departure, status: str, gates: list[str]) -> None:
    play = departure(GROUP)
    assert play is not None
    assert outcome(GROUP, play) == (status, gates)


@pytest.mark.parametrize(("departure", "status", "gates"), SIGNATURES, ids=name)
def test_departure_fails_its_gates_on_one_call(departure: Departure, status: str, gates: list[str]) -> None:
    play = departure(ONE)
    assert play is not None
    assert outcome(ONE, play) == (status, gates)


def test_gold_play_completes() -> None:
    for of in (GROUP, ONE, SILENT, CONFIRMED):
        assert outcome(of, gold_play(of)) == ("completed", [])


def test_permuted_group_fails_by_its_order_policy_alone() -> None:
    strict, free = (script([read("V-1"), read("V-2")], "Done.", order=order) for order in ("strict", "any"))
    for of, ended in ((strict, (MISMATCH, ["call_ordering", T])), (free, ("completed", []))):
        play = departures.permuted(of)
        assert play is not None
        assert outcome(of, play) == ended


@pytest.mark.parametrize("departure", [departures.permuted, departures.split_group, departures.duplicate_ids], ids=name)
def test_departure_of_groups_leaves_one_call_alone(departure: Departure) -> None:
    assert departure(ONE) is None


def test_permuted_leaves_a_group_of_equal_calls_alone() -> None:
    assert departures.permuted(script([read(), read()], "Done.")) is None


def test_split_group_makes_two_turns_and_stops_at_the_first() -> None:
    play = departures.split_group(GROUP)
    assert play is not None
    assert [len(said.calls) for said in play] == [1, 2, 0]
    assert outcome(GROUP, play) == (MISMATCH, ["tool_selection", "arguments", "call_grouping", T])


def test_duplicate_ids_end_a_turn_that_is_right_otherwise() -> None:
    play = departures.duplicate_ids(GROUP)
    assert play is not None
    calls = wire(play, 0)["tool_calls"]
    assert isinstance(calls, list)
    assert len({call["id"] for call in calls}) == 1
    assert outcome(GROUP, play) == ("unusable_tool_call_ids", [T])


def test_early_confirmation_makes_the_confirmed_call_instead_of_asking() -> None:
    play = departures.early_confirmation(CONFIRMED)
    assert play is not None
    assert play[0] == play[1] == gold_play(CONFIRMED)[1]
    assert outcome(CONFIRMED, play) == (MISMATCH, ["tool_selection", "arguments", "text_turn", T])


def test_early_confirmation_needs_a_call_that_confirms() -> None:
    assert departures.early_confirmation(script(("Which?", "V-1."), [set_()], "Done.")) is None
    assert departures.early_confirmation(GROUP) is None


@pytest.mark.parametrize(
    "departure",
    [one for one, _, _ in SIGNATURES if one not in (departures.silent, departures.truncated)][:-2],
    ids=name,
)
def test_departure_of_calls_leaves_a_script_without_any_alone(departure: Departure) -> None:
    assert departure(SILENT) is None


def test_silent_truncated_blank_and_calling_fail_a_script_of_words() -> None:
    expected = {
        departures.silent: ["text_turn", T],
        departures.truncated: [T],
        departures.blank_text: ["text_turn", T],
        departures.call_on_text_turn: ["tool_selection", "text_turn", T],
    }
    for departure, gates in expected.items():
        play = departure(SILENT)
        assert play is not None
        assert outcome(SILENT, play) == (MISMATCH, gates)


def test_departure_is_made_at_the_first_turn_with_room() -> None:
    of = script([read()], ("And?", "Set it."), [set_()], "Done.")
    play = departures.number_as_text(of)
    assert play is not None
    assert [play[turn] == gold_play(of)[turn] for turn in range(4)] == [True, True, False, True]


def test_wrong_value_keeps_clear_of_the_other_calls_of_its_group() -> None:
    of = script([read("V-1"), read("V-2")], "Done.")
    play = departures.wrong_value(of)
    assert play is not None
    assert play[0].calls[0].arguments == '{"valve":"V-11"}'
    assert outcome(of, play) == (MISMATCH, ["arguments", T])


def test_wrong_value_never_takes_a_truth_value_where_another_will_do() -> None:
    play = departures.wrong_value(script([set_(confirm=True)], "Done."))
    assert play is not None
    assert json.loads(str(play[0].calls[0].arguments))["confirm"] is True


def test_wrong_tool_is_one_never_asked_for_where_there_is_any() -> None:
    wrong = departures.wrong_tool(script([read()], ("And?", "Set it."), [set_()], "Done."))
    assert wrong is not None
    assert wrong[0].calls[0].name == "list_alarms"
    later = departures.wrong_tool(script([read()], ("And?", "Set it."), [set_()], "Done.", tools=[READ, SET]))
    assert later is not None
    assert later[0].calls[0].name == "set_valve"


def test_wrong_tool_needs_a_second_tool() -> None:
    assert departures.wrong_tool(script([read()], "Done.", tools=[READ])) is None


def test_undeclared_tool_is_not_declared_by_chance() -> None:
    taken = driven.tool("read_valve_undeclared", {"type": "object"})
    play = departures.undeclared_tool(script([read()], "Done.", tools=[READ, taken]))
    assert play is not None
    assert play[0].calls[0].name == "read_valve_undeclared_undeclared"


def test_missing_call_of_one_is_words() -> None:
    play = departures.missing_call(ONE)
    assert play is not None
    assert play[0] == Said(content="I will leave it at that.")
