"""Near misses: what one mend makes a turn pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bfcl.canonical import Json
from bfcl.evaluate.after.near_miss import NearMiss, near_miss
from bfcl.evaluate.records import Script, ScriptTurn
from tests.evaluate.driven import SCORING, Message, answering, calls, gold, one_group, play, tool, wire_call, words
from tests.evaluate.score.episodes import ANSWERS

GLAZE = tool(
    "glaze",
    {
        "type": "object",
        "properties": {
            "colour": {"type": "string"},
            "coats": {"type": "integer"},
            "mix": {"type": "object"},
            "gloss": {"type": "string", "default": "matt"},
        },
        "required": ["colour", "gloss"],
    },
)


def script(**arguments: Json) -> Script:
    """One call of `glaze`, then a last answer."""
    whole = one_group()
    call = gold("glaze", colour="Red Ochre", coats=2, **{"gloss": "matt", **arguments})
    turn = ScriptTurn(index=0, calls=(call,), text=None, user_after=None, terminal=False)
    return replace(whole, tools=(GLAZE,), turns=(turn, whole.turns[-1]))


def tag(of: Script, answer: Message) -> NearMiss | None:
    evidence = play(of, answering(of, {0: answer}))
    return near_miss(of, evidence.turns[0], SCORING)


def glazed(**arguments: Json) -> Message:
    return calls(wire_call("glaze", {"colour": "Red Ochre", "coats": 2, "gloss": "matt", **arguments}))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (glazed(coats="2"), "numeric_type_only"),
        (glazed(coats=2.0), "numeric_type_only"),
        (glazed(coats=" 2.00 "), "numeric_type_only"),
        (glazed(coats=3), None),
        (glazed(coats=True), None),
        (glazed(colour="red  ochre "), "case_or_space_only"),
        (glazed(colour="red ochre", coats="2"), None),
        (calls(wire_call("glaze", {"colour": "Red Ochre", "coats": 2})), "default_only"),
        (glazed(gloss="shiny"), None),
        (calls(wire_call("fire", {})), None),
        (calls(wire_call("glaze", "{")), None),
        (words("Done."), None),
    ],
)
def test_near_miss_tags_what_one_mend_makes_pass(answer: Message, expected: NearMiss | None) -> None:
    assert tag(script(), answer) == expected


def test_near_miss_looks_into_objects_and_lists() -> None:
    of = script(mix={"parts": [1, {"of": "Sand"}]})
    assert tag(of, glazed(mix={"parts": ["1", {"of": "Sand"}]})) == "numeric_type_only"
    assert tag(of, glazed(mix={"parts": [1, {"of": "SAND"}]})) == "case_or_space_only"
    assert tag(of, glazed(mix={"parts": [1]})) is None


def test_near_miss_is_none_when_the_turn_advanced() -> None:
    assert tag(script(), glazed()) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("permuted", "order_only"),
        ("too_few", "split_group"),
        ("too_many", None),
        ("wrong_value", None),
        ("truncated", None),
        ("unreachable", None),
    ],
)
def test_near_miss_tags_order_and_split_of_a_group(answer: str, expected: NearMiss | None) -> None:
    of = one_group()
    evidence = play(of, answering(of, {0: ANSWERS[answer]}))
    assert near_miss(of, evidence.turns[0], SCORING) == expected


def test_near_miss_drops_a_needless_default_when_defaults_are_not_filled_in() -> None:
    scoring = replace(SCORING, insert_declared_defaults=False)
    of = script()
    turn = of.turns[0]
    bare = replace(turn.calls[0], arguments={"colour": "Red Ochre", "coats": 2})
    free = tool("glaze", {"type": "object", "properties": {"gloss": {"type": "string", "default": "matt"}}})
    of = replace(of, tools=(free,), turns=(replace(turn, calls=(bare,)), of.turns[1]))
    evidence = play(of, answering(of, {0: glazed()}), scoring=scoring)
    assert near_miss(of, evidence.turns[0], scoring) == "default_only"
