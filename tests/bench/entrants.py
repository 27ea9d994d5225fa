"""Rows to select from and terms to select by, of any number: as a pack gives them, and tangled ones."""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction

from bfcl.stages.balancing.candidate import Candidate
from bfcl.stages.balancing.quotas import apportioned
from bfcl.stages.balancing.terms import Entrant, Terms
from tests.stages.balancing.rows import candidate, standing

SMALL = 150


def like_stages(number: int, templates: int = 500) -> tuple[tuple[Entrant, ...], Terms]:
    """Rows of `templates` wordings in three shapes and ten categories, to be cut by a tenth under every mix and cap."""
    drawn = random.Random(0)
    rows = [_worded(at, at % templates) for at in range(number)]
    drawn.shuffle(rows)
    each, size = number // templates, number * 9 // 10
    return _standing((row, row.text_hash) for row in rows), Terms(
        size=size,
        category_cap=number // 10 + each,
        quotas={
            "difficulty": _quotas(size, easy=3, medium=7),
            "turn_class": _quotas(size, single_turn=3, multi_turn=7),
            "turn_policy": _quotas(size, multi_tool=6, confirmation=7, correction=7),
        },
        tool_calls={"1": Fraction(7, 10), "2": Fraction(3, 10)},
        intent_share=Fraction(3, 100),
        caps={"exact_surface": each * 97 // 100, "intent": each * 97 // 100, "execution_case": 1},
        surfaces=templates * 9 // 10,
    )


def _worded(number: int, template: int) -> Candidate:
    shape = template % 3
    return candidate(
        number,
        task_id=f"t{number:06d}",
        category=f"c{template % 10}",
        intent=f"i{template}",
        difficulty=("easy", "medium", "medium")[shape],
        turn_policy=("multi_tool", "confirmation", "correction")[shape],
        num_turns=shape + 1,
        num_tool_calls=(2, 1, 1)[shape],
        text_hash=f"x{template}",
        execution_case=f"e{number}",
    )


def tangled(seed: int) -> tuple[tuple[Entrant, ...], Terms]:
    """150 rows that share category, intent, wording, execution case and representative at random, under every term."""
    drawn = random.Random(seed)
    categories, intents, difficulties = (
        drawn.choice((1, 2, 3, 6)),
        drawn.choice((3, 6, 12, 30)),
        drawn.choice((2, 3, 5)),
    )
    texts, cases = (drawn.choice((SMALL // 8, SMALL // 4, SMALL // 2, SMALL)) for _ in range(2))
    groups = drawn.choice((5, SMALL // 5, SMALL // 2, SMALL))
    rows = [
        candidate(
            number,
            task_id=f"t{number:04d}",
            category=f"c{drawn.randrange(categories)}",
            intent=f"i{drawn.randrange(intents)}",
            difficulty=f"d{drawn.randrange(difficulties)}",
            turn_policy=drawn.choice("pqs"),
            edge_signatures=drawn.choice(((), (), ("rare",))),
            num_turns=drawn.choice((1, 2)),
            num_tool_calls=drawn.randrange(4),
            text_hash=f"x{drawn.randrange(texts)}",
            execution_case=f"e{drawn.randrange(cases)}",
        )
        for number in range(SMALL)
    ]
    size = SMALL * drawn.choice((3, 4, 5, 6)) // 10

    def mix(*buckets: str) -> dict[str, int]:
        return _quotas(size, **{bucket: drawn.randint(1, 6) for bucket in buckets})

    def cap(of: int) -> int:
        return max(1, -(-size * drawn.choice((11, 13, 20)) // (10 * of)))

    return _standing((row, drawn.randrange(groups)) for row in rows), Terms(
        size=size,
        category_cap=max(1, size // categories),
        quotas={
            "difficulty": mix(*(f"d{number}" for number in range(difficulties))),
            "turn_class": mix("single_turn", "multi_turn"),
            "turn_policy": mix("p", "q", "s"),
        },
        tool_calls={"1": Fraction(1, 2), "2": Fraction(3, 10), "3+": Fraction(1, 5)},
        intent_share=Fraction(1, drawn.choice((2, 3, 5, 8))),
        caps={"exact_surface": cap(texts), "intent": cap(intents), "execution_case": cap(cases)},
        surfaces=int(min(texts, size) * drawn.choice((0, 0.5, 0.8))),
    )


def _standing(rows: Iterable[tuple[Candidate, object]]) -> tuple[Entrant, ...]:
    """Of the rows of one group and coverage bucket, the first represents the others; duplicates come last."""
    leaders: dict[object, str] = {}
    found = []
    for row, group in rows:
        key = (row.coverage_bucket, group)
        found.append(Entrant(row, standing(row.task_id, leaders.get(key))))
        leaders.setdefault(key, row.task_id)
    return tuple(sorted(found, key=lambda entrant: entrant.standing.is_duplicate))


def _quotas(size: int, **weights: int) -> dict[str, int]:
    whole = sum(weights.values())
    return apportioned({bucket: Fraction(weight, whole) for bucket, weight in weights.items()}, size)
