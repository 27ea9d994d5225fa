"""Check 5: does the oracle answer every declared probe as its author expects? Rule: pack.md §10."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set

from bfcl.canonical import canonical_text
from bfcl.checks.findings import Findings, Subject, placed
from bfcl.checks.probes import Observation, Observed, at_case, breakages, declares_refusal, probes
from bfcl.errors import did_you_mean
from bfcl.pack.model import Case, Pack
from bfcl.records.tool import Tool
from bfcl.records.verdict import Finding
from bfcl.stages.arguments import argument_failures
from bfcl.stages.divergence import first_difference, shortened

CLAIMS = ("result_class", "error_code", "state_unchanged")
"""Keys of `expect` with a meaning of their own; any other names a field of the result."""


def check(subject: Subject) -> Findings:
    """Each probe meets its `expect`; every tool has a success and a refusal; chains run to their end.

    Raises: OracleError if no episode can run at all.
    """
    pack = subject.pack
    failures = list(declarations(pack))
    if not pack.cases:
        return Findings(failures, [])
    seen = probes(subject).seen
    tools = {tool.name: tool for tool in pack.tools}
    found = [(answer.index, finding) for answer in seen.answers for finding in _faults(pack, answer, tools)]
    found += breakages(pack, seen.broken)
    failures += [finding for _, finding in sorted(found, key=lambda pair: pair[0])]
    failures += coverage_gaps(pack, seen)
    warnings = [finding for answer in seen.answers for finding in _mutating_refusal(pack, answer, tools)]
    return Findings(failures, warnings)


def declarations(pack: Pack) -> Iterator[Finding]:
    """What is wrong with the list itself: no case, repeated ids, unknown tools, a first case that continues."""
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
        yield at_case(pack, 0, "reset_before", Finding(code=code, message=message, fix="remove `reset_before`"))
    times = Counter(case.id for case in pack.cases)
    catalog = {tool.name for tool in pack.tools}
    seen: set[str] = set()
    for index, case in enumerate(pack.cases):
        if times[case.id] > 1 and case.id in seen:
            message = f"case id `{case.id}` is used twice; expected unique ids"
            yield at_case(pack, index, "id", Finding(code="duplicate_case_id", message=message))
        seen.add(case.id)
        if case.tool not in catalog:
            message, fix = f"probes `{case.tool}`, not in the catalog", did_you_mean(case.tool, catalog)
            yield at_case(pack, index, "tool", Finding(code="unknown_tool", message=message, fix=fix))


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
            found = Finding(code="result_field_mismatch", message=message)
            yield at_case(pack, index, f"expect.{field}", _hinted(pack, answer, found))
    if expect.get("state_unchanged") is True and answer.change is not None:
        message = f"the call changed the state: {answer.change}; expected no change"
        yield at_case(pack, index, "expect.state_unchanged", Finding(code="state_changed", message=message))
    if not answer.is_negative:
        yield from refused_arguments(pack, index, tools[answer.case.tool], "succeeded")


def refused_arguments(pack: Pack, index: int, tool: Tool, what: str) -> Iterator[Finding]:
    """What the tool's schema refuses in the arguments of case number `index`, which `what` happened to all the same."""
    if tool.parameters is None:
        return
    for failure in argument_failures(tool.parameters, pack.cases[index].arguments):
        at = f"`{failure.pointer}`: " if failure.pointer else ""
        message = f"{what} with arguments its schema refuses: {at}{failure.message}"
        code = "successful_validation_case_schema_mismatch"
        yield at_case(pack, index, "arguments", Finding(code=code, message=message, detail=failure.code))


def _class_faults(pack: Pack, answer: Observation) -> Iterator[Finding]:
    expect = answer.case.expect
    wanted = expect.get("result_class")
    if wanted is not None and wanted != answer.result_class:
        message = f"answered {shortened(answer.result)}: class is `{answer.result_class}`; expected `{wanted}`"
        found = Finding(code="result_class_mismatch", message=message)
        yield at_case(pack, answer.index, "expect.result_class", _hinted(pack, answer, found))
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
        found = Finding(code="error_code_mismatch", message=message)
        yield at_case(pack, answer.index, "expect.error_code", _hinted(pack, answer, found))


def _hinted(pack: Pack, answer: Observation, finding: Finding) -> Finding:
    """With a hint where the tool found nothing because the row asked for is kept from the oracle. Rule: pack.md §8."""
    error, policy = answer.result.get("error"), pack.held_out
    missed = isinstance(error, Mapping) and error.get("code") == "not_found"
    if not missed or policy is None or policy.fixtures_in_backend_state:
        return finding
    for name, value in answer.case.arguments.items():
        for collection, reserved in policy.fixtures.items():
            if isinstance(value, str | int) and str(value) in map(str, reserved):
                hint = (
                    f"argument `{name}` is {shortened(value)}, a row of `{collection}` held out of the oracle's sight"
                )
                return dataclasses.replace(finding, message=f"{finding.message} ({hint})", fix=_HELD_OUT_FIX)
    return finding


_HELD_OUT_FIX = "probe a row that is not reserved, or set `policy.fixtures_in_backend_state: true` in the held-out file"


def coverage_gaps(pack: Pack, seen: Observed) -> Iterator[Finding]:
    """Tools without a success or without a refusal; one finding for each missing side.

    Observation decides. A probe that did not come to an answer counts as what it declares: its own failure is told.
    """
    covered = {(answer.case.tool, answer.is_negative) for answer in seen.answers}
    unanswered = [pack.cases[index] for one in seen.broken for index in (one.index, *one.aborted)]
    yield from uncovered(pack, covered | declared_coverage(unanswered))


def declared_coverage(cases: Iterable[Case]) -> set[tuple[str, bool]]:
    """(tool, whether it is a refusal) of what cases declare themselves to be."""
    return {(case.tool, declares_refusal(case)) for case in cases}


def uncovered(pack: Pack, covered: Set[tuple[str, bool]]) -> Iterator[Finding]:
    """One finding for each tool's side, success or refusal, that is not covered."""
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


def _mutating_refusal(pack: Pack, answer: Observation, tools: Mapping[str, Tool]) -> Iterator[Finding]:
    """A refusal that nevertheless changed the state, where nothing else fails for it: neither claim nor declaration."""
    claimed = answer.case.expect.get("state_unchanged") is True
    declared = answer.case.tool in tools and tools[answer.case.tool].mutates
    if answer.result_class == "structured_error" and declared and not claimed and answer.change is not None:
        message = f"refused the call and yet changed the state: {answer.change}"
        yield at_case(pack, answer.index, "", Finding(code="rejected_call_mutated_state", message=message))
