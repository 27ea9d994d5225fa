"""How a verdict is told to a person."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from bfcl.checks.report import as_problem, warnings_to_tell
from bfcl.config.loaded import LoadedConfig
from bfcl.errors import GateError, Problem, one_line, raise_all
from bfcl.pack.layout import shown
from bfcl.pack.model import Pack
from bfcl.records.verdict import CheckResult, Finding, PackVerdict


def require_gold(loaded: LoadedConfig, pack: Pack, verdict: PackVerdict) -> None:
    """Raise GateError `non_gold_pack` with every failing check unless the verdict is gold. Rule: generation.md §3.2."""
    if verdict.gold_eligible:
        return
    first = Problem(
        code="non_gold_pack",
        subject=pack.manifest.pack_id,
        message=f"tier {verdict.tier}, gold is needed; failing: {', '.join(verdict.reasons) or 'none'}",
        fix="mend what follows, then run `doit prepare`",
    )
    raise_all(GateError, [first, *finding_problems(loaded, pack, verdict)])


def finding_problems(loaded: LoadedConfig, pack: Pack, verdict: PackVerdict) -> list[Problem]:
    """Every failure of every check as a problem that a person can click."""
    return [_problem(loaded, pack, finding) for check in verdict.checks for finding in check.failures]


def warning_lines(loaded: LoadedConfig, pack: Pack, verdict: PackVerdict) -> list[str]:
    """Every warning of every check, told like a problem but marked: warnings never change a verdict."""
    found = [_problem(loaded, pack, finding) for finding in warnings_to_tell(verdict)]
    return [f"warning: {problem}" for problem in found]


def _problem(loaded: LoadedConfig, pack: Pack, finding: Finding) -> Problem:
    """A finding in its file of the pack, or at the line of the setting it speaks of."""
    problem = as_problem(finding, root=shown(pack.root))
    if finding.setting is None or problem.path is not None:
        return problem
    placed = loaded.placed(dataclasses.replace(problem, subject=finding.setting))
    # The message of what has no place says already which setting it is.
    return problem if placed.path is None else dataclasses.replace(placed, subject=None)


def verdict_line(command: str, verdict: PackVerdict, report: str | None) -> str:
    """What a command says in one line: tier, failed checks, where the report is if it was written."""
    failed = [f"{check.id} {check.name}" for check in verdict.checks if check.status != "pass"]
    told = f"{command}: {verdict.tier}; failed checks: {', '.join(failed) or 'none'}"
    return told if report is None else f"{told}; report: {report}"


def reuse_line(verdict: PackVerdict, asked: Mapping[str, bool]) -> str:
    """Which checks ran, and of how many an earlier finding still held.

    `asked` says of every name looked for (check id, `7/<template id>`) whether it was found.
    """
    judged = [check.id for check in verdict.checks if check.status != "skipped"]
    parts = {one: [found for name, found in asked.items() if name.startswith(f"{one}/")] for one in judged}
    ran = [one for one in judged if not (all(parts[one]) if parts[one] else asked.get(one))]
    told = [f"{one} for {parts[one].count(False)} of {len(parts[one])} templates" if parts[one] else one for one in ran]
    line = f"checks: {len(judged) - len(ran)} reused, {len(ran)} run"
    return f"{line} ({', '.join(told)})" if told else line


def listing(loaded: LoadedConfig, pack: Pack, verdict: PackVerdict, summary: Sequence[str]) -> list[str]:
    """Everything the checks found, then the summary, and each failing check with code and place last.

    The last lines are the ones a terminal still shows. Rule: authoring.md §4.
    """
    failures = [str(problem) for problem in finding_problems(loaded, pack, verdict)]
    last = [one_line(line) for line in (*summary, *_failing(loaded, pack, verdict))]
    return [*warning_lines(loaded, pack, verdict), *failures, *last]


def _failing(loaded: LoadedConfig, pack: Pack, verdict: PackVerdict) -> Iterator[str]:
    """`<check>: <code> at <place>` once for each, or why the check was skipped; then what no check can mend."""
    told = {reason for check in verdict.checks for reason in _reasons(check)}
    for check in verdict.checks:
        name = f"  {check.id} {check.name}"
        if check.status == "skipped":
            yield f"{name}: skipped, {check.skipped_because}"
        places = [f"{name}: {finding.code}{_place(loaded, pack, finding)}" for finding in check.failures]
        yield from dict.fromkeys(places)
    for reason in verdict.reasons:
        if reason not in told:
            yield f"  {reason}"


def _reasons(check: CheckResult) -> Iterator[str]:
    yield f"{check.id}: skipped"
    for finding in check.failures:
        yield f"{check.id}: {finding.code}"


def _place(loaded: LoadedConfig, pack: Pack, finding: Finding) -> str:
    problem = _problem(loaded, pack, finding)
    if problem.path is not None:
        return f" at {problem.path}" if problem.line is None else f" at {problem.path}:{problem.line}"
    return "" if problem.subject is None else f" in {problem.subject}"
