"""What does a docstring say of the whole and of each parameter? Google, NumPy and reST styles."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_PARAMETERS = frozenset(
    {
        "args",
        "arguments",
        "parameters",
        "params",
        "other parameters",
        "keyword args",
        "keyword arguments",
        "attributes",
    }
)
_OTHERS = frozenset(
    {
        "returns",
        "return",
        "yields",
        "yield",
        "raises",
        "warns",
        "example",
        "examples",
        "note",
        "notes",
        "see also",
        "references",
        "warning",
        "warnings",
        "todo",
    }
)
_GOOGLE_TITLE = re.compile(r"([A-Za-z][A-Za-z ]*):\s*\Z")
_GOOGLE_ENTRY = re.compile(r"\*{0,2}(\w+)\s*(?:\(.*?\))?\s*:(?:\s+(.*)|\Z)")
_NUMPY_ENTRY = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?\Z")
_REST_FIELD = re.compile(r":(\w+)(?:\s+([^:]*))?:\s*(.*)\Z")
_REST_PARAMETERS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword", "ivar", "var"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """`description`: the prose before the first section, a line per paragraph. `parameters`: name to one line."""

    description: str = ""
    parameters: Mapping[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Read any of the three styles; an absent docstring says nothing."""
    lines = inspect.cleandoc(text or "").split("\n")
    start = next((at for at in range(len(lines)) if _title(lines, at) or _REST_FIELD.match(lines[at])), len(lines))
    found: dict[str, str] = {}
    for name, words in _entries(lines[start:]):
        found.setdefault(name, words)
    return Docstring(description=_paragraphs(lines[:start]), parameters=found)


def _paragraphs(lines: Sequence[str]) -> str:
    blocks = re.split(r"\n\s*\n", "\n".join(lines).strip())
    return "\n\n".join(_one_line(block.split("\n")) for block in blocks)


def _one_line(lines: Sequence[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())


def _title(lines: Sequence[str], at: int) -> str | None:
    """The title, in lower case, of a section that starts at a line."""
    underlined = at + 1 < len(lines) and re.fullmatch(r"-{3,}\s*", lines[at + 1]) is not None
    google = _GOOGLE_TITLE.match(lines[at])
    title = lines[at].strip().lower() if underlined else google.group(1).lower() if google else ""
    return title if title in _PARAMETERS or title in _OTHERS else None


def _entries(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(lines):
        title = _title(lines, at)
        field = _REST_FIELD.match(lines[at])
        end = at + 1
        if title is not None:
            while end < len(lines) and not _title(lines, end) and not _REST_FIELD.match(lines[end]):
                end += 1
            if title in _PARAMETERS:
                block = lines[at + 1 : end]
                numpy = bool(block) and block[0].startswith("---")
                yield from _numpy(block[1:]) if numpy else _google(block)
        elif field is not None:
            while end < len(lines) and lines[end].strip() and not _REST_FIELD.match(lines[end]):
                end += 1
            if field.group(1) in _REST_PARAMETERS and (field.group(2) or "").strip():
                yield field.group(2).split()[-1].lstrip("*\\"), _one_line([field.group(3), *lines[at + 1 : end]])
        at = end


def _google(block: Sequence[str]) -> Iterator[tuple[str, str]]:
    indents = [len(line) - len(line.lstrip()) for line in block if line.strip()]
    outer = indents[0] if indents else 0
    for head, rest in _headed(block, outer):
        entry = _GOOGLE_ENTRY.match(head)
        if entry:
            yield entry.group(1), _one_line([entry.group(2) or "", *rest])


def _numpy(block: Sequence[str]) -> Iterator[tuple[str, str]]:
    for head, rest in _headed(block, 0):
        entry = _NUMPY_ENTRY.match(head)
        for name in entry.group(1).split(",") if entry else []:
            yield name.strip().lstrip("*"), _one_line(rest)


def _headed(block: Sequence[str], outer: int) -> Iterator[tuple[str, list[str]]]:
    """(line at the outer indent, deeper lines below it)."""
    head: str | None = None
    rest: list[str] = []
    for line in block:
        if line.strip() and len(line) - len(line.lstrip()) <= outer:
            if head is not None:
                yield head, rest
            head, rest = line.strip(), []
        else:
            rest.append(line)
    if head is not None:
        yield head, rest
