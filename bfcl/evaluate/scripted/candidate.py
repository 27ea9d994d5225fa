"""What does a scripted candidate answer? A pure function of model name, messages and tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_hex
from bfcl.evaluate.scripted.behaviours import check_model, play
from bfcl.evaluate.scripted.heard import Message, heard
from bfcl.evaluate.scripted.live_values import as_lived
from bfcl.evaluate.scripted.recognition import Recognition
from bfcl.evaluate.scripted.said import AFTERWARDS, Made, Said
from bfcl.exports.row import ExportRow

_BYTES_A_TOKEN = 4
_ID_DIGITS = 24


class UnknownConversation(LookupError):
    """No task of the benchmark has such a conversation."""


class ScriptedCandidate:
    """Answers every conversation of a benchmark by the behaviour that the model name chooses."""

    def __init__(self, rows: Iterable[ExportRow]) -> None:
        """Raises: EvalError `eval_conversation_script_invalid`."""
        self._tasks = Recognition(rows)

    @property
    def size(self) -> int:
        """How many tasks it knows."""
        return self._tasks.size

    def contradictions(self) -> list[tuple[str, ...]]:
        """Tasks, by id, that show one conversation and ask for different things: only the first can be answered."""
        return self._tasks.contradictions()

    def said(self, model: str, messages: Sequence[Message], tools: Sequence[Mapping[str, Json]]) -> Said:
        """The reply. Raises: UnknownModel, UnknownConversation."""
        check_model(model)
        task = self._tasks.find(messages, tools)
        if task is None:
            raise UnknownConversation("no task of this benchmark has a conversation with these messages")
        script = as_lived(task.script, messages) if task.dependent else task.script
        replies = play(model, task.task_id, script)
        place = heard(messages).replies
        return replies[place] if place < len(replies) else Said(content=AFTERWARDS)

    def reply(self, model: str, messages: Sequence[Message], tools: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        """The reply as a `chat.completion`; the same request, the same reply. Raises: UnknownModel,
        UnknownConversation."""
        return completion(model, messages, tools, self.said(model, messages, tools))


def completion(
    model: str, messages: Sequence[Message], tools: Sequence[Mapping[str, Json]], said: Said
) -> dict[str, Json]:
    """A reply on the wire. Ids come of the request; tokens are estimated, four bytes to one."""
    key = sha256_hex(canonical_json([model, messages, tools]))[:_ID_DIGITS]
    message: dict[str, Json] = {"role": "assistant", "content": said.content}
    if said.calls:
        message["tool_calls"] = [_wire(call, key, place) for place, call in enumerate(said.calls)]
    asked, answered = _tokens([messages, tools]), _tokens([message["content"], message.get("tool_calls")])
    return {
        "id": f"chatcmpl-{key}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": said.finish_reason, "logprobs": None}],
        "usage": {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered},
    }


def _wire(call: Made, key: str, place: int) -> dict[str, Json]:
    wire: dict[str, Json] = {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    match call.id:
        case "own":
            wire["id"] = f"call_{key}_{place}"
        case "shared":
            wire["id"] = f"call_{key}"
        case "none":
            pass
    return wire


def _tokens(value: Json) -> int:
    return -(-len(canonical_json(value)) // _BYTES_A_TOKEN)
