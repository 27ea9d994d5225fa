"""Does every task come out the same in two unlike worlds, and do its assertions hold? Rule: generation.md §3.6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from bfcl.canonical import Json, from_canonical
from bfcl.oracle.protocol import Breakdown, Episode, EpisodeResult, Oracle, PlannedCall, Replayed
from bfcl.records.task import Task
from bfcl.records.trace import Trace
from bfcl.records.verdict import AssertionOutcome, ReplayVerdict, SchemaVerdict, ToolResult
from bfcl.stages.divergence import first_difference

NONDETERMINISTIC = "nondeterministic_replay"
FAILED = "executable_replay_failed"
ASSERTION_FAILED = "assertion_failed"
ASSERTION_BROKEN = "assertion_infrastructure_error"
"""Code of an assertion that did neither pass, fail nor decline."""

_SUSPECTS_SHOWN = 5


class Fault(NamedTuple):
    """Why a task is not valid: the reason of its row, what is to be said, and the code of what broke, if that did."""

    reason: str
    message: str
    code: str | None = None

    @property
    def detail(self) -> str:
        """The code and the message, as the row keeps them."""
        return self.message if self.code is None else f"{self.code}: {self.message}"


def task_view(task: Task, language: str) -> dict[str, Json]:
    """What assertions see as `task`: exactly the fields of pack.md §9, lists and objects as plain JSON."""
    return {
        "task_id": task.task_id,
        "template_id": task.template_id,
        "intent": task.intent,
        "category": task.category,
        "difficulty": task.difficulty,
        "turn_policy": task.turn_policy,
        "language": language,
        "call_order": task.call_order,
        "required_tools": list(task.required_tools),
        "tools_present": list(task.tools_present),
        "success_assertions": list(task.success_assertions),
        "edge_signatures": list(task.edge_signatures),
        "mutates": task.mutates,
        "seed": task.seed,
        "slots": dict(task.slots),
        "slots_initial": dict(task.slots_initial),
        "slot_updates": [delivery.to_json() for delivery in task.slot_updates],
        "fixture_refs": list(task.fixture_refs),
    }


def episode(task: Task, trace: Trace, language: str) -> Episode:
    """Reset, the expected calls in order, final state, the task's success assertions."""
    return Episode(
        task_id=task.task_id,
        seed=task.seed,
        calls=tuple(
            PlannedCall(tool=call.function_name, arguments=call.arguments, turn_index=call.turn_index)
            for call in trace.calls
        ),
        assertions=task.success_assertions,
        task=task_view(task, language),
    )


def replay(
    tasks: Sequence[Task],
    traces: Sequence[Trace],
    verdicts: Sequence[SchemaVerdict],
    oracle: Oracle,
    language: str,
) -> list[ReplayVerdict]:
    """The verdict on each task, in input order; tasks with a schema-valid trace are replayed, all in one request.

    A task that fails keeps its row with the reason. Raises OracleError if no episode can run at all.
    """
    rows = list(zip(tasks, traces, verdicts, strict=True))
    running = [number for number, (_, trace, schema) in enumerate(rows) if trace.derived and schema.valid]
    outcomes: dict[int, Replayed] = {}
    if running:
        replayed = oracle.replay([episode(rows[number][0], rows[number][1], language) for number in running])
        outcomes = dict(zip(running, replayed, strict=True))
    # The scan reads the pack's sources: only worlds that differ are worth it.
    suspects = oracle.suspects() if any(_unlike(outcome) for outcome in outcomes.values()) else ()
    return [
        judge(task, trace, schema, outcomes.get(number), suspects) for number, (task, trace, schema) in enumerate(rows)
    ]


def judge(
    task: Task, trace: Trace, schema: SchemaVerdict, replayed: Replayed | None, suspects: Sequence[str]
) -> ReplayVerdict:
    """What two replays say of a task: valid only if both are whole, agree, and every assertion passed.

    `replayed` is None exactly where the trace was not derived or not valid. Results and assertion outcomes are kept as
    far as both worlds agree on them. `suspects` are lines of the pack that may leak ambient state.
    """
    if not trace.derived:
        return _verdict(task, "trace_not_derived", trace.drop_reason)
    if not schema.valid:
        codes = ", ".join(dict.fromkeys(failure.code for failure in schema.failures))
        return _verdict(task, schema.reject_reason or "expected_trace_schema_mismatch", codes or None)
    if replayed is None:
        raise ValueError(f"{task.task_id}: a valid trace was not replayed")
    fault = replay_fault(task, trace, replayed, suspects)
    reason, detail = (None, None) if fault is None else (fault.reason, fault.detail)
    results = agreed_results(trace, replayed)
    assertions = tuple(_agreed(replayed.a.assertions, replayed.b.assertions))
    return _verdict(task, reason, detail, results, assertions)


def _verdict(
    task: Task,
    reason: str | None,
    detail: str | None,
    results: tuple[ToolResult, ...] = (),
    assertions: tuple[AssertionOutcome, ...] = (),
) -> ReplayVerdict:
    return ReplayVerdict(
        task_id=task.task_id,
        template_id=task.template_id,
        valid=reason is None,
        reason=reason,
        detail=detail,
        tool_results=results,
        assertions=assertions,
    )


def replay_fault(task: Task, trace: Trace, replayed: Replayed, suspects: Sequence[str]) -> Fault | None:
    """The first that applies: worlds differ, an episode broke, an assertion did not pass."""
    differs = _divergence(replayed)
    if differs is not None:
        return Fault(NONDETERMINISTIC, differs + _told(suspects))
    broken = _breakdown(trace, replayed)
    if broken is not None:
        return broken._replace(message=broken.message + (_told(suspects) if _unlike(replayed) else ""))
    return _assertions(task, replayed.a)


# --- divergence ---------------------------------------------------------------------------------------------------


def _unlike(replayed: Replayed) -> bool:
    return replayed.a.breakdown != replayed.b.breakdown or _divergence(replayed) is not None


def _divergence(replayed: Replayed) -> str | None:
    """`results|state|assertions diverged at <path>: <value> in world A, <value> in world B`, or None.

    Only what both worlds got to is compared: an episode that one of them broke off is told as a breakdown.
    """
    a, b = replayed
    for index, (left, right) in enumerate(zip(a.results, b.results, strict=False)):
        if left != right:
            return _diverged("results", f"results[{index}]", from_canonical(left), from_canonical(right))
    for left, right in zip(a.states[-1:], b.states[-1:], strict=False):
        if left != right:
            return _diverged("state", "state", from_canonical(left), from_canonical(right))
    for one, other in zip(a.assertions, b.assertions, strict=False):
        if one != other:
            return _diverged("assertions", f"assertions.{one.name}", one.to_json(), other.to_json())
    return None


def _diverged(what: str, root: str, left: Json, right: Json) -> str | None:
    found = first_difference(left, right)
    if found is None:
        # Canonical JSON of the worker is canonical JSON here; unequal text of equal values would be our bug.
        raise ValueError(f"{root}: unequal texts of one value")
    path = root + ("." if found.path and not found.path.startswith("[") else "") + found.path
    return f"{what} diverged at {path}: {found.left} in world A, {found.right} in world B"


def _told(suspects: Sequence[str]) -> str:
    if not suspects:
        return ""
    more = f"; and {len(suspects) - _SUSPECTS_SHOWN} more" if len(suspects) > _SUSPECTS_SHOWN else ""
    return "; suspect lines: " + "; ".join(suspects[:_SUSPECTS_SHOWN]) + more


def _agreed(left: Sequence[AssertionOutcome], right: Sequence[AssertionOutcome]) -> Iterator[AssertionOutcome]:
    return (one for one, other in zip(left, right, strict=False) if one == other)


def agreed_results(trace: Trace, replayed: Replayed) -> tuple[ToolResult, ...]:
    """Results up to the first on which the worlds differ: what a row keeps must not depend on the hour."""
    pairs = zip(trace.calls, replayed.a.results, replayed.b.results, strict=False)
    agreed = takewhile(lambda each: each[1] == each[2], pairs)
    return tuple(
        ToolResult(
            turn_index=call.turn_index,
            call_group=call.call_group,
            position_in_group=call.position_in_group,
            tool=call.function_name,
            arguments=call.arguments,
            result=from_canonical(text),
        )
        for call, text, _ in agreed
    )


# --- breakdowns and assertions ------------------------------------------------------------------------------------


def _breakdown(trace: Trace, replayed: Replayed) -> Fault | None:
    """Why an episode is not whole, and in which world if in one only."""
    a, b = replayed.a.breakdown, replayed.b.breakdown
    if a is not None:
        return _of_breakdown(trace, a, " (in world A only)" if b is None else "")
    if b is not None:
        return _of_breakdown(trace, b, " (in world B only)")
    for world, result in zip("AB", replayed, strict=True):
        if len(result.results) != len(trace.calls):
            return Fault(FAILED, f"world {world} answered {len(result.results)} of {len(trace.calls)} calls")
        if not result.states:
            return Fault(FAILED, f"world {world} read no state")
    return None


def _of_breakdown(trace: Trace, broken: Breakdown, which: str) -> Fault:
    place: str = broken.phase
    if broken.call_index is not None and broken.call_index < len(trace.calls):
        place = f"call {broken.call_index} {trace.calls[broken.call_index].function_name}"
    at = "" if broken.where is None else f" at {broken.where}"
    return Fault(FAILED, f"{broken.message} ({place}{at}){which}", broken.code)


def _assertions(task: Task, result: EpisodeResult) -> Fault | None:
    """A broken assertion is an infrastructure failure, one that does not apply is no pass."""
    outcomes = {outcome.name: outcome for outcome in result.assertions}
    broken = [
        f"{name}: {_said(outcomes.get(name), 'gave no outcome')}"
        for name in task.success_assertions
        if name not in outcomes or outcomes[name].status == "error"
    ]
    if broken:
        return Fault(FAILED, f"; {ASSERTION_BROKEN}: ".join(broken), ASSERTION_BROKEN)
    failed = [outcome for outcome in result.assertions if not outcome.passed]
    if not failed:
        return None
    # A refusal says more than an assertion that did not apply.
    failed.sort(key=lambda outcome: outcome.status != "failed")
    return Fault(ASSERTION_FAILED, "; ".join(_failed(outcome) for outcome in failed))


def _failed(outcome: AssertionOutcome) -> str:
    if outcome.status == "not_applicable":
        return f"assertion_not_applicable: {outcome.name}" + (f": {outcome.detail}" if outcome.detail else "")
    return f"{outcome.name}: {_said(outcome, 'failed without a message')}"


def _said(outcome: AssertionOutcome | None, otherwise: str) -> str:
    return outcome.detail if outcome is not None and outcome.detail else otherwise
