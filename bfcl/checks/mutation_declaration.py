"""Check M1: do the tools that change the state say so, and only those? Rule: pack.md §3, §11."""

from __future__ import annotations

from collections.abc import Iterator

from bfcl.checks.findings import Findings, Subject, placed
from bfcl.checks.probes import Probes, probes
from bfcl.pack.model import Pack
from bfcl.records.tool import Tool
from bfcl.records.verdict import Finding


def check(subject: Subject) -> Findings:
    """A tool that changes the state in any probe declares `x-mutates`; one that declares it changes it in a success.

    A refusal that changes the state of a declaring tool is check 5's warning.
    Raises: OracleError if no episode can run at all.
    """
    pack, played = subject.pack, probes(subject)
    return Findings([one for index, tool in enumerate(pack.tools) for one in _faults(pack, played, index, tool)], [])


def _faults(pack: Pack, played: Probes, index: int, tool: Tool) -> Iterator[Finding]:
    if tool.mutates:
        yield from _idle(pack, played, index, tool)
        return
    for answer in played.seen.answers:
        if answer.case.tool == tool.name and answer.change is not None:
            found = Finding(
                code="undeclared_mutation",
                message=f"`{tool.name}` changed the state: {answer.change}; expected no change from a tool without "
                "`x-mutates`",
                case_id=answer.case.id,
                tool=tool.name,
                fix='add `"x-mutates": true` to its entry, or leave the state alone',
            )
            yield placed(pack, "tools", (index, "x-mutates"), found)
            return  # the tool is told once, however many probes show it


def _idle(pack: Pack, played: Probes, index: int, tool: Tool) -> Iterator[Finding]:
    successes = played.successes(tool.name)
    if any(one.change is not None for one in successes):
        return
    count = len(successes)
    observed = f"none of its success probes ({count}) changes the state" if count else "no probe of it succeeds"
    found = Finding(
        code="declared_mutation_not_observed",
        message=f"`{tool.name}` says `x-mutates: true`, but {observed}; expected at least one change",
        tool=tool.name,
        fix="add a case in which it takes effect, let `get_state` show the effect, or remove `x-mutates`",
    )
    yield placed(pack, "tools", (index, "x-mutates"), found)
