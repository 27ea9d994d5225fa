"""What did an import change on the way, and what must a person still decide? The document every import prints.

Actions of a notice:

added       something the source leaves unsaid was written down
chosen      one of several forms was taken
cut         a part was replaced by "anything", since it has no end
dropped     a keyword or a value was left out
merged      parts of an `allOf` became one schema
narrowed    said in other words that refuse some of what the source accepts
renamed     a name changed
translated  said in other words, with the same meaning
widened     said in other words that accept more than the source does
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bfcl.authoring.imports.credential_forms import masked
from bfcl.canonical import Json
from bfcl.errors import Problem
from bfcl.pack.json_pointer import pointer_text

Pointer: TypeAlias = tuple[str | int, ...]
Action = Literal["added", "chosen", "cut", "dropped", "merged", "narrowed", "renamed", "translated", "widened"]
Lines: TypeAlias = Callable[[Iterable[Pointer]], Mapping[Pointer, int]]
"""Where pointers stand in the source: 1-based lines."""

_Key: TypeAlias = tuple[Pointer, str, Action, str]


class Notes:
    """Notices gathered while tools are made; one place reached from several tools is told once."""

    def __init__(self) -> None:
        self._found: dict[_Key, dict[str, None]] = {}
        self._tool: str | None = None

    def of(self, tool: str) -> Notes:
        """A view whose notices are about `tool`; the notices are shared."""
        view = Notes()
        view._found = self._found
        view._tool = tool
        return view

    def note(self, at: Pointer, keyword: str, action: Action, message: str) -> None:
        """Record what happened to `keyword` of the value at `at`."""
        tools = self._found.setdefault((at, keyword, action, masked(message)), {})
        if self._tool is not None:
            tools[self._tool] = None

    def to_json(self, lines: Lines) -> list[Json]:
        """Every notice by line, then pointer: `{pointer, keyword, action, message, line, tools}`."""
        places = lines({at for at, *_ in self._found})
        rows = [
            (places[at], pointer_text(at), keyword, action, message, list(tools))
            for (at, keyword, action, message), tools in self._found.items()
        ]
        names = ("line", "pointer", "keyword", "action", "message", "tools")
        return [dict(zip(names, row, strict=True)) for row in sorted(rows)]


class Faults:
    """What stops an import, each with its pointer; raised together once their lines are known."""

    def __init__(self) -> None:
        self._found: dict[tuple[Pointer, str, str, str | None], None] = {}

    def note(self, at: Pointer, message: str, fix: str | None = None, *, code: str = "import_source_invalid") -> None:
        self._found[(at, code, masked(message), fix)] = None

    def add(self, others: Faults) -> None:
        self._found |= others._found

    def problems(self, path: str, lines: Lines) -> list[Problem]:
        """Every fault by line, then pointer."""
        places = lines({at for at, *_ in self._found})
        ordered = sorted(self._found, key=lambda each: (places[each[0]], pointer_text(each[0]), each[2]))
        return [
            Problem(
                code=code, message=message, path=path, line=places[at], field=".".join(map(str, at)) or None, fix=fix
            )
            for at, code, message, fix in ordered
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTool:
    """One tool of the new catalog. `source` names what it was made from, `line` where that stands.

    `mutates` is None where a person has to say it.
    """

    name: str
    source: str
    line: int
    mutates: bool | None
    requires_confirmation: bool

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "source": self.source,
            "line": self.line,
            "mutates": self.mutates,
            "requires_confirmation": self.requires_confirmation,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCatalog:
    """The outcome of an import of tools. `undecided` or `findings` non-empty: nothing may be written."""

    entries: Sequence[Json]
    """What `tools.json` is to hold, in source order."""
    tools: Sequence[ImportedTool]
    report: Sequence[Json]
    findings: Sequence[Problem] = ()
    """Parts of the source that have no JSON form."""

    @property
    def undecided(self) -> list[ImportedTool]:
        """Tools that may change state and were declared neither way."""
        return [tool for tool in self.tools if tool.mutates is None]

    @property
    def status(self) -> Literal["written", "undecided", "findings"]:
        if self.findings:
            return "findings"
        return "undecided" if self.undecided else "written"

    def to_json(self, source: str, out: str) -> dict[str, Json]:
        """The document of the command. `out` is named only where it is written."""
        return {
            "schema_version": "1.0",
            "status": self.status,
            "source": source,
            "written": out if self.status == "written" else None,
            "tools": [tool.to_json() for tool in self.tools],
            "report": self.report,
            "undecided": [{"name": each.name, "source": each.source, "line": each.line} for each in self.undecided],
            "findings": [
                {
                    "code": each.code,
                    "message": each.message,
                    "line": each.line,
                    "field": each.field,
                    "fix": each.fix,
                }
                for each in self.findings
            ],
        }
