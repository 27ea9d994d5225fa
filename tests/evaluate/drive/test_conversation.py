"""What enters a prompt, and that nothing else gets past the audit before a send."""

from __future__ import annotations

import dataclasses

import pytest

from bfcl.canonical import Json
from bfcl.digest import sha256_of
from bfcl.errors import EvalError
from bfcl.evaluate.compare.kernel import Kernel
from bfcl.evaluate.drive.continuation import GoldPath, LiveRoute
from bfcl.evaluate.drive.conversation import Conversation, given_back, own_turn
from bfcl.evaluate.records import Execution, Script, TurnEvidence
from bfcl.modelio.chat_reply import read_reply
from bfcl.modelio.exchange import ChatResponse
from tests.evaluate.driven import SCORING, Message, as_expected, body_of_reply, calls, script, wire_call, words


def response_of(message: Message) -> ChatResponse:
    return read_reply(body_of_reply(message), selected_attempt=0, provider_request_id=None)


def evidence(of: Script, turn: int, message: Message | None = None, *, advanced: bool = True) -> TurnEvidence:
    scripted = of.turns[turn]
    response = response_of(message if message is not None else as_expected(scripted))
    return TurnEvidence(
        turn_index=turn,
        request_hash=sha256_of(b"request"),
        call_status="completed",
        response=response,
        gold=scripted.calls,
        matches=Kernel(SCORING, of.tools).match(response.tool_calls, scripted.calls),
        ordered=True,
        text_ok=None if scripted.calls else advanced,
        advanced=advanced,
    )


def replied(turn: TurnEvidence) -> ChatResponse:
    assert turn.response is not None
    return turn.response


def two_turns(of: Script) -> tuple[Conversation, list[TurnEvidence]]:
    """A conversation after the group and the confirmation, as the driver builds it."""
    turns = [evidence(of, 0), evidence(of, 1)]
    talk = Conversation(of)
    talk.answered(replied(turns[0]))
    talk.released(replied(turns[0]).tool_calls, [call.recorded_result for call in of.turns[0].calls])
    talk.answered(replied(turns[1]))
    talk.heard("Yes.")
    return talk, turns


def leaks(talk: Conversation, of: Script, turns: list[TurnEvidence]) -> list[str]:
    with pytest.raises(EvalError) as caught:
        talk.messages(turns, GoldPath(of))
    assert {problem.code for problem in caught.value.problems} == {"eval_conversation_answer_key_leak"}
    assert {problem.subject for problem in caught.value.problems} == {of.task_id}
    return [problem.message for problem in caught.value.problems]


def test_messages_begin_with_the_seed_alone() -> None:
    of = script()
    assert Conversation(of).messages([], GoldPath(of)) == list(of.seed_messages)


def test_messages_are_seed_own_turns_results_and_user_in_order() -> None:
    of = script()
    talk, turns = two_turns(of)
    messages = talk.messages(turns, GoldPath(of))
    assert [entry.provenance for entry in talk.entries] == [
        *("seed", "seed"),
        *("candidate", "result", "result"),
        *("candidate", "user"),
    ]
    assert messages[2:] == [
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": f"own-{index}",
                    "type": "function",
                    "function": {"name": "read_valve", "arguments": f'{{"valve": "{valve}"}}'},
                }
                for index, valve in enumerate(["V-1", "V-0"])
            ],
        },
        {"role": "tool", "tool_call_id": "own-0", "content": of.turns[0].calls[0].recorded_result},
        {"role": "tool", "tool_call_id": "own-1", "content": of.turns[0].calls[1].recorded_result},
        {"role": "assistant", "content": "Set V-1 to 1?"},
        {"role": "user", "content": "Yes."},
    ]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (words("Hi"), {"role": "assistant", "content": "Hi"}),
        (words([{"type": "text", "text": "Hi"}]), {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}),
        (
            calls(wire_call("f", '{"x" :1.0}', call_id="z"), content=""),
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "z", "type": "function", "function": {"name": "f", "arguments": '{"x" :1.0}'}}],
            },
        ),
        (
            calls({"function": {"name": "f"}}),
            {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]},
        ),
        (
            calls({"id": "z", "function": {"name": "f", "arguments": {"x": 1}}}),
            {"role": "assistant", "tool_calls": [{"id": "z", "function": {"name": "f", "arguments": {"x": 1}}}]},
        ),
    ],
)
def test_own_turn_is_what_the_candidate_sent(reply: Message, message: Json) -> None:
    assert own_turn(response_of(reply)) == message


def test_reasoning_goes_back_under_its_field_where_it_is_asked_for() -> None:
    of = script()
    turn = evidence(of, 0)
    results = [call.recorded_result for call in of.turns[0].calls]
    for field, sent in (("reasoning", {"reasoning": "I think."}), (None, {})):
        talk = Conversation(of, echoes=field)
        talk.answered(replied(turn), "I think.")
        talk.released(replied(turn).tool_calls, results)
        assert talk.messages([turn], GoldPath(of))[2] == {**own_turn(replied(turn)), **sent}


def test_audit_refuses_a_result_of_another_call() -> None:
    of = script()
    turn = evidence(of, 0)
    talk = Conversation(of)
    talk.answered(replied(turn))
    first, second = of.turns[0].calls
    talk.released(replied(turn).tool_calls, [second.recorded_result, first.recorded_result])
    assert leaks(talk, of, [turn]) == [
        "message 3 is not a tool result as it was earned",
        "message 4 is not a tool result as it was earned",
    ]


def test_audit_refuses_results_and_replies_of_a_turn_that_did_not_advance() -> None:
    of = script()
    talk, turns = two_turns(of)
    stopped = dataclasses.replace(turns[0], advanced=False)
    assert leaks(talk, of, [stopped]) == [
        "message 2 is the candidate's own turn that no turn has released",
        "message 3 is a tool result that no turn has released",
        "message 4 is a tool result that no turn has released",
        "message 5 is the candidate's own turn that no turn has released",
        "message 6 is a user message that no turn has released",
    ]


def test_audit_refuses_a_user_message_that_is_not_the_next() -> None:
    of = script()
    talk, turns = two_turns(of)
    talk.heard("And use 7 bar.")
    assert leaks(talk, of, turns) == ["message 7 is a user message that no turn has released"]
    other = Conversation(of)
    other.heard("Yes.")
    assert leaks(other, of, []) == ["message 2 is a user message that no turn has released"]


def test_audit_misses_what_was_earned_and_is_not_there() -> None:
    of = script()
    turn = evidence(of, 0)
    talk = Conversation(of)
    talk.answered(replied(turn))
    assert leaks(talk, of, [turn]) == ["message 3 is absent, expected a tool result"]


@pytest.mark.parametrize(
    ("field", "told"),
    [
        (
            {"expected_tool_calls": []},
            [
                "message 1 carries the answer key field `expected_tool_calls`",
                "message 1 has the field `expected_tool_calls`, which no such message has",
            ],
        ),
        ({"content": [{"slots": {"bar": 1}}]}, ["message 1 carries the answer key field `slots`"]),
        ({"name": "Ada"}, ["message 1 has the field `name`, which no such message has"]),
    ],
)
def test_audit_refuses_answer_keys_and_fields_of_no_message_in_a_seed(field: dict[str, Json], told: list[str]) -> None:
    of = script()
    system, user = of.seed_messages
    spoilt = dataclasses.replace(of, seed_messages=(system, {**user, **field}))
    assert leaks(Conversation(spoilt), spoilt, []) == told


def test_audit_lets_a_candidate_call_its_own_content_what_it_likes() -> None:
    of = script()
    turns = [evidence(of, 0), evidence(of, 1, words([{"text": "Sure?", "slots": 1}]))]
    talk, _ = two_turns(of)
    talk = Conversation(of)
    talk.answered(replied(turns[0]))
    talk.released(replied(turns[0]).tool_calls, [call.recorded_result for call in of.turns[0].calls])
    talk.answered(replied(turns[1]))
    talk.heard("Yes.")
    assert talk.messages(turns, GoldPath(of))[5]["content"] == [{"text": "Sure?", "slots": 1}]


def execution(index: int, result: str | None, reason: str | None = None) -> Execution:
    return Execution(
        call_index=index,
        status="completed" if reason is None else "not_executed",
        reason=reason,
        tool="read_valve",
        arguments=None,
        result=result,
        commit="not_applicable",
        detail=None,
    )


def test_audit_holds_live_results_against_what_ran() -> None:
    of = script()
    ran = (execution(0, '{"live":0}'), execution(1, '{"live":1}'))
    turn = dataclasses.replace(evidence(of, 0), executions=ran)
    talk = Conversation(of)
    talk.answered(replied(turn))
    talk.released(replied(turn).tool_calls, ['{"live":0}', of.turns[0].calls[1].recorded_result])
    assert leaks(talk, of, [turn]) == ["message 4 is not a tool result as it was earned"]


def test_audit_lets_a_candidate_on_its_own_way_see_what_ran_and_why_the_rest_did_not() -> None:
    of = script()
    ran = (execution(0, '{"live":0}'), execution(1, None, "tool_execution.schema_invalid"))
    turn = dataclasses.replace(evidence(of, 0, advanced=False), executions=ran)
    talk = Conversation(of)
    talk.answered(replied(turn))
    talk.released(replied(turn).tool_calls, [*map(given_back, ran)])
    assert [message["content"] for message in talk.messages([turn], LiveRoute(of))[3:]] == [
        '{"live":0}',
        '{"error":{"code":"tool_execution.schema_invalid"}}',
    ]
