"""Started by a test inside an environment with Inspect: `inspect` with a provider of scripted models beside its own.

`scripted/MANNER` answers from the samples in dataset.jsonl of the working directory, as its manner says.
"""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

SAMPLES = [json.loads(line) for line in Path("dataset.jsonl").read_text(encoding="utf-8").splitlines()]


@modelapi(name="scripted")
class Scripted(ModelAPI):
    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 called by this name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        said = [message.text for message in input if message.role in ("system", "user")]
        sample = next(one for one in SAMPLES if [message["content"] for message in one["input"]] == said[:2])
        check_input(sample, input, tools)
        answers = [message for message in sample["metadata"]["script"] if message["role"] == "assistant"]
        answer = answers[sum(message.role == "assistant" for message in input)]
        calls = [
            ToolCall(f"id{len(input)}-{number}", call["function"]["name"], json.loads(call["function"]["arguments"]))
            for number, call in enumerate(answer.get("tool_calls") or [])
        ]
        return spoken(self.model_name, answer.get("content"), calls, tools)


def check_input(sample: dict[str, Any], heard: list[ChatMessage], tools: list[ToolInfo]) -> None:
    """Tools, users' words and results reach the model exactly as exported, each result beside its call."""
    functions = [tool["function"] for tool in sample["metadata"]["tools"]]
    offered = [(tool.name, tool.description, tool.parameters.model_dump(exclude_none=True)) for tool in tools]
    assert offered == [(one["name"], one.get("description", ""), one["parameters"]) for one in functions], offered
    whole = [tool.model_dump(exclude_none=True)["parameters"] for tool in tools]
    assert whole == [one["parameters"] for one in functions], whole
    script = [*sample["input"], *sample["metadata"]["script"]][: len(heard)]
    texts = sorted((message.role, message.text) for message in heard if message.role != "assistant")
    assert texts == sorted((one["role"], one["content"]) for one in script if one["role"] != "assistant"), texts
    recorded: dict[tuple[str, str], str] = {}
    names = {}
    for one in script:
        for call in one.get("tool_calls") or []:
            names[call["id"]] = (call["function"]["name"], json.loads(call["function"]["arguments"]))
        if one["role"] == "tool":
            name, arguments = names[one["tool_call_id"]]
            recorded[name, json.dumps(arguments, sort_keys=True)] = one["content"]
    made = {call.id: call for message in heard if message.role == "assistant" for call in message.tool_calls or []}
    for message in heard:
        if message.role == "tool":
            call = made.pop(message.tool_call_id or "")
            assert message.text == recorded[call.function, json.dumps(call.arguments, sort_keys=True)], message.text
    assert not made, made


def spoken(manner: str, content: str | None, calls: list[ToolCall], tools: list[ToolInfo]) -> ModelOutput:
    """The scripted answer in another manner: see the test that names them."""
    if manner == "reversed":
        calls.reverse()
    elif manner == "wrong_value":
        for call in calls:
            call.arguments = {name: [value] for name, value in call.arguments.items()}
    elif manner == "wrong_tool":
        for call in calls:
            call.function = next(tool.name for tool in tools if tool.name != call.function)
    elif manner == "always_calls" and not calls:
        calls.append(ToolCall("extra", tools[0].name, {}))
    elif manner == "repeats" and calls:
        calls.append(ToolCall("again", calls[-1].function, calls[-1].arguments))
    elif manner == "never_calls":
        calls.clear()
    elif manner == "silent" and not calls:
        content = " "
    output = ModelOutput.from_content("scripted", content or ("ok" if not calls else ""))
    output.choices[0].message.tool_calls = calls or None
    output.choices[0].stop_reason = "max_tokens" if manner == "cut_short" else "tool_calls" if calls else "stop"
    return output


if __name__ == "__main__":
    next(iter(entry_points(group="console_scripts", name="inspect"))).load()()
