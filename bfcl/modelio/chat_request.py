"""What is sent to a candidate for one turn, and what is refused before? Rule: evaluation.md §5, §17.7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from bfcl.canonical import Json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.modelio.exchange import ChatRequest

ANSWER_KEY: Final = frozenset(
    {"expected_tool_calls", "success_assertions", "fixture_refs", "oracle_results", "reference_trace"}
)
"""Fields of a row that no message may have."""
STANDARD: Final = frozenset(
    {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "temperature",
        "max_tokens",
        "top_p",
        "seed",
        # One whole reply with one choice is what can be read: no extension may ask for another kind.
        "stream",
        "stream_options",
        "n",
    }
)
"""Fields that the protocol itself settles."""


class InferenceFields(Protocol):
    """How a candidate is asked. `top_p` and `seed` are not sent where null."""

    @property
    def temperature(self) -> float: ...
    @property
    def top_p(self) -> float | None: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def max_tokens_field(self) -> str: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def tool_choice(self) -> str: ...
    @property
    def provider_extensions(self) -> Mapping[str, Mapping[str, Json]]: ...


class CandidateFields(Protocol):
    """Of a candidate's settings, what a request is made of."""

    @property
    def alias(self) -> str: ...
    @property
    def canonical_id(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def provider_api_version(self) -> str: ...
    @property
    def base_url(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def inference(self) -> InferenceFields: ...


def body_of(
    candidate: CandidateFields,
    messages: Sequence[Mapping[str, Json]],
    tools: Sequence[Mapping[str, Json]],
    *,
    seed_offset: int = 0,
) -> dict[str, Json]:
    """The body of one request. `seed_offset` is added to a seed that is sent.

    Raises: EvalError with every problem: `eval_candidate_request_invalid` for messages or tools that cannot be sent,
    `eval_candidate_provider_extension_invalid`.
    """
    raise_all(EvalError, [*_unfit_messages(candidate, messages), *_unfit_tools(candidate, tools)])
    inference = candidate.inference
    body: dict[str, Json] = {
        "model": candidate.model,
        "messages": list(messages),
        "tools": list(tools),
        "tool_choice": inference.tool_choice,
        "temperature": inference.temperature,
        inference.max_tokens_field: inference.max_tokens,
    }
    if inference.top_p is not None:
        body["top_p"] = inference.top_p
    if inference.seed is not None:
        body["seed"] = inference.seed + seed_offset
    return body | extension_fields(candidate)


def request_of(
    candidate: CandidateFields, body: Mapping[str, Json], *, task_id: str, turn_index: int, trial: int = 0
) -> ChatRequest:
    """The request of one turn; trials beyond the first have names of their own.

    Raises: EvalError `eval_candidate_request_invalid` for what JSON in UTF-8 cannot carry.
    """
    name = f"{candidate.alias}:{task_id}:{turn_index}"
    request = ChatRequest(
        request_id=f"{name}:t{trial}" if trial else name,
        candidate_alias=candidate.alias,
        canonical_model_identity=candidate.canonical_id,
        task_id=task_id,
        turn_index=turn_index,
        provider=candidate.provider,
        provider_api_version=candidate.provider_api_version,
        base_url=candidate.base_url,
        model=candidate.model,
        body=body,
    )
    try:
        request.body_text.encode()
    except (ValueError, RecursionError):
        pass
    else:
        return request
    # Not chained: the error of the encoder holds the whole text.
    message = "the request holds a number, a half of a character or a depth that JSON in UTF-8 cannot carry"
    raise EvalError(_invalid(candidate, "body", message))


def refuse_foreign(candidate: CandidateFields, request: ChatRequest) -> None:
    """Refuse a request that was built for another candidate.

    Raises: EvalError `eval_candidate_request_invalid`.
    """
    pairs = {
        "candidate_alias": (request.candidate_alias, candidate.alias),
        "canonical_model_identity": (request.canonical_model_identity, candidate.canonical_id),
        "provider": (request.provider, candidate.provider),
        "provider_api_version": (request.provider_api_version, candidate.provider_api_version),
        "base_url": (request.base_url, candidate.base_url),
        "model": (request.model, candidate.model),
        "body.model": (request.body.get("model"), candidate.model),
    }
    raise_all(
        EvalError,
        [
            _invalid(candidate, name, f"the request was built for another candidate: its `{name}` is {seen!r}")
            for name, (seen, own) in pairs.items()
            if seen != own
        ],
    )


def extension_fields(candidate: CandidateFields) -> dict[str, Json]:
    """The fields that the candidate's provider extensions add to a body.

    They stand under `<provider>.<provider_api_version>`, whatever the case.
    Raises: EvalError `eval_candidate_provider_extension_invalid` with every problem.
    """
    own = f"{candidate.provider}.{candidate.provider_api_version}"
    settled = STANDARD | {candidate.inference.max_tokens_field}
    problems: list[Problem] = []
    found: dict[str, Json] = {}
    for namespace, fields in candidate.inference.provider_extensions.items():
        place = f"inference.provider_extensions.{namespace}"
        if namespace.casefold() != own.casefold():
            problems.append(
                Problem(
                    code="eval_candidate_provider_extension_invalid",
                    subject=candidate.alias,
                    field=place,
                    message=f"the extensions stand under `{namespace}`; expected `{own}`, provider and API version",
                    fix=f"write them under `{own}`, or leave them out",
                )
            )
        problems += [
            Problem(
                code="eval_candidate_provider_extension_invalid",
                subject=candidate.alias,
                field=f"{place}.{name}",
                message=f"the extension `{name}` is a field that every request has, or one that changes the protocol",
                fix=f"take `{name}` out of the extensions; what `inference` settles is set there",
            )
            for name in sorted(settled & fields.keys())
        ]
        found |= fields
    raise_all(EvalError, problems)
    return found


def _unfit_messages(candidate: CandidateFields, messages: Sequence[Mapping[str, Json]]) -> list[Problem]:
    if not messages:
        return [_invalid(candidate, "messages", "the request has no messages; expected at least one")]
    problems: list[Problem] = []
    for index, message in enumerate(messages):
        place = f"messages[{index}]"
        role = message.get("role")
        if not isinstance(role, str) or not role:
            problems.append(_invalid(candidate, f"{place}.role", f"message {index} has no role"))
        problems += [
            _invalid(candidate, f"{place}.{name}", f"message {index} holds `{name}`, which belongs to the answer key")
            for name in sorted(ANSWER_KEY & message.keys())
        ]
    return problems


def _unfit_tools(candidate: CandidateFields, tools: Sequence[Mapping[str, Json]]) -> list[Problem]:
    if not tools:
        return [_invalid(candidate, "tools", "the request offers no tools; expected at least one")]
    return [
        _invalid(candidate, f"tools[{index}]", f"tool {index} is no function with a name and parameters")
        for index, tool in enumerate(tools)
        if not _is_function(tool)
    ]


def _is_function(tool: Mapping[str, Json]) -> bool:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, Mapping):
        return False
    name = function.get("name")
    return isinstance(name, str) and bool(name) and isinstance(function.get("parameters"), Mapping)


def _invalid(candidate: CandidateFields, field: str, message: str) -> Problem:
    return Problem(
        code="eval_candidate_request_invalid",
        subject=candidate.alias,
        field=field,
        message=message,
        fix="nothing was sent; requests are built of published rows, so verify the benchmark with `bfcl verify`",
    )
