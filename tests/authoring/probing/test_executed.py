"""Mutants that consist of calls."""

from __future__ import annotations

from bfcl.authoring.probing.executed import executed
from tests.packs import put_template


def told(played, kind):
    expected, values, setup = played
    return [
        (mutant.what, [call.tool for call in mutant.calls], mutant.look_at)
        for mutant in executed(expected, setup.catalog, values)
        if mutant.kind == kind
    ]


def test_every_call_is_left_out_and_made_twice(play):
    played = play("kiln_and_firing")
    assert told(played, "drop_call") == [
        ("call 0 `get_kiln` is left out", ["get_firing"], "how often `get_kiln` is called (expected: once)"),
        ("call 1 `get_firing` is left out", ["get_kiln"], "how often `get_firing` is called (expected: once)"),
    ]
    assert [calls for _, calls, _ in told(played, "repeat_call")] == [
        ["get_kiln", "get_kiln", "get_firing"],
        ["get_kiln", "get_firing", "get_firing"],
    ]


def test_calls_are_swapped_only_where_their_order_counts(play):
    assert told(play("kiln_and_firing"), "reorder_calls") == []
    strict = play("kiln_and_firing", put_template("kiln_and_firing", ("call_order",), "strict"))
    assert told(strict, "reorder_calls") == [
        (
            "call 1 `get_firing` before call 0 `get_kiln`",
            ["get_firing", "get_kiln"],
            "that call 0 `get_kiln` comes before call 1 `get_firing`",
        )
    ]


def test_task_without_calls_is_given_one_of_every_tool(play):
    assert [calls for _, calls, _ in told(play("out_of_scope"), "extra_call")] == [
        ["get_kiln"],
        ["get_firing"],
        ["start_firing"],
    ]


def test_no_mutant_is_the_expected_conversation(play):
    expected, values, setup = play("start_confirmed")
    mutants = list(executed(expected, setup.catalog, values))
    assert {mutant.kind for mutant in mutants} == {"drop_call", "repeat_call", "change_argument", "extra_call"}
    assert all(mutant.given is None and mutant.calls != expected.episode.calls for mutant in mutants)
