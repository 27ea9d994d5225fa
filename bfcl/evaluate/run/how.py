"""What does one run need of the process around it? Nothing of it enters a score. Rule: evaluation.md §1, §17.11."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from bfcl.canonical import Json
from bfcl.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Headway:
    """How far one candidate is. Counts are of episodes, re-driven trials among them."""

    alias: str
    done: int
    total: int
    successes: int
    infrastructure_stops: int
    tokens: int
    """As the provider counts them; replies from a record among them."""


class Showing(Protocol):
    """Who shows a person how far a run is."""

    def show(self, headway: Headway) -> None:
        """After every episode, and once with `done` 0 when a candidate begins."""
        ...

    def warn(self, problems: Sequence[Problem]) -> None:
        """What will keep tasks from ending well, known before the first request."""
        ...

    def close(self) -> None:
        """The run is over, however it went."""
        ...


class Silent:
    """Shows nothing."""

    def show(self, headway: Headway) -> None:
        """Nothing."""

    def warn(self, problems: Sequence[Problem]) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def no_runtime() -> Mapping[str, Json]:
    """Where nobody knows what the run runs on."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """The surroundings of one run."""

    eval_run_id: str | None = None
    """As the caller gives it."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """Where credentials are read from, at the first request that needs one."""
    showing: Showing = field(default_factory=Silent)
    runtime: Callable[[], Mapping[str, Json]] = no_runtime
    """Versions and revision of the program, for the manifest. Asked only where a manifest is written anew."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    fresh: Callable[[], str] = lambda: secrets.token_hex(16)
    """32 random hex digits."""
