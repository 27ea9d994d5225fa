"""Candidates, standings, terms and small instances for tests of the back half of stage 11."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from bfcl.records.ids import TaskId
from bfcl.stages.balancing.candidate import Candidate, Standing
from bfcl.stages.balancing.quotas import apportioned
from bfcl.stages.balancing.terms import Entrant, Score, Terms, breaches, score


def candidate(number: int, **fields: Any) -> Candidate:
    """Rows with nothing in common but their buckets: each its own surface and execution case."""
    values: dict[str, Any] = {
        "task_id": f"t{number:02d}",
        "template_id": "fire",
        "language": "en",
        "source": "template",
        "intent": "fire",
        "category": "firings",
        "difficulty": "easy",
        "turn_policy": "single_turn",
        "edge_signatures": (),
        "required_tools": ("start",),
        "tools_present": ("look", "start"),
        "num_turns": 1,
        "num_tool_calls": 1,
        "text_hash": f"text{number}",
        "capability_signature": "same",
        "execution_case": f"case{number}",
        "judge_error": False,
        "advisory_failures": 0,
        "failed_checks": 0,
    }
    return Candidate(**{**values, **fields})


def standing(own: str, representative: str | None = None) -> Standing:
    """Of a row that stands alone or is represented by another."""
    return Standing(
        is_duplicate=representative is not None,
        duplicate_cluster_id=None if representative is None else "dedup-1",
        representative_task_id=TaskId(representative or own),
        curator_cluster_id=None,
        curator_is_duplicate=representative is not None,
        curator_predecessor_id=None,
        curator_similarity_score=None,
        representative_rank=(False, own),
    )


def entrants(*rows: Candidate) -> tuple[Entrant, ...]:
    """Each alone, in the order given."""
    return tuple(Entrant(row, standing(row.task_id)) for row in rows)


def terms(size: int, **fields: Any) -> Terms:
    values: dict[str, Any] = {
        "size": size,
        "category_cap": 100,
        "quotas": {},
        "tool_calls": {},
        "intent_share": None,
        "caps": {},
        "surfaces": 0,
    }
    return Terms(**{**values, **fields})


def best_of_all(rows: Sequence[Entrant], asked: Terms) -> tuple[Score, tuple[int, ...]] | None:
    """The contract said once more: the least of all subsets, or None."""
    return min(
        (
            (score(rows, positions, asked), positions)
            for positions in itertools.combinations(range(len(rows)), asked.size)
            if not breaches(rows, positions, asked)
        ),
        default=None,
    )


@st.composite
def instances(draw: st.DrawFn) -> tuple[tuple[Entrant, ...], Terms]:
    """Up to ten rows in stable order, some of them duplicates, and any terms."""

    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    rows = [
        candidate(
            number,
            category=one_of("A", "B"),
            intent=one_of("x", "y", "z"),
            difficulty=one_of("easy", "hard"),
            turn_policy=one_of("p", "q"),
            edge_signatures=one_of((), (), ("rare",)),
            num_turns=one_of(1, 2),
            num_tool_calls=one_of(0, 1, 2, 3, 4),
            text_hash=one_of("1", "2", "3", "4", "5", "6"),
            execution_case=one_of("a", "b", "c", "d", "e", "f"),
        )
        for number in range(draw(st.integers(1, 10)))
    ]
    leaders: dict[object, str] = {}
    stands = []
    for row in rows:
        key = (row.coverage_bucket, draw(st.integers(0, 2)))
        stands.append(Entrant(row, standing(row.task_id, leaders.get(key))))
        leaders.setdefault(key, row.task_id)
    stands.sort(key=lambda entrant: entrant.standing.is_duplicate)
    size = draw(st.integers(1, len(rows)))

    def quotas(dimension: str, *buckets: str) -> dict[str, dict[str, int]]:
        if not draw(st.booleans()):
            return {}
        tenths = draw(st.integers(0, 10))
        shares = dict(zip(buckets, (Fraction(tenths, 10), Fraction(10 - tenths, 10)), strict=True))
        return {dimension: apportioned(shares, size)}

    ones, twos = draw(st.integers(0, 4)), draw(st.integers(0, 3))
    calls = {"1": Fraction(ones, 7), "2": Fraction(twos, 7), "3+": Fraction(7 - ones - twos, 7)}
    return tuple(stands), terms(
        size,
        category_cap=draw(st.integers(1, 6)),
        quotas={
            **quotas("difficulty", "easy", "hard"),
            **quotas("turn_class", "multi_turn", "single_turn"),
            **quotas("turn_policy", "p", "unseen"),
        },
        tool_calls=one_of({}, calls),
        intent_share=one_of(None, None, Fraction(1, 3), Fraction(1, 2)),
        caps={
            name: draw(st.integers(1, 4))
            for name in ("exact_surface", "intent", "execution_case")
            if draw(st.booleans())
        },
        surfaces=one_of(0, 0, 1, size // 2),
    )
