"""Replies are read once: what is kept, what is refused as a whole, and what arguments are, whatever the bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.digest import sha256_of
from bfcl.modelio.chat_reply import LEVELS, MalformedReply, read_reply, strict_json
from bfcl.modelio.exchange import ChatResponse, ToolCall
from tests.modelio.chat_server import reply

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def read(value: Any) -> ChatResponse:
    return read_reply(json.dumps(value).encode(), selected_attempt=0, provider_request_id=None)


def refusal(body: bytes) -> str:
    with pytest.raises(MalformedReply) as caught:
        read_reply(body, selected_attempt=0, provider_request_id=None)
    return str(caught.value)


def call(arguments: Any = ..., **changes: Any) -> ToolCall:
    function = {"name": "fire"} if arguments is ... else {"name": "fire", "arguments": arguments}
    (found,) = read(
        reply(None, tool_calls=[{"id": "c1", "type": "function", "function": function, **changes}])
    ).tool_calls
    return found


def test_reply_is_kept_as_it_was_sent() -> None:
    sent = reply(
        None, tool_calls=[{"id": "c1", "type": "function", "function": {"name": "fire", "arguments": '{"t":1}'}}]
    )
    body = json.dumps(sent).encode()
    assert read_reply(body, selected_attempt=2, provider_request_id="r-9") == ChatResponse(
        provider_response_id="chatcmpl-1",
        provider_request_id="r-9",
        assistant_content=None,
        tool_calls=(
            ToolCall(
                index=0,
                id="c1",
                type="function",
                function_name="fire",
                raw_arguments='{"t":1}',
                parsed_arguments={"t": 1},
                arguments_status="valid_object",
            ),
        ),
        finish_reason="stop",
        usage={"prompt_tokens": 7, "completion_tokens": 2},
        selected_attempt=2,
        raw_response_hash=sha256_of(body),
    )


@pytest.mark.parametrize(
    ("arguments", "status", "parsed"),
    [
        (..., "missing", None),
        (None, "missing", None),
        ({"t": 1}, "wrong_type", None),
        ([], "wrong_type", None),
        (0, "wrong_type", None),
        (False, "wrong_type", None),
        ("", "invalid_json", None),
        ("{", "invalid_json", None),
        ("{'t': 1}", "invalid_json", None),
        ('{"t": 1,}', "invalid_json", None),
        ('```json\n{"t": 1}\n```', "invalid_json", None),
        ('{"t": 1} {}', "invalid_json", None),
        ('\ufeff{"t": 1}', "invalid_json", None),
        ('{"t": NaN}', "invalid_json", None),
        ('{"t": -Infinity}', "invalid_json", None),
        ('{"t": 1e999}', "invalid_json", None),
        ('{"t": 1, "t": 2}', "invalid_json", None),
        (r'{"t": "\ud800"}', "invalid_json", None),
        (f'{{"t": {"9" * 5000}}}', "invalid_json", None),
        ('{"t": ' + "[" * 100_000 + "]" * 100_000 + "}", "invalid_json", None),
        ("[]", "json_not_object", None),
        ("null", "json_not_object", None),
        ('"{}"', "json_not_object", None),
        ("{}", "valid_object", {}),
        (' {"t": 1.0}\n', "valid_object", {"t": 1.0}),
        (r'{"t": "\ud83d\ude00"}', "valid_object", {"t": "😀"}),
    ],
)
def test_arguments_are_parsed_once_and_never_repaired(arguments: Any, status: str, parsed: Any) -> None:
    found = call(arguments)
    assert (found.arguments_status, found.parsed_arguments) == (status, parsed)
    assert found.raw_arguments == (None if arguments is ... else arguments)


@pytest.mark.parametrize(("levels", "status"), [(LEVELS, "valid_object"), (LEVELS + 1, "invalid_json")])
def test_arguments_may_lie_only_so_deep(levels: int, status: str) -> None:
    deep = '{"t":' * (levels - 1) + "[" + "]" + "}" * (levels - 1)
    assert call(deep).arguments_status == status
    assert call(f'{{"wide":[{",".join(["[]"] * 500)}]}}').arguments_status == "valid_object"


@pytest.mark.parametrize(
    ("field", "sent", "kept"),
    [("id", None, None), ("id", 7, None), ("id", "", ""), ("type", None, None), ("type", "custom", "custom")],
)
def test_id_and_type_of_a_call_are_kept_or_null(field: str, sent: Any, kept: str | None) -> None:
    assert getattr(call("{}", **{field: sent}), field) == kept


@pytest.mark.parametrize(
    ("sent", "kept", "incomplete"),
    [
        ("stop", "stop", False),
        (" Max-Tokens ", "max_tokens", True),
        ("LENGTH", "length", True),
        ("max output tokens", "max_output_tokens", True),
        ("content_filter", "content_filter", True),
        ("tool_calls", "tool_calls", False),
        (None, None, False),
        (3, None, False),
    ],
)
def test_finish_reason_is_normalised(sent: Any, kept: str | None, incomplete: bool) -> None:
    document = reply()
    document["choices"][0]["finish_reason"] = sent
    response = read(document)
    assert (response.finish_reason, response.incomplete) == (kept, incomplete)


def test_what_a_reply_may_lack_is_null() -> None:
    response = read({"choices": [{"message": {}}], "usage": [], "id": 3})
    assert (response.provider_response_id, response.assistant_content, response.usage) == (None, None, None)
    assert (response.tool_calls, response.finish_reason) == ((), None)


@pytest.mark.parametrize("calls", [None, []])
def test_no_calls_are_none(calls: Any) -> None:
    assert read(reply("x", tool_calls=calls)).tool_calls == ()


NO_OBJECT = "the reply is no JSON object in UTF-8"
NO_FUNCTION = "tool call 0 of the reply names no function"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", NO_OBJECT),
        (b"\xff{}", NO_OBJECT),
        (b"\xef\xbb\xbf{}", NO_OBJECT),
        (b"<html>", NO_OBJECT),
        (b"[]", NO_OBJECT),
        (b'data: {"choices": []}', NO_OBJECT),
        (b'{"choices": [{"message": {}}], "x": NaN}', NO_OBJECT),
        (b'{"choices": [{"message": {"content": "a", "content": "b"}}]}', NO_OBJECT),
        (rb'{"choices": [{"message": {"content": "\udc00"}}]}', NO_OBJECT),
        (b"[" * 100_000, NO_OBJECT),
        (b"{}", "`choices` of the reply is no list; expected exactly one choice"),
        (b'{"choices": "a"}', "`choices` of the reply is no list; expected exactly one choice"),
        (b'{"choices": []}', "the reply has 0 choices; expected exactly one"),
        (b'{"choices": [{}, {}]}', "the reply has 2 choices; expected exactly one"),
        (b'{"choices": [1]}', "the reply's choice is no object"),
        (b'{"choices": [{}]}', "`message` of the reply's choice is no object"),
        (b'{"choices": [{"message": null}]}', "`message` of the reply's choice is no object"),
        (b'{"choices": [{"message": {"tool_calls": {}}}]}', "`tool_calls` of the reply is no list"),
        (b'{"choices": [{"message": {"tool_calls": "x"}}]}', "`tool_calls` of the reply is no list"),
        (b'{"choices": [{"message": {"tool_calls": [1]}}]}', NO_FUNCTION),
        (b'{"choices": [{"message": {"tool_calls": [{}]}}]}', NO_FUNCTION),
        (b'{"choices": [{"message": {"tool_calls": [{"function": {"name": ""}}]}}]}', NO_FUNCTION),
        (b'{"choices": [{"message": {"tool_calls": [{"function": {"name": 4}}]}}]}', NO_FUNCTION),
    ],
)
def test_reply_that_is_none_is_refused_as_a_whole(body: bytes, reason: str) -> None:
    assert refusal(body) == reason


def test_refusal_holds_no_word_of_the_reply() -> None:
    with pytest.raises(MalformedReply) as caught:
        read_reply(b'{"sentence": nobody may repeat', selected_attempt=0, provider_request_id=None)
    error: BaseException | None = caught.value
    while error is not None:
        assert "nobody" not in f"{error!r} {vars(error)}"
        error = error.__cause__ or error.__context__


@given(JSON)
def test_strict_json_reads_whatever_canonical_json_writes(value: Json) -> None:
    try:
        text = canonical_text(value)
        text.encode()
    except UnicodeEncodeError:
        return
    assert canonical_text(strict_json(text)) == text


@given(st.binary() | JSON.map(lambda value: json.dumps({"choices": [{"message": value}]}).encode()))
def test_any_bytes_are_a_reply_that_can_be_recorded_or_malformed(body: bytes) -> None:
    try:
        response = read_reply(body, selected_attempt=0, provider_request_id=None)
    except MalformedReply:
        return
    assert response.raw_response_hash == sha256_of(body)
    assert canonical_json(response.to_json())
