"""The stage as a whole: decisions, ranks, missed targets, report."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.canonical import canonical_text
from bfcl.config.model import SemanticDeduplication, TaskGeneration
from bfcl.digest import sha256_json
from bfcl.errors import StageError
from bfcl.stages.balancing.candidate import Candidate, Standing, lot
from bfcl.stages.balancing.finder import Likeness
from bfcl.stages.balancing.unmet import UnmetTarget
from bfcl.stages.dedup_balancing import Balanced, Settings, balance
from tests.stages.balancing.rows import candidate, standing

ALIKE = Likeness(rows={}, components=(), effective_n_clusters=2, embedding_signature=sha256_json("vectors"))

SEED = 7


def balanced(
    rows: list[Candidate],
    generation: dict[str, Any] | None = None,
    duplicates: dict[str, str] | None = None,
    **deduplication: Any,
) -> Balanced:
    """`duplicates` is id to the id of its representative; every other row stands alone."""
    known = duplicates or {}
    standings = {row.task_id: standing(row.task_id, known.get(row.task_id)) for row in rows}
    asked = TaskGeneration(**{"tasks_per_category": 100, **(generation or {})})
    return balance(rows, standings, ALIKE, Settings(SEED, asked, SemanticDeduplication(**deduplication)))


def stable(*ids: str) -> list[str]:
    return sorted(ids, key=lambda task_id: lot(SEED, task_id))  # type: ignore[arg-type]


def unmet(dimension: str, bucket: str, numbers: tuple[int, int, int], reason: Any) -> UnmetTarget:
    """`numbers` are target, actual and inventory."""
    target, actual, inventory = numbers
    return UnmetTarget(
        dimension=dimension, bucket=bucket, target=target, actual=actual, inventory=inventory, reason=reason
    )


def test_balance_ranks_selected_rows_by_seeded_lot_with_duplicates_last() -> None:
    rows = [candidate(n) for n in range(5)]
    done = balanced(rows, duplicates={"t00": "t03"})
    assert list(done.ranked) == [*stable("t01", "t02", "t03", "t04"), "t00"]
    assert {row.task_id: row.selection_rank for row in done.rows} == {
        task_id: rank for rank, task_id in enumerate(done.ranked)
    }
    assert [row.task_id for row in done.rows] == [row.task_id for row in rows]
    assert done.gold_eligible


def test_balance_gives_every_survivor_one_decision() -> None:
    rows = [candidate(0), candidate(1), candidate(2), candidate(3, num_turns=4), candidate(4, edge_signatures=("hot",))]
    asked = {"max_turns": 3, "target_published_tasks": 2}
    done = balanced(rows, asked, {"t02": "t01"}, remove_duplicates=True)
    kept = stable("t00", "t01")[0]
    decisions = {row.task_id: (row.selected, row.drop_reason, row.balance_dimension) for row in done.rows}
    assert decisions == {
        "t00": (True, None, None),
        "t01": (True, None, None),
        "t02": (False, "semantic_duplicate", None),
        "t03": (False, "max_turns_exceeded", None),
        "t04": (True, None, None),
    } | dict.fromkeys({"t00", "t01"} - {kept}, (False, "balance_quota", "publication_count"))
    assert {row.task_id: row.coverage_locked for row in done.rows} == {f"t0{n}": n == 4 for n in range(5)}


def test_balance_keeps_what_finder_and_partition_said() -> None:
    row = candidate(0, num_tool_calls=5, num_turns=2)
    kept = Standing(
        is_duplicate=False,
        duplicate_cluster_id="dedup-9",
        representative_task_id=row.task_id,
        curator_cluster_id="curator-1",
        curator_is_duplicate=True,
        curator_predecessor_id=row.task_id,
        curator_similarity_score=0.875,
        representative_rank=(False, 3, "x"),
    )
    asked = Settings(SEED, TaskGeneration(), SemanticDeduplication())
    (decided,) = balance([row], {row.task_id: kept}, ALIKE, asked).rows
    for name in Standing.__slots__:
        assert getattr(decided, name) == getattr(kept, name)
    assert (decided.turn_class, decided.tool_call_count, decided.contract_version) == ("multi_turn", "3+", "1.0")


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_balance_decides_alike_for_any_order_of_survivors(data: st.DataObject) -> None:
    kinds = st.tuples(st.sampled_from("AB"), st.sampled_from(["easy", "hard"]), st.sampled_from("123"))
    drawn = data.draw(st.lists(kinds, min_size=1, max_size=9))
    rows = [candidate(n, category=a, difficulty=b, text_hash=c) for n, (a, b, c) in enumerate(drawn)]
    asked: dict[str, Any] = {
        "tasks_per_category": 3,
        "difficulty_mix": {"easy": 0.5, "hard": 0.5},
    }
    one = balanced(rows, asked, {"t02": "t00"} if len(rows) > 2 else {}, max_exact_surface_reuse=4)
    other = balanced(
        data.draw(st.permutations(rows)), asked, {"t02": "t00"} if len(rows) > 2 else {}, max_exact_surface_reuse=4
    )
    assert one.ranked == other.ranked
    assert {row.task_id: row for row in one.rows} == {row.task_id: row for row in other.rows}
    assert canonical_text(one.report) == canonical_text(other.report)


def test_balance_of_no_survivors_selects_nothing() -> None:
    done = balanced([], {"target_published_tasks": 3})
    assert (done.rows, done.ranked) == ((), ())
    assert done.unmet == (unmet("publication_count", "all", (3, 0, 0), "insufficient_candidate_inventory"),)


FIVE = [candidate(n) for n in range(5)]


@pytest.mark.parametrize(
    ("rows", "generation", "deduplication", "missed"),
    [
        (FIVE, {"target_published_tasks": 5}, {}, []),
        (
            FIVE,
            {"target_published_tasks": 6},
            {},
            [unmet("publication_count", "all", (6, 5, 5), "insufficient_candidate_inventory")],
        ),
        (
            FIVE,
            {"target_published_tasks": 5, "tasks_per_category": 4},
            {},
            [unmet("publication_count", "all", (5, 4, 5), "category_cap_limits_inventory")],
        ),
        (
            [candidate(n, text_hash="same") for n in range(3)],
            {"target_published_tasks": 3},
            {"max_exact_surface_reuse": 2},
            [unmet("publication_count", "all", (3, 2, 3), "insufficient_surface_diversity")],
        ),
        (
            FIVE,
            {"target_published_tasks": 5},
            {"max_rows_per_intent": 2},
            [unmet("publication_count", "all", (5, 2, 5), "intent_cap_limits_inventory")],
        ),
        (
            [candidate(n, execution_case="same") for n in range(3)],
            {"target_published_tasks": 3},
            {"max_execution_case_reuse": 1},
            [unmet("publication_count", "all", (3, 1, 3), "execution_case_cap_limits_inventory")],
        ),
        (
            [candidate(0), candidate(1), candidate(2), candidate(3, difficulty="hard")],
            {"target_published_tasks": 4, "difficulty_mix": {"easy": 0.5, "hard": 0.5}},
            {},
            [unmet("publication_count", "all", (4, 3, 4), "declared_mix_exceeds_inventory")],
        ),
        (
            [candidate(n, language=f"l{n}") for n in range(3)],
            {"target_published_tasks": 2},
            {},
            [unmet("publication_count", "all", (2, 3, 3), "coverage_requires_more_than_declared_target")],
        ),
        (
            [candidate(n, language=f"l{n}") for n in range(3)],
            {"tasks_per_category": 2},
            {},
            [unmet("category", "firings", (2, 3, 3), "coverage_constraint")],
        ),
        (
            # Of category A each row is of an intent that is full: its room goes unused.
            [candidate(0, category="A", intent="x"), candidate(1, category="B", intent="x")]
            + [candidate(n, category="B", intent=f"own{n}") for n in (2, 3)]
            + [candidate(4, category="A", intent="x"), candidate(5, category="C", intent="x")],
            {"tasks_per_category": 1, "target_published_tasks": 3},
            {"max_rows_per_intent": 1},
            [unmet("category", "B", (1, 2, 3), "coverage_or_cross_dimension_constraint")],
        ),
        (
            [candidate(0, language="en"), candidate(1, language="vi")],
            {"difficulty_mix": {"easy": 0.5, "hard": 0.5}},
            {},
            [
                unmet("difficulty", "easy", (1, 2, 2), "coverage_constraint"),
                unmet("difficulty", "hard", (1, 0, 0), "insufficient_inventory"),
            ],
        ),
        (
            [
                candidate(0, turn_policy="confirmation", difficulty="hard"),
                candidate(1, turn_policy="confirmation", difficulty="hard"),
                candidate(2, turn_policy="correction"),
                candidate(3, turn_policy="correction"),
            ],
            {
                "target_published_tasks": 2,
                "difficulty_mix": {"easy": 1.0},
                "policy_mix": {"confirmation": 1.0},
            },
            {},
            [
                unmet("difficulty", "easy", (2, 1, 2), "coverage_constraint"),
                unmet("difficulty", "hard", (0, 1, 2), "coverage_constraint"),
                unmet("turn_policy", "confirmation", (2, 1, 2), "coverage_constraint"),
                unmet("turn_policy", "correction", (0, 1, 2), "coverage_constraint"),
            ],
        ),
        (
            [candidate(n, difficulty="hard", num_turns=1) for n in range(2)]
            + [candidate(n, difficulty="easy", num_turns=2) for n in (2, 3)],
            {
                "target_published_tasks": 2,
                "difficulty_mix": {"hard": 1.0},
                "turn_mix": {"multi_turn": 0.5, "single_turn": 0.5},
            },
            {},
            [
                unmet("difficulty", "easy", (0, 1, 2), "coverage_or_cross_dimension_constraint"),
                unmet("difficulty", "hard", (2, 1, 2), "coverage_or_cross_dimension_constraint"),
            ],
        ),
        (
            [candidate(n, num_tool_calls=1) for n in range(9)] + [candidate(9, num_tool_calls=2)],
            {"tool_call_count_mix": {"1": 0.85, "2": 0.15}},
            {},
            [],
        ),
        (
            [candidate(n, num_tool_calls=1) for n in range(9)] + [candidate(9, num_tool_calls=2)],
            {"tool_call_count_mix": {"1": 0.8, "2": 0.2}},
            {},
            [
                unmet("tool_call_count", "1", (8, 9, 9), "coverage_or_cross_dimension_constraint"),
                unmet("tool_call_count", "2", (2, 1, 1), "insufficient_inventory"),
            ],
        ),
        (
            [candidate(n, num_tool_calls=0) for n in range(4)],
            {"tool_call_count_mix": {"1": 1.0, "2": 0.0}},
            {},
            [unmet("tool_call_count", "1", (4, 0, 0), "insufficient_inventory")],
        ),
        (
            [candidate(n, intent="fire" if n < 3 else "look") for n in range(4)],
            {"max_intent_share": 0.5},
            {},
            [unmet("intent", "firings/fire", (2, 3, 3), "intent_share_exceeded")],
        ),
        (
            [candidate(0, intent="fire"), candidate(1, intent="look")],
            {"max_intent_share": 0.25},
            {},
            [],
        ),
    ],
)
def test_balance_names_missed_targets(
    rows: list[Candidate], generation: dict[str, Any], deduplication: dict[str, Any], missed: list[UnmetTarget]
) -> None:
    done = balanced(rows, generation, **deduplication)
    assert list(done.unmet) == missed
    assert done.gold_eligible == (not missed)


def test_balance_refuses_bounds_that_coverage_exceeds() -> None:
    rows = [candidate(n, language=f"l{n}") for n in range(2)]
    with pytest.raises(StageError) as refused:
        balanced(rows, max_rows_per_intent=1)
    assert str(refused.value).splitlines()[0] == (
        "balancing_infeasible: semantic_deduplication_config.max_rows_per_intent: allows 1 rows; expected room for one "
        "of each of 2 coverage buckets"
    )


def test_balance_refuses_bounds_that_contradict_each_other_and_names_them() -> None:
    # Three intents and three surfaces, but two intents have one surface only, the same one.
    pairs = [("x", "1"), ("x", "2"), ("x", "3"), ("y", "1"), ("z", "1")]
    rows = [candidate(n, intent=intent, text_hash=text) for n, (intent, text) in enumerate(pairs)]
    with pytest.raises(StageError) as refused:
        balanced(rows, max_rows_per_intent=1, max_exact_surface_reuse=1)
    fix = "relax it, lower `task_generation.target_published_tasks`, or add templates and slot values"
    assert str(refused.value) == "\n".join(
        f"balancing_infeasible: semantic_deduplication_config.{name}: leaves no selection of 3 rows that covers every "
        f"bucket; without it there is one\n  fix: {fix}"
        for name in ("max_exact_surface_reuse", "max_rows_per_intent")
    )


def test_report_has_its_keys_and_accounts_for_every_survivor() -> None:
    rows = [
        candidate(0, edge_signatures=("hot",)),
        candidate(1),
        candidate(2),
        candidate(3, num_tool_calls=9),
        candidate(4, category="glazes", difficulty="hard"),
        candidate(5, template_id="glaze"),
    ]
    asked = {"max_tool_calls": 3, "target_published_tasks": 3, "difficulty_mix": {"easy": 0.5, "hard": 0.5}}
    done = balanced(rows, asked, {"t02": "t01"}, remove_duplicates=True, unmet_target_policy="publish_non_gold")
    report = json.loads(canonical_text(done.report))
    lineage = report.pop("lineage")
    assert sorted(report) == [
        "actual_counts",
        "artifacts",
        "by_category",
        "by_difficulty",
        "by_template",
        "by_turn_policy",
        "category_cap",
        "contract_version",
        "counts",
        "coverage_bucket_count",
        "diversity",
        "drop_reason_counts",
        "hard_limit_drops",
        "inventory_counts",
        "rare_edge_preservation",
        "release_policy",
        "schema_version",
        "target_counts",
        "unmet_targets",
    ]
    assert report["counts"] == {
        "stage_ten_survivors": 6,
        "curator_duplicates": 1,
        "final_duplicates": 1,
        "semantic_duplicate_annotations": 0,
        "semantic_duplicate_drops": 1,
        "selected": 3,
        "dropped": 3,
    }
    assert report["drop_reason_counts"] == {"semantic_duplicate": 1, "max_tool_calls_exceeded": 1, "balance_quota": 1}
    assert report["hard_limit_drops"] == {"max_turns_exceeded": 0, "max_tool_calls_exceeded": 1}
    assert report["by_category"] == {
        "firings": {"survivors": 5, "selected": 2, "dropped": 3},
        "glazes": {"survivors": 1, "selected": 1, "dropped": 0},
    }
    assert report["by_template"].keys() == {"fire", "glaze"}
    assert report["inventory_counts"]["difficulty"] == {"easy": 3, "hard": 1}
    assert report["actual_counts"]["difficulty"] == {"easy": 2, "hard": 1}
    assert report["actual_counts"]["tool_call_count"] == {"0": 0, "1": 3, "2": 0, "3+": 0}
    assert report["target_counts"] == {
        "budget": 3,
        "publication_count": 3,
        "category": {"firings": 100, "glazes": 100},
        "difficulty": {"easy": 2, "hard": 1},
    }
    assert report["diversity"]["exact_surface_ratio"] == 1.0
    assert report["rare_edge_preservation"] == {
        "edge_signatures": {"hot": {"survivors": 1, "selected": 1}},
        "coverage_locked_rows": 1,
    }
    assert report["release_policy"] == {
        "unmet_target_policy": "publish_non_gold",
        "unmet_target_action": "none",
        "gold_eligible": True,
    }
    assert report["coverage_bucket_count"] == 2
    assert lineage["settings_hash"] == sha256_json(lineage["settings"])
    assert lineage["settings"]["task_generation"]["max_tool_calls"] == 3
    assert lineage["projected_input_hash"] == sha256_json([[f"t0{n}", f"text{n}"] for n in range(6)])
    assert (lineage["embedding_signature"], lineage["effective_n_clusters"]) == (ALIKE.embedding_signature, 2)


def test_report_says_what_unmet_targets_lead_to() -> None:
    for policy in ("abort", "publish_non_gold"):
        done = balanced([candidate(0)], {"target_published_tasks": 2}, unmet_target_policy=policy)
        assert done.report["release_policy"] == {
            "unmet_target_policy": policy,
            "unmet_target_action": policy,
            "gold_eligible": False,
        }
        assert done.report["unmet_targets"] == [each.to_json() for each in done.unmet]
