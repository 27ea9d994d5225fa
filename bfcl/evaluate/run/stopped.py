"""Of which candidates did the run itself stop tasks, why, and was anything measured at all? Rule: evaluation.md §9.

A task that the run stopped counts as failed. Where all of a candidate's were, its rate looks like a score and is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.run.unanswered import counted
from bfcl.evaluate.settings.model import Outputs

NOTHING_MEASURED: Final = "eval_nothing_measured"
STOPPED: Final = "tasks_stopped"

_LIMITS: Final[Mapping[str, str]] = {
    "max_turns_exceeded": "limits.max_turns",
    "episode_timeout": "limits.episode_timeout_s",
}
"""Statuses of episodes that a limit of the configuration ended."""

_BROKEN: Final = (
    "oracle_",
    "assertion_infrastructure_failed",
    "dependency_resolution_failed",
    "unknown_commit_state",
)
"""How statuses begin that the pack answers for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """Tasks of one candidate that ended for reasons that are not its own, one at least."""

    alias: str
    tasks: int
    """All that the candidate had."""
    stops: int
    causes: Mapping[str, int]
    """As `stop_cause` words them, and how many tasks each stopped."""
    endpoint: str
    answered: bool = True
    """Whether the run, of this candidate or another, has any answer that another one could take over."""

    @property
    def wholly(self) -> bool:
        """Whether nothing of the candidate was measured."""
        return self.stops == self.tasks


def warnings_of(stopped: Iterable[Stopped], outputs: Outputs) -> list[Problem]:
    """`tasks_stopped` of candidates some of whose tasks were: their rate is too low, and how to mend it."""
    return [
        Problem(
            code=STOPPED,
            subject=one.alias,
            message=f"{one.stops} of {one.tasks} tasks were stopped by the run and count as failed: "
            f"{counted(one.causes)}",
            fix=_remedy(one, outputs),
        )
        for one in stopped
        if not one.wholly
    ]


def require_measured(stopped: Iterable[Stopped], outputs: Outputs) -> None:
    """Raises: EvalError `eval_nothing_measured` with every candidate none of whose tasks ended by its own doing."""
    raise_all(EvalError, [_unmeasured(one, outputs) for one in stopped if one.wholly])


def _unmeasured(one: Stopped, outputs: Outputs) -> Problem:
    counts = "its only task" if one.tasks == 1 else f"all {one.tasks} tasks"
    message = (
        f"{counts} ended for reasons that are not the candidate's, so that its rate of 0 is no score: "
        f"{counted(one.causes)}"
    )
    return Problem(code=NOTHING_MEASURED, subject=one.alias, message=message, fix=_remedy(one, outputs))


def _remedy(one: Stopped, outputs: Outputs) -> str:
    """What to look at by the most frequent cause, then how to go on."""
    out = outputs.output_dir
    most = min(one.causes, key=lambda name: (-one.causes[name], name), default="")
    if most.startswith(_BROKEN):
        return f"see `bfcl eval-failures {out}` for what broke, mend the pack, generate again and evaluate that"
    if most in _LIMITS:
        check = f"raise `{_LIMITS[most]}`"
    elif one.causes and all(name.startswith("HTTP 5") for name in one.causes):
        # A server that answers with an error of its own knows why.
        check = f"look into the log of the server at {one.endpoint}, which answered that it cannot"
    elif most.startswith("HTTP 4"):
        check = (
            f"check what the server at {one.endpoint} refuses: the model's name, `inference`, the length of requests"
        )
    else:
        check = f"check endpoint {one.endpoint} and the model's name there"
    if not one.answered:
        return f"{check}, then evaluate into another output_dir: no answer is on record here to go on from"
    if not outputs.cache_candidate_responses:
        return f"{check}, then evaluate into another output_dir"
    return (
        f"{check}, then evaluate into another output_dir with {out} as `--resume-from` (`resume_from`): "
        "what was answered is not asked again"
    )
