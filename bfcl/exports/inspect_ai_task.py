"""What does the task file say that Inspect runs over exported rows? Rule: generation.md §7.

A text and not a file of its own: it imports what is not installed here, and as a module it enters the digest of
the code that makes exports.
"""

from __future__ import annotations

from typing import Final

TASK: Final = '''\
"""Function calling against a script, for Inspect (https://inspect.aisi.org.uk).

    pip install inspect-ai
    inspect eval task.py --model PROVIDER/MODEL

Every sample of dataset.jsonl is a conversation whose tool calls were executed beforehand. The model gets the system
message, the first user message and the tools. Where the script expects calls, the model has to make exactly these; it
then gets the recorded results. Where the script expects words, any words will do, and the next user message follows.
A sample ends at the first step that is not as expected.

What is compared: names, arguments as JSON values (1, 1.0, "1" and true are four values; the order of keys means
nothing, and defaults are not filled in), the number of calls of every step, and their order as the sample's call_order
asks: `strict` as scripted, `any` free within a step, `prefix` free within a step as long as the first appearances of
the required tools begin as required.

What this is not: no tool runs and no state is inspected, so another way to the same end counts as wrong, and what the
model says in words is not judged at all. The success_assertions of a sample are carried along, not evaluated.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.model import ChatMessage, ChatMessageTool, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from pydantic import model_serializer

HERE = Path(__file__).resolve().parent
CUT_SHORT = ("max_tokens", "model_length", "content_filter")


@task
def function_calling() -> Task:
    """The exported benchmark, all samples."""
    about = json.loads((HERE / "benchmark.json").read_text(encoding="utf-8"))
    return Task(
        dataset=json_dataset(str(HERE / "dataset.jsonl"), name=about["name"]),
        solver=follow_script(),
        scorer=[task_success(), tool_selection(), arguments(), call_ordering()],
        name=about["name"],
        version=about["schema_version"],
        metadata=about,
    )


# --- Tools ---------------------------------------------------------------------------------------------------------


class ExactParams(ToolParams):
    """Parameters that reach the model as the benchmark states them, keywords unknown to Inspect included."""

    stated: dict[str, Any]

    @model_serializer(mode="plain")
    def _as_stated(self) -> dict[str, Any]:
        return self.stated


class ExactTool(ToolInfo):
    """A tool with such parameters, whichever of the two a provider asks for its JSON."""

    parameters: ExactParams


def tool_infos(sample: dict[str, Any]) -> list[ToolInfo]:
    """The tools offered in a sample, in its order."""
    infos = []
    for one in sample["tools"]:
        function = one["function"]
        stated = function.get("parameters") or {"type": "object", "properties": {}}
        known = {key: value for key, value in stated.items() if key in ToolParams.model_fields}
        infos.append(
            ExactTool(
                name=function["name"],
                description=function.get("description", ""),
                parameters=ExactParams(**known, stated=stated),
            )
        )
    return infos


# --- Comparison ----------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """What happened where the script has an assistant message."""

    expected: list[tuple[str, str]]
    """Name and canonical arguments of the calls expected; none where words are."""
    made: list[tuple[str, str]]
    paired: list[int | None]
    """Per call made: which expected call it is, each claimed once."""
    spoke: bool

    @property
    def matched(self) -> bool:
        """All expected calls, nothing else; or words where words are expected."""
        if not self.expected:
            return self.spoke and not self.made
        return len(self.made) == len(self.expected) and None not in self.paired


def canonical(value: Any) -> str:
    """Equal texts, equal values: keys sorted, types kept apart."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def call_of(call: ToolCall) -> tuple[str, str]:
    """Name and canonical arguments; arguments that did not parse equal nothing."""
    if call.parse_error is not None or not isinstance(call.arguments, dict):
        return call.function, "unreadable"
    return call.function, canonical(call.arguments)


def scripted(sample: dict[str, Any]) -> list[list[tuple[str, str]]]:
    """The calls expected at each assistant message of the script."""
    return [
        [(one["function"]["name"], canonical(json.loads(one["function"]["arguments"]))) for one in calls]
        for calls in (message.get("tool_calls") or [] for message in sample["script"] if message["role"] == "assistant")
    ]


def compare(sample: dict[str, Any], messages: list[ChatMessage]) -> list[Step]:
    """The steps reached, in order: what the model answered, against the script."""
    answers = [message for message in messages if message.role == "assistant"]
    steps = []
    for expected, answer in zip(scripted(sample), answers):
        made = [call_of(call) for call in answer.tool_calls or []]
        free = list(range(len(expected)))
        paired: list[int | None] = []
        for call in made:
            index = next((index for index in free if expected[index] == call), None)
            if index is not None:
                free.remove(index)
            paired.append(index)
        steps.append(Step(expected, made, paired, bool(answer.text.strip())))
    return steps


def in_order(sample: dict[str, Any], steps: list[Step]) -> bool | None:
    """Whether the calls made so far keep the sample's order; None where it asks for none or nothing was reached."""
    reached = [step for step in steps if step.expected]
    if sample["call_order"] == "any" or sum(map(len, scripted(sample))) < 2 or not reached:
        return None
    if sample["call_order"] == "strict":
        positions = [[index for index in step.paired if index is not None] for step in reached]
        return all(one == sorted(one) for one in positions)
    required = list(dict.fromkeys(sample["required_tools"]))
    called = dict.fromkeys(name for step in steps for name, _ in step.made if name in required)
    first = list(called)[: sample["call_order_prefix"]]
    return first == required[: len(first)]


# --- The conversation ----------------------------------------------------------------------------------------------


@solver
def follow_script() -> Solver:
    """Ask, compare, release the recorded results or the next user message; stop at the first difference."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        sample = state.metadata
        tools = tool_infos(sample)
        script = list(sample["script"])
        while script:
            message = script.pop(0)
            if message["role"] == "user":
                state.messages.append(ChatMessageUser(content=message["content"]))
                continue
            state.output = await get_model().generate(state.messages, tools=tools)
            answer = state.output.message
            state.messages.append(answer)
            steps = compare(sample, state.messages)
            if not steps[-1].matched or in_order(sample, steps) is False or state.output.stop_reason in CUT_SHORT:
                break
            results = [script.pop(0)["content"] for _ in steps[-1].expected]
            for call, index in zip(answer.tool_calls or [], steps[-1].paired):
                state.messages.append(
                    ChatMessageTool(content=results[index], tool_call_id=call.id, function=call.function)
                )
        state.completed = True
        return state

    return solve


# --- Scores --------------------------------------------------------------------------------------------------------


def verdict(passed: bool, sample: dict[str, Any], steps: list[Step]) -> Score:
    """1 or 0; the answer shows the calls made, the explanation where the script was left."""
    off = next((number for number, step in enumerate(steps) if not step.matched), None)
    if off is not None:
        wanted = shown(scripted(sample)[off], ", ") or "words and no call"
        made = shown(steps[off].made, ", ") or ("words and no call" if steps[off].spoke else "neither words nor a call")
        explanation = f"answer {off + 1}: expected {wanted}; got {made}"
    elif in_order(sample, steps) is False:
        explanation = f"answer {len(steps)}: calls not in the order that `{sample['call_order']}` asks for"
    else:
        explanation = f"{len(steps)} of {len(scripted(sample))} answers as expected"
    made = shown([call for step in steps for call in step.made], "\\n")
    return Score(value=1.0 if passed else 0.0, answer=made, explanation=explanation)


def shown(calls: list[tuple[str, str]], separator: str) -> str:
    """Calls as people read them."""
    return separator.join(f"{name}({text})" for name, text in calls)


@scorer(metrics=[mean(), stderr()])
def task_success() -> Scorer:
    """Every step as scripted, to the end, none cut short."""

    async def score(state: TaskState, target: Target) -> Score:
        sample = state.metadata
        steps = compare(sample, state.messages)
        whole = len(steps) == len(scripted(sample)) and all(step.matched for step in steps)
        cut = state.output.stop_reason in CUT_SHORT if state.output.choices else False
        return verdict(whole and in_order(sample, steps) is not False and not cut, sample, steps)

    return score


@scorer(metrics=[mean(), stderr()])
def tool_selection() -> Scorer:
    """Every expected tool named in its step, nothing else called; steps never reached count as missed."""

    async def score(state: TaskState, target: Target) -> Score:
        sample = state.metadata
        steps = compare(sample, state.messages)
        named = all(
            Counter(name for name, _ in step.made) == Counter(name for name, _ in step.expected) for step in steps
        )
        return verdict(named and not any(scripted(sample)[len(steps) :]), sample, steps)

    return score


@scorer(metrics=[mean(), stderr()])
def arguments() -> Scorer:
    """Every expected call made with its arguments; no score where none is expected."""

    async def score(state: TaskState, target: Target) -> Score | None:
        sample = state.metadata
        steps = compare(sample, state.messages)
        expected = sum(map(len, scripted(sample)))
        if not expected:
            return None
        found = sum(index is not None for step in steps for index in step.paired)
        return verdict(found == expected, sample, steps)

    return score


@scorer(metrics=[mean(), stderr()])
def call_ordering() -> Scorer:
    """The order asked for is kept in what was reached; no score for `any` and for fewer than two expected calls."""

    async def score(state: TaskState, target: Target) -> Score | None:
        sample = state.metadata
        steps = compare(sample, state.messages)
        kept = in_order(sample, steps)
        return None if kept is None else verdict(kept, sample, steps)

    return score
'''
