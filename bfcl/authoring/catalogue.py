"""What does the documentation say of a code? `docs/codes.md` is the one source, shipped with the package."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bfcl.errors import ConfigError, Problem, did_you_mean

_INSTALLED: Final = Path(__file__).resolve().parent / "codes.md"
_CHECKOUT: Final = Path(__file__).resolve().parents[2] / "docs" / "codes.md"

_CELLS: Final = re.compile(r"(?<!\\)\|")
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_SPAN: Final = re.compile(r"`` ?(.*?) ?``")
_COLUMNS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What is known of one code; the texts are Markdown as written."""

    code: str
    kind: str
    """The heading it stands under."""
    cause: str
    fix: str
    example: str

    @staticmethod
    def plain(markdown: str) -> str:
        """The text without link targets and without the double backticks around what holds backticks itself."""
        return _SPAN.sub(r"\1", _LINK.sub(r"\1", markdown))


@functools.cache
def catalogue() -> Mapping[str, Explanation]:
    """Every code, in the order of the page. Raises ConfigError `catalogue_missing` where the page is not installed."""
    page = _INSTALLED if _INSTALLED.is_file() else _CHECKOUT
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        message = f"this installation lacks {page}: {error.strerror}"
        raise ConfigError(
            Problem(code="catalogue_missing", message=message, fix="install `bfcl-build` again")
        ) from None
    return {one.code: one for one in _explanations(text)}


def explain(codes: tuple[str, ...]) -> list[Explanation]:
    """What is known of each code, in the order asked. Raises ConfigError with each `unknown_code`."""
    known = catalogue()
    problems = [
        Problem(
            code="unknown_code",
            subject=code,
            message="no such code",
            fix=did_you_mean(code, known) or "run `bfcl explain --list` for all of them",
        )
        for code in codes
        if code not in known
    ]
    if problems:
        raise ConfigError(problems)
    return [known[code] for code in codes]


def _explanations(text: str) -> Iterator[Explanation]:
    kind = ""
    for line in text.splitlines():
        if line.startswith("## "):
            kind = line.removeprefix("## ").strip()
        cells = [cell.strip().replace("\\|", "|") for cell in _CELLS.split(line)[1:-1]]
        if len(cells) == _COLUMNS and cells[0].startswith("`"):
            code = cells[0].strip("`").partition(":")[0]
            yield Explanation(code=code, kind=kind, cause=cells[1], fix=cells[2], example=cells[3])
