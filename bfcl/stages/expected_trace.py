"""Which calls does every task expect, with which arguments? Rule: generation.md §3.4; pack.md §5.2, §5.6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bfcl.canonical import Json, from_canonical
from bfcl.errors import Problem, StageError, raise_all
from bfcl.oracle.protocol import Episode, EpisodeResult, Oracle, PlannedCall
from bfcl.oracle.result_path import pick
from bfcl.pack.placeholders import fill_json
from bfcl.records.ids import TemplateId
from bfcl.records.plan import Outline
from bfcl.records.task import Task
from bfcl.records.template import Template
from bfcl.records.tool import Tool
from bfcl.records.trace import Call, Trace
from bfcl.stages.call_plan import BINDING_FAILED, Argument, CallPlan, blueprint, superseded, template_problem
from bfcl.stages.unresolved import Unresolved


class Derived(NamedTuple):
    """A task's trace and, where it is not derived, the argument that no earlier answer fills."""

    trace: Trace
    unresolved: Unresolved | None


def derive_chunk(
    template: Template, outline: Outline, tasks: Sequence[Task], tools: Mapping[str, Tool], oracle: Oracle | None
) -> list[Trace]:
    """The expected calls of some tasks of a template, in input order.

    `oracle` is used by `dependent_call` templates only, for one episode a task. A task whose dependent argument does
    not resolve keeps an underived trace with its reason; losing all of them is no fault yet (ask `starved` of the
    whole). Raises StageError for faults of the template; OracleError if no episode can run at all.
    """
    return [one.trace for one in derive(template, outline, tasks, tools, oracle)]


def derive(
    template: Template, outline: Outline, tasks: Sequence[Task], tools: Mapping[str, Tool], oracle: Oracle | None
) -> list[Derived]:
    """What `derive_chunk` gives, each trace with what kept it from being derived."""
    calls, problems = blueprint(template, outline, tools)
    raise_all(StageError, problems)
    if _dependent(calls):
        if oracle is None:
            raise ValueError(f"{template.template_id}: a dependent call needs an oracle")
        return _derive_dependent(calls, tasks, oracle)
    return [Derived(_trace(task, _calls(calls, _bound(calls, task))), None) for task in tasks]


def plans_dependent_call(template: Template, outline: Outline, tools: Mapping[str, Tool]) -> bool:
    """Whether `derive_chunk` would ask the oracle: an argument is an earlier answer's, and nothing else is at fault."""
    calls, problems = blueprint(template, outline, tools)
    return not problems and _dependent(calls)


def _dependent(calls: Sequence[CallPlan]) -> bool:
    return any(argument.kind == "result" for call in calls for argument in call.arguments)


def starved(template_id: TemplateId, traces: Sequence[Trace]) -> list[Problem]:
    """The problem of a template all of whose traces were dropped; nothing for an empty template."""
    if not traces or any(trace.derived for trace in traces):
        return []
    reasons = sorted({trace.drop_reason or "" for trace in traces})
    return [
        template_problem(
            template_id,
            BINDING_FAILED,
            f"none of {len(traces)} tasks could be derived: {', '.join(reasons)}",
            fix="correct the path, or narrow the slot filters to rows that have a result",
        )
    ]


def superseded_calls(template: Template, outline: Outline, tools: Mapping[str, Tool]) -> list[tuple[int, str]]:
    """(call number, slot) of every call that reads a slot which a later turn corrects."""
    return superseded(template, outline, blueprint(template, outline, tools).calls)


# --- the tasks' part ----------------------------------------------------------------------------------------------


def _bound(calls: Sequence[CallPlan], task: Task) -> list[dict[str, Json]]:
    """The arguments of each call, in derived order, with the values in force at its place; results stay open."""
    in_force: list[Mapping[str, Json]] = [task.slots_initial]
    for delivery in task.slot_updates:
        in_force.append({**in_force[-1], **delivery.values})
    return [{one.name: _value(one, in_force[call.corrections]) for one in call.arguments} for call in calls]


def _value(argument: Argument, slots: Mapping[str, Json]) -> Json:
    if argument.kind == "slot":
        return slots[argument.slot]
    return fill_json(argument.value, slots) if argument.kind == "filled" else argument.value


def _trace(task: Task, calls: Sequence[Call]) -> Trace:
    return Trace(
        task_id=task.task_id,
        template_id=task.template_id,
        turn_policy=task.turn_policy,
        derived=True,
        drop_reason=None,
        calls=tuple(calls),
    )


def _calls(calls: Sequence[CallPlan], arguments: Sequence[Mapping[str, Json]]) -> list[Call]:
    return [
        Call(
            turn_index=call.turn_index,
            call_group=call.call_group,
            position_in_group=call.position_in_group,
            function_name=call.tool,
            arguments=filled,
        )
        for call, filled in zip(calls, arguments, strict=True)
    ]


# --- dependent arguments ------------------------------------------------------------------------------------------


def _derive_dependent(calls: Sequence[CallPlan], tasks: Sequence[Task], oracle: Oracle) -> list[Derived]:
    sources = [one.source for call in calls for one in call.arguments if one.source is not None]
    # Nothing is learnt from calls behind the last one that another needs.
    needed = calls[: 1 + max(source.call for source in sources)]
    bound = [_bound(calls, task) for task in tasks]
    episodes = [_episode(task, needed, arguments) for task, arguments in zip(tasks, bound, strict=True)]
    derived: list[Derived] = []
    for task, arguments, result in zip(tasks, bound, oracle.run(episodes), strict=True):
        unresolved = _fill_results(calls, arguments, result)
        # A name applied to a list drops this task as any other miss does: another result may have another shape.
        trace = _trace(task, _calls(calls, arguments)) if unresolved is None else _dropped(task, unresolved)
        derived.append(Derived(trace, unresolved))
    return derived


def _fill_results(
    calls: Sequence[CallPlan], arguments: Sequence[dict[str, Json]], result: EpisodeResult
) -> Unresolved | None:
    """Put the values of earlier results into `arguments`; the first that has none ends it."""
    answers = [from_canonical(text) for text in result.results]
    for number, (call, filled) in enumerate(zip(calls, arguments, strict=True)):
        for one in call.arguments:
            if one.source is None:
                continue
            picked = pick(answers, one.source.call, one.source.path)
            if picked.miss is not None:
                answer = answers[one.source.call] if one.source.call < len(answers) else None
                broken = result.breakdown if picked.miss == "call_did_not_finish" else None
                return Unresolved(number, one.name, one.source, picked.miss, answer, broken)
            filled[one.name] = picked.value
    return None


def _dropped(task: Task, unresolved: Unresolved) -> Trace:
    reason = f"{BINDING_FAILED}: {unresolved.miss}"
    if unresolved.breakdown is not None:
        # The oracle broke before the result was there: the same reason its replay would give.
        reason = f"executable_replay_failed: {unresolved.breakdown.code}"
    return Trace(
        task_id=task.task_id,
        template_id=task.template_id,
        turn_policy=task.turn_policy,
        derived=False,
        drop_reason=reason,
        calls=(),
    )


def _episode(task: Task, calls: Sequence[CallPlan], arguments: Sequence[Mapping[str, Json]]) -> Episode:
    return Episode(
        task_id=task.task_id,
        seed=task.seed,
        calls=tuple(
            PlannedCall(
                tool=call.tool,
                arguments={one.name: filled[one.name] for one in call.arguments if one.source is None},
                turn_index=call.turn_index,
                from_results={one.name: one.source for one in call.arguments if one.source is not None},
            )
            for call, filled in zip(calls, arguments[: len(calls)], strict=True)
        ),
    )
