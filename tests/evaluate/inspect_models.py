"""Started by a test inside an environment with Inspect: `inspect` with scripted candidates as models beside its own.

`scripted/BEHAVIOUR` answers for the published run that the variable BFCL_TEST_RUN names. `odd/MANNER` gives what only
providers of Inspect give.
"""

from __future__ import annotations

import asyncio
import json
import os
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

from bfcl.evaluate.scripted.candidate import ScriptedCandidate
from bfcl.evaluate.scripted.load import published_rows
from bfcl.release.verify import verify_release

CANDIDATE = ScriptedCandidate(published_rows(verify_release(Path(os.environ["BFCL_TEST_RUN"]))))
STOPS = {"length": "max_tokens"}


@modelapi(name="scripted")
class Scripted(ModelAPI):
    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 called by this name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        asked = (config.temperature, config.top_p, config.max_tokens, config.seed, tool_choice)
        assert asked == (0.0, 1.0, 256, 3, "auto"), asked
        offered: list[Any] = [{"type": "function", "function": tool.model_dump(exclude_none=True)} for tool in tools]
        reply: Any = CANDIDATE.reply(self.model_name, [wire(message) for message in input], offered)
        (choice,) = reply["choices"]
        usage = reply["usage"]
        return ModelOutput(
            model=self.model_name,
            response_id=reply["id"],
            choices=[
                ChatCompletionChoice(
                    message=ChatMessageAssistant(
                        content=choice["message"]["content"] or "",
                        tool_calls=[tool_call(call) for call in choice["message"].get("tool_calls") or ()] or None,
                        source="generate",
                    ),
                    stop_reason=STOPS.get(choice["finish_reason"], choice["finish_reason"]),
                )
            ],
            usage=ModelUsage(
                input_tokens=usage["prompt_tokens"],
                output_tokens=usage["completion_tokens"],
                total_tokens=usage["total_tokens"],
            ),
        )


@modelapi(name="odd")
class Odd(ModelAPI):
    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 called by this name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        output = ModelOutput.from_content(self.model_name, "I am sorry.")
        match self.model_name:
            case "stuck":
                await asyncio.Event().wait()
            case "too_long":
                output.choices[0].stop_reason = "model_length"
            case "refused":
                output.error = "the provider refuses"
            case "two_choices":
                output.choices *= 2
            case "no_choice":
                output.choices = []
            case "no_number":
                call = ToolCall("id", tools[0].name, {"kiln_id": float("nan")})
                output.choices[0].message.tool_calls = [call]
        return output


def wire(message: ChatMessage) -> dict[str, Any]:
    """A message as a provider of Inspect sends it."""
    told: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        told["tool_call_id"] = message.tool_call_id
    if message.role == "assistant" and message.tool_calls:
        told["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function, "arguments": json.dumps(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return told


def tool_call(call: dict[str, Any]) -> ToolCall:
    """A call as a provider of Inspect reads it: ids are never absent, arguments are an object or a parse error."""
    text = call["function"]["arguments"]
    try:
        arguments, error = json.loads(text), None
    except json.JSONDecodeError as fault:
        arguments, error = {}, str(fault)
    return ToolCall(call.get("id", ""), call["function"]["name"], arguments, error)


if __name__ == "__main__":
    next(iter(entry_points(group="console_scripts", name="inspect"))).load()()
