"""What bars the publication of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.evaluate.settings.builder import Edit, loaded, put, told, unpublished

CODE = "eval_publication_policy_violation"
PIN = "`revision` or `weights_digest`"
WEAK: dict[str, tuple[tuple[str | int, ...], Any, int, str]] = {
    "scoring.argument_matching": (("scoring", "argument_matching"), "canonical_only", 15, "schema_then_canonical"),
    "scoring.respect_call_order": (("scoring", "respect_call_order"), False, 17, "true"),
    "scoring.respect_call_group": (("scoring", "respect_call_group"), False, 18, "true"),
    "scoring.task_success": (("scoring", "task_success"), "assertions_only", 20, "all_applicable_gates"),
    "scoring.intermediate_text_matching": (
        ("scoring", "intermediate_text_matching"),
        "verbatim",
        21,
        "structural",
    ),
    "scoring.executable_continuation": (("scoring", "executable_continuation"), "live", 21, "gold"),
    "contamination.enforce": (("contamination", "enforce"), False, 47, "true"),
    "contamination.on_violation": (("contamination", "on_violation"), "exclude_row", 48, "fail_run"),
    "contamination.comparison_set": (
        ("contamination", "comparison_set"),
        "per_candidate",
        49,
        "common_intersection",
    ),
    "outputs.write_task_results": (("outputs", "write_task_results"), False, 55, "true"),
    "outputs.write_eval_manifest": (("outputs", "write_eval_manifest"), False, 56, "true"),
    "outputs.cache_candidate_responses": (("outputs", "cache_candidate_responses"), False, 57, "true"),
    "outputs.cache_tool_results": (("outputs", "cache_tool_results"), False, 58, "true"),
}
UNPINNED: Edit = put(("candidates", 0, "model_identity"), {"source": "vendor", "model": "potter-7b"})


def unsorted(edits: list[Edit]) -> list[Edit]:
    """All edits of `WEAK`."""
    return [put(place, value) for place, value, _, _ in WEAK.values()] + edits


@pytest.mark.parametrize("field", WEAK)
def test_weak_gate_is_refused_where_publication_is_asked_for(tmp_path: Path, field: str) -> None:
    place, value, line, needed = WEAK[field]
    assert told(tmp_path, put(place, value)) == [
        f"eval.yaml:{line}: {CODE}: {field} bars publishing, which `publication.requested` asks for; expected "
        f"`{needed}`\n  fix: write `{needed}`, or set `publication.requested` to false"
    ]


@pytest.mark.parametrize("field", WEAK)
def test_weak_gate_is_a_reason_where_publication_is_not_asked_for(tmp_path: Path, field: str) -> None:
    place, value, _, _ = WEAK[field]
    settings = loaded(tmp_path, put(place, value), unpublished)
    assert settings.non_publication_reasons == tuple(sorted([field, "publication.requested"]))
    assert not settings.publication_allowed


def test_weights_that_nothing_pins_bar_publishing(tmp_path: Path) -> None:
    assert told(tmp_path, UNPINNED) == [
        f"eval.yaml:36: {CODE}: candidates[0].model_identity bars publishing, which `publication.requested` asks for; "
        f"expected {PIN}\n  fix: add {PIN}, or set `publication.requested` to false"
    ]


def test_publication_lists_every_weak_gate(tmp_path: Path) -> None:
    found = told(tmp_path, *unsorted([UNPINNED]))
    assert sorted(line.split(": ")[2].partition(" ")[0] for line in found) == sorted(
        [*WEAK, "candidates[0].model_identity"]
    )


def test_model_repair_is_refused_by_publication_and_by_the_scorer(tmp_path: Path) -> None:
    found = told(tmp_path, put(("scoring", "allow_llm_repair"), True))
    assert [line.split(": ")[1] for line in found] == [CODE, "eval_executable_scoring_policy_unsupported"]


def test_tasks_have_to_be_the_same_whether_published_or_not(tmp_path: Path) -> None:
    assert told(tmp_path, put(("publication", "require_same_task_ids"), False), unpublished) == [
        f"eval.yaml:52: {CODE}: publication.require_same_task_ids is false; expected true: scores over "
        f"different tasks are "
        "no comparison\n  fix: set it to true"
    ]


def test_gate_at_fault_is_not_judged_twice(tmp_path: Path) -> None:
    found = told(tmp_path, put(("contamination", "enforce"), "yes"))
    assert [line.split(": ")[1] for line in found] == ["eval_config_schema_invalid"]
    found = told(tmp_path, put(("candidates", 0, "model_identity", "revision"), 12))
    assert [line.split(": ")[1] for line in found] == ["eval_config_schema_invalid"]
