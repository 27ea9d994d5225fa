"""What can go wrong for a person, and how it is told: one `Problem` type and one exception tree.

BfclError(problems)   carries every problem found, never only the first
  ConfigError         run configuration or command line refused
  PackError           pack cannot be loaded or trusted
  GateError           pack loads but is not Gold-eligible
  OracleError         timeout, crash, non-object result: infrastructure only
  DriftError          bytes moved: pack, artifact, store entry
  StageError          a whole stage cannot go on
  ModelError          a model call failed, or a recorded reply conflicts
  ReleaseError        a published benchmark does not verify
  EvalError           an evaluation refuses to go on, or a result does not hold
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing a person has to mend.

    `path` and `line` (1-based, with `column`) place it in a file; `subject` names what has no place in a file:
    dotted configuration path, template or task id, artifact name. `field` is the dotted path inside the file.
    `message` says what was seen, then what was expected; `fix` is an edit or a command. `suggests` is the word that a
    "did you mean" among the fixes proposes, for whoever looks for what a misspelling causes.
    """

    code: str
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    field: str | None = None
    subject: str | None = None
    fix: str | None = None
    suggests: str | None = None

    def __str__(self) -> str:
        """`path:line: CODE: message` or `CODE: subject: message`, then an indented fix line. Rule: generation.md §1."""
        if self.path is not None:
            place = self.path if self.line is None else f"{self.path}:{self.line}"
            text = f"{place}: {self.code}: {self.message}"
        elif self.subject is not None:
            text = f"{self.code}: {self.subject}: {self.message}"
        else:
            text = f"{self.code}: {self.message}"
        text = one_line(text)
        return text if self.fix is None else f"{text}\n  fix: {one_line(self.fix)}"


def one_line(text: str) -> str:
    """Line breaks spelt out: what an author wrote must not break a block that tools read by lines."""
    return text.replace("\r", "\\x0d").replace("\n", "\\n")


_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """The text with control characters spelt out, so that no pack can steer a terminal. Keeps tabs and line feeds."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


class BfclError(Exception):
    """A refusal: carries all problems found. `exit_code` is the process status it ends in, unless a command has
    statuses of its own."""

    exit_code: ClassVar[int] = 1

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        if not self.problems:
            raise ValueError("a refusal without a problem")
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[BfclError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class ConfigError(BfclError):
    """The run configuration or the command line is refused."""


class PackError(BfclError):
    """The pack cannot be loaded or trusted."""


class GateError(BfclError):
    """The pack loads but is not Gold-eligible."""


class OracleError(BfclError):
    """The oracle's infrastructure broke: timeout, crash, non-object result."""


class DriftError(BfclError):
    """Bytes moved under a run: pack, artifact, store entry."""


class StageError(BfclError):
    """A whole stage cannot go on."""


class ModelError(BfclError):
    """A model call failed, or a recorded reply is damaged or conflicts."""


class ReleaseError(BfclError):
    """A published benchmark does not verify."""


class EvalError(BfclError):
    """An evaluation cannot go on, or its result cannot be trusted. Its code has an exit status of its own."""


def closest(seen: str, known: Iterable[str]) -> str | None:
    """The known word that a misspelt one most likely means, or None where nothing is close."""
    close = difflib.get_close_matches(seen, sorted(known), n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(seen: str, known: Iterable[str]) -> str | None:
    """A fix line naming the closest known word, or None where nothing is close."""
    close = closest(seen, known)
    return None if close is None else meant(close)


def meant(word: str) -> str:
    """The fix line that proposes a word."""
    return f"did you mean `{word}`?"


def install(extra: str) -> str:
    """The command that brings the libraries of an extra. Rule: spec README, ruling 9."""
    return f"pip install 'bfcl-build[{extra}]'"


def raise_all(error: type[BfclError], problems: Sequence[Problem]) -> None:
    """Raise `error` with every problem, or return where there is none."""
    if problems:
        raise error(problems)
