"""What a check looks at, and how a fault it sees gets its place in the pack's files."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeVar, cast

from bfcl.canonical import Json
from bfcl.checks.outline import line_of
from bfcl.checks.reuse import Reuse
from bfcl.config.loaded import is_setting
from bfcl.config.model import RunConfig
from bfcl.errors import OracleError, Problem
from bfcl.located import Pointer
from bfcl.oracle.protocol import INFRASTRUCTURE, Breakdown, Description, Oracle
from bfcl.pack.json_pointer import pointer_parts, pointer_text
from bfcl.pack.model import Pack, Role
from bfcl.records.verdict import Finding

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The pack under test, the run it is meant for, its oracle, and what several checks share of it."""

    pack: Pack
    config: RunConfig
    oracle: Oracle
    reuse: Reuse | None = None
    """Results of earlier validations; None where everything is to be computed."""
    _made: dict[object, object] = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def description(self) -> Description:
        """What importing the oracle showed, asked for when first needed. Raises OracleError if no interpreter comes."""
        return self.once(_described)

    def once(self, make: Callable[[Subject], T]) -> T:
        """What `make` makes of this subject, made for the first check that asks and shared with the others.

        Trouble with the oracle is shared too: it raises OracleError for each of them, without another try.
        """
        if make not in self._made:
            try:
                self._made[make] = make(self)
            except OracleError as error:
                self._made[make] = error
        made = self._made[make]
        if isinstance(made, OracleError):
            raise made
        return cast("T", made)


def _described(subject: Subject) -> Description:
    return subject.oracle.describe()


class Findings(NamedTuple):
    """What one check found, in the order a person would mend it. Only failures decide its status."""

    failures: list[Finding]
    warnings: list[Finding]


def placed(pack: Pack, role: Role, pointer: Pointer, finding: Finding) -> Finding:
    """The finding with the file, line and pointer of a value; a file that is not data gets its name alone."""
    document = pack.documents.get(role)
    if document is None:
        return dataclasses.replace(finding, file=pack.shown_path(role))
    return dataclasses.replace(
        finding, file=pack.shown_path(role), line=document.line(pointer), pointer=pointer_text(pointer)
    )


def at_definition(pack: Pack, role: Literal["backend", "assertions"], name: str, finding: Finding) -> Finding:
    """The finding at the line where a module of the pack binds `name`, as far as its text tells without running it."""
    # As it was loaded: what lies there by now may be another text.
    line = line_of(pack.code[role], name) if role in pack.code else None
    return dataclasses.replace(finding, file=pack.shown_path(role), line=line)


_FIELD_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def field_pointer(root: Json, field: str | None) -> Pointer:
    """Keys and indices of a problem's dotted field below `root`: `slots.x.source`, `assistant_milestones[2].tool`."""
    return _typed(root, [index or key for index, key in _FIELD_PART.findall(field or "")])


def text_pointer(root: Json, text: str) -> Pointer:
    """Keys and indices of an RFC 6901 pointer below `root`."""
    return _typed(root, pointer_parts(text))


def _typed(root: Json, parts: Sequence[str]) -> Pointer:
    """Digits are an index where a list stands and a key elsewhere; only the value itself can tell."""
    pointer: list[str | int] = []
    value = root
    for part in parts:
        if isinstance(value, list) and part.isdecimal():
            pointer.append(int(part))
            value = value[int(part)] if int(part) < len(value) else None
        else:
            pointer.append(part)
            value = value.get(part) if isinstance(value, Mapping) else None
    return tuple(pointer)


def from_problem(problem: Problem, *, template_id: str | None = None, detail: str | None = None) -> Finding:
    """The finding a problem makes, without a place. A subject that is not the template stays in the message."""
    about = problem.subject
    message = problem.message
    setting = None
    if about is not None and about != template_id:
        message = f"{about}: {message}"
        setting = about if "." in about and is_setting(about) else None
    return Finding(
        code=problem.code, message=message, template_id=template_id, detail=detail, fix=problem.fix, setting=setting
    )


def from_load_warning(pack: Pack, problem: Problem) -> tuple[Role, Finding]:
    """The role of the file a load warning speaks of, and the finding; `manifest` where it names no file."""
    role: Role = next((role for role, document in pack.documents.items() if document.path == problem.path), "manifest")
    finding = dataclasses.replace(from_problem(problem), file=pack.shown_path(role), line=problem.line)
    if problem.field and role in pack.documents:
        pointer = field_pointer(pack.documents[role].value, problem.field)
        finding = dataclasses.replace(finding, pointer=pointer_text(pointer))
    return role, finding


def template_problem(pack: Pack, index: int, problem: Problem, *, detail: str | None = None) -> Finding:
    """The finding of a stage's problem about template number `index`, placed at its field in the templates file."""
    entries = pack.documents["templates"].value
    declared = entries[index] if isinstance(entries, list) else None
    found = from_problem(problem, template_id=pack.templates[index].template_id, detail=detail)
    return placed(pack, "templates", (index, *field_pointer(declared, problem.field)), found)


def is_infrastructure(code: str) -> bool:
    """Whether a breakdown's code says what stopped it, whatever the pack was asked to do: it keeps that code."""
    return code in INFRASTRUCTURE


def from_breakdown(breakdown: Breakdown, *, otherwise: str | None = None) -> Finding:
    """The finding a breakdown makes, placed where the pack's own code stood if the worker knows.

    Deadlines, crashes and ambient access keep their code; the rest become `otherwise` where that is given.
    """
    code = breakdown.code if otherwise is None or is_infrastructure(breakdown.code) else otherwise
    file, line = where(breakdown)
    return Finding(code=code, message=breakdown.message, file=file, line=line)


PHASES: Final[Mapping[str, str]] = {"import": "importing the pack", "reset": "`reset`", "state": "`get_state`"}
"""What breaks every episode alike, whatever is called in it, by the phase of the breakdown."""


def of_every_episode(pack: Pack, breakdown: Breakdown) -> Finding:
    """The finding of a breakdown in one of `PHASES`: placed in the code, the same for every episode that met it."""
    message = f"{PHASES[breakdown.phase]} broke instead of answering: {breakdown.message}"
    if breakdown.where is not None:
        return at_own_line(Finding(code=breakdown.code, message=f"{message} ({breakdown.where})"), breakdown)
    found = Finding(code=breakdown.code, message=message)
    if breakdown.phase == "import":
        return placed(pack, "backend", (), found)
    return at_definition(pack, "backend", "get_state" if breakdown.phase == "state" else "reset", found)


NAMED_FIRST: Final = 3


def first_names(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(f"`{name}`" for name in names[:NAMED_FIRST])
    return shown if len(names) <= NAMED_FIRST else f"{shown} and {len(names) - NAMED_FIRST} more"


def at_own_line(finding: Finding, breakdown: Breakdown) -> Finding:
    """Placed where the pack's own code stood, where that is known: it says more than what asked for it."""
    if breakdown.where is None:
        return finding
    file, line = where(breakdown)
    return dataclasses.replace(finding, file=file, line=line, pointer=None)


def where(breakdown: Breakdown) -> tuple[str | None, int | None]:
    """File and line of a breakdown's `file:line`."""
    if breakdown.where is None:
        return None, None
    file, separator, line = breakdown.where.rpartition(":")
    return (file, int(line)) if separator and line.isdigit() else (breakdown.where, None)
