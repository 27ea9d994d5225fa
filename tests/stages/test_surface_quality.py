"""Six checks of a wording, the decision, and the report of a run without a judge."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import readable_json
from bfcl.records.ids import TaskId
from bfcl.records.quality import JUDGE_CHECKS, PYTHON_CHECKS, SurfaceCheck, SurfaceQuality
from bfcl.records.surface import Guard, Surface, Turn, Violation
from bfcl.stages.render import render
from bfcl.stages.surface_quality import judge_surface, python_checks, rejections, user_turns
from tests.packs import ALL_POLICIES
from tests.stages.studio import studio

STUDIO = studio()
TASK = STUDIO.tasks("cone_corrected")[0]
SURFACE = render(STUDIO.templates["cone_corrected"], STUDIO.outline("cone_corrected"), [TASK], STUDIO.wording())[0]
OMITTED = Violation(guard="must_omit", key="slot", value="cone")
PRESERVED = Violation(guard="must_preserve", key="slot", value="kiln_id")
TOOL = Violation(guard="must_not_mention", key="tool", value="start_firing")
PHRASE = Violation(guard="must_not_mention", key="phrase", value="at once")
LEAKED = Violation(guard="expected_result_leakage", key="reason", value="result_scalar")


def reworded(*turns: str, **fields: Any) -> Surface:
    """A model's wording of the canonical surface: its user turns replaced, one by one."""
    said = iter(turns)
    kept = [
        replace(turn, content=next(said, None)) if turn.kind == "user" else turn
        for turn in SURFACE.turns
        if turn.kind == "user"
    ]
    values: dict[str, Any] = {
        "task_id": TaskId(SURFACE.task_id + "v1"),
        "variant_index": 1,
        "source": "model",
        "turns": tuple(turn for turn in kept if turn.content is not None),
    }
    return replace(SURFACE, **{**values, **fields})


def failed(quality: SurfaceQuality) -> list[tuple[str, str | None, str | None]]:
    return [(one.check, one.reason_code, one.evidence) for one in quality.checks if one.status == "failed"]


@pytest.mark.parametrize("template_id", ALL_POLICIES)
def test_template_wording_that_breaks_no_guard_is_kept(template_id: str) -> None:
    tasks = STUDIO.tasks(template_id)[:3]
    for task, surface in zip(
        tasks, render(STUDIO.templates[template_id], STUDIO.outline(template_id), tasks, STUDIO.wording()), strict=True
    ):
        quality = judge_surface(task, surface)
        assert (quality.accepted, quality.decision, quality.drop_source) == (True, "kept", None)
        assert (quality.drop_reasons, quality.advisory_failures, quality.judge_error) == ((), (), None)
        assert [one.status for one in quality.checks] == ["passed"] * 3 + ["not_run"] * 3


def test_checks_come_all_six_in_order_each_with_its_owner() -> None:
    quality = judge_surface(TASK, replace(SURFACE, guard_violations=(PHRASE, TOOL)))
    assert [one.check for one in quality.checks] == [*PYTHON_CHECKS, *JUDGE_CHECKS]
    assert [one.source for one in quality.checks] == ["python"] * 3 + ["surface_judge"] * 3
    assert quality.checks[2:4] == (
        SurfaceCheck(
            check="leakage", status="failed", source="python", reason_code="forbidden_mention", evidence="at once"
        ),
        SurfaceCheck(check="language_locale", status="not_run", source="surface_judge"),
    )
    assert quality.contract_version == "1.1"
    assert (quality.task_id, quality.base_task_id) == (TASK.task_id, TASK.base_task_id)
    assert (quality.template_id, quality.variant_index, quality.surface_source, quality.turn_policy) == (
        "cone_corrected",
        0,
        "template",
        "correction",
    )


@pytest.mark.parametrize(
    ("violation", "check", "code", "evidence"),
    [
        (PRESERVED, "semantic_preservation", "must_preserve", "kiln_id"),
        (OMITTED, "semantic_preservation", "must_omit", "cone"),
        (TOOL, "leakage", "tool_name_leakage", "start_firing"),
        (PHRASE, "leakage", "forbidden_mention", "at once"),
        (LEAKED, "leakage", "expected_result_leakage", None),
        (
            Violation(guard="novel_literal", key="reason", value="code"),
            "semantic_preservation",
            "novel_literal",
            None,
        ),
        *(
            (Violation(guard="semantic_shape", key="reason", value=shape), "surface_shape", shape, None)
            for shape in ("empty_user_turn", "unchanged_surface", "user_turn_count_changed")
        ),
    ],
)
def test_recorded_guard_fails_its_check(violation: Violation, check: str, code: str, evidence: str | None) -> None:
    quality = judge_surface(TASK, replace(SURFACE, guard_violations=(violation,)))
    assert failed(quality) == [(check, code, evidence)]
    assert (quality.accepted, quality.decision, quality.drop_source) == (False, "dropped", "python")
    assert quality.drop_reasons == (f"{check}:{code}",)


def test_first_violation_of_a_check_gives_its_code_and_reasons_are_sorted() -> None:
    quality = judge_surface(TASK, replace(SURFACE, guard_violations=(TOOL, PHRASE, OMITTED, PRESERVED)))
    assert failed(quality) == [
        ("semantic_preservation", "must_omit", "cone"),
        ("leakage", "tool_name_leakage", "start_firing"),
    ]
    assert quality.drop_reasons == ("leakage:tool_name_leakage", "semantic_preservation:must_omit")


def test_every_guard_of_the_vocabulary_is_answered_for() -> None:
    examples = {
        one.guard: one
        for one in (
            PRESERVED,
            OMITTED,
            TOOL,
            LEAKED,
            Violation(guard="novel_literal", key="reason", value="number"),
            Violation(guard="semantic_shape", key="reason", value="empty_user_turn"),
        )
    }
    assert set(examples) == set(get_args(Guard))
    for violation in examples.values():
        assert not judge_surface(TASK, replace(SURFACE, guard_violations=(violation,))).accepted


@pytest.mark.parametrize(
    ("guard", "key", "value"),
    [("tone", "reason", "rude"), ("must_omit", "phrase", "cone"), ("semantic_shape", "reason", "sideways")],
)
def test_guard_that_no_check_answers_for_is_an_error(guard: Any, key: Any, value: str) -> None:
    surface = replace(SURFACE, guard_violations=(Violation(guard=guard, key=key, value=value),))
    expected = f"{TASK.task_id}: no surface check answers for guard `{guard}`"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        judge_surface(TASK, surface)


def test_template_wording_is_held_to_its_plan_and_never_unchanged() -> None:
    assert failed(judge_surface(TASK, SURFACE, SURFACE)) == []
    assert failed(judge_surface(TASK, replace(SURFACE, num_user_turns=2))) == [
        ("surface_shape", "user_turn_count_changed", None)
    ]
    blank = tuple(Turn(kind="user", content=" ") if turn.kind == "user" else turn for turn in SURFACE.turns)
    assert failed(judge_surface(TASK, replace(SURFACE, turns=blank))) == [("surface_shape", "empty_user_turn", None)]


def test_model_wording_is_held_to_the_canonical_one() -> None:
    first, second, third = user_turns(SURFACE)
    assert failed(judge_surface(TASK, reworded(f"Hello! {first}", second, third), SURFACE)) == []
    assert failed(judge_surface(TASK, reworded(first.upper(), second, third), SURFACE)) == [
        ("surface_shape", "unchanged_surface", None)
    ]
    assert failed(judge_surface(TASK, reworded(first, second), SURFACE)) == [
        ("surface_shape", "user_turn_count_changed", None)
    ]
    assert failed(judge_surface(TASK, reworded(f"Code ZX-987654. {first}", second, third), SURFACE)) == [
        ("semantic_preservation", "novel_literal", None)
    ]


def test_what_a_model_made_up_is_kept_nowhere() -> None:
    quality = judge_surface(TASK, reworded("Code ZX-987654.", "", ""), SURFACE)
    assert "987654" not in repr(quality)


def test_model_wording_without_its_canonical_one_is_an_error() -> None:
    variant = reworded("Hello!", "a", "b")
    expected = f"{variant.task_id}: a model's wording without the one it rewords, {TASK.task_id}"
    for canonical in (None, variant):
        with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
            python_checks(variant, canonical)


# --- the report ------------------------------------------------------------------------------------------------------


def test_rejections_count_what_was_dropped_and_why() -> None:
    kept = judge_surface(TASK, SURFACE)
    dropped = judge_surface(TASK, replace(SURFACE, guard_violations=(TOOL, OMITTED)))
    variant = judge_surface(TASK, reworded(*user_turns(SURFACE)), SURFACE)
    assert rejections([kept, dropped, variant]) == {
        "evaluated": 3,
        "kept": 1,
        "dropped_by_python": 2,
        "dropped_by_surface_judge": 0,
        "judge_enabled": False,
        "judge_advisory": None,
        "drop_reason_counts": {
            "leakage:tool_name_leakage": 1,
            "semantic_preservation:must_omit": 1,
            "surface_shape:unchanged_surface": 1,
        },
        "advisory_failure_counts": {},
        "judge_error_counts": {},
        "contract_version": "1.1",
        "judge_prompt_version": None,
        "judge_prompt_hash": None,
        "by_template": {
            "cone_corrected": {"evaluated": 3, "kept": 1, "dropped_by_python": 2, "dropped_by_surface_judge": 0}
        },
        "by_variant_index": {
            "0": {"evaluated": 2, "kept": 1, "dropped_by_python": 1, "dropped_by_surface_judge": 0},
            "1": {"evaluated": 1, "kept": 0, "dropped_by_python": 1, "dropped_by_surface_judge": 0},
        },
    }


_VERDICTS = [
    judge_surface(TASK, replace(SURFACE, guard_violations=broken)) for broken in ((), (TOOL,), (PHRASE, OMITTED))
]


@given(st.lists(st.sampled_from(_VERDICTS), max_size=12), st.randoms(use_true_random=False))
def test_rejections_do_not_depend_on_the_order_and_add_up(verdicts: list[SurfaceQuality], random: Any) -> None:
    report: dict[str, Any] = rejections(iter(verdicts))
    shuffled = list(verdicts)
    random.shuffle(shuffled)
    assert readable_json(rejections(shuffled)) == readable_json(report)
    assert report["evaluated"] == len(verdicts)
    assert report["kept"] + report["dropped_by_python"] + report["dropped_by_surface_judge"] == len(verdicts)
    for part in ("by_template", "by_variant_index"):
        assert sum(counts["kept"] for counts in report[part].values()) == report["kept"]
