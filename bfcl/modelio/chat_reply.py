"""What does a candidate's reply say, read once and never repaired? Rule: evaluation.md §5, translation.md §13.6."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NoReturn

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_of
from bfcl.modelio.exchange import ArgumentsStatus, ChatResponse, ToolCall

LEVELS: Final = 128
"""How deep objects and lists may lie in each other."""


class MalformedReply(Exception):
    """A reply with status 200 that is none of the protocol. Its text is ours, never the provider's."""


def read_reply(body: bytes, *, selected_attempt: int, provider_request_id: str | None) -> ChatResponse:
    """The reply that these bytes hold.

    Refused as a whole: what is no JSON object in UTF-8 (see `strict_json`), not exactly one choice, a `message` that is
    no object, `tool_calls` that are no list, a call without a function's name. All else is kept as it was sent.
    Raises: MalformedReply.
    """
    try:
        document = strict_json(body.decode())
    except ValueError:
        document = None
    if not isinstance(document, Mapping):
        raise MalformedReply("the reply is no JSON object in UTF-8")
    choice = _only_choice(document.get("choices"))
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise MalformedReply("`message` of the reply's choice is no object")
    finish = choice.get("finish_reason")
    usage = document.get("usage")
    return ChatResponse(
        provider_response_id=_text(document.get("id")),
        provider_request_id=provider_request_id,
        assistant_content=message.get("content"),
        tool_calls=_tool_calls(message.get("tool_calls")),
        finish_reason=finish.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(finish, str) else None,
        usage=usage if isinstance(usage, Mapping) else None,
        selected_attempt=selected_attempt,
        raw_response_hash=sha256_of(body),
    )


def strict_json(text: str) -> Json:
    """The value of a JSON text.

    Refused beyond the grammar is what readers take differently, or what could not be written down again: NaN, infinity,
    numbers too large for a float, a key twice in one object, half of a surrogate pair, more than `LEVELS`.
    Raises: ValueError, without a word of the text.
    """
    try:
        value: Json = _DECODER.decode(text)
        # Before writing: a limit of ours is the same on every interpreter and below every caller.
        if _levels_fit(text, value):
            canonical_json(value)
            return value
    except (ValueError, RecursionError):
        pass
    # Not chained: the parser's error holds the whole text.
    raise ValueError("no strict JSON")


def _only_choice(choices: Json) -> Mapping[str, Json]:
    if not isinstance(choices, Sequence) or isinstance(choices, str):
        raise MalformedReply("`choices` of the reply is no list; expected exactly one choice")
    if len(choices) != 1:
        raise MalformedReply(f"the reply has {len(choices)} choices; expected exactly one")
    (choice,) = choices
    if not isinstance(choice, Mapping):
        raise MalformedReply("the reply's choice is no object")
    return choice


def _tool_calls(calls: Json) -> tuple[ToolCall, ...]:
    if calls is None:
        return ()
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise MalformedReply("`tool_calls` of the reply is no list")
    return tuple(_tool_call(index, call) for index, call in enumerate(calls))


def _tool_call(index: int, call: Json) -> ToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or not isinstance(name, str) or not name:
        raise MalformedReply(f"tool call {index} of the reply names no function")
    raw = function.get("arguments")
    status, parsed = _arguments(raw)
    return ToolCall(
        index=index,
        id=_text(call.get("id")),
        type=_text(call.get("type")),
        function_name=name,
        raw_arguments=raw,
        parsed_arguments=parsed,
        arguments_status=status,
    )


def _arguments(raw: Json) -> tuple[ArgumentsStatus, Mapping[str, Json] | None]:
    """Null counts as missing, as it does for `tool_calls`."""
    if raw is None:
        return "missing", None
    if not isinstance(raw, str):
        return "wrong_type", None
    try:
        value = strict_json(raw)
    except ValueError:
        return "invalid_json", None
    return ("valid_object", value) if isinstance(value, Mapping) else ("json_not_object", None)


def _levels_fit(text: str, value: Json) -> bool:
    if text.count("[") + text.count("{") <= LEVELS:
        return True
    level: list[Json] = [value] if isinstance(value, dict | list) else []
    for _ in range(LEVELS):
        if not level:
            break
        level = [child for each in level for child in _children(each) if isinstance(child, dict | list)]
    return not level


def _children(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _refused(_: str) -> NoReturn:
    raise ValueError


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refused)
"""Made once: a reply may have a hundred thousand texts of arguments."""
