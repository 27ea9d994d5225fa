"""Scripts, candidates that answer from a function, and the policies that the tests of comparing and driving share."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.digest import sha256_of
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.drive.results import RecordedResults, Results
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.records import EpisodeEvidence, GoldCall, Script, ScriptTurn
from bfcl.evaluate.settings.model import Candidate, Identity, Inference, Limits, Scoring
from bfcl.modelio.chat_reply import read_reply
from bfcl.modelio.exchange import Attempt, CallStatus, ChatOutcome, ChatRequest, ToolCall
from tests.exports.staged import decoded, row

Message = dict[str, Json]
Answer = Message | CallStatus
"""A message of the reply's only choice (`finish_reason` beside it), or how the call ended without one."""

SCORING = Scoring(
    contract=Path("/eval/contract.json"),
    contract_hash=sha256_of(b"contract"),
    argument_matching="schema_then_canonical",
    insert_declared_defaults=True,
    respect_call_order=True,
    respect_call_group=True,
    allow_llm_repair=False,
    task_success="all_applicable_gates",
    intermediate_text_matching="structural",
    executable_continuation="gold",
    policy_hash=sha256_of(b"policy"),
)
LIMITS = Limits(
    max_turns=12,
    max_parallel_tasks=4,
    max_retries=0,
    tool_timeout_s=10.0,
    candidate_timeout_s=30.0,
    episode_timeout_s=60.0,
)


def inference(**edits: Any) -> Inference:
    good: dict[str, Any] = {
        "temperature": 0.0,
        "top_p": None,
        "max_tokens": 512,
        "seed": 11,
        "tool_choice": "auto",
        "provider_extensions": {},
        "max_tokens_field": "max_tokens",
        "echo_reasoning": None,
    }
    return Inference(**{**good, **edits})


def candidate(alias: str = "small", **edits: Any) -> Candidate:
    """A candidate on a loopback endpoint; `edits` change how it is asked."""
    return Candidate(
        alias=alias,
        model=f"org/{alias}",
        provider="vllm",
        provider_api_version="v1",
        base_url="http://127.0.0.1:9/v1",
        api_key_env="SMALL_KEY",
        identity=Identity(source="huggingface", model=f"org/{alias}", revision="a" * 40, weights_digest=None),
        canonical_id=f"huggingface:org/{alias}@{'a' * 40}",
        assurance="weights_pinned",
        inference=inference(**edits),
        inference_parameters_hash=sha256_of(b"inference"),
    )


def script() -> Script:
    """Reads twice in one group, then sets after a confirmation: U C(2) A U C A; `strict`."""
    return read_script(decoded(row()))


def tool(name: str, parameters: Mapping[str, Json]) -> Mapping[str, Json]:
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


def gold(tool: str, index: int = 0, /, **arguments: Json) -> GoldCall:
    return GoldCall(index=index, tool=tool, arguments=arguments, recorded_result=f'{{"answer":{index}}}')


def made(name: str, arguments: Json = None, *, index: int = 0, kind: str | None = "function") -> ToolCall:
    """A call as a reply has it; `arguments` is an object, or a text taken as it is."""
    wire = {**wire_call(name, arguments if arguments is not None else {}, call_id=f"c{index}"), "type": kind}
    call = read_reply(body_of_reply({"tool_calls": [wire]}), selected_attempt=0, provider_request_id=None).tool_calls[0]
    return ToolCall(
        index=index,
        id=call.id,
        type=call.type,
        function_name=call.function_name,
        raw_arguments=call.raw_arguments,
        parsed_arguments=call.parsed_arguments,
        arguments_status=call.arguments_status,
    )


# --- replies ------------------------------------------------------------------------------------------------------


def wire_call(name: str, arguments: Json, *, call_id: str | None = "c0") -> Message:
    """A call on the wire; its arguments spelt with blanks, so that a text that is written anew shows."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": raw}}


def calls(*wire: Message, content: Json = None, finish: str = "tool_calls") -> Message:
    """A reply of calls with ids of their own, unless they have some."""
    return {"content": content, "tool_calls": list(wire), "finish_reason": finish}


def words(content: Json, finish: str = "stop") -> Message:
    return {"content": content, "finish_reason": finish}


def as_expected(turn: ScriptTurn) -> Message:
    """The reply that a turn expects; ids are the candidate's own."""
    if not turn.calls:
        return words(turn.text)
    return calls(*(wire_call(call.tool, call.arguments, call_id=f"own-{call.index}") for call in turn.calls))


def outcome_of(request: ChatRequest, answer: Answer) -> ChatOutcome:
    """The outcome that a client makes of an answer."""
    status: CallStatus = "completed" if isinstance(answer, dict) else answer
    raw = body_of_reply(answer) if isinstance(answer, dict) else None
    attempt = Attempt(
        attempt_index=0,
        observed_at="2026-01-01T00:00:00+00:00",
        status=status,
        retryable=False,
        http_status=None if raw is None else 200,
        latency_s=0.5,
        raw_response=None if raw is None else raw.decode(),
        raw_response_hash=None if raw is None else sha256_of(raw),
        provider_request_id=None,
        diagnostic=None,
        retry_after_s=None,
    )
    return ChatOutcome(
        request_hash=request.request_hash,
        status=status,
        attempts=(attempt,),
        response=None if raw is None else read_reply(raw, selected_attempt=0, provider_request_id=None),
        replayed=False,
    )


def body_of_reply(message: Message) -> bytes:
    """The bytes of a reply with this message."""
    told = {"role": "assistant", **{key: value for key, value in message.items() if key != "finish_reason"}}
    choice: Json = {"index": 0, "message": told, "finish_reason": message.get("finish_reason")}
    return canonical_json({"id": "reply", "choices": [choice]})


class Answering:
    """A candidate's client that answers by a function of the request, and keeps what it was asked."""

    def __init__(self, answer: Callable[[ChatRequest], Answer]) -> None:
        self._answer = answer
        self.requests: list[ChatRequest] = []
        self.deadlines: list[float] = []

    async def complete(self, request: ChatRequest, deadline: float) -> ChatOutcome:
        # What a client keeps of a request must not change when the conversation goes on.
        self.requests.append(request)
        self.deadlines.append(deadline)
        return outcome_of(request, self._answer(request))

    def prompts(self) -> list[list[Message]]:
        """The messages of every request."""
        return [json.loads(canonical_text(request.body["messages"])) for request in self.requests]


def answering(of: Script, instead: Mapping[int, Answer] | None = None) -> Answering:
    """A candidate that does as the script expects, but for the turns named in `instead`."""
    other = instead or {}
    return Answering(lambda request: other.get(request.turn_index) or as_expected(of.turns[request.turn_index]))


def play(
    of: Script,
    client: Answering,
    *,
    scoring: Scoring = SCORING,
    limits: Limits = LIMITS,
    results: Results | None = None,
    mode: Literal["trace", "executable"] = "trace",
    asked: Candidate | None = None,
    ticks: Sequence[float] = (),
    trial: int = 0,
) -> EpisodeEvidence:
    """Drive one script. `ticks` are what the clock tells, the last for ever; it stands still without."""
    times = itertools.chain(ticks, itertools.repeat(ticks[-1] if ticks else 0.0))
    asking = Asking(candidate=asked or candidate(), client=client, mode=mode, trial=trial, clock=lambda: next(times))
    return asyncio.run(drive(of, asking, results or RecordedResults(), scoring, limits))


def one_group() -> Script:
    """A script of one call group and a last answer: U C(2) A; `strict`."""
    whole = script()
    group, asked, *_ = whole.turns
    return replace(whole, turns=(group, replace(asked, text="Done.", user_after=None, terminal=True)))
