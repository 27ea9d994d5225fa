"""What is a mutant: an expected conversation with one thing wrong, and how it is put to the assertions?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from bfcl.canonical import Json
from bfcl.checks.representatives import Representative
from bfcl.oracle.protocol import Episode, Given, PlannedCall
from bfcl.records.template import Template

Kind: TypeAlias = Literal[
    "drop_call",
    "refuse_result",
    "revert_state",
    "change_argument",
    "extra_call",
    "reorder_calls",
    "revert_change",
    "drop_element",
    "add_element",
    "change_result",
    "repeat_call",
    "reorder_list",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""The most telling first: an assertion that passes without the call is worse than one that ignores a field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """A template's first instance as the oracle played it: what every mutant departs from."""

    template: Template
    representative: Representative
    episode: Episode
    results: tuple[Json, ...]
    texts: tuple[str, ...]
    """The same results as canonical text."""
    before: str
    """The state `reset` left, canonical text."""
    after: str
    """The state after the last call, canonical text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One wrong conversation. Exactly one of `calls` (executed as a candidate's would be) and `given` (judged as is).

    `what` says it in words, `look_at` what an assertion would have to look at, `within` where that stands.
    """

    kind: Kind
    what: str
    look_at: str
    within: str = ""
    call: int | None = None
    """The expected call it is about."""
    calls: tuple[PlannedCall, ...] | None = None
    given: Given | None = None


def named(expected: Expected, index: int) -> str:
    """How words name an expected call."""
    return f"call {index} `{expected.episode.calls[index].tool}`"
