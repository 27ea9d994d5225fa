"""Check 3: do backend and catalog speak of the same tools, with schemas that can be enforced? Rule: pack.md §3, §6."""

from __future__ import annotations

import dataclasses
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

from bfcl.canonical import Json
from bfcl.checks.findings import Findings, Subject, from_breakdown, placed, text_pointer
from bfcl.errors import did_you_mean
from bfcl.pack.json_pointer import pointer_text
from bfcl.pack.model import Pack
from bfcl.pack.schema_subset import schema_problems
from bfcl.records.tool import Tool
from bfcl.records.verdict import Finding
from bfcl.stages.arguments import argument_failures

REVIEW_MARKER = b"BFCL-TODO"
"""What assisted drafting leaves where a person must look; a pack that still holds one was not reviewed."""


def check(subject: Subject) -> Findings:
    """Callables, `list_tools()` against the catalog, parameter schemas, confirmation parameters, review markers."""
    pack = subject.pack
    failures = [*_backend(subject), *_implementations(subject)]
    for index, tool in enumerate(pack.tools):
        failures += _schema(pack, index, tool)
    return Findings(failures + list(_review_markers(pack)), list(_shadowing(pack)))


def _backend(subject: Subject) -> Iterator[Finding]:
    pack, description = subject.pack, subject.description
    file = pack.shown_path("backend")
    if description.backend_breakdown is not None:
        broken = from_breakdown(description.backend_breakdown, otherwise="backend_import_failed")
        yield broken if broken.file else dataclasses.replace(broken, file=file)
        return
    for name in description.missing_callables:
        yield Finding(
            code="missing_backend_callable",
            message=f"`{name}` is missing or cannot be called as `{_SIGNATURES[name]}`",
            file=file,
            detail=name,
            fix=f"define `def {_SIGNATURES[name]}:` at module level",
        )
    if description.tools_breakdown is not None:
        broken = from_breakdown(description.tools_breakdown)
        yield broken if broken.file else dataclasses.replace(broken, file=file)


_SIGNATURES = {
    "list_tools": "list_tools()",
    "reset": "reset(*, ctx, fixtures=None)",
    "call_tool": "call_tool(name, arguments, *, ctx)",
    "get_state": "get_state()",
}


def _implementations(subject: Subject) -> Iterator[Finding]:
    """The names `list_tools()` answers, compared with the catalog; without an answer nothing is known."""
    pack, implemented = subject.pack, subject.description.tools
    if implemented is None:
        return
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


def _review_markers(pack: Pack) -> Iterator[Finding]:
    """One finding for each line of any pack file that still holds the marker."""
    for logical, path in sorted(_files(pack).items()):
        try:
            data = path.read_bytes()
        except OSError:
            continue  # gone since the pack was loaded: the fingerprint taken after validation refuses that
        for number, line in enumerate(data.splitlines() if REVIEW_MARKER in data else (), start=1):
            if REVIEW_MARKER in line:
                yield Finding(
                    code="review_marker_present",
                    message=f"line {number} still holds `{REVIEW_MARKER.decode()}`",
                    file=logical.removeprefix("tree/"),
                    line=number,
                    fix="review what the line says, then remove the marker",
                )


def _files(pack: Pack) -> dict[str, Path]:
    """Every fingerprinted file by logical name. Names on disk may be composed differently; logical ones are NFC."""
    declared = {file.logical: file.path for file in pack.files.values()}
    found: dict[str, Path] = {}
    for logical in pack.entries:
        path = declared.get(logical, pack.root / logical.removeprefix("tree/"))
        found[logical] = path if path.exists() else _composed_otherwise(pack.root, logical)
    return found


def _composed_otherwise(root: Path, logical: str) -> Path:
    wanted = logical.removeprefix("tree/")
    same = (path for path in root.rglob("*") if unicodedata.normalize("NFC", str(path.relative_to(root))) == wanted)
    return next(same, root / wanted)


def _shadowing(pack: Pack) -> Iterator[Finding]:
    """Helpers at the pack root named like a standard module: whatever imports that module gets the helper instead."""
    for logical in sorted(pack.entries):
        stem, dot, ending = logical.removeprefix("tree/").partition(".")
        if logical.startswith("tree/") and dot and ending == "py" and stem in sys.stdlib_module_names:
            yield Finding(
                code="module_shadowed",
                message=f"hides the standard module `{stem}` from everything the pack imports",
                file=f"{stem}.py",
                fix="rename the helper",
            )
