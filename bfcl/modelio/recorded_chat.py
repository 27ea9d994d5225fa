"""How is a concluded call written down, and what does a written one say? Rule: translation.md §13.6.

A call is recorded as its request, its attempts, and a completion that follows from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final, NamedTuple

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_of
from bfcl.modelio.attempts import RETRIED, status_of
from bfcl.modelio.chat_reply import MalformedReply, read_reply
from bfcl.modelio.exchange import SCHEMA_VERSION, Attempt, ChatOutcome, ChatRequest, ChatResponse, concluded
from bfcl.modelio.log_form import LogForm, LogRecord, UnfitError, Unit

INVALID_CODE: Final = "eval_candidate_cache_invalid"
CONFLICT_CODE: Final = "eval_candidate_cache_conflict"
FORM: Final = LogForm(
    schema_version=SCHEMA_VERSION,
    begins=frozenset({"request"}),
    between=frozenset({"attempt"}),
    ends=frozenset({"completion"}),
    key_field="request_hash",
    index_field="attempt_index",
    invalid_code=INVALID_CODE,
    conflict_code=CONFLICT_CODE,
)


class Exchange(NamedTuple):
    """A recorded call."""

    request: ChatRequest
    outcome: ChatOutcome
    """`replayed` is true."""


_REQUEST: Final[Mapping[str, tuple[type, ...]]] = {
    **{field.name: (str,) for field in dataclasses.fields(ChatRequest)},
    "turn_index": (int,),
    "body": (dict,),
}
_NONE: Final = type(None)
_ATTEMPT: Final[Mapping[str, tuple[type, ...]]] = {
    "attempt_index": (int,),
    "observed_at": (str,),
    "status": (str,),
    "retryable": (bool,),
    "http_status": (int, _NONE),
    "latency_s": (float, int),
    "raw_response": (str, _NONE),
    "raw_response_hash": (str, _NONE),
    "provider_request_id": (str, _NONE),
    "diagnostic": (str, _NONE),
    "retry_after_s": (float, int, _NONE),
}


def unit_of(request: ChatRequest, outcome: ChatOutcome) -> Unit:
    """The records of a concluded call, in the order in which they are written."""
    key = request.request_hash
    return (
        LogRecord(record_type="request", key=key, payload=None, spelled=request.text),
        *(
            LogRecord(record_type="attempt", key=key, index=attempt.attempt_index, payload=attempt.to_json())
            for attempt in outcome.attempts
        ),
        LogRecord(record_type="completion", key=key, payload=outcome.to_json()),
    )


def exchange_of(unit: Unit) -> Exchange:
    """The call that a unit records, its reply read anew.

    Raises: UnfitError where a record has another shape, an attempt is missing, or the completion is not what follows
    from the attempts.
    """
    first, *middle, last = unit
    request = _request(first)
    if not middle:
        raise UnfitError("the completion cites no attempt", at=1)
    for place, record in enumerate(middle):
        if record.index != place:
            raise UnfitError(f"attempt {place} is missing before this one", at=1 + place)
    for record, at in ((first, 0), (last, len(unit) - 1)):
        if record.index is not None:
            raise UnfitError("`attempt_index` is not null, and the record is no attempt", at=at)
    attempts = [_attempt(record) for record in middle]
    for attempt in attempts[:-1]:
        if not attempt.retryable:
            raise UnfitError("follows an attempt that ended the call", at=2 + attempt.attempt_index)
    outcome = concluded(request.request_hash, attempts, _response(attempts[-1]), replayed=True)
    if canonical_json(outcome.to_json()) != canonical_json(last.payload):
        raise UnfitError("the completion is not what follows from its attempts", at=len(unit) - 1)
    return Exchange(request, outcome)


def _request(record: LogRecord) -> ChatRequest:
    payload = record.payload
    if not isinstance(payload, Mapping) or not _fits(payload, {**_REQUEST, "schema_version": (str,)}):
        raise UnfitError("the request has other fields than one, or of other types")
    fields = {name: value for name, value in payload.items() if name != "schema_version"}
    request = ChatRequest(**fields)  # type: ignore[arg-type]
    if payload["schema_version"] != SCHEMA_VERSION or request.request_hash != record.key:
        raise UnfitError("`request_hash` is not that of the request")
    return request


def _attempt(record: LogRecord) -> Attempt:
    at = 1 + (record.index or 0)
    payload = record.payload
    if not isinstance(payload, Mapping) or not _fits(payload, _ATTEMPT):
        raise UnfitError("the attempt has other fields than one, or of other types", at=at)
    attempt = Attempt(**payload)  # type: ignore[arg-type]
    if attempt.attempt_index != record.index:
        raise UnfitError("`attempt_index` of the attempt is not that of its record", at=at)
    if not _holds_together(attempt):
        raise UnfitError("status, HTTP status and raw reply of the attempt do not belong together", at=at)
    if attempt.raw_response is not None and sha256_of(attempt.raw_response.encode()) != attempt.raw_response_hash:
        raise UnfitError("`raw_response_hash` is not that of the raw reply", at=at)
    return attempt


def _holds_together(attempt: Attempt) -> bool:
    """Whether what an attempt says of itself can be true of one exchange."""
    if attempt.retryable != (attempt.status in RETRIED):
        return False
    if attempt.http_status is None:
        silent = attempt.raw_response is None and attempt.raw_response_hash is None
        return attempt.status in ("timeout", "transport_error") and silent
    if attempt.http_status != 200:
        return attempt.raw_response is None and attempt.status == status_of(attempt.http_status)
    kept = attempt.raw_response is not None
    return attempt.status == "malformed_response" or (attempt.status == "completed" and kept)


def _response(attempt: Attempt) -> ChatResponse | None:
    """What the raw reply of a call's last attempt says; None where it is unusable, as recorded."""
    if attempt.raw_response is None:
        return None
    try:
        response = read_reply(
            attempt.raw_response.encode(),
            selected_attempt=attempt.attempt_index,
            provider_request_id=attempt.provider_request_id,
        )
    except MalformedReply:
        response = None
    if (response is not None) != (attempt.status == "completed"):
        raise UnfitError("the raw reply is not what the attempt's status says of it", at=1 + attempt.attempt_index)
    return response


def _fits(payload: Mapping[str, Json], types: Mapping[str, tuple[type, ...]]) -> bool:
    return payload.keys() == types.keys() and all(type(payload[name]) in allowed for name, allowed in types.items())
