"""Where no selection satisfies what is declared, which declaration is it? Rule: generation.md §3.8.8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bfcl.errors import Problem, StageError, raise_all
from bfcl.stages.balancing.budget import CAP_SETTINGS, SURFACE_RATIO, Budget
from bfcl.stages.balancing.program import choice
from bfcl.stages.balancing.solver import minimise
from bfcl.stages.balancing.terms import Entrant, Terms

CODE = "balancing_infeasible"

_FIX = "relax {}, lower `task_generation.target_published_tasks`, or add templates and slot values"


def refuse_unreachable(budget: Budget) -> None:
    """Refuse a budget that coverage lifts above what a hard bound allows: one problem a bound."""
    raise_all(
        StageError,
        [
            Problem(
                code=CODE,
                subject=bound.setting,
                message=f"allows {bound.rows} rows; expected room for one of each of {budget.buckets} coverage buckets",
                fix="relax it, or let templates share edge signatures",
            )
            for bound in budget.unreachable
        ],
    )


def infeasible(entrants: Sequence[Entrant], terms: Terms) -> StageError:
    """The refusal of terms that nothing satisfies: names each bound without which something would."""
    bare = replace(terms, quotas={}, tool_calls={}, intent_share=None)
    alone = [setting for setting, relaxed in _relaxations(bare) if _feasible(entrants, relaxed)]
    if alone:
        return StageError(
            Problem(
                code=CODE,
                subject=setting,
                message=f"leaves no selection of {terms.size} rows that covers every bucket; without it there is one",
                fix=_FIX.format("it"),
            )
            for setting in alone
        )
    # Without a bound there always is a selection: representatives first, one of each bucket among them.
    declared = ", ".join(setting for setting, _ in _relaxations(bare))
    return StageError(
        Problem(
            code=CODE,
            subject=declared,
            message=f"leave no selection of {terms.size} rows that covers every bucket, and leaving out one of them "
            "is not enough",
            fix=_FIX.format("several"),
        )
    )


def _relaxations(terms: Terms) -> Iterator[tuple[str, Terms]]:
    """Each declared hard bound, with the terms that lack it."""
    for name in terms.caps:
        yield (
            CAP_SETTINGS[name],
            replace(terms, caps={other: cap for other, cap in terms.caps.items() if other != name}),
        )
    if terms.surfaces:
        yield SURFACE_RATIO, replace(terms, surfaces=0)


def _feasible(entrants: Sequence[Entrant], terms: Terms) -> bool:
    return minimise(choice(entrants, terms).program, {}) is not None
