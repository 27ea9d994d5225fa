"""What is answered to one HTTP request? Routes, refusals and behaviours that are none of words; no socket here."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_hex
from bfcl.evaluate.scripted.behaviours import BEHAVIOURS, FLAKY, UnknownModel, check_model
from bfcl.evaluate.scripted.candidate import ScriptedCandidate, UnknownConversation
from bfcl.evaluate.scripted.http11 import Request
from bfcl.modelio.chat_reply import strict_json

COMPLETIONS: Final = "/v1/chat/completions"
MODELS: Final = "/v1/models"
HEALTH: Final = "/healthz"

_METHODS: Final[Mapping[str, str]] = {COMPLETIONS: "POST", MODELS: "GET", HEALTH: "GET"}
_GARBAGE: Final = b'{"choices": [\xff\xfe<html>'

Pace: TypeAlias = Literal["at_once", "dripping"]
Recorder: TypeAlias = Callable[[Mapping[str, Json]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response before it is sent."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    pace: Pace = "at_once"


class Refusal(Exception):
    """A request that is refused in the manner of the protocol."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def refusal(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    """The answer that refuses."""
    error: Json = {"error": {"message": message, "type": "scripted_candidate", "code": code, "param": None}}
    return Answer(status=status, body=canonical_json(error), headers=headers or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chat:
    """What of a request for a completion matters."""

    model: str
    messages: Sequence[Mapping[str, Json]]
    tools: Sequence[Mapping[str, Json]]


class Answering:
    """Answers requests one by one; remembers only which of them it has turned away for now."""

    def __init__(
        self,
        candidate: ScriptedCandidate,
        *,
        key: str | None = None,
        retry_after_s: int = 1,
        record: Recorder | None = None,
    ) -> None:
        """`key` is the bearer value to ask for; `record` gets the body of every request for a completion."""
        self._candidate = candidate
        self._key = key
        self._retry_after_s = retry_after_s
        self._record = record
        self._turned_away: set[str] = set()

    def answer(self, request: Request, health: Mapping[str, Json]) -> Answer:
        """The answer; what the recorder raises goes through."""
        try:
            self._check_route(request)
            if request.path == HEALTH:
                return Answer(
                    status=200, body=canonical_json({"status": "ok", "tasks": self._candidate.size, **health})
                )
            self._check_key(request)
            return self._complete(request.body) if request.path == COMPLETIONS else _models()
        except Refusal as refused:
            headers = {"Allow": _METHODS[request.path]} if refused.status == 405 else {}
            return refusal(refused.status, refused.code, str(refused), headers)

    def _check_route(self, request: Request) -> None:
        method = _METHODS.get(request.path)
        if method is None:
            raise Refusal(404, "not_found", f"there is {', '.join(_METHODS)}")
        if request.method != method:
            raise Refusal(405, "method_not_allowed", f"{request.path} takes {method}")

    def _check_key(self, request: Request) -> None:
        if self._key is None:
            return
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        # Bytes, since a text that is not ASCII cannot be compared in constant time.
        if scheme.lower() != "bearer" or not secrets.compare_digest(sent.encode(), self._key.encode()):
            raise Refusal(401, "invalid_api_key", "the bearer value is not the one asked for")

    def _complete(self, body: bytes) -> Answer:
        document = _object(body)
        if self._record is not None:
            self._record(document)
        chat = _chat(document)
        try:
            transport = check_model(chat.model).transport
        except UnknownModel as unknown:
            raise Refusal(404, "model_not_found", str(unknown)) from None
        match transport:
            case "unauthorized":
                raise Refusal(401, "invalid_api_key", "this candidate takes no key")
            case "unavailable":
                raise Refusal(503, "unavailable", "this candidate is never there")
            case "garbage":
                return Answer(status=200, body=_GARBAGE)
            case "rate_limited" if self._turns_away(body):
                wait = {"Retry-After": str(self._retry_after_s)}
                return refusal(429, "rate_limit_exceeded", "send the same request again", wait)
            case _:
                return self._reply(chat, "dripping" if transport == "slow_drip" else "at_once")

    def _reply(self, chat: _Chat, pace: Pace) -> Answer:
        try:
            reply = self._candidate.reply(chat.model, chat.messages, chat.tools)
        except UnknownConversation as unknown:
            raise Refusal(400, "unknown_conversation", str(unknown)) from None
        return Answer(status=200, body=canonical_json(reply), pace=pace)

    def _turns_away(self, body: bytes) -> bool:
        """Every other time that this request is sent, the first included."""
        key = sha256_hex(body)
        if key in self._turned_away:
            self._turned_away.remove(key)
            return False
        self._turned_away.add(key)
        return True


def _models() -> Answer:
    names = [*BEHAVIOURS, FLAKY.replace("<p>", "0.25")]
    listed: Json = [{"id": name, "object": "model", "created": 0, "owned_by": "scripted"} for name in names]
    return Answer(status=200, body=canonical_json({"object": "list", "data": listed}))


def _object(body: bytes) -> Mapping[str, Json]:
    try:
        document = strict_json(body.decode())
    except ValueError:
        document = None
    if not isinstance(document, Mapping):
        raise Refusal(400, "invalid_request", "the body is no JSON object in UTF-8")
    return document


def _chat(document: Mapping[str, Json]) -> _Chat:
    model = document.get("model")
    if not isinstance(model, str):
        raise Refusal(400, "invalid_request", "`model` is no text")
    if document.get("stream") not in (None, False):
        raise Refusal(400, "invalid_request", "`stream` is not supported")
    if document.get("n") not in (None, 1):
        raise Refusal(400, "invalid_request", "`n` may only be 1")
    return _Chat(model=model, messages=_objects(document, "messages"), tools=_objects(document, "tools"))


def _objects(document: Mapping[str, Json], name: str) -> Sequence[Mapping[str, Json]]:
    """A list of objects; absent is empty, but there is no conversation without messages."""
    listed = document.get(name)
    if listed is None and name != "messages":
        return ()
    if not isinstance(listed, list | tuple) or not all(isinstance(one, Mapping) for one in listed):
        raise Refusal(400, "invalid_request", f"`{name}` is no list of objects")
    return [one for one in listed if isinstance(one, Mapping)]
