"""What a published row has a candidate go through, and every way in which a row does not say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bfcl.canonical import Json
from bfcl.errors import EvalError
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.records import GoldCall, ScriptTurn
from bfcl.exports.row import ExportRow
from tests.exports.staged import decoded, edited, plain_row, row


def test_script_of_a_row_has_every_assistant_turn_and_what_it_releases() -> None:
    of = decoded(row())
    script = read_script(of)
    assert script.seed_messages == of.messages[:2]
    assert [message["role"] for message in script.seed_messages] == ["system", "user"]
    assert script.tools == of.tools
    assert (script.task_id, script.template_id) == (of.task_id, "read_then_set")
    assert (script.call_order, script.call_order_prefix) == ("strict", None)
    assert script.required_tools == ("set_valve", "read_valve")

    def read(index: int, valve: str) -> GoldCall:
        result = f'{{"grade":"ä","status":"ok","valve":"{valve}"}}'
        return GoldCall(index=index, tool="read_valve", arguments={"valve": valve}, recorded_result=result)

    last = GoldCall(
        index=2,
        tool="set_valve",
        arguments={"bar": 1, "valve": "V-1"},
        recorded_result='{"grade":"ä","status":"ok","valve":"V-1"}',
    )
    assert script.turns == (
        ScriptTurn(index=0, calls=(read(0, "V-1"), read(1, "V-0")), text=None, user_after=None, terminal=False),
        ScriptTurn(index=1, calls=(), text="Set V-1 to 1?", user_after="Yes.", terminal=False),
        ScriptTurn(index=2, calls=(last,), text=None, user_after=None, terminal=False),
        ScriptTurn(index=3, calls=(), text="Done.", user_after=None, terminal=True),
    )
    assert [call.index for call in script.gold_calls] == [0, 1, 2]


def test_script_of_a_row_without_calls_is_one_last_answer() -> None:
    script = read_script(decoded(plain_row()))
    assert script.turns == (ScriptTurn(index=0, calls=(), text="Done.", user_after=None, terminal=True),)


def test_script_may_have_no_system_message_or_several() -> None:
    of = decoded(row())
    bare = read_script(replace(of, messages=of.messages[1:]))
    assert bare.seed_messages == of.messages[1:2]
    double = read_script(replace(of, messages=(of.messages[0], *of.messages)))
    assert double.seed_messages == (of.messages[0], *of.messages[:2])


def test_script_hash_follows_what_is_played_and_nothing_else() -> None:
    of = decoded(row())
    good = read_script(of).script_hash
    assert read_script(decoded(row())).script_hash == good
    assert read_script(decoded(edited(row(), ["seed"], 5))).script_hash == good
    others = [
        edited(row(), ["messages", 1, "content"], "Other words."),
        edited(row(), ["messages", 3, "content"], '{"status":"other"}'),
        edited(row(), ["messages", 5, "content"], "Shall I?"),
        edited(row(), ["messages", 6, "content"], "Yes, please."),
        edited(row(), ["call_order"], "any"),
    ]
    hashes = {read_script(decoded(other)).script_hash for other in others}
    assert len(hashes | {good}) == len(others) + 1


Edit = Callable[[list[dict[str, Any]]], object]


def broken(of: ExportRow, edit: Edit) -> ExportRow:
    """The row with its decoded messages edited."""
    messages = [dict(message) for message in of.messages]
    edit(messages)
    return replace(of, messages=tuple(messages))


def cut(start: int, stop: int | None = None) -> Edit:
    return lambda messages: messages.__delitem__(slice(start, stop))


def put(index: int, **fields: Json) -> Edit:
    return lambda messages: messages[index].update(fields)


def other_call(**fields: Json) -> Edit:
    """Edits the function of the last call."""
    return lambda messages: messages[7].update(
        tool_calls=[
            {**messages[7]["tool_calls"][0], "function": {**messages[7]["tool_calls"][0]["function"], **fields}}
        ]
    )


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (cut(0, None), "no user message follows the leading system messages"),
        (cut(1, 2), "no user message follows the leading system messages"),
        (cut(2, None), "no assistant turn follows the first user message"),
        (cut(3, 4), "call 0 is not followed by its result"),
        (cut(8, None), "call 2 is not followed by its result"),
        (cut(7, 9), "the conversation makes 2 calls, 3 are expected"),
        (cut(9, None), None),
        (cut(7, None), "the conversation ends with a user message, expected an assistant turn"),
        (put(3, content=None), "the result of call 0 has no text"),
        (put(3, tool_call_id="call_1"), "call 0 is not followed by its result"),
        (put(5, role="user"), "message 6 has role user, expected an assistant turn"),
        (put(5, role="system"), "message 5 has role system, expected an assistant turn"),
        (put(5, content=" "), "assistant turn 1 has neither calls nor words"),
        (put(5, content=None), "assistant turn 1 has neither calls nor words"),
        (put(6, content=None), "message 6 is the user's and has no text"),
        (put(6, role="tool"), "message 6 has role tool, expected an assistant turn"),
        (other_call(name="read_valve"), "call 2 is of read_valve, expected set_valve"),
        (other_call(arguments="{}"), "call 2 has other arguments than the expected call"),
        (cut(5, 7), "call 2 lies at turn, group and position (1, 1, 0), planned at (2, 1, 0)"),
    ],
)
def test_script_refuses_a_row_whose_messages_and_calls_disagree(edit: Edit, message: str | None) -> None:
    of = broken(decoded(row()), edit)
    if message is None:
        # A row may end with a call group: then nothing is left to say.
        assert read_script(of).turns[-1].terminal
        return
    with pytest.raises(EvalError) as caught:
        read_script(of)
    assert [str(problem) for problem in caught.value.problems] == [
        f"eval_conversation_script_invalid: {of.task_id}: {message}\n"
        "  fix: publish the benchmark anew; this row does not say what its conversation expects"
    ]


def test_script_refuses_more_calls_than_are_expected() -> None:
    of = decoded(row())
    with pytest.raises(EvalError, match="the conversation makes call 2, 2 are expected"):
        read_script(replace(of, calls=of.calls[:2]))


def test_script_refuses_an_order_it_does_not_know_beside_all_else() -> None:
    of = broken(decoded(edited(edited(row(), ["call_order"], "loose"), ["call_order_prefix"], 2)), cut(2))
    with pytest.raises(EvalError) as caught:
        read_script(of)
    assert [problem.message for problem in caught.value.problems] == [
        "no assistant turn follows the first user message",
        "call order is loose, expected strict, any, prefix",
        "call order is loose with a prefix of 2; `prefix` alone has one",
    ]


def test_script_refuses_a_prefix_order_without_a_prefix() -> None:
    of = decoded(edited(row(), ["call_order"], "prefix"))
    with pytest.raises(EvalError, match="call order is prefix with a prefix of None; `prefix` alone has one"):
        read_script(of)
