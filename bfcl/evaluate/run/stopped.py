"""Of which candidates did the run itself stop tasks, why, and was anything measured at all? Rule: evaluation.md §9.

A task that the run stopped counts as failed. Where all of a candidate's were, its rate looks like a score and is none.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.held_out.playing import Part
from bfcl.evaluate.run.unanswered import Cause, counted, ranked
from bfcl.evaluate.settings.model import Outputs
from bfcl.pack.layout import shown

NOTHING_MEASURED: Final = "eval_nothing_measured"
STOPPED: Final = "tasks_stopped"

_LIMITS: Final[Mapping[str, str]] = {
    "max_turns_exceeded": "limits.max_turns",
    "episode_timeout": "limits.episode_timeout_s",
}
"""Statuses of episodes that a limit of the configuration ended."""
_MEND: Final = (
    "evaluate with `mode: [executable]` alone, see `bfcl eval-failures` of that for what broke, mend the pack, "
    "generate again and evaluate that"
)
"""Where tasks broke of which nothing is on record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """Tasks of one candidate that ended for reasons that are not its own, one at least."""

    alias: str
    tasks: int
    """All that the candidate had."""
    stops: int
    causes: Mapping[Cause, int]
    """And how many tasks each stopped."""
    endpoint: str
    model: str
    """As requests name it."""
    answered: bool
    """Whether the run, of this candidate or another, has any answer that another one could take over."""
    part: Part | None = None
    """Which side of a held-out comparison they are, None where there is none."""

    @property
    def wholly(self) -> bool:
        """Whether nothing of the candidate was measured."""
        return self.stops == self.tasks

    @property
    def kind(self) -> str:
        """What the tasks are called."""
        return "tasks" if self.part is None else f"{self.part} tasks"


def warnings_of(stopped: Iterable[Stopped], outputs: Outputs) -> list[Problem]:
    """`tasks_stopped` of candidates some of whose tasks were: their rate is too low, and how to mend it."""
    return [
        Problem(
            code=STOPPED,
            subject=one.alias,
            message=f"{one.stops} of {one.tasks} {one.kind} were stopped by the run and count as failed"
            f"{', in the gap, too' if one.part else ''}: {counted(one.causes)}",
            fix=_remedy(one, outputs),
        )
        for one in stopped
        if not one.wholly
    ]


def require_measured(stopped: Iterable[Stopped], outputs: Outputs) -> None:
    """Raises: EvalError `eval_nothing_measured` with every candidate none of whose tasks ended by its own doing."""
    raise_all(EvalError, [_unmeasured(one, outputs) for one in stopped if one.wholly])


def _unmeasured(one: Stopped, outputs: Outputs) -> Problem:
    counts = f"its only {one.kind.removesuffix('s')}" if one.tasks == 1 else f"all {one.tasks} {one.kind}"
    message = (
        f"{counts} ended for reasons that are not the candidate's, so that its rate of 0 is no score"
        f"{', and the gap was not measured' if one.part else ''}: {counted(one.causes)}"
    )
    return Problem(code=NOTHING_MEASURED, subject=one.alias, message=message, fix=_remedy(one, outputs))


def _remedy(one: Stopped, outputs: Outputs) -> str:
    """What to look at by the most frequent cause, then how to go on."""
    out = shlex.quote(shown(outputs.output_dir))
    first = ranked(one.causes)[0]
    if first.kind == "episode" and first.words not in _LIMITS:
        if one.part is not None:
            return _MEND
        return f"see `bfcl eval-failures {out}` for what broke, mend the pack, generate again and evaluate that"
    check = f"raise `{_LIMITS[first.words]}`" if first.kind == "episode" else _check(first, one)
    if not one.answered:
        return f"{check}, then evaluate into another output_dir: no answer is on record here to go on from"
    if not outputs.cache_candidate_responses:
        return f"{check}, then evaluate into another output_dir"
    return (
        f"{check}, then evaluate into another output_dir with `--resume-from {out}` (`resume_from`): "
        "what was answered is not asked again"
    )


def _check(cause: Cause, one: Stopped) -> str:
    """What to look at where calls failed like this."""
    server, model = f"the server at {one.endpoint}", f"`{one.model}`"
    if cause.kind == "unreached":
        return f"check that a server runs at {one.endpoint}"
    if cause.kind == "timeout" or cause.http_status in (408, 504):
        return f"raise `limits.candidate_timeout_s`, or lower `limits.max_parallel_tasks` for {server}"
    if cause.http_status == 429:
        return f"lower `limits.max_parallel_tasks` or set `requests_per_minute` to what {server} allows"
    if cause.http_status in (401, 403):
        return f"check that the key of `api_key_env` is one that {server} takes for {model}"
    if cause.http_status in (404, 405):
        return f"check the path of `base_url` ({one.endpoint}; most end in /v1), and that {model} is served there"
    if cause.http_status is not None and cause.http_status >= 500:
        # A server that answers with an error of its own knows why.
        return f"look into the log of {server}, which answered that it cannot"
    return f"check what {server} refuses: the model {model}, `inference`, the length of requests"
