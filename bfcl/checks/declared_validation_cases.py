"""Check 5: does the oracle answer every declared probe as its author expects? Rule: pack.md §10."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.checks.findings import Findings, Subject, from_breakdown, placed
from bfcl.errors import did_you_mean
from bfcl.located import Pointer
from bfcl.oracle.protocol import Breakdown, Episode, EpisodeResult, PlannedCall
from bfcl.pack.model import Case, Confirmation, Pack
from bfcl.records.tool import Tool
from bfcl.records.verdict import Finding
from bfcl.stages.arguments import argument_failures
from bfcl.stages.divergence import first_difference, shortened

ResultClass: TypeAlias = Literal["success", "structured_error", "awaiting_confirmation"]

SEED = 0
"""Probes have no task, so they have no seed of their own."""

CLAIMS = ("result_class", "error_code", "state_unchanged")
"""Keys of `expect` with a meaning of their own; any other names a field of the result."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one probe showed: the answer, its class, and the state (canonical text) around the call."""

    index: int
    """Position in the declared cases."""
    case: Case
    result: Mapping[str, Json]
    result_class: ResultClass
    before: str
    after: str

    @property
    def is_negative(self) -> bool:
        """Whether it counts as its tool's refusal. Rule: pack.md §10, coverage."""
        return self.case.coverage == "negative" or self.result_class != "success"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A probe that broke, and the probes of its chain that never ran (positions in the declared cases)."""

    index: int
    breakdown: Breakdown
    aborted: tuple[int, ...]


class Observed(NamedTuple):
    """Every probe's outcome, in declared order."""

    answers: list[Observation]
    broken: list[Broken]


def check(subject: Subject) -> Findings:
    """Each probe meets its `expect`; every tool has a success and a refusal; chains run to their end."""
    pack = subject.pack
    failures = list(_declarations(pack))
    if not pack.cases:
        return Findings(failures, [])
    chains = chained(pack.cases)
    results = subject.oracle.run([episode(pack.cases, chain) for chain in chains])
    seen = observe(pack, chains, results)
    tools = {tool.name: tool for tool in pack.tools}
    found = [(answer.index, finding) for answer in seen.answers for finding in _faults(pack, answer, tools)]
    found += [(index, finding) for one in seen.broken for index, finding in _breakage(pack, one)]
    failures += [finding for _, finding in sorted(found, key=lambda pair: pair[0])]
    failures += _coverage(pack, seen)
    warnings = [finding for answer in seen.answers for finding in _mutating_refusal(pack, answer)]
    return Findings(failures, warnings)


def chained(cases: Sequence[Case]) -> list[tuple[int, ...]]:
    """Positions of the cases that share an episode: each `reset_before: false` goes on where the case before ended."""
    chains: list[list[int]] = []
    for index, case in enumerate(cases):
        if case.reset_before or not chains:
            chains.append([index])
        else:
            chains[-1].append(index)
    return [tuple(chain) for chain in chains]


def episode(cases: Sequence[Case], chain: Sequence[int]) -> Episode:
    """One chain of probes as an episode, state read around every call.

    Each call is named after its own case, `reset` after the first. Rule: pack.md §6, `ctx.task_id` of probes.
    """
    chained_cases = [cases[index] for index in chain]
    return Episode(
        task_id=_probe_id(chained_cases[0]),
        seed=SEED,
        calls=tuple(
            PlannedCall(tool=case.tool, arguments=case.arguments, task_id=_probe_id(case)) for case in chained_cases
        ),
        observe="each",
    )


def _probe_id(case: Case) -> str:
    return f"probe__{case.id}"


def observe(pack: Pack, chains: Sequence[tuple[int, ...]], results: Sequence[EpisodeResult]) -> Observed:
    """What the probes showed, taken apart from their episodes; `chains` and `results` in the same order."""
    answers: list[Observation] = []
    broken: list[Broken] = []
    for chain, result in zip(chains, results, strict=True):
        whole = min(len(result.results), max(len(result.states) - 1, 0))
        if result.breakdown is not None:
            # An episode that broke after its last answer broke in that probe all the same.
            whole = min(whole, len(chain) - 1)
        for position in range(whole):
            answer = json.loads(result.results[position])
            answers.append(
                Observation(
                    index=chain[position],
                    case=pack.cases[chain[position]],
                    result=answer,
                    result_class=classify(answer, pack.manifest.confirmation),
                    before=result.states[position],
                    after=result.states[position + 1],
                )
            )
        if result.breakdown is not None:
            broken.append(Broken(index=chain[whole], breakdown=result.breakdown, aborted=chain[whole + 1 :]))
    return Observed(answers, broken)


def classify(result: Mapping[str, Json], confirmation: Confirmation) -> ResultClass:
    """The class of an answer, first match wins. Rule: pack.md §10, classification."""
    if isinstance(result.get("error"), dict):
        return "structured_error"
    if result.get(confirmation.status_field) == confirmation.pending_status:
        return "awaiting_confirmation"
    return "success"


def declares_refusal(case: Case) -> bool:
    """Whether the author means the probe to be its tool's refusal, whatever it turns out to be."""
    expected = case.expect.get("result_class")
    if expected is None and case.expect.get("error_code") is not None:
        expected = "structured_error"
    return case.coverage == "negative" or expected in ("structured_error", "awaiting_confirmation")


def _declarations(pack: Pack) -> Iterator[Finding]:
    if not pack.cases:
        yield placed(
            pack,
            "validation_cases",
            (),
            Finding(
                code="validation_cases_empty",
                message="declares no probe; expected a success and a refusal for every tool",
                fix="add at least two cases for each tool",
            ),
        )
        return
    if not pack.cases[0].reset_before:
        message = "the first case says `reset_before: false`, but no case comes before it"
        code = "reset_before_false_without_predecessor"
        yield _at(pack, 0, "reset_before", Finding(code=code, message=message, fix="remove `reset_before`"))
    times = Counter(case.id for case in pack.cases)
    catalog = {tool.name for tool in pack.tools}
    seen: set[str] = set()
    for index, case in enumerate(pack.cases):
        if times[case.id] > 1 and case.id in seen:
            message = f"case id `{case.id}` is used twice; expected unique ids"
            yield _at(pack, index, "id", Finding(code="duplicate_case_id", message=message))
        seen.add(case.id)
        if case.tool not in catalog:
            message, fix = f"probes `{case.tool}`, not in the catalog", did_you_mean(case.tool, catalog)
            yield _at(pack, index, "tool", Finding(code="unknown_tool", message=message, fix=fix))


def _faults(pack: Pack, answer: Observation, tools: Mapping[str, Tool]) -> Iterator[Finding]:
    """Every way an answer differs from what its case expects. An unknown tool's answer says nothing more."""
    if answer.case.tool not in tools:
        return
    index, expect = answer.index, answer.case.expect
    yield from _class_faults(pack, answer)
    for field in (field for field in expect if field not in CLAIMS):
        observed = {field: answer.result[field]} if field in answer.result else {}
        differs = first_difference(observed, {field: expect[field]})
        if differs is not None:
            message = f"result field `{differs.path}` is {differs.left}; expected {differs.right}"
            yield _at(pack, index, f"expect.{field}", Finding(code="result_field_mismatch", message=message))
    if expect.get("state_unchanged") is True and answer.before != answer.after:
        message = f"the call changed the state: {_change(answer)}; expected no change"
        yield _at(pack, index, "expect.state_unchanged", Finding(code="state_changed", message=message))
    parameters = tools[answer.case.tool].parameters
    if answer.is_negative or parameters is None:
        return
    for failure in argument_failures(parameters, answer.case.arguments):
        at = f"`{failure.pointer}`: " if failure.pointer else ""
        message = f"succeeded with arguments its schema refuses: {at}{failure.message}"
        code = "successful_validation_case_schema_mismatch"
        yield _at(pack, index, "arguments", Finding(code=code, message=message, detail=failure.code))


def _class_faults(pack: Pack, answer: Observation) -> Iterator[Finding]:
    expect = answer.case.expect
    wanted = expect.get("result_class")
    if wanted is not None and wanted != answer.result_class:
        message = f"answered {shortened(answer.result)}: class is `{answer.result_class}`; expected `{wanted}`"
        yield _at(pack, answer.index, "expect.result_class", Finding(code="result_class_mismatch", message=message))
    if "error_code" not in expect:
        return
    error = answer.result.get("error")
    is_error = isinstance(error, dict)
    code = error.get("code") if isinstance(error, dict) else None
    wanted_code = expect["error_code"]
    if is_error != (wanted_code is not None) or canonical_text(code) != canonical_text(wanted_code):
        observed = f"error code is {shortened(code)}" if is_error else "the answer is no error"
        expected = "no error" if wanted_code is None else shortened(wanted_code)
        message = f"{observed}; expected {expected}"
        yield _at(pack, answer.index, "expect.error_code", Finding(code="error_code_mismatch", message=message))


def _change(answer: Observation) -> str:
    difference = first_difference(json.loads(answer.before), json.loads(answer.after))
    if difference is None:
        raise AssertionError("two canonical texts differ but their values do not")
    return f"`{difference.path}` was {difference.left} and became {difference.right}"


def _breakage(pack: Pack, broken: Broken) -> Iterator[tuple[int, Finding]]:
    """The probe that broke, and the rest of its chain, which has nothing to go on from."""
    found = from_breakdown(broken.breakdown)
    case = pack.cases[broken.index]
    what = _PHASES.get(broken.breakdown.phase, f"`{case.tool}`")
    message = f"{what} broke instead of answering: {found.message}"
    if broken.breakdown.where is not None:
        message += f" ({broken.breakdown.where})"
    yield broken.index, _at(pack, broken.index, "", Finding(code=found.code, message=message))
    for index in broken.aborted:
        message = f"did not run: `{case.id}`, whose episode it continues, broke"
        yield index, _at(pack, index, "reset_before", Finding(code="chain_aborted", message=message))


_PHASES = {"import": "importing the pack", "reset": "`reset`", "state": "`get_state`"}


def _coverage(pack: Pack, seen: Observed) -> Iterator[Finding]:
    """Tools without a success or without a refusal; one finding for each missing side.

    Observation decides. A probe that did not come to an answer counts as what it declares: its own failure is told.
    """
    covered = {(answer.case.tool, answer.is_negative) for answer in seen.answers}
    unanswered = [pack.cases[index] for one in seen.broken for index in (one.index, *one.aborted)]
    covered |= {(case.tool, declares_refusal(case)) for case in unanswered}
    for index, tool in enumerate(pack.tools):
        for side, negative in (("success", False), ("negative", True)):
            if (tool.name, negative) not in covered:
                finding = Finding(
                    code="incomplete_validation_coverage",
                    message=f"`{tool.name}` has no {side} probe; expected at least one",
                    tool=tool.name,
                    detail=side,
                    fix=_COVERAGE_FIX[side],
                )
                yield placed(pack, "tools", (index, "function", "name"), finding)


_COVERAGE_FIX = {
    "success": "add a case that the tool answers with a success",
    "negative": "add a case that the tool refuses; for a refusal told as a plain result say `coverage: negative`",
}


def _mutating_refusal(pack: Pack, answer: Observation) -> Iterator[Finding]:
    """A refusal that nevertheless changed the state, where the author did not already claim otherwise."""
    claimed = answer.case.expect.get("state_unchanged") is True
    if answer.result_class == "structured_error" and answer.before != answer.after and not claimed:
        message = f"refused the call and yet changed the state: {_change(answer)}"
        yield _at(pack, answer.index, "", Finding(code="rejected_call_mutated_state", message=message))


def _at(pack: Pack, index: int, field: str, finding: Finding) -> Finding:
    """The finding about case number `index`, placed at one of its fields (`expect.<key>` for what it expects)."""
    case = pack.cases[index]
    pointer: Pointer = (index, *field.split(".", 1)) if field else (index,)
    return placed(pack, "validation_cases", pointer, dataclasses.replace(finding, case_id=case.id, tool=case.tool))
