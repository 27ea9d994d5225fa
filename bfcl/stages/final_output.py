"""What does a row of the benchmark say? Rule: generation.md §6.1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bfcl.canonical import Json, canonical_text
from bfcl.config.model import RunConfig
from bfcl.errors import Problem
from bfcl.pack.model import Pack
from bfcl.records.ids import TaskId, TemplateId, Tier
from bfcl.records.surface import Surface
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.records.tool import Tool
from bfcl.records.trace import Call, Trace
from bfcl.records.verdict import ReplayVerdict, ToolResult
from bfcl.stages.arguments import required_parameters
from bfcl.stages.gold import gold_ineligibility_reasons
from bfcl.tables.benchmark import BenchmarkRow, ExpectedCall, Message, WireCall

ArgumentOrder = tuple[tuple[str, ...], ...]
"""Per expected call of a template: its argument names in the order they are derived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowContext:
    """What every row of a release shares: see `row_context`."""

    expt_name: str
    tier: Tier
    lineage_policy: str
    system_prompt: str
    tools: Mapping[str, Json]
    """Name to model-facing form."""
    argument_orders: Mapping[TemplateId, ArgumentOrder]
    unmet_targets: bool = False
    """Balancing missed a target, and the run publishes all the same."""
    _texts: dict[tuple[str, ...], tuple[str, str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def gold_eligible(self) -> bool:
        """Whether rows may call themselves Gold."""
        return not gold_ineligibility_reasons(self.tier, self.lineage_policy, self.unmet_targets)

    def tool_texts(self, present: tuple[str, ...], required: tuple[str, ...]) -> tuple[str, str]:
        """Canonical JSON of the present tools in that order, and of the sorted required names."""
        key = (*present, "", *required)
        texts = self._texts.get(key)
        if texts is None:
            texts = (canonical_text([self.tools[name] for name in present]), canonical_text(sorted(required)))
            self._texts[key] = texts
        return texts


def row_context(
    config: RunConfig, pack: Pack, tier: Tier, system_prompt: str, *, unmet_targets: bool = False
) -> RowContext:
    """Gather it once a run. `system_prompt` is the text whose id the surfaces carry."""
    catalog = {tool.name: tool for tool in pack.tools}
    return RowContext(
        expt_name=config.expt_name,
        tier=tier,
        lineage_policy=config.lineage.policy,
        system_prompt=system_prompt,
        tools={name: tool.model_facing() for name, tool in catalog.items()},
        argument_orders={template.template_id: argument_order(template, catalog) for template in pack.templates},
        unmet_targets=unmet_targets,
    )


def argument_order(template: Template, catalog: Mapping[str, Tool]) -> ArgumentOrder:
    """Declared arguments as declared, then the required parameters that slots fill. Rule: generation.md §3.4.

    Stage tables hold arguments as canonical JSON, which sorts them; the published map keeps the order derived.
    """
    orders = []
    for milestone in template.assistant_milestones:
        if milestone.type == "tool_call":
            tool = catalog.get(milestone.tool or "")
            required = required_parameters(tool.parameters or {}) if tool is not None else []
            orders.append(tuple(dict.fromkeys([*milestone.args, *required])))
    return tuple(orders)


def disagreement(ids: Mapping[str, TaskId | None], place: str) -> Problem | None:
    """Where one row of the stage tables is not of one task in all of them. Rule: generation.md §3.

    `ids` maps each stage to the task of its row, None past the end of its table; the first is the one the others are
    held against. `place` says which row it is.
    """
    (first, wanted), *others = ids.items()
    for name, task_id in others:
        if task_id != wanted:
            return Problem(
                code="stage_tables_disagree",
                subject=name,
                message=f"{place} is {_shown(task_id)}, in {first} it is {_shown(wanted)}",
                fix="run again with rebuild=1; if it stays, report it as a bug",
            )
    return None


def _shown(task_id: str | None) -> str:
    return "absent" if task_id is None else f"`{task_id}`"


def assemble(task: Task, surface: Surface, trace: Trace, replay: ReplayVerdict, context: RowContext) -> BenchmarkRow:
    """The published row of one replay-valid task.

    Raises ValueError where wording, calls and results do not belong together, which is never a person's mistake.
    Rule: generation.md §6.1.
    """
    if not task.task_id == surface.task_id == trace.task_id == replay.task_id or not replay.valid:
        raise ValueError(f"records of several tasks, or of one that failed its replay: {task.task_id}")
    tools, fingerprint = context.tool_texts(task.tools_present, task.required_tools)
    return {
        "task_id": task.task_id,
        "template_id": task.template_id,
        "variant_index": task.variant_index,
        "messages": _messages(surface, trace, replay, context.system_prompt),
        "tools": tools,
        "expected_tool_calls": _expected(trace, context.argument_orders[task.template_id]),
        "success_assertions": list(task.success_assertions),
        "fixture_refs": list(task.fixture_refs),
        "intent": task.intent,
        "category": task.category,
        "difficulty": task.difficulty,
        "required_tools": list(task.required_tools),
        "required_tools_fingerprint": fingerprint,
        "tools_present": list(task.tools_present),
        "turn_policy": task.turn_policy,
        "is_multi_turn": surface.num_user_turns > 1,
        "num_tool_calls": len(trace.calls),
        "call_order": task.call_order,
        "call_order_prefix": task.call_order_prefix,
        "system_prompt_id": surface.system_prompt_id,
        "tier": context.tier,
        "gold_eligible": context.gold_eligible,
        "validated_by": ["schema", "replay", "assertions"] if replay.assertions else ["schema", "replay"],
        "pack_id": task.pack_id,
        "pack_version": task.pack_version,
        "seed": task.seed,
        "paraphrase_model": surface.paraphrase_model,
        "paraphrase_model_canonical": surface.paraphrase_model_canonical,
        # Null says that no policy was scanned for; who scans writes what was found.
        "held_out_hit": None,
        "src": f"{task.pack_id}:{task.template_id}",
        "metadata": canonical_text(
            {
                "language": surface.language,
                "expt_name": context.expt_name,
                "base_task_id": task.base_task_id,
                "surface_source": surface.source,
                "profile_hash": surface.profile_hash,
            }
        ),
    }


def _messages(surface: Surface, trace: Trace, replay: ReplayVerdict, system_prompt: str) -> list[Message]:
    """System prompt, then every turn in order, each call batch followed by its answers."""
    answered = zip(trace.calls, replay.tool_results, strict=True)
    pending = next(answered, None)
    messages = [_text("system", system_prompt)]
    assistant_turn = 0
    count = 0
    for turn in surface.turns:
        if turn.kind == "user":
            messages.append(_text("user", turn.content))
            continue
        if turn.kind == "assistant_text":
            messages.append(_text("assistant", turn.content))
        else:
            calls: list[WireCall] = []
            answers: list[Message] = []
            while pending is not None and pending[0].call_group == turn.call_group:
                call, result = pending
                _check_pair(call, result, assistant_turn)
                name = f"call_{count}"
                arguments = canonical_text(call.arguments)
                calls.append(
                    {"id": name, "type": "function", "function": {"name": call.function_name, "arguments": arguments}}
                )
                answer = canonical_text(result.result)
                answers.append({"role": "tool", "content": answer, "tool_calls": None, "tool_call_id": name})
                count += 1
                pending = next(answered, None)
            if not calls:
                raise ValueError(f"{surface.task_id}: no expected call for group {turn.call_group}")
            messages.append({"role": "assistant", "content": None, "tool_calls": calls, "tool_call_id": None})
            messages += answers
        assistant_turn += 1
    if pending is not None:
        raise ValueError(f"{surface.task_id}: group {pending[0].call_group} has no place in the conversation")
    return messages


def _check_pair(call: Call, result: ToolResult, assistant_turn: int) -> None:
    placed = (call.turn_index, call.call_group, call.position_in_group, call.function_name)
    answered = (result.turn_index, result.call_group, result.position_in_group, result.tool)
    if placed != answered or call.turn_index != assistant_turn:
        raise ValueError(f"call {placed} in assistant message {assistant_turn} is answered by {answered}")


def _text(role: str, content: str | None) -> Message:
    if content is None:
        raise ValueError(f"a {role} turn without text")
    return {"role": role, "content": content, "tool_calls": None, "tool_call_id": None}


def _expected(trace: Trace, orders: ArgumentOrder) -> list[ExpectedCall]:
    return [
        {
            "turn_index": call.turn_index,
            "call_group": call.call_group,
            "position_in_group": call.position_in_group,
            "function_name": call.function_name,
            "arguments": _ordered(call, order),
        }
        for call, order in zip(trace.calls, orders, strict=True)
    ]


def _ordered(call: Call, order: tuple[str, ...]) -> list[tuple[str, str]]:
    pairs = [(name, canonical_text(call.arguments[name])) for name in order if name in call.arguments]
    if len(pairs) != len(call.arguments):
        raise ValueError(f"a call of {call.function_name} holds arguments its template does not give")
    return pairs
