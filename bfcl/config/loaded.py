"""What does a checked configuration bring along: the typed settings, the text they came from, and where they stand."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.config.model import RunConfig
from bfcl.errors import BfclError, Problem
from bfcl.located import Document

_SECTIONS: Final = frozenset(one.name for one in dataclasses.fields(RunConfig))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """`raw` is the mapping as read; `path` and `project` are absolute; `document` places problems."""

    config: RunConfig
    document: Document = field(repr=False)
    raw: Mapping[str, Json]
    path: Path
    project: Path
    written: bool = True
    """Whether a person wrote it to `path`: defaults have no line to point at."""

    def placed(self, problem: Problem) -> Problem:
        """A problem whose subject is the dotted key of a setting, at its line; any other as it is.

        Where the key is absent, the line of what it would stand in.
        """
        if problem.path is not None or not self.written or not is_setting(problem.subject):
            return problem
        assert problem.subject is not None
        place = self.document.place(problem.subject.split("."))
        path, key = self.document.path, problem.subject
        return dataclasses.replace(problem, path=path, line=place.line, column=place.column, field=key)

    @contextlib.contextmanager
    def placing(self) -> Iterator[None]:
        """Whatever is refused inside is refused with its problems `placed`."""
        try:
            yield
        except BfclError as error:
            raise type(error)([self.placed(problem) for problem in error.problems]) from None


def is_setting(subject: str | None) -> bool:
    """Whether a problem's subject is the dotted key of a setting."""
    return subject is not None and subject.partition(".")[0] in _SECTIONS
