"""Check 3: do backend and catalog speak of the same tools, with schemas that can be enforced? Rule: pack.md §3, §6."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator, Mapping, Sequence

from bfcl.canonical import Json
from bfcl.checks import review_markers
from bfcl.checks.findings import Findings, Subject, from_breakdown, placed, text_pointer
from bfcl.errors import did_you_mean
from bfcl.oracle.protocol import Breakdown
from bfcl.pack.json_pointer import pointer_text
from bfcl.pack.model import Pack
from bfcl.pack.schema_subset import schema_problems
from bfcl.records.tool import Tool
from bfcl.records.verdict import Finding
from bfcl.stages.arguments import argument_failures


def check(subject: Subject) -> Findings:
    """Callables, `list_tools()` against the catalog, parameter schemas, confirmation parameters, review markers."""
    pack, description = subject.pack, subject.description
    failures = _broken(pack, description.backend_breakdown, otherwise="backend_import_failed")
    if not failures:
        failures += missing_callables(pack, description.missing_callables)
        failures += _broken(pack, description.tools_breakdown)
    if description.tools is not None:
        failures += implementation_differences(pack, description.tools)
    still = static_findings(pack)
    return Findings(failures + still.failures, still.warnings)


def static_findings(pack: Pack) -> Findings:
    """What shows without importing the backend: schemas, confirmation parameters, review markers, shadowed modules."""
    failures = [finding for index, tool in enumerate(pack.tools) for finding in _schema(pack, index, tool)]
    return Findings(failures + review_markers.findings(pack), list(_shadowing(pack)))


def _broken(pack: Pack, breakdown: Breakdown | None, otherwise: str | None = None) -> list[Finding]:
    if breakdown is None:
        return []
    found = from_breakdown(breakdown, otherwise=otherwise)
    return [found if found.file else dataclasses.replace(found, file=pack.shown_path("backend"))]


def missing_callables(pack: Pack, names: Sequence[str], line: Mapping[str, int] | None = None) -> list[Finding]:
    """One finding for each callable of the contract that the backend lacks; `line` tells where it is misdefined."""
    return [
        Finding(
            code="missing_backend_callable",
            message=f"`{name}` is missing or cannot be called as `{_SIGNATURES[name]}`",
            file=pack.shown_path("backend"),
            line=(line or {}).get(name),
            detail=name,
            fix=f"define `def {_SIGNATURES[name]}:` at module level",
        )
        for name in names
    ]


_SIGNATURES = {
    "list_tools": "list_tools()",
    "reset": "reset(*, ctx, fixtures=None)",
    "call_tool": "call_tool(name, arguments, *, ctx)",
    "get_state": "get_state()",
}


def implementation_differences(pack: Pack, implemented: Sequence[str], line: int | None = None) -> Iterator[Finding]:
    """The names that `list_tools()` answers compared with the catalog; `line` is where it stands, if known."""
    catalog = [tool.name for tool in pack.tools]
    for index, name in enumerate(catalog):
        if name not in implemented:
            found = Finding(
                code="schema_without_implementation",
                message=f"the catalog declares `{name}`, which `list_tools()` does not name",
                tool=name,
                fix=did_you_mean(name, set(implemented) - set(catalog)) or f"implement `{name}`, or remove its entry",
            )
            yield placed(pack, "tools", (index, "function", "name"), found)
    file = pack.shown_path("backend")
    for name in implemented:
        if name not in catalog:
            yield Finding(
                code="implementation_without_schema",
                message=f"`list_tools()` names `{name}`, which the catalog does not declare",
                file=file,
                line=line,
                tool=name,
                fix=did_you_mean(name, set(catalog) - set(implemented)) or f"add a schema for `{name}`",
            )


def _schema(pack: Pack, index: int, tool: Tool) -> list[Finding]:
    if tool.parameters is None:
        found = Finding(
            code="missing_parameter_schema",
            message=f"`{tool.name}` declares no parameters; expected an object schema",
            tool=tool.name,
            fix='add `"parameters": {"type": "object", "properties": {}, "additionalProperties": false}`',
        )
        return [placed(pack, "tools", (index, "function"), found)]
    failures = []
    for defect in schema_problems(tool.parameters):
        found = Finding(
            code="unsupported_parameter_schema",
            message=f"`{tool.name}`: {defect.message}",
            tool=tool.name,
            detail=defect.problem,
        )
        failures.append(
            placed(
                pack, "tools", (index, "function", "parameters", *text_pointer(tool.parameters, defect.pointer)), found
            )
        )
    # A schema that cannot be used cannot be asked what it takes.
    return failures or _confirmation(pack, index, tool)


def _confirmation(pack: Pack, index: int, tool: Tool) -> list[Finding]:
    parameter = pack.manifest.confirmation.parameter
    if not tool.requires_confirmation or _is_boolean(tool.parameters or {}, parameter):
        return []
    found = Finding(
        code="confirmation_parameter_missing",
        message=f"`{tool.name}` requires confirmation but has no boolean parameter `{parameter}`",
        tool=tool.name,
        fix=f'declare `"{parameter}": {{"type": "boolean"}}`, or set `confirmation.parameter` in the manifest',
    )
    return [placed(pack, "tools", (index, "function", "parameters", "properties", parameter), found)]


def _is_boolean(parameters: Mapping[str, Json], parameter: str) -> bool:
    """Asked of the schema as calls are: it takes both booleans there and nothing that merely looks like one."""
    pointer = pointer_text((parameter,))

    def takes(value: Json) -> bool:
        return all(failure.pointer != pointer for failure in argument_failures(parameters, {parameter: value}))

    return takes(True) and takes(False) and not takes(1) and not takes("true")  # noqa: FBT003 - JSON values


def _shadowing(pack: Pack) -> Iterator[Finding]:
    """Modules and packages at the pack root named like a standard one: whatever imports that gets the pack's."""
    for logical in sorted(pack.entries):
        found = _ROOT_MODULE.fullmatch(logical)
        stem = found.group(1) if found else None
        if stem in sys.stdlib_module_names:
            yield Finding(
                code="module_shadowed",
                message=f"hides the standard module `{stem}` from everything the pack imports",
                file=logical.removeprefix("tree/"),
                fix="rename the helper",
            )


_ROOT_MODULE = re.compile(r"tree/([^/.]+)(?:\.py|/__init__\.py)")
