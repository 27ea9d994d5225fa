"""What a conversation means, however a client spells it."""

from __future__ import annotations

from bfcl.canonical import Json
from bfcl.evaluate.scripted.heard import Message, heard, mark

SYSTEM: Message = {"role": "system", "content": "You operate the valves."}
USER: Message = {"role": "user", "content": "Check V-1."}


def calling(call_id: str, arguments: Json) -> Message:
    call: Json = {"id": call_id, "type": "function", "function": {"name": "read_valve", "arguments": arguments}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def test_conversation_is_cut_behind_the_first_user_message() -> None:
    told = heard([SYSTEM, USER, {"role": "assistant", "content": "Which?"}, {"role": "user", "content": "V-1."}])
    assert told.seed == (("system", "You operate the valves."), ("user", "Check V-1."))
    assert (told.replies, told.from_user) == (1, ["V-1."])


def test_conversation_without_a_user_is_all_seed() -> None:
    assert heard([SYSTEM]).said == ()


def test_parts_of_a_text_mean_the_text() -> None:
    parts: Json = [{"type": "text", "text": "Check "}, "V-1", {"type": "text", "text": "."}, {"type": "image"}, 7]
    assert mark({"role": "user", "content": parts}) == mark(USER)


def test_developer_message_means_a_system_message() -> None:
    assert mark({**SYSTEM, "role": "developer"}) == mark(SYSTEM)


def test_call_ids_and_spelling_of_arguments_mean_nothing() -> None:
    one, other = calling("a", '{"valve": "V-1", "deep": true}'), calling("b", '{"deep":true,"valve":"V-1"}')
    assert mark(one) == mark(other)
    assert mark(one) != mark(calling("a", '{"valve":"V-2","deep":true}'))


def test_arguments_that_are_no_json_are_kept_as_sent() -> None:
    assert mark(calling("a", "{")) == ("assistant", '["",[["read_valve","{"]]]')
    assert mark({"role": "assistant", "tool_calls": [{"id": "a"}]}) == ("assistant", '["",[["",""]]]')


def test_tool_result_means_its_json() -> None:
    assert mark({"role": "tool", "content": '{"b": 1, "a": 2}'}) == ("tool", '{"a":2,"b":1}')
    assert mark({"role": "tool", "content": "no JSON"}) == ("tool", "no JSON")
