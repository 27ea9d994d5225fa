"""The value at a path of an earlier answer, or the word and the sentence for why there is none."""

from __future__ import annotations

import pytest

from bfcl.oracle.result_path import Picked, pick


@pytest.mark.parametrize(
    ("answer", "path", "expected"),
    [
        ({"a": {"b": [1, {"c": False}]}}, ("a", "b", 1, "c"), Picked(False)),
        ({"a": {"0": "x"}}, ("a", 0), Picked("x")),
        ({"error": "text"}, ("error",), Picked("text")),
        (
            {"error": {"code": "gone"}, "a": 1},
            ("a",),
            Picked(None, "error_result", "call 1 answered an error, `gone`"),
        ),
        ({"a": [1]}, ("a", 1), Picked(None, "path_missing", "result of call 1.a has 1 elements, none at 1")),
        ({"a": [1]}, ("a", -1), Picked(None, "path_missing", "result of call 1.a has 1 elements, none at -1")),
        ({"a": 1}, ("b",), Picked(None, "path_missing", "result of call 1 has no `b`")),
        ({"a": [1]}, ("a", 0, "b"), Picked(None, "path_missing", "result of call 1.a[0] has no `b`")),
        (
            {"a": None},
            ("a",),
            Picked(None, "null_value", "result of call 1.a is null, expected text, number or boolean"),
        ),
        (
            {"a": [1]},
            ("a",),
            Picked(None, "not_a_scalar", "result of call 1.a is a list, expected text, number or boolean"),
        ),
        (
            {"a": {}},
            ("a",),
            Picked(None, "not_a_scalar", "result of call 1.a is an object, expected text, number or boolean"),
        ),
        (
            {"a": [{"b": 1}]},
            ("a", "b"),
            Picked(None, "name_on_a_list", "result of call 1.a is a list, which has no field `b`"),
        ),
    ],
)
def test_pick_finds_a_scalar_or_says_why_not(answer: object, path: tuple[str | int, ...], expected: Picked) -> None:
    assert pick([{}, answer], 1, path) == expected


@pytest.mark.parametrize("call", [-1, 1])
def test_pick_finds_nothing_of_a_call_that_did_not_answer(call: int) -> None:
    assert pick([{"a": 1}], call, ("a",)) == Picked(None, "call_did_not_finish", f"call {call} has not run before it")
