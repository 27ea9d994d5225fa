"""Calls held side by side, argument by argument."""

from __future__ import annotations

from bfcl.canonical import Json
from bfcl.evaluate.after.call_diff import call_diffs
from tests.evaluate.driven import Answer, answering, calls, one_group, play, wire_call
from tests.evaluate.score.episodes import ANSWERS, READ_1


def told(answer: Answer) -> list[Json]:
    of = one_group()
    evidence = play(of, answering(of, {0: answer}))
    return [one.to_json() for one in call_diffs(evidence.turns[0])]


FITS: Json = {
    "expected_tool": "read_valve",
    "actual_tool": "read_valve",
    "fits": True,
    "arguments": [{"name": "valve", "verdict": "fits", "expected": "V-1", "actual": "V-1"}],
    "schema_reasons": [],
    "unreadable_arguments": None,
}
MISSING: Json = {
    "expected_tool": "read_valve",
    "actual_tool": None,
    "fits": False,
    "arguments": [{"name": "valve", "verdict": "missing", "expected": "V-0"}],
    "schema_reasons": [],
    "unreadable_arguments": None,
}


def test_call_diffs_show_a_wrong_value_on_both_sides() -> None:
    assert told(ANSWERS["wrong_value"]) == [
        FITS,
        {
            "expected_tool": "read_valve",
            "actual_tool": "read_valve",
            "fits": False,
            "arguments": [{"name": "valve", "verdict": "differs", "expected": "V-0", "actual": "V-9"}],
            "schema_reasons": [],
            "unreadable_arguments": None,
        },
    ]


def test_call_diffs_put_calls_nobody_expected_last() -> None:
    answer = calls(READ_1, wire_call("open_hatch", {"wide": True}, call_id="b"))
    assert told(answer) == [
        FITS,
        MISSING,
        {
            "expected_tool": None,
            "actual_tool": "open_hatch",
            "fits": False,
            "arguments": [{"name": "wide", "verdict": "unexpected", "actual": True}],
            "schema_reasons": ["undeclared_tool"],
            "unreadable_arguments": None,
        },
    ]


def test_call_diffs_keep_arguments_that_are_no_object_as_sent() -> None:
    (_, found) = told(ANSWERS["unparseable"])
    assert found == {
        "expected_tool": "read_valve",
        "actual_tool": "read_valve",
        "fits": False,
        "arguments": [{"name": "valve", "verdict": "missing", "expected": "V-0"}],
        "schema_reasons": ["invalid_arguments"],
        "unreadable_arguments": "{V-0",
    }


def test_call_diffs_show_what_was_expected_when_nothing_came() -> None:
    assert [one["actual_tool"] for one in told("retry_exhausted") if isinstance(one, dict)] == [None, None]
