"""Tokens are what a provider tells in whole numbers, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bfcl.canonical import Json
from bfcl.digest import sha256_of
from bfcl.modelio.exchange import ChatResponse


def response(usage: Mapping[str, Json] | None) -> ChatResponse:
    return ChatResponse(
        provider_response_id=None,
        provider_request_id=None,
        assistant_content="Yes.",
        tool_calls=(),
        finish_reason="stop",
        usage=usage,
        selected_attempt=0,
        raw_response_hash=sha256_of(b"raw"),
    )


@pytest.mark.parametrize(
    ("usage", "tokens", "total"),
    [
        (None, (None, None), None),
        ({}, (None, None), None),
        ({"prompt_tokens": 10, "completion_tokens": 0, "total_tokens": 10}, (10, 0), 10),
        ({"prompt_tokens": 10, "total_tokens": "10"}, (10, None), None),
        ({"prompt_tokens": -1, "completion_tokens": True, "total_tokens": 1.0}, (None, None), None),
        ({"prompt_tokens": 2**53, "completion_tokens": 2**53 + 1, "total_tokens": 10**4299}, (2**53, None), None),
    ],
    ids=["none", "empty", "all", "one", "no_counts", "beyond_counts"],
)
def test_tokens_are_whole_numbers_or_unknown(
    usage: Mapping[str, Json] | None, tokens: tuple[int | None, int | None], total: int | None
) -> None:
    told = response(usage)
    assert (told.tokens, told.total_tokens) == (tokens, total)
