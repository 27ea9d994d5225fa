"""Who stands for whom: clusters split by coverage and capability, one representative each, in an exact order."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.config.model import TaskGeneration
from bfcl.records.ids import TaskId, TemplateId
from bfcl.stages.balancing.candidate import Candidate, Standing, lot
from bfcl.stages.balancing.finder import Kinship, Likeness, cluster_id
from bfcl.stages.balancing.limits import hard_limit
from bfcl.stages.balancing.partition import Preferences, partition, preferences
from tests.packs import run_config, write_pack

SEEDED = Preferences(
    seed=7, source_preference=("template", "model"), limits=TaskGeneration(max_turns=3, max_tool_calls=2)
)


def candidate(task_id: str, **fields: Any) -> Candidate:
    values: dict[str, Any] = {
        "task_id": TaskId(task_id),
        "template_id": TemplateId("fire"),
        "language": "en",
        "source": "template",
        "intent": "fire",
        "category": "firings",
        "difficulty": "easy",
        "turn_policy": "confirmation",
        "edge_signatures": (),
        "required_tools": (),
        "tools_present": (),
        "num_turns": 1,
        "num_tool_calls": 1,
        "text_hash": "00",
        "capability_signature": "11",
        "execution_case": "22",
        "judge_error": False,
        "advisory_failures": 0,
        "failed_checks": 0,
    }
    return Candidate(**{**values, **fields})


def alike(*components: tuple[Candidate, ...]) -> Likeness:
    """A likeness of these components, as if each row followed the one before it there."""
    rows: dict[TaskId, Kinship] = {}
    for component in components:
        ids = [one.task_id for one in component]
        name = cluster_id("curator", ids) if len(ids) > 1 else None
        for place, task_id in enumerate(ids):
            rows[task_id] = Kinship(
                cluster_id=name,
                is_duplicate=place > 0,
                predecessor_id=ids[place - 1] if place else None,
                similarity=0.99 if place else None,
            )
    return Likeness(
        rows=rows,
        components=tuple(tuple(sorted(one.task_id for one in component)) for component in components),
        effective_n_clusters=1,
        embedding_signature=None,
    )


def standings(*rows: Candidate, settings: Preferences = SEEDED) -> dict[TaskId, Standing]:
    """Standings of rows that all read alike."""
    return partition(rows, alike(rows), settings)


def test_row_that_stands_alone_has_no_cluster_and_represents_itself() -> None:
    row = candidate("a")
    assert partition([row], alike((row,)), SEEDED) == {
        "a": Standing(
            is_duplicate=False,
            duplicate_cluster_id=None,
            representative_task_id=row.task_id,
            curator_cluster_id=None,
            curator_is_duplicate=False,
            curator_predecessor_id=None,
            curator_similarity_score=None,
            representative_rank=(False, False, 0, 1, 0, lot(7, row.task_id), "a"),
        )
    }


def test_cluster_is_named_by_its_sorted_members_and_keeps_what_the_finder_said() -> None:
    found = standings(candidate("b"), candidate("a"), candidate("c"))
    assert list(found) == ["b", "a", "c"]
    name = "dedup-" + hashlib.sha256(b'["a","b","c"]').hexdigest()[:20]
    assert {one.duplicate_cluster_id for one in found.values()} == {name}
    first = min(found, key=lambda task_id: lot(7, task_id))
    assert {one.representative_task_id for one in found.values()} == {first}
    assert [task_id for task_id, one in found.items() if not one.is_duplicate] == [first]
    assert (found[TaskId("a")].curator_predecessor_id, found[TaskId("a")].curator_similarity_score) == ("b", 0.99)
    assert [one.curator_is_duplicate for one in found.values()] == [False, True, True]


@pytest.mark.parametrize(
    "other",
    [
        {"language": "vi"},
        {"turn_policy": "correction"},
        {"edge_signatures": ("rare",)},
        {"capability_signature": "33"},
    ],
)
def test_rows_that_cover_other_ground_do_not_stand_for_one_another(other: dict[str, Any]) -> None:
    found = standings(candidate("a"), candidate("b", **other))
    assert [(one.is_duplicate, one.duplicate_cluster_id) for one in found.values()] == [(False, None)] * 2
    assert found[TaskId("b")].curator_is_duplicate


@pytest.mark.parametrize("other", [{"intent": "x"}, {"category": "x"}, {"difficulty": "x"}, {"execution_case": "x"}])
def test_rows_of_one_ground_stand_for_one_another_whatever_else_differs(other: dict[str, Any]) -> None:
    assert sum(one.is_duplicate for one in standings(candidate("a"), candidate("b", **other)).values()) == 1


BEFORE = [
    # Each pair differs in one thing, and is reversed in every thing that counts less.
    ({"judge_error": True}, {"num_turns": 4}),
    ({"judge_error": True}, {"num_tool_calls": 3}),
    ({"failed_checks": 2}, {"judge_error": True}),
    ({"failed_checks": 2}, {"advisory_failures": 1}),
    ({"failed_checks": 1, "source": "model"}, {"failed_checks": 2}),
    ({"source": "template"}, {"source": "model"}),
]


@pytest.mark.parametrize(("better", "worse"), BEFORE)
@pytest.mark.parametrize("names", ["ab", "ba"])
def test_representative_is_the_first_by_what_counts_most(
    better: dict[str, Any], worse: dict[str, Any], names: str
) -> None:
    found = standings(candidate(names[0], **better), candidate(names[1], **worse))
    assert found[TaskId("a")].representative_task_id == names[0]


def test_advisory_failures_count_as_one_whatever_their_number() -> None:
    found = standings(candidate("a", advisory_failures=3), candidate("b", judge_error=True))
    ranks = [one.representative_rank[:5] for one in found.values()]
    assert ranks[0] == ranks[1] == (False, True, 0, 2, 0)


def test_source_preference_is_as_configured_and_what_it_leaves_out_comes_last() -> None:
    rows = (candidate("a"), candidate("b", source="model"))
    for preference, first in ((("model", "template"), "b"), (("model",), "b"), (("template",), "a")):
        found = standings(*rows, settings=replace(SEEDED, source_preference=preference))
        assert found[TaskId("a")].representative_task_id == first


def test_seed_decides_between_equals() -> None:
    rows = [candidate(name) for name in "abcdefgh"]
    chosen = {
        standings(*rows, settings=replace(SEEDED, seed=seed))[TaskId("a")].representative_task_id for seed in range(9)
    }
    assert len(chosen) > 1


def test_rank_holds_the_size_of_the_coverage_bucket() -> None:
    rows = [candidate("a"), candidate("b"), candidate("c", language="vi")]
    found = partition(rows, alike(*((row,) for row in rows)), SEEDED)
    assert [one.representative_rank[3] for one in found.values()] == [2, 2, 1]


def test_preferences_are_those_of_the_configuration(tmp_path: Path) -> None:
    config = run_config(write_pack(tmp_path / "packs" / "pack"))
    assert preferences(config) == Preferences(
        seed=config.seed, source_preference=("template", "model"), limits=config.task_generation
    )
    config = replace(
        config,
        task_generation=replace(config.task_generation, max_turns=4, max_tool_calls=2),
        semantic_deduplication_config=replace(
            config.semantic_deduplication_config, representative_source_preference=("model",)
        ),
    )
    assert preferences(config) == Preferences(
        seed=config.seed, source_preference=("model",), limits=config.task_generation
    )


def test_preferences_repeat_no_default_of_the_configuration() -> None:
    assert {field.name for field in fields(Preferences) if field.default is not MISSING} == set()


@given(turns=st.integers(1, 5), calls=st.integers(0, 5), limits=st.tuples(*[st.none() | st.integers(1, 4)] * 2))
def test_rank_puts_exactly_the_rows_last_that_a_hard_limit_drops(
    turns: int, calls: int, limits: tuple[int | None, int | None]
) -> None:
    generation = TaskGeneration(max_turns=limits[0], max_tool_calls=limits[1])
    row = candidate("a", num_turns=turns, num_tool_calls=calls)
    (found,) = standings(row, settings=replace(SEEDED, limits=generation)).values()
    assert found.representative_rank[0] == (hard_limit(row, generation) is not None)


@st.composite
def populations(draw: st.DrawFn) -> list[tuple[Candidate, ...]]:
    """Components of a few rows each."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    number = iter(range(99))
    return [
        tuple(
            candidate(
                f"t{next(number)}",
                language=draw(st.sampled_from(["en", "vi"])),
                capability_signature=draw(st.sampled_from(["1", "2"])),
                source=draw(st.sampled_from(["template", "model"])),
                num_turns=draw(st.integers(1, 5)),
                failed_checks=draw(st.integers(0, 2)),
                judge_error=draw(st.booleans()),
            )
            for _ in range(size)
        )
        for size in sizes
    ]


@given(populations(), st.randoms(use_true_random=False))
def test_partition_is_whole_and_does_not_depend_on_the_order_of_rows(
    components: list[tuple[Candidate, ...]], random: Any
) -> None:
    rows = [one for component in components for one in component]
    likeness = alike(*components)
    found = partition(rows, likeness, SEEDED)
    assert list(found) == [one.task_id for one in rows]
    ground = {one.task_id: (one.coverage_bucket, one.capability_signature) for one in rows}
    clusters = Counter(one.duplicate_cluster_id or task_id for task_id, one in found.items())
    firsts = Counter(one.duplicate_cluster_id or task_id for task_id, one in found.items() if not one.is_duplicate)
    assert firsts == dict.fromkeys(clusters, 1)
    for task_id, one in found.items():
        assert (one.duplicate_cluster_id is None) == (clusters[one.duplicate_cluster_id or task_id] == 1)
        assert ground[task_id] == ground[one.representative_task_id]
        assert found[one.representative_task_id].representative_task_id == one.representative_task_id
        assert found[one.representative_task_id].representative_rank <= one.representative_rank
    shuffled = list(rows)
    random.shuffle(shuffled)
    turned = replace(likeness, components=likeness.components[::-1])
    assert partition(shuffled, turned, SEEDED) == found
