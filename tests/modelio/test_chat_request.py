"""Bodies hold what the settings say; what may not be sent is refused with every reason, before anything goes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bfcl.canonical import Json
from bfcl.digest import sha256_json
from bfcl.errors import EvalError
from bfcl.modelio.chat_request import ANSWER_KEY, body_of, refuse_foreign, request_of
from tests.modelio.chat_server import MESSAGES, TOOLS, candidate, request

FIX = "\n  fix: nothing was sent; requests are built of published rows, so verify the benchmark with `bfcl verify`"


def refused(messages: Any = MESSAGES, tools: Any = TOOLS, **inference: Any) -> list[tuple[str | None, str]]:
    with pytest.raises(EvalError) as caught:
        body_of(candidate(**inference), messages, tools)
    return [(problem.field, str(problem)) for problem in caught.value.problems]


def test_body_holds_the_settings_and_nothing_else() -> None:
    assert body_of(candidate(), MESSAGES, TOOLS) == {
        "model": "vendor/kiln-7b",
        "messages": MESSAGES,
        "tools": TOOLS,
        "tool_choice": "auto",
        "temperature": 0.0,
        "max_tokens": 64,
        "seed": 5,
    }


def test_null_seed_and_top_p_are_not_sent() -> None:
    body = body_of(candidate(seed=None, top_p=0.5, max_tokens_field="max_completion_tokens"), MESSAGES, TOOLS)
    assert "seed" not in body
    assert "max_tokens" not in body
    assert (body["top_p"], body["max_completion_tokens"]) == (0.5, 64)


@pytest.mark.parametrize(("seed", "sent"), [(5, 8), (0, 3), (None, None)])
def test_seed_grows_with_the_trial(seed: int | None, sent: int | None) -> None:
    assert body_of(candidate(seed=seed), MESSAGES, TOOLS, seed_offset=3).get("seed") == sent


def test_extensions_of_the_own_provider_are_fields_of_the_body() -> None:
    extensions = {"Vendor-X.ai.V1": {"reasoning_effort": "low", "extra": {"a": [1]}}}
    body = body_of(candidate(provider_extensions=extensions), MESSAGES, TOOLS)
    assert (body["reasoning_effort"], body["extra"]) == ("low", {"a": [1]})


def test_extensions_of_another_provider_and_settled_fields_are_refused_together() -> None:
    extensions = {"vendor_x.v1": {"a": 1}, "vendor-x.ai.v1": {"seed": 4, "stream": True, "limit": 3}}
    assert refused(provider_extensions=extensions, max_tokens_field="limit") == [
        (
            "inference.provider_extensions.vendor_x.v1",
            "eval_candidate_provider_extension_invalid: kiln: the extensions stand under `vendor_x.v1`; expected "
            "`vendor-x.ai.v1`, provider and API version\n"
            "  fix: write them under `vendor-x.ai.v1`, or leave them out",
        ),
        *(
            (
                f"inference.provider_extensions.vendor-x.ai.v1.{name}",
                f"eval_candidate_provider_extension_invalid: kiln: the extension `{name}` is a field that every "
                "request has, or one that changes the protocol\n"
                f"  fix: take `{name}` out of the extensions; what `inference` settles is set there",
            )
            for name in ("limit", "seed", "stream")
        ),
    ]


def invalid(message: str) -> str:
    return f"eval_candidate_request_invalid: kiln: {message}{FIX}"


def test_empty_messages_and_tools_are_refused_together() -> None:
    assert refused([], []) == [
        ("messages", invalid("the request has no messages; expected at least one")),
        ("tools", invalid("the request offers no tools; expected at least one")),
    ]


@pytest.mark.parametrize("message", [{"content": "x"}, {"role": ""}, {"role": None}])
def test_message_without_a_role_is_refused(message: dict[str, Json]) -> None:
    assert refused([*MESSAGES, message]) == [("messages[1].role", invalid("message 1 has no role"))]


@pytest.mark.parametrize("name", sorted(ANSWER_KEY))
def test_message_with_a_field_of_the_answer_key_is_refused(name: str) -> None:
    assert refused([{"role": "user", "content": "x", name: []}]) == [
        (f"messages[0].{name}", invalid(f"message 0 holds `{name}`, which belongs to the answer key"))
    ]


@pytest.mark.parametrize(
    "tool",
    [
        {},
        {"type": "custom", "function": {"name": "f", "parameters": {}}},
        {"type": "function", "function": "f"},
        {"type": "function", "function": {"parameters": {}}},
        {"type": "function", "function": {"name": "", "parameters": {}}},
        {"type": "function", "function": {"name": "f"}},
    ],
)
def test_tool_that_is_no_function_is_refused(tool: dict[str, Json]) -> None:
    assert refused(MESSAGES, [*TOOLS, tool]) == [
        ("tools[1]", invalid("tool 1 is no function with a name and parameters"))
    ]


@pytest.mark.parametrize("content", [float("nan"), float("inf"), "\ud800"])
def test_request_that_json_cannot_carry_is_refused(content: Json) -> None:
    of = candidate()
    body = body_of(of, [{"role": "user", "content": content}], TOOLS)
    with pytest.raises(EvalError) as caught:
        request_of(of, body, task_id="t", turn_index=0)
    assert str(caught.value) == invalid(
        "the request holds a number, a half of a character or a depth that JSON in UTF-8 cannot carry"
    )
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_request_names_candidate_task_turn_and_later_trials() -> None:
    of = candidate()
    body = body_of(of, MESSAGES, TOOLS)
    assert request_of(of, body, task_id="t-1", turn_index=2).request_id == "kiln:t-1:2"
    assert request_of(of, body, task_id="t-1", turn_index=2, trial=3).request_id == "kiln:t-1:2:t3"


def test_request_hash_is_that_of_the_whole_request_and_pinned() -> None:
    one = request(candidate())
    assert one.request_hash == sha256_json(one.to_json())
    assert one.request_hash == "sha256:24c3147f37fce6e5611e2696f5140a3d6b3a874e2bd8cef93f540381f4003f5b"
    assert one.to_json().keys() == {
        "schema_version",
        "request_id",
        "candidate_alias",
        "canonical_model_identity",
        "task_id",
        "turn_index",
        "provider",
        "provider_api_version",
        "base_url",
        "model",
        "body",
    }


def test_request_of_another_candidate_is_refused_by_every_difference() -> None:
    own = candidate()
    refuse_foreign(own, request(own))
    other = replace(own, alias="oven", model="vendor/oven")
    with pytest.raises(EvalError) as caught:
        refuse_foreign(own, request(other))
    assert [str(problem) for problem in caught.value.problems] == [
        invalid(f"the request was built for another candidate: its `{name}` is '{seen}'")
        for name, seen in (("candidate_alias", "oven"), ("model", "vendor/oven"), ("body.model", "vendor/oven"))
    ]
