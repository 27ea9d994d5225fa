"""The pure candidate: model, messages and tools to a reply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bfcl.canonical import canonical_json
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.scripted.behaviours import UnknownModel
from bfcl.evaluate.scripted.candidate import ScriptedCandidate, UnknownConversation
from bfcl.modelio.exchange import ChatRequest
from tests.evaluate import driven
from tests.evaluate.scripted.rows import conversation, dependent_row, plain_row, row, rows
from tests.exports.staged import decoded

CANDIDATE = ScriptedCandidate([*rows(), decoded(plain_row())])


def reply(model: str, until: int, number: int = 1) -> dict[str, Any]:
    of = row(number)
    return dict(json.loads(canonical_json(CANDIDATE.reply(model, conversation(of, until), decoded(of).tools))))


def answered(request: ChatRequest) -> driven.Message:
    """What the candidate says to a driver's request."""
    body = json.loads(canonical_json(request.body))
    choice = json.loads(canonical_json(CANDIDATE.reply("scripted-gold", body["messages"], body["tools"])))["choices"][0]
    return {**choice["message"], "finish_reason": choice["finish_reason"]}


def test_gold_completes_every_task_of_a_driver() -> None:
    for of in [*rows(), decoded(plain_row())]:
        assert driven.play(read_script(of), driven.Answering(answered)).status == "completed"


def test_reply_is_a_whole_completion() -> None:
    made = reply("scripted-gold", 2)
    ids = [call.pop("id") for call in made["choices"][0]["message"]["tool_calls"]]
    assert ids == [f"call_{made['id'].removeprefix('chatcmpl-')}_{place}" for place in (0, 1)]
    calls = [
        {"type": "function", "function": {"name": "read_valve", "arguments": f'{{"valve":"V-{number}"}}'}}
        for number in (1, 0)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    assert made == {
        "id": made["id"],
        "object": "chat.completion",
        "created": 0,
        "model": "scripted-gold",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}],
        "usage": {"prompt_tokens": 151, "completion_tokens": 65, "total_tokens": 216},
    }


def test_reply_of_words_has_no_calls() -> None:
    choice = reply("scripted-gold", 5)["choices"][0]
    assert choice["message"] == {"role": "assistant", "content": "Set V-1 to 1?"}
    assert choice["finish_reason"] == "stop"


def test_same_request_has_the_same_reply_and_another_turn_other_ids() -> None:
    assert reply("scripted-gold", 2) == reply("scripted-gold", 2)
    assert len({reply("scripted-gold", until)["id"] for until in (2, 5, 7, 9)}) == 4


def test_truncated_reply_says_so() -> None:
    assert reply("scripted-truncated", 2)["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(("model", "ids"), [("scripted-duplicate-ids", 1), ("scripted-missing-ids", 0)])
def test_ids_are_broken_as_asked(model: str, ids: int) -> None:
    calls = reply(model, 2)["choices"][0]["message"]["tool_calls"]
    assert len({call["id"] for call in calls if "id" in call}) == ids


def test_arguments_object_is_no_text() -> None:
    call = reply("scripted-arguments-object", 2)["choices"][0]["message"]["tool_calls"][0]
    assert call["function"]["arguments"] == {"valve": "V-1"}


def test_conversation_that_outlasts_its_script_is_answered_in_words() -> None:
    assert reply("scripted-gold", 10)["choices"][0]["message"]["content"] == "I have nothing to add."


def test_dependent_values_are_read_from_the_conversation() -> None:
    of = dependent_row()
    sent = conversation(of, 7)
    sent[3] = {**sent[3], "content": '{"next":{"valve":"V-5","bar":7}}'}
    said = ScriptedCandidate([decoded(of)]).said("scripted-gold", sent, decoded(of).tools)
    assert said.calls[0].arguments == '{"bar":7,"valve":"V-5"}'


def test_unknown_conversation_is_refused() -> None:
    with pytest.raises(UnknownConversation, match="no task of this benchmark has a conversation with these messages"):
        reply("scripted-gold", 2, number=8)


def test_unknown_model_is_refused_before_the_conversation_is_looked_at() -> None:
    with pytest.raises(UnknownModel):
        reply("scripted-none", 2, number=8)


def test_size_counts_every_task_of_the_benchmark() -> None:
    assert CANDIDATE.size == 4
