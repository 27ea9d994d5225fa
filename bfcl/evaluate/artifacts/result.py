"""What does a whole run come to, before any of it is written? Rule: evaluation.md §11."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from bfcl.digest import Digest
from bfcl.evaluate.records import Aggregate, Scope, TaskScore
from bfcl.evaluate.score.aggregate import Identities
from bfcl.evaluate.score.repeats import Repeated
from bfcl.evaluate.settings.model import Candidate, EvalSettings
from bfcl.evaluate.source.plan import Plan
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.exports.row import ExportRow


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateResult:
    """One candidate, measured."""

    candidate: Candidate
    scores: tuple[TaskScore, ...]
    """Of the first trial, in plan order."""
    aggregate: Aggregate
    repeated: Repeated | None
    """Over all trials, where the configuration declares repeats."""
    rejections: Counter[str]
    """Calls that the provider refused, by HTTP status."""
    exhausted: int
    """Calls that no attempt answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """Content hashes of the records of another run that this one took answers from. None for one that it lacks.

    `further` are those that the other run was itself to take answers from, and had not taken over yet.
    """

    candidate_io_cache: Digest | None
    tool_trace_cache: Digest | None
    further: Imported | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Every candidate, measured under one plan."""

    eval_run_id: str
    settings: EvalSettings
    verified: VerifiedSource
    plan: Plan
    rows: Mapping[str, ExportRow]
    """By task id."""
    identities: Identities
    candidates: tuple[CandidateResult, ...]
    """By alias."""

    @property
    def scope(self) -> Scope:
        """One run has one: the executable scorer computes every trace gate, too."""
        return scope_of(self.settings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why this may not be published, sorted."""
        return tuple(sorted({*self.settings.non_publication_reasons, *self.plan.reasons}))

    @property
    def publishable(self) -> bool:
        """Whether configuration and plan both allow it."""
        return self.settings.publication_allowed and self.plan.allowed


def scope_of(settings: EvalSettings) -> Scope:
    """What a run under these settings measures. Private tasks are executed where nothing public is asked for."""
    executed = settings.executable or "trace" not in settings.modes
    return "trace_and_executable" if executed else "trace"
