"""What does one tool call answer, and what does it change? Rule: authoring.md §15."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from bfcl.authoring.workbench import Workbench
from bfcl.canonical import Json
from bfcl.checks.declared_validation_cases import CLAIMS
from bfcl.checks.probes import SEED, chained, classify
from bfcl.errors import ConfigError, Problem, did_you_mean
from bfcl.oracle.protocol import Breakdown, Episode, PlannedCall
from bfcl.records.verdict import SchemaFailure
from bfcl.stages.arguments import argument_failures
from bfcl.stages.divergence import Difference, differences


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A call to make. `after` names a validation case whose episode it continues."""

    tool: str
    arguments: Mapping[str, Json]
    after: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came of it. `result` is None where the episode broke (`breakdown` says how)."""

    asked: Asked
    in_catalog: bool
    hint: str | None
    """The catalog's tool that was most likely meant, where it has none of this name."""
    result: Mapping[str, Json] | None
    result_class: str | None
    """`success`, `structured_error` or `awaiting_confirmation`."""
    changes: tuple[Difference, ...]
    """Every difference of `get_state()` after the call from before."""
    schema_failures: tuple[SchemaFailure, ...]
    """Where the arguments do not satisfy the tool's schema."""
    breakdown: Breakdown | None


def call(bench: Workbench, asked: Asked) -> Answered:
    """Make the call in a fresh episode, after the probes that `asked.after` names.

    Raises: ConfigError `unknown_validation_case`; OracleError if no episode can run at all.
    """
    before = _before(bench, asked)
    planned = PlannedCall(tool=asked.tool, arguments=asked.arguments)
    episode = Episode(task_id="probe__call", seed=SEED, calls=(*before, planned), observe="each")
    [shown] = bench.oracle.run([episode])
    tool = bench.pack.tool(asked.tool)
    failures = () if tool is None or tool.parameters is None else argument_failures(tool.parameters, asked.arguments)
    broke = shown.breakdown is not None
    result = None if broke else json.loads(shown.results[-1])
    states = () if broke else shown.states[-2:]
    return Answered(
        asked=asked,
        in_catalog=tool is not None,
        hint=None if tool is not None else did_you_mean(asked.tool, [one.name for one in bench.pack.tools]),
        result=result,
        result_class=None if result is None else classify(result, bench.pack.manifest.confirmation),
        changes=tuple(differences(json.loads(states[0]), json.loads(states[1]))) if states else (),
        schema_failures=tuple(failures),
        breakdown=shown.breakdown,
    )


def _before(bench: Workbench, asked: Asked) -> tuple[PlannedCall, ...]:
    """The calls of the named case and of its chain before it."""
    if asked.after is None:
        return ()
    cases = bench.pack.cases
    positions = {case.id: index for index, case in enumerate(cases)}
    if asked.after not in positions:
        raise ConfigError(
            Problem(
                code="unknown_validation_case",
                subject=asked.after,
                message=f"the pack has no such validation case; it has {len(cases)}",
                fix=did_you_mean(asked.after, positions) or f"use one of {', '.join(list(positions)[:12])}",
            )
        )
    position = positions[asked.after]
    chain = next(chain for chain in chained(cases) if position in chain)
    return tuple(
        PlannedCall(tool=cases[index].tool, arguments=cases[index].arguments) for index in chain if index <= position
    )


def document(answered: Answered) -> Json:
    """The answer as one JSON document."""
    broken = answered.breakdown
    return {
        "schema_version": "1.0",
        "status": "pass" if broken is None else "blocked",
        "tool": answered.asked.tool,
        "arguments": answered.asked.arguments,
        "after": answered.asked.after,
        "in_catalog": answered.in_catalog,
        "hint": answered.hint,
        "result": answered.result,
        "result_class": answered.result_class,
        "state_changes": [{"path": one.path, "before": one.left, "after": one.right} for one in answered.changes],
        "schema_failures": [failure.to_json() for failure in answered.schema_failures],
        "breakdown": None
        if broken is None
        else {"code": broken.code, "message": broken.message, "phase": broken.phase, "where": broken.where},
    }


def check_case_id(bench: Workbench, name: str) -> None:
    """Raise ConfigError `call_record_invalid` where no further case of the pack can have this id."""
    taken = any(case.id == name for case in bench.pack.cases)
    if name.strip() and not taken:
        return
    message = f"the pack has a validation case `{name}` already" if taken else "is blank; expected the id of a new case"
    raise ConfigError(
        Problem(code="call_record_invalid", subject="--record", message=message, fix="choose another name")
    )


def doubts(answered: Answered) -> list[Problem]:
    """Why the pack would not be Gold with the recorded case, although the case expects exactly what was seen."""
    found = []
    if not answered.in_catalog:
        message = f"the catalog has no tool `{answered.asked.tool}`, so no check accepts a case of it"
        found.append(Problem(code="unknown_tool", message=message, fix=answered.hint or "add it to tools.json"))
    if answered.result_class == "success" and answered.schema_failures:
        first = answered.schema_failures[0]
        place = "" if first.pointer is None else f"`{first.pointer}`: "
        message = f"the tool succeeded with arguments that its schema refuses: {place}{first.message}"
        fix = "let the backend refuse them, or the schema allow them; then record again"
        found.append(Problem(code="successful_validation_case_schema_mismatch", message=message, fix=fix))
    if answered.result_class == "structured_error" and _error_code(answered) is None:
        message = "the error has no `code` that is text, so the case names none"
        found.append(
            Problem(code="error_code_missing", message=message, fix="give the error a code, then record again")
        )
    return found


def _error_code(answered: Answered) -> str | None:
    """`error.code` of the result where a case may name it: text that is not blank."""
    error = None if answered.result is None else answered.result.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    return code if isinstance(code, str) and code.strip() else None


def recorded_case(answered: Answered, name: str) -> dict[str, Json]:
    """The validation case that expects what was just seen, every field of the result included.

    It continues the case before it where the call was made after one: put it right behind that case.
    Raises: ValueError where the episode broke.
    """
    if answered.result is None:
        raise ValueError("an episode that broke expects nothing")
    case: dict[str, Json] = {"id": name, "tool": answered.asked.tool, "arguments": answered.asked.arguments}
    if answered.asked.after is not None:
        case["reset_before"] = False
    expect: dict[str, Json] = {"result_class": answered.result_class}
    code = _error_code(answered)
    if code is not None:
        expect["error_code"] = code
    if not answered.changes:
        expect["state_unchanged"] = True
    expect |= {field: value for field, value in answered.result.items() if field not in (*CLAIMS, "error")}
    return {**case, "expect": expect}
