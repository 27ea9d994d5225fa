"""What a scripted candidate says where nothing is changed: the script itself."""

from __future__ import annotations

import pytest

from bfcl.evaluate.scripted.said import Made, Said, as_expected, expected, gold_play, made
from tests.evaluate.driven import gold, script

CALL = Made(name="set", arguments="{}")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (Said(content="Done."), "stop"),
        (Said(), "stop"),
        (Said(calls=(CALL,)), "tool_calls"),
        (Said(calls=(CALL,), cut=True), "length"),
        (Said(content="Do", cut=True), "length"),
    ],
)
def test_reply_says_why_it_ended(said: Said, reason: str) -> None:
    assert said.finish_reason == reason


def test_call_has_its_arguments_as_canonical_text_and_an_id_of_its_own() -> None:
    assert made("set", {"b": 1, "a": "ố"}) == Made(name="set", arguments='{"a":"ố","b":1}', id="own")
    assert expected(gold("set", a=1)) == Made(name="set", arguments='{"a":1}')


def test_gold_play_is_every_turn_as_its_script_asks_for_it() -> None:
    play = gold_play(script())
    assert play == tuple(map(as_expected, script().turns))
    assert [(len(said.calls), said.content) for said in play] == [
        (len(turn.calls), turn.text) for turn in script().turns
    ]
