"""How is a turn asked through Inspect, and its answer read? Rule: evaluation.md §5, with another client than ours.

Inspect has read a reply before we see it, so that what its provider mended (see docs/evaluation/inspect.md) counts as
sent. All else is read by the reader that `bfcl eval` uses.
"""

from __future__ import annotations

import asyncio
import copy
import importlib
import json
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, Final

from bfcl.canonical import Json
from bfcl.digest import sha256_of
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.settings.model import Candidate, Limits
from bfcl.modelio.chat_reply import MalformedReply, read_reply
from bfcl.modelio.chat_request import extension_fields
from bfcl.modelio.exchange import Attempt, CallStatus, ChatOutcome, ChatRequest, ChatResponse, concluded

NOT_INSTALLED: Final = "inspect_ai_not_installed"

_FINISH: Final[Mapping[str, str | None]] = {"max_tokens": "length", "unknown": None}
"""Inspect's stop reasons where they differ from the protocol's finish reasons."""


def inspect_part(name: str) -> ModuleType:
    """A module of Inspect: `model` is `inspect_ai.model`, an empty name the package.

    Raises: EvalError `inspect_ai_not_installed`.
    """
    try:
        return importlib.import_module(f"inspect_ai.{name}" if name else "inspect_ai")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "inspect_ai":
            raise
    message = "a benchmark is to run as an Inspect task, and the package inspect-ai is not installed"
    raise EvalError(Problem(code=NOT_INSTALLED, subject="inspect_ai", message=message, fix="pip install inspect-ai"))


class InspectChat:
    """Asks the model that Inspect evaluates, for one episode. Implements `Completing`."""

    def __init__(self, candidate: Candidate, limits: Limits) -> None:
        """Of the candidate only what is asked for counts, not where: model, endpoint and key are Inspect's."""
        self._candidate = candidate
        self._limits = limits
        self.shown: list[Any] = []
        """The conversation as Inspect's messages, each of the model's own as it came."""
        self.output: Any = None
        """Inspect's last output; None before the first."""

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        """See `Completing.complete`. What a provider of Inspect raises is Inspect's to handle, and passes."""
        model = inspect_part("model")
        begun = time.monotonic()
        self.shown = list(self._messages(request.body["messages"]))
        output = None
        try:
            async with asyncio.timeout(max(min(deadline - begun, self._limits.candidate_timeout_s), 0.0)):
                output = await model.get_model().generate(
                    list(self.shown),
                    tools=tool_infos(request.body["tools"]),
                    tool_choice="any" if request.body["tool_choice"] == "required" else request.body["tool_choice"],
                    config=self._config(request.body),
                )
        except TimeoutError:
            pass
        latency_s = round(time.monotonic() - begun, 6)
        if output is None:
            return _outcome(request, "timeout", latency_s)
        self.output = output
        if not output.empty:
            self.shown.append(output.message)
        return read_output(request, output, latency_s)

    def _config(self, body: Mapping[str, Json]) -> Any:
        """How to generate: by the body of the request, whatever Inspect's own command line says."""
        return inspect_part("model").GenerateConfig(
            temperature=body["temperature"],
            top_p=body.get("top_p"),
            max_tokens=body[self._candidate.inference.max_tokens_field],
            seed=body.get("seed"),
            extra_body=extension_fields(self._candidate) or None,
            max_retries=self._limits.max_retries,
            # A tool that is named like one of the provider's own is still the benchmark's.
            internal_tools=False,
        )

    def _messages(self, messages: Json) -> Iterator[Any]:
        """A conversation for Inspect. The model gets back what it said as it said it, its reasoning among it."""
        model = inspect_part("model")
        own = [message for message in self.shown if message.role == "assistant"]
        names: dict[str, str] = {}
        for message in messages if isinstance(messages, list) else ():
            match message["role"]:
                case "system":
                    yield model.ChatMessageSystem(content=message["content"])
                case "user":
                    yield model.ChatMessageUser(content=message["content"])
                case "assistant":
                    said = own.pop(0)
                    names |= {call.id: call.function for call in said.tool_calls or ()}
                    yield said
                case "tool":
                    call_id = message["tool_call_id"]
                    yield model.ChatMessageTool(
                        content=message["content"], tool_call_id=call_id, function=names.get(call_id)
                    )


def tool_infos(tools: Json) -> list[Any]:
    """Tools for Inspect, whose parameters reach the model as the benchmark states them."""
    exact = _exact_tool()
    return [exact(one["function"]) for one in tools] if isinstance(tools, list) else []


def _exact_tool() -> Any:
    """Inspect's models of a tool keep only the keywords they know; these two keep all."""
    tool, pydantic = inspect_part("tool"), importlib.import_module("pydantic")

    def as_stated(self: Any) -> dict[str, Any]:
        stated: dict[str, Any] = self.stated
        return stated

    params = type(
        "ExactParams",
        (tool.ToolParams,),
        {
            "__module__": __name__,
            "__annotations__": {"stated": dict[str, Any]},
            "as_stated": pydantic.model_serializer(mode="plain")(as_stated),
        },
    )
    info = type("ExactTool", (tool.ToolInfo,), {"__module__": __name__, "__annotations__": {"parameters": params}})

    def exact(function: Mapping[str, Any]) -> Any:
        # A provider may take keywords out of what it gets; the schemas that replies are held to stay whole.
        stated = copy.deepcopy(function["parameters"])
        known = {key: value for key, value in stated.items() if key in tool.ToolParams.model_fields}
        return info(
            name=function["name"],
            description=function.get("description", ""),
            parameters=params(**known, stated=stated),
        )

    return exact


def read_output(request: ChatRequest, output: Any, latency_s: float) -> ChatOutcome:
    """What came back, a `ModelOutput`, as the protocol would have it on the wire."""
    stop = None if output.empty else output.stop_reason
    if output.error is not None or stop == "model_length":
        # An endpoint's refusal: Inspect puts the words of the error where the model's belong.
        return _outcome(request, "provider_rejected", latency_s)
    body = json.dumps(_wire(output)).encode()
    try:
        response = read_reply(body, selected_attempt=0, provider_request_id=None)
    except MalformedReply:
        return _outcome(request, "malformed_response", latency_s, raw=body)
    return _outcome(request, "completed", latency_s, raw=body, response=response)


def _wire(output: Any) -> dict[str, Any]:
    usage = output.usage
    return {
        "id": output.response_id,
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": choice.message.text or None,
                    "tool_calls": [_wire_call(call) for call in choice.message.tool_calls or ()] or None,
                },
                "finish_reason": _FINISH.get(choice.stop_reason, choice.stop_reason),
            }
            for choice in output.choices
        ],
        "usage": None
        if usage is None
        else {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
        },
    }


def _wire_call(call: Any) -> dict[str, Any]:
    """Arguments that Inspect could not read are none: it does not keep what the model wrote."""
    written = "" if call.parse_error is not None else json.dumps(call.arguments, default=str)
    return {"id": call.id, "type": call.type, "function": {"name": call.function, "arguments": written}}


def _outcome(
    request: ChatRequest,
    status: CallStatus,
    latency_s: float,
    *,
    raw: bytes | None = None,
    response: ChatResponse | None = None,
) -> ChatOutcome:
    """As our own client tells it; retries are Inspect's and not counted here."""
    attempt = Attempt(
        attempt_index=0,
        observed_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        status=status,
        retryable=False,
        http_status=None,
        latency_s=latency_s,
        raw_response=None if raw is None else raw.decode(),
        raw_response_hash=None if raw is None else sha256_of(raw),
        provider_request_id=None,
        diagnostic=None,
        retry_after_s=None,
    )
    return concluded(request.request_hash, [attempt], response)
