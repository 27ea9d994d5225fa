"""Check 3: do backend and catalog speak of the same tools, with schemas that can be enforced? Rule: pack.md §3, §6."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence

from bfcl.canonical import Json
from bfcl.checks import review_markers
from bfcl.checks.findings import Findings, Subject, at_definition, from_breakdown, placed, text_pointer
from bfcl.checks.outline import Outline, deferring, read_outline
from bfcl.errors import did_you_mean
from bfcl.located import Pointer
from bfcl.oracle.describing import RUNS_NOTHING
from bfcl.oracle.protocol import Breakdown
from bfcl.pack.endless_patterns import may_not_end
from bfcl.pack.json_pointer import pointer_text
from bfcl.pack.model import Pack
from bfcl.pack.schema_subset import schema_problems
from bfcl.records.tool import Tool
from bfcl.records.verdict import Finding
from bfcl.stages.arguments import argument_failures
from bfcl.stages.divergence import shortened


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
    warnings = [finding for index, tool in enumerate(pack.tools) for finding in _endless(pack, index, tool)]
    return Findings(failures + review_markers.findings(pack), [*warnings, *_shadowing(pack)])


def unenforceable_tools(pack: Pack) -> frozenset[str]:
    """The tools whose parameter schema is missing, cannot be used, or lacks what the entry promises."""
    return frozenset(tool.name for index, tool in enumerate(pack.tools) if _schema(pack, index, tool))


def _broken(pack: Pack, breakdown: Breakdown | None, otherwise: str | None = None) -> list[Finding]:
    if breakdown is None:
        return []
    found = from_breakdown(breakdown, otherwise=otherwise)
    if found.file:
        return [found]
    if breakdown.phase == "import":
        return [placed(pack, "backend", (), found)]
    return [at_definition(pack, "backend", "list_tools", found)]


def missing_callables(pack: Pack, names: Sequence[str]) -> list[Finding]:
    """One finding for each callable of the contract that the backend lacks, or misdefines: then where it does."""
    outline = read_outline(pack.code["backend"]) if names and "backend" in pack.code else None
    deferred = deferring(outline) if isinstance(outline, Outline) else {}
    return [at_definition(pack, "backend", name, _missing_callable(name, deferred.get(name))) for name in names]


def _missing_callable(name: str, written: str | None) -> Finding:
    what = "is missing or cannot be called" if written is None else f"{written}, {RUNS_NOTHING}; expected it to run"
    return Finding(
        code="missing_backend_callable",
        message=f"`{name}` {what} as `{_SIGNATURES[name]}`",
        detail=name,
        fix=f"define `def {_SIGNATURES[name]}:` at module level",
    )


_SIGNATURES = {
    "list_tools": "list_tools()",
    "reset": "reset(*, ctx, fixtures=None)",
    "call_tool": "call_tool(name, arguments, *, ctx)",
    "get_state": "get_state()",
}


def implementation_differences(pack: Pack, implemented: Sequence[str]) -> Iterator[Finding]:
    """The names that `list_tools()` answers compared with the catalog."""
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
    for name in implemented:
        if name not in catalog:
            found = Finding(
                code="implementation_without_schema",
                message=f"`list_tools()` names `{name}`, which the catalog does not declare",
                tool=name,
                fix=did_you_mean(name, set(catalog) - set(implemented)) or f"add a schema for `{name}`",
            )
            yield at_definition(pack, "backend", "list_tools", found)


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


def _endless(pack: Pack, index: int, tool: Tool) -> Iterator[Finding]:
    """A warning for each pattern that some text may keep busy for ever."""
    for pointer, pattern in _patterns(tool.parameters):
        if may_not_end(pattern):
            found = Finding(
                code="pattern_may_not_end",
                message=f"`{tool.name}`: `pattern` {shortened(pattern)} can read one text in many ways, and tries all "
                "of them where it does not match; expected repeated parts that a text can be read as in one way only",
                tool=tool.name,
                fix="repeat once what is repeated inside a repetition (`a+` for `(a+)+`), or let a separator part the "
                "repeated parts",
            )
            yield placed(pack, "tools", (index, "function", "parameters", *pointer), found)


def _patterns(schema: Json) -> Iterator[tuple[Pointer, str]]:
    """(pointer, pattern) of every `pattern` that stands in a schema as a keyword."""
    if not isinstance(schema, Mapping):
        return
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        yield ("pattern",), pattern
    below: list[tuple[Pointer, Json]] = [((word,), schema.get(word)) for word in ("items", "additionalProperties")]
    for word in ("properties", "$defs", "definitions"):
        members = schema.get(word)
        below += [((word, name), each) for name, each in (members.items() if isinstance(members, Mapping) else ())]
    members = schema.get("allOf")
    below += [(("allOf", number), each) for number, each in enumerate(members if isinstance(members, list) else ())]
    for way, part in below:
        yield from (((*way, *pointer), found) for pointer, found in _patterns(part))


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
