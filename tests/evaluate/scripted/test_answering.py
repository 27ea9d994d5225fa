"""Answers to whole requests, without a socket."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bfcl.canonical import Json, canonical_json
from bfcl.evaluate.scripted.answering import Answer, Answering
from bfcl.evaluate.scripted.behaviours import BEHAVIOURS
from bfcl.evaluate.scripted.candidate import ScriptedCandidate
from bfcl.evaluate.scripted.http11 import Request
from bfcl.modelio.chat_reply import MalformedReply, read_reply
from tests.evaluate.scripted.rows import conversation, row, rows
from tests.exports.staged import decoded

CANDIDATE = ScriptedCandidate(rows(1))
COMPLETIONS = "/v1/chat/completions"


def chat(model: str = "scripted-gold", **edits: Json) -> dict[str, Json]:
    return {"model": model, "messages": conversation(row(1), 2), "tools": decoded(row(1)).tools, **edits}


def post(body: Any, path: str = COMPLETIONS, method: str = "POST", **headers: str) -> Request:
    data = body if isinstance(body, bytes) else canonical_json(body)
    return Request(method=method, path=path, headers=headers, body=data, keep_alive=True)


def answered(request: Request, answering: Answering | None = None) -> Answer:
    return (answering or Answering(CANDIDATE)).answer(request, {"requests": 5})


def said(answer: Answer) -> tuple[int, str, str]:
    """Status, code and message of a refusal."""
    error = json.loads(answer.body)["error"]
    assert error["type"] == "scripted_candidate"
    return answer.status, error["code"], error["message"]


def test_completion_is_the_candidates_reply() -> None:
    answer = answered(post(chat()))
    assert (answer.status, answer.pace, dict(answer.headers)) == (200, "at_once", {})
    reply = read_reply(answer.body, selected_attempt=0, provider_request_id=None)
    assert [call.raw_arguments for call in reply.tool_calls] == ['{"valve":"V-1"}', '{"valve":"V-0"}']


def test_models_are_listed_with_one_flaky_one() -> None:
    listed = json.loads(answered(post(b"", "/v1/models", "GET")).body)
    assert [one["id"] for one in listed["data"]] == [*BEHAVIOURS, "scripted-flaky-0.25"]
    assert {(one["object"], one["created"], one["owned_by"]) for one in listed["data"]} == {("model", 0, "scripted")}


def test_health_tells_tasks_and_what_the_server_adds() -> None:
    assert json.loads(answered(post(b"", "/healthz", "GET")).body) == {"status": "ok", "tasks": 1, "requests": 5}


@pytest.mark.parametrize(
    ("request_", "refused"),
    [
        (post(b"", "/v1", "GET"), (404, "not_found", "there is /v1/chat/completions, /v1/models, /healthz")),
        (post(b"{", COMPLETIONS), (400, "invalid_request", "the body is no JSON object in UTF-8")),
        (post(b"\xff", COMPLETIONS), (400, "invalid_request", "the body is no JSON object in UTF-8")),
        (post([]), (400, "invalid_request", "the body is no JSON object in UTF-8")),
        (post({}), (400, "invalid_request", "`model` is no text")),
        (post(chat(stream=True)), (400, "invalid_request", "`stream` is not supported")),
        (post(chat(n=2)), (400, "invalid_request", "`n` may only be 1")),
        (post({"model": "scripted-gold"}), (400, "invalid_request", "`messages` is no list of objects")),
        (post(chat(messages=["x"])), (400, "invalid_request", "`messages` is no list of objects")),
        (post(chat(tools={})), (400, "invalid_request", "`tools` is no list of objects")),
        (
            post(chat("scripted-glod")),
            (404, "model_not_found", "no scripted candidate has this name; did you mean `scripted-gold`?"),
        ),
        (
            post(chat(messages=[])),
            (400, "unknown_conversation", "no task of this benchmark has a conversation with these messages"),
        ),
        (post(chat("scripted-unauthorized")), (401, "invalid_api_key", "this candidate takes no key")),
        (post(chat("scripted-unavailable")), (503, "unavailable", "this candidate is never there")),
    ],
    ids=str,
)
def test_request_is_refused_in_the_manner_of_the_protocol(request_: Request, refused: tuple[int, str, str]) -> None:
    assert said(answered(request_)) == refused


def test_wrong_method_is_told_the_right_one() -> None:
    answer = answered(post(b"", COMPLETIONS, "GET"))
    assert said(answer) == (405, "method_not_allowed", "/v1/chat/completions takes POST")
    assert answer.headers == {"Allow": "POST"}


def test_limited_rate_turns_a_request_away_once_and_again_the_next_time() -> None:
    answering = Answering(CANDIDATE, retry_after_s=3)
    one, other = post(chat("scripted-rate-limited")), post(chat("scripted-rate-limited", seed=1))
    answers = [answered(each, answering) for each in (one, other, one, other, one)]
    assert [answer.status for answer in answers] == [429, 429, 200, 200, 429]
    assert said(answers[0]) == (429, "rate_limit_exceeded", "send the same request again")
    assert answers[0].headers == {"Retry-After": "3"}


def test_garbage_is_no_reply() -> None:
    answer = answered(post(chat("scripted-garbage")))
    assert answer.status == 200
    with pytest.raises(MalformedReply):
        read_reply(answer.body, selected_attempt=0, provider_request_id=None)


def test_drip_is_the_right_reply_at_another_pace() -> None:
    answer = answered(post(chat("scripted-slow-drip")))
    assert (answer.status, answer.pace) == (200, "dripping")
    assert len(read_reply(answer.body, selected_attempt=0, provider_request_id=None).tool_calls) == 2


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer canary-", "Basic canary", "Bearer cänary"])
def test_wrong_bearer_value_is_refused_and_not_recorded(sent: str) -> None:
    recorded: list[object] = []
    answering = Answering(CANDIDATE, key="canary", record=recorded.append)
    answer = answered(post(chat(), authorization=sent), answering)
    assert said(answer) == (401, "invalid_api_key", "the bearer value is not the one asked for")
    assert b"canary" not in answer.body
    assert recorded == []


def test_right_bearer_value_opens_and_health_needs_none() -> None:
    answering = Answering(CANDIDATE, key="canary")
    assert answered(post(chat(), authorization="bearer canary"), answering).status == 200
    assert answered(post(b"", "/healthz", "GET"), answering).status == 200
    assert answered(post(b"", "/v1/models", "GET"), answering).status == 401


def test_bodies_of_completions_are_recorded_and_nothing_else() -> None:
    recorded: list[object] = []
    answering = Answering(CANDIDATE, record=recorded.append)
    for request in (post(chat(authorization="x")), post(b"", "/healthz", "GET"), post({"model": 7}), post(b"{")):
        answered(request, answering)
    assert [canonical_json(one) for one in recorded] == [  # type: ignore[arg-type]
        canonical_json(chat(authorization="x")),
        b'{"model":7}',
    ]
