"""What a conversation goes on with after each reply, by policy."""

from __future__ import annotations

from dataclasses import replace

from bfcl.digest import sha256_of
from bfcl.evaluate.drive.continuation import Continuation, GoldPath, LiveRoute, Step, continuation_of
from bfcl.evaluate.records import Script, ScriptTurn, TurnEvidence
from bfcl.modelio.chat_reply import read_reply
from tests.evaluate.driven import Message, body_of_reply, calls, one_group, script, wire_call, words

A_CALL = calls(wire_call("list_alarms", {}))
SPOKEN = words("Well.")


def answered(turn: ScriptTurn, message: Message, *, advanced: bool = False) -> TurnEvidence:
    return TurnEvidence(
        turn_index=turn.index,
        request_hash=sha256_of(b"request"),
        call_status="completed",
        response=read_reply(body_of_reply(message), selected_attempt=0, provider_request_id=None),
        gold=turn.calls,
        matches=(),
        ordered=True,
        text_ok=None,
        advanced=advanced,
    )


def follow(route: Continuation, message: Message, *, advanced: bool = False) -> tuple[Step, int]:
    """The step taken, and the turn that the next reply is held against."""
    step = route.follow(answered(route.turn, message, advanced=advanced))
    return step, route.turn.index


def test_policy_names_its_continuation() -> None:
    assert not continuation_of("gold", script()).live
    assert continuation_of("live", script()).live


def test_gold_path_goes_turn_by_turn_and_ends_with_the_last() -> None:
    route = GoldPath(script())
    assert route.turn.index == 0
    assert follow(route, A_CALL, advanced=True) == (Step(), 1)
    assert follow(route, SPOKEN, advanced=True) == (Step(user="Yes."), 2)
    assert follow(route, A_CALL, advanced=True) == (Step(), 3)
    assert follow(route, SPOKEN, advanced=True)[0] == Step(status="completed")


def test_gold_path_ends_at_the_first_turn_that_does_not_advance() -> None:
    route = GoldPath(script())
    assert follow(route, A_CALL) == (Step(status="candidate_mismatch"), 0)


def test_live_route_lets_calls_go_on_until_words_come() -> None:
    route = LiveRoute(script())
    assert follow(route, A_CALL) == (Step(), 0)
    assert follow(route, A_CALL) == (Step(), 0)
    assert follow(route, A_CALL, advanced=True) == (Step(), 1)
    assert follow(route, A_CALL) == (Step(), 1)
    assert follow(route, SPOKEN) == (Step(user="Yes."), 2)
    assert follow(route, SPOKEN)[0] == Step(status="completed")


def test_live_route_releases_the_users_reply_to_words_before_any_call() -> None:
    route = LiveRoute(script())
    assert follow(route, SPOKEN) == (Step(user="Yes."), 2)


def test_live_route_passes_words_that_the_user_does_not_answer() -> None:
    whole = script()
    turns = (whole.turns[0], replace(whole.turns[1], user_after=None), *whole.turns[2:])
    route = LiveRoute(replace(whole, turns=turns))
    assert follow(route, SPOKEN) == (Step(), 2)


def test_live_route_releases_a_reply_scripted_after_calls_to_any_calls() -> None:
    route = LiveRoute(replied_after_calls())
    assert follow(route, A_CALL) == (Step(user="And now?"), 1)


def test_live_route_releases_a_reply_scripted_after_calls_to_words_too() -> None:
    route = LiveRoute(replied_after_calls())
    assert follow(route, SPOKEN) == (Step(user="And now?"), 1)


def test_live_route_waits_for_words_where_the_script_ends_with_calls() -> None:
    whole = script()
    route = LiveRoute(replace(whole, turns=(replace(whole.turns[0], terminal=True),)))
    assert follow(route, A_CALL, advanced=True) == (Step(), 0)
    assert follow(route, SPOKEN)[0] == Step(status="completed")


def test_live_route_ends_with_a_reply_that_is_cut_off_or_says_nothing() -> None:
    mismatch = Step(status="candidate_mismatch")
    assert follow(LiveRoute(script()), {**A_CALL, "finish_reason": "length"}) == (mismatch, 0)
    assert follow(LiveRoute(script()), words("Well", finish="max-tokens")) == (mismatch, 0)
    assert follow(LiveRoute(script()), words(" ")) == (mismatch, 0)


def replied_after_calls() -> Script:
    """A script whose user speaks again after the results, without words between."""
    whole = one_group()
    return replace(whole, turns=(replace(whole.turns[0], user_after="And now?"), whole.turns[1]))
