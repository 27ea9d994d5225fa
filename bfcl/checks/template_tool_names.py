"""Check 1: does every template name tools, slots and milestones that exist, and link them? Rule: pack.md §5."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from bfcl.canonical import Json
from bfcl.checks.findings import Findings, Subject, placed, template_problem
from bfcl.checks.representatives import NOT_CALLED
from bfcl.errors import did_you_mean
from bfcl.located import Pointer
from bfcl.pack.model import Pack
from bfcl.records.ids import CALL_ORDERS
from bfcl.records.template import Template
from bfcl.records.verdict import Finding
from bfcl.stages.state_machine import structure_problems


def check(subject: Subject) -> Findings:
    """Tools known and exposed; policy, call order, milestone ids, slots and simulator links well formed."""
    return findings(subject.pack)


def findings(pack: Pack) -> Findings:
    """What the check finds; no code of the pack runs."""
    catalog = frozenset(tool.name for tool in pack.tools)
    failures: list[Finding] = []
    warnings: list[Finding] = []
    for index, template in enumerate(pack.templates):
        failures += [template_problem(pack, index, problem) for problem in structure_problems(template)]
        for part, finding in _faults(_declared(pack, index), template, catalog):
            failures.append(placed(pack, "templates", (index, *part), finding))
        for part, finding in _never_called(_declared(pack, index), template, catalog):
            warnings.append(placed(pack, "templates", (index, *part), finding))
    return Findings(failures, warnings)


Found = Iterator[tuple[Pointer, Finding]]


def _declared(pack: Pack, index: int) -> dict[str, Json]:
    """The template as its author wrote it: only a field that stands in the file can be at fault."""
    entries = pack.documents["templates"].value
    entry = entries[index] if isinstance(entries, list) else None
    return entry if isinstance(entry, dict) else {}


def _faults(declared: dict[str, Json], template: Template, catalog: frozenset[str]) -> Found:
    yield from _call_order(template)
    yield from _unknown_tools(declared, template, catalog)
    yield from _uncovered_calls(template, catalog)
    yield from _paraphrased_slots(template)


def _call_order(template: Template) -> Found:
    prefix, most = template.call_order_prefix, len(template.required_tools)
    if template.call_order not in CALL_ORDERS:
        message = f"call order `{template.call_order}` is unknown; expected one of {', '.join(CALL_ORDERS)}"
        fix = did_you_mean(template.call_order, CALL_ORDERS)
        yield ("call_order",), _finding(template, "invalid_call_order", message, fix)
    elif template.call_order == "prefix":
        if prefix is None:
            message = (
                "call order `prefix` without `call_order_prefix`; expected how many leading tools keep their order"
            )
            fix = f"add `call_order_prefix`, from 1 to {most}"
            yield ("call_order",), _finding(template, "invalid_call_order", message, fix)
        elif not 1 <= prefix <= most:
            message = f"`call_order_prefix` is {prefix}; expected 1 to {most}, the number of `required_tools`"
            yield ("call_order_prefix",), _finding(template, "invalid_call_order", message)
    elif prefix is not None:
        message = f"`call_order_prefix` is given beside call order `{template.call_order}`; it belongs to `prefix`"
        fix = "remove `call_order_prefix`, or set `call_order: prefix`"
        yield ("call_order_prefix",), _finding(template, "invalid_call_order", message, fix)


def _unknown_tools(declared: dict[str, Json], template: Template, catalog: frozenset[str]) -> Found:
    places: list[tuple[Pointer, str, str]] = [
        (("assistant_milestones", index, "tool"), f"milestone `{milestone.id}` calls", milestone.tool)
        for index, milestone in enumerate(template.assistant_milestones)
        if milestone.tool is not None
    ]
    for field in ("required_tools", "tools_present"):
        places += [((field, index), f"`{field}` names", name) for index, name in _names(declared, field)]
    for pointer, what, name in places:
        if name not in catalog:
            fix = did_you_mean(name, catalog)
            yield pointer, _finding(template, "unknown_tool", f"{what} `{name}`, not in the catalog", fix, name)


def _names(declared: dict[str, Json], field: str) -> Iterable[tuple[int, str]]:
    names = declared.get(field)
    return [
        (index, name) for index, name in enumerate(names if isinstance(names, list) else []) if isinstance(name, str)
    ]


def _uncovered_calls(template: Template, catalog: frozenset[str]) -> Found:
    """Calls that `required_tools` leaves out, needed tools that `tools_present` hides; unknown tools fail elsewhere."""
    for index, milestone in enumerate(template.assistant_milestones):
        tool = milestone.tool
        if tool is not None and tool in catalog and tool not in template.required_tools:
            message = f"milestone `{milestone.id}` calls `{tool}`, which `required_tools` does not list"
            fix = f"add `{tool}` to `required_tools`, or leave `required_tools` out"
            found = _finding(template, "tool_call_not_required", message, fix, tool)
            yield ("assistant_milestones", index, "tool"), found
    called = [milestone.tool for milestone in template.assistant_milestones if milestone.tool is not None]
    for tool in dict.fromkeys((*template.required_tools, *called)):
        if tool in catalog and tool not in template.tools_present:
            message = f"`{tool}` is needed but `tools_present` does not expose it"
            fix = f"add `{tool}` to `tools_present`, or leave `tools_present` out"
            yield ("tools_present",), _finding(template, "required_tool_not_present", message, fix, tool)


def _paraphrased_slots(template: Template) -> Found:
    for field in ("must_preserve", "must_omit"):
        for index, name in enumerate(getattr(template.paraphrase, field)):
            if name not in template.slots:
                message = f"`paraphrase.{field}` names slot `{name}`, which the template does not declare"
                fix = did_you_mean(name, template.slots)
                yield ("paraphrase", field, index), _finding(template, "unknown_slot", message, fix)


def _never_called(declared: dict[str, Json], template: Template, catalog: frozenset[str]) -> Found:
    called = {milestone.tool for milestone in template.assistant_milestones}
    for index, name in _names(declared, "required_tools"):
        if name in catalog and name not in called:
            message = f"`required_tools` lists `{name}`, which no milestone calls"
            fix = f"remove `{name}` from `required_tools`, or add the call"
            yield ("required_tools", index), _finding(template, NEVER_CALLED, message, fix, name)


NEVER_CALLED: Final = "required_tool_never_called"


def without_doubles(warnings: Iterable[Finding], failures: Iterable[Finding]) -> list[Finding]:
    """The warnings, without those of a required tool for which check 7 fails: it is the same fault, told once."""
    failed = {(one.template_id, one.tool) for one in failures if one.detail == NOT_CALLED}
    return [one for one in warnings if one.code != NEVER_CALLED or (one.template_id, one.tool) not in failed]


def _finding(template: Template, code: str, message: str, fix: str | None = None, tool: str | None = None) -> Finding:
    return Finding(code=code, message=message, template_id=template.template_id, tool=tool, fix=fix)
