"""Which diagnostics would go away if another one were mended? Those are marked, the others come first to mend."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.authoring.diagnostics.diagnostic import Cause, Diagnostic
from bfcl.canonical import Json
from bfcl.errors import BfclError, Problem
from bfcl.pack.json_pointer import pointer_parts
from bfcl.pack.layout import shown
from bfcl.pack.load import Reading
from bfcl.pack.model import Pack, Role
from bfcl.pack.slots import parse_source

_SUGGESTED: Final = re.compile(r"did you mean `(.+)`\?")
_WANTED: Final = re.compile(r"add `(.+)`")

_OF_MANIFEST: Final[Mapping[str, frozenset[str]]] = {
    "confirmation": frozenset({"confirmation_parameter_missing"}),
    "languages": frozenset({"render_language_ambiguous", "missing_language_text"}),
    "default_language": frozenset({"render_language_ambiguous", "missing_language_text"}),
    "primary_keys": frozenset({"primary_key_ambiguous", "fixture_row_missing_primary_key"}),
    "absent_ids": frozenset({"absent_ids_missing"}),
    "system_prompt": frozenset({"system_prompt_language_mismatch"}),
    "assistant_turn_templates": frozenset({"missing_assistant_turn_templates"}),
}
"""What follows where the manifest's value under a key could not be used."""
_OF_WHOLE_MANIFEST: Final = frozenset[str]().union(*_OF_MANIFEST.values())
"""What follows where nothing in the manifest could be used."""

FOLDED_AFTER: Final = 10
"""How many diagnostics of one code are told of one cause: what is to be mended must not drown in what follows."""

_OF_FILE: Final[Mapping[Role, frozenset[str]]] = {
    "held_out": frozenset({"category_budget_too_small"}),
    "fixtures": frozenset({"unknown_collection"}),
}
"""What follows where a file could not be used: what it reserves, or the rows it holds, are unknown."""
_NOT_THERE: Final = frozenset({"pack_file_missing", "pack_outside_allowlist"})

_OF_LINKS: Final = "simulator_after_unresolved"
_UNANSWERED: Final = "text_milestone_without_reply"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What loading refused: the first problem of each tool, of each tool's cases, of manifest keys and of files."""

    pack: Pack
    tools: Mapping[str, Problem]
    cases: Mapping[str, Problem]
    manifest: Mapping[str, Problem]
    files: Mapping[Role, Problem]
    problems: tuple[Problem, ...]
    manifest_is_used: bool
    """Whether anything of the manifest could be used."""

    @classmethod
    def of(cls, pack: Pack, reading: Reading) -> Known:
        """From a pack as far as it loads and every problem of its files."""
        return cls(
            pack=pack,
            tools=dict(_of_entries(reading, "tools", "tools_catalog_invalid", ("function", "name"))),
            cases=dict(_of_entries(reading, "validation_cases", "validation_cases_invalid", ("tool",))),
            manifest=dict(_refused_keys(reading.problems)),
            files={role: first for role in _OF_FILE if (first := _of_role(pack, role, reading.problems)) is not None},
            problems=reading.problems,
            manifest_is_used=not any(one.code == "manifest_invalid" and not one.field for one in reading.problems),
        )


def with_causes(diagnostics: Sequence[Diagnostic], known: Known) -> list[Diagnostic]:
    """The diagnostics, each with the one that caused it where that can be told.

    Those that only say what a manifest would hold which is no mapping at all are left out: that is told.
    """
    if not known.manifest_is_used:
        diagnostics = [one for one in diagnostics if one.code not in _OF_WHOLE_MANIFEST]
    unlinked = {one.template_id: _cause(one) for one in reversed(diagnostics) if one.code == _OF_LINKS}
    unusable = {one.tool: _cause(one) for one in reversed(diagnostics) if one.code == "unsupported_parameter_schema"}

    def of_link(one: Diagnostic) -> Cause | None:
        return unlinked.get(one.template_id) if one.code == _UNANSWERED else None

    def of_schema(one: Diagnostic) -> Cause | None:
        return unusable.get(_drawn_tool(one, known.pack)) if one.code == "enum_source_unresolved" else None

    rules: tuple[Callable[[Diagnostic], Cause | None], ...] = (
        of_link,
        of_schema,
        lambda one: _of_tool(one, known),
        lambda one: _of_case(one, known),
        lambda one: _of_manifest(one, known),
        lambda one: _of_file(one, known),
        lambda one: _of_misspelling(one, known),
    )
    return [_marked(one, rules) for one in diagnostics]


def folded(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """In the same order, of those that share code and cause the first ones only; the last of these says how many more.

    A diagnostic without a cause is never left out.
    """
    times = Counter((one.code, one.because) for one in diagnostics if one.because is not None)
    shown: Counter[tuple[str, Cause]] = Counter()
    found: list[Diagnostic] = []
    for one in diagnostics:
        if one.because is None:
            found.append(one)
            continue
        kind = (one.code, one.because)
        shown[kind] += 1
        more = times[kind] - FOLDED_AFTER
        if shown[kind] == FOLDED_AFTER and more > 0:
            one = dataclasses.replace(one, message=f"{one.message}; and {more} more like it")  # noqa: PLW2901
        if shown[kind] <= FOLDED_AFTER:
            found.append(one)
    return found


def _marked(one: Diagnostic, rules: Sequence[Callable[[Diagnostic], Cause | None]]) -> Diagnostic:
    cause = next((cause for rule in rules if (cause := rule(one)) is not None), None)
    return one if cause is None else dataclasses.replace(one, because=cause)


# --- rules ------------------------------------------------------------------------------------------------------------


def _of_tool(one: Diagnostic, known: Known) -> Cause | None:
    """A tool is unknown because its entry in the catalog was refused."""
    if one.code not in ("unknown_tool", "implementation_without_schema"):
        return None
    return _told(known.tools.get(one.tool or _drawn_tool(one, known.pack) or ""))


def _of_case(one: Diagnostic, known: Known) -> Cause | None:
    """A tool lacks a probe because a case that probes it was refused."""
    return _told(known.cases.get(one.tool or "")) if one.code == "incomplete_validation_coverage" else None


def _of_manifest(one: Diagnostic, known: Known) -> Cause | None:
    """A default stood in for a value of the manifest that was refused."""
    return next((_told(problem) for key, problem in known.manifest.items() if one.code in _follows(key)), None)


def _of_file(one: Diagnostic, known: Known) -> Cause | None:
    """A file that others draw from could not be used."""
    return next((_told(problem) for role, problem in known.files.items() if one.code in _OF_FILE[role]), None)


def _follows(key: str) -> frozenset[str]:
    return _OF_MANIFEST.get(key, frozenset())


def _of_misspelling(one: Diagnostic, known: Known) -> Cause | None:
    """A key is missing because it is misspelt beside."""
    wanted = _WANTED.fullmatch(one.fix or "")
    missing = next((problem for problem in known.problems if wanted and _is(one, problem)), None)
    if wanted is None or missing is None:
        return None
    for problem in known.problems:
        suggested = _SUGGESTED.fullmatch(problem.fix or "")
        beside = problem.path == missing.path and _holder(problem.field) == (missing.field or "")
        if suggested is not None and suggested.group(1) == wanted.group(1) and beside:
            return _told(problem)
    return None


# --- what was refused -------------------------------------------------------------------------------------------------


def _of_entries(reading: Reading, role: Role, code: str, at: Sequence[str]) -> Iterator[tuple[str, Problem]]:
    """(the text at `at`, first problem) of each entry of a file that was refused; the first entry of a text last."""
    document = reading.written.get(role)
    entries = document.value if document is not None and isinstance(document.value, list) else []
    first: dict[int, Problem] = {}
    for problem in reading.problems:
        index = (problem.field or "").split(".")[0]
        if problem.code == code and index.isdecimal():
            first.setdefault(int(index), problem)
    for position, problem in sorted(first.items(), reverse=True):
        found: Json = entries[position] if position < len(entries) else None
        for key in at:
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, str):
            yield found.strip(), problem  # white space around a name is what it may be refused for


def _refused_keys(problems: Sequence[Problem]) -> Iterator[tuple[str, Problem]]:
    for problem in problems:
        if problem.code == "manifest_invalid" and problem.field:
            yield problem.field.split(".")[0], problem


def _of_role(pack: Pack, role: Role, problems: Sequence[Problem]) -> Problem | None:
    """The first problem that keeps a role's file from being used: where the manifest names it, or inside it."""
    inside = shown(pack.files[role].path) if role in pack.files else None
    for problem in problems:
        key = (problem.field or "").rpartition(".")[2]
        refused = problem.code == "manifest_invalid" or problem.code in _NOT_THERE
        if (key == role and refused) or (inside is not None and problem.path == inside):
            return problem
    return None


def _drawn_tool(one: Diagnostic, pack: Pack) -> str | None:
    """The tool whose enum the slot at a diagnostic's pointer draws from."""
    template = next((template for template in pack.templates if template.template_id == one.template_id), None)
    parts = pointer_parts(one.pointer or "")
    if template is None or ("slots" not in parts and "slot_updates" not in parts):
        return None
    sources = [slot.source for name, slot in template.slots.items() if name in parts]
    sources += [
        update.source
        for turn in template.user_simulator_turns
        for update in turn.slot_updates
        if update.slot in parts and "slot_updates" in parts
    ]
    for source in sources:
        try:
            tool = parse_source(source).tool
        except BfclError:
            continue
        if tool is not None:
            return tool
    return None


def _holder(field: str | None) -> str:
    return (field or "").rpartition(".")[0]


def _is(one: Diagnostic, problem: Problem) -> bool:
    return (one.code, one.path, one.line, one.fix) == (problem.code, problem.path, problem.line, problem.fix)


def _cause(one: Diagnostic) -> Cause:
    return Cause(one.code, one.path, one.line)


def _told(problem: Problem | None) -> Cause | None:
    return None if problem is None else Cause(problem.code, problem.path, problem.line)
