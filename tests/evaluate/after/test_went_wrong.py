"""Where a failed task went wrong first, in words that do not depend on the order of gates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bfcl.canonical import Json
from bfcl.evaluate.after.went_wrong import WentWrong, went_wrong
from bfcl.evaluate.records import Script
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.settings.model import Limits, Scoring
from tests.evaluate.driven import (
    LIMITS,
    SCORING,
    Answer,
    answering,
    calls,
    gold,
    one_group,
    play,
    script,
    wire_call,
    words,
)
from tests.evaluate.score.episodes import ANSWERS, READ_0, READ_1, Told


def told(
    of: Script,
    instead: dict[int, Answer],
    *,
    scoring: Scoring = SCORING,
    limits: Limits = LIMITS,
    executed: Told | None = None,
) -> WentWrong:
    """Of a script that is answered as expected but for these turns."""
    client = answering(of, instead)
    if executed is None:
        evidence = play(of, client, scoring=scoring, limits=limits)
    else:
        evidence = play(of, client, results=executed, mode="executable", scoring=scoring, limits=limits)
    score = score_episode(of, evidence, scoring)
    assert not score.task_success
    gate = next((one for one in score.gates if one.outcome == "failed"), None)
    return went_wrong(of, evidence, scoring, gate)


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        ("declared_tool", "it called another tool than expected"),
        ("undeclared_tool", "it called another tool than expected"),
        ("wrong_value", "a call has other arguments than expected"),
        ("unparseable", "a call has other arguments than expected"),
        ("permuted", "its calls are right, in another order than expected"),
        ("too_many", "it made more calls than expected"),
        ("too_few", "it made fewer calls than expected"),
        ("words", "it answered in words where a call was due"),
        ("blank", "it made no call where one was due"),
        ("truncated", "the reply was cut off (length)"),
        ("unreachable", "no usable reply came (retry_exhausted)"),
        ("malformed", "the reply could not be read"),
        ("same_ids", "the ids of its calls are missing or the same, so that no result can be given back"),
    ],
)
def test_every_departure_from_a_group_has_its_words(answer: str, what: str) -> None:
    assert str(told(one_group(), {0: ANSWERS[answer]})) == f"assistant turn 1 of 2: {what}"


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (calls(READ_1), "it made a call where words were due"),
        (words("  "), "it said nothing where words were due"),
    ],
)
def test_every_departure_from_words_has_its_words(answer: Answer, what: str) -> None:
    assert str(told(one_group(), {1: answer})) == f"assistant turn 2 of 2: {what}"


def test_other_wording_than_the_recorded_one_is_told_where_it_counts() -> None:
    verbatim = replace(SCORING, intermediate_text_matching="verbatim")
    one = told(script(), {1: words("Something else?")}, scoring=verbatim)
    assert str(one) == "assistant turn 2 of 4: its words are not the recorded ones"


def test_coverage_of_a_turn_that_was_never_asked_points_to_the_turn_before() -> None:
    """Words are due in turn 2, and the first failing gate names the calls of turn 3."""
    one = told(script(), {1: words(" ")})
    assert one == WentWrong(
        turn_index=1, turns=4, what="it said nothing where words were due", never_asked=("tool_selection", 2)
    )
    assert one.to_json() == {
        "turn_index": 1,
        "what": "it said nothing where words were due",
        "remark": "the gate tool_selection counts what assistant turn 3 expects, too; that turn was never asked, "
        "because the conversation had ended",
    }


def test_gate_of_the_turn_itself_needs_no_remark() -> None:
    assert told(one_group(), {0: ANSWERS["wrong_value"]}).remark is None


@pytest.mark.parametrize(
    ("executed", "what"),
    [
        (Told(opening="oracle_reset_failed"), "the oracle could not be made ready"),
        (
            Told(broken={0: {"status": "timeout"}}, stops={0: "oracle_timeout"}),
            "assistant turn 1 of 2: the oracle took too long for a call",
        ),
        (
            Told(closing={"status": "oracle_state_failed", "state_known": False}),
            "the final state could not be read from the oracle",
        ),
    ],
)
def test_what_the_run_broke_is_told_as_such(executed: Told, what: str) -> None:
    assert str(told(one_group(), {}, executed=executed)) == what


def test_call_that_was_not_confirmed_is_told_whatever_else_is_wrong_with_it() -> None:
    broken = {"status": "not_executed", "reason": "tool_execution.confirmation_not_earned", "commit": "not_started"}
    early = Told(broken={0: broken}, stops={0: "confirmation_not_earned"})
    one = told(one_group(), {0: ANSWERS["wrong_value"]}, executed=early)
    assert str(one) == "assistant turn 1 of 2: a call says that the user has confirmed, who has not"


SETS: dict[str, Json] = {"valve": "V-1", "bar": 1, "confirm": True}


def setting(**edits: Json) -> Script:
    """A script of one call that the user has confirmed, but for what `edits` change of its arguments."""
    whole = one_group()
    call = gold("set_valve", **{**SETS, **edits})
    return replace(whole, turns=(replace(whole.turns[0], calls=(call,)), *whole.turns[1:]))


@pytest.mark.parametrize(
    ("of", "made", "what"),
    [
        (setting(), {"bar": 2}, "a call says that the user has confirmed it, who has confirmed another call"),
        (setting(confirm=False), {}, "a call says that the user has confirmed, who has not"),
        (setting(confirm=False), {"bar": 2}, "a call says that the user has confirmed, who has not"),
    ],
)
def test_call_that_was_confirmed_with_other_arguments_is_told_from_one_that_was_not(
    of: Script, made: dict[str, Json], what: str
) -> None:
    broken = {"status": "not_executed", "reason": "tool_execution.confirmation_not_earned", "commit": "not_started"}
    early = Told(broken={0: broken}, stops={0: "confirmation_not_earned"})
    answer = calls(wire_call("set_valve", {**SETS, **made}))
    assert str(told(of, {0: answer}, executed=early)) == f"assistant turn 1 of 2: {what}"


def test_call_as_confirmed_beside_one_too_many_is_told_as_that() -> None:
    broken = {"status": "not_executed", "reason": "tool_execution.confirmation_not_earned", "commit": "not_started"}
    early = Told(broken={0: broken}, stops={0: "confirmation_not_earned"})
    answer = calls(READ_1, wire_call("set_valve", SETS, call_id="c"))
    assert str(told(setting(), {0: answer}, executed=early)) == (
        "assistant turn 1 of 2: it made more calls than expected"
    )


def test_turns_that_were_used_up_are_at_no_turns_fault() -> None:
    one = told(one_group(), {}, limits=replace(LIMITS, max_turns=1))
    assert str(one) == "the turns that `limits.max_turns` allows were used up"
    assert (one.turn_index, one.never_asked) == (None, ("trace_completion", 1))


def test_candidate_on_its_own_way_is_told_of_its_first_departure() -> None:
    live = replace(SCORING, executable_continuation="live")
    other = calls(READ_1, wire_call("list_alarms", {}, call_id="b"))
    answers: dict[int, Answer] = {0: other, 1: calls(READ_0), 2: words("Done.")}
    one = told(one_group(), answers, scoring=live, executed=Told())
    assert str(one) == "assistant turn 1 of 2: it called another tool than expected"
