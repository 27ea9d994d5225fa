"""Where calls lie in a conversation, and every way in which messages and expected calls can part."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bfcl.exports.conversation import LayoutFault, read_layout
from bfcl.exports.row import CallGroup
from bfcl.tables.benchmark import BenchmarkRow
from tests.exports.staged import decoded, edited, plain_row, row

CALLS = decoded(row()).calls


def test_layout_follows_the_conversation() -> None:
    layout = read_layout(row()["messages"], CALLS)
    assert layout.groups == (
        CallGroup(turn_index=0, call_group=0, user_turn_index=0, calls=(0, 1)),
        CallGroup(turn_index=2, call_group=1, user_turn_index=1, calls=(2,)),
    )
    assert [group.to_json()["is_parallel"] for group in layout.groups] == [True, False]
    assert layout.messages[2] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": "read_valve", "arguments": f'{{"valve":"{valve}"}}'},
            }
            for number, valve in enumerate(["V-1", "V-0"])
        ],
    }
    assert layout.messages[3]["tool_call_id"] == "call_0"
    assert layout.messages[5] == {"role": "assistant", "content": "Set V-1 to 1?"}


def test_layout_without_calls_has_no_group() -> None:
    assert read_layout(plain_row()["messages"], ()).groups == ()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["messages", 0, "role"], "user", "message 0 has role user, expected system"),
        (["messages", 1, "role"], "assistant", "message 1 has role assistant, expected user"),
        (["messages", 5, "role"], "system", "message 5 has role system, expected user, assistant or tool"),
        (["messages", 5, "content"], None, "message 5 has neither content nor tool calls"),
        (["messages", 5, "tool_call_id"], "call_1", "message 5 has role assistant and a tool_call_id"),
        (["messages", 3], ..., "message 3 answers call_1, expected the answer to call_0"),
        (["messages", 4], ..., "message 4 has role assistant, expected the answer to call_1"),
        (["messages", 3, "content"], None, "message 3 answers call_0 without content or with calls of its own"),
        (["messages", 8, "tool_call_id"], "call_9", "message 8 answers call_9, expected the answer to call_2"),
        (["messages", 5, "role"], "tool", "message 5 answers None, expected no answer"),
        (
            ["messages", 2, "content"],
            "Calling.",
            "message 2 has role assistant and mixes text with calls, or has no call",
        ),
        (
            ["messages", 2, "tool_calls"],
            [],
            "message 2 has role assistant and mixes text with calls, or has no call",
        ),
        (["messages", 2, "role"], "user", "message 2 has role user and mixes text with calls, or has no call"),
        (
            ["messages", 2, "tool_calls", 1],
            ...,
            "message 2 ends before expected call 1, which is of its group 0",
        ),
        (
            ["messages", 2, "tool_calls", 0, "id"],
            "call_7",
            "message 2 makes function call_7, expected function call_0",
        ),
        (
            ["messages", 2, "tool_calls", 0, "type"],
            "tool",
            "message 2 makes tool call_0, expected function call_0",
        ),
        (
            ["messages", 2, "tool_calls", 0, "function", "name"],
            "set_valve",
            "message 2 calls set_valve, expected read_valve",
        ),
        (
            ["messages", 2, "tool_calls", 0, "function", "arguments"],
            '{"valve":"V-2"}',
            "message 2 makes call_0 with other arguments than expected",
        ),
        (
            ["messages", 5],
            ...,
            "message 6 makes call_2 as turn 1, group 1, position 0; expected turn 2, group 1, position 0",
        ),
        (["messages", slice(7, None)], ..., "the conversation ends before expected call 2"),
        (["messages", slice(8, None)], ..., "the conversation ends without the answer to call_2"),
        (["messages", slice(1, None)], ..., "the conversation has no user message"),
    ],
)
def test_layout_refuses_a_conversation_with_one_edit(path: Sequence[str | int], value: object, message: str) -> None:
    told: BenchmarkRow = edited(row(), path, value)
    with pytest.raises(LayoutFault) as refused:
        read_layout(told["messages"], CALLS)
    assert str(refused.value) == message


def test_layout_refuses_a_call_that_nobody_expects() -> None:
    with pytest.raises(LayoutFault) as refused:
        read_layout(row()["messages"], CALLS[:2])
    assert str(refused.value) == "message 7 makes call 2, only 2 are expected"
