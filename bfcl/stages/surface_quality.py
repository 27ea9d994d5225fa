"""Is the wording of a replayed task fit to be published? Rule: generation.md §3.7.

Three of the six checks are decided here. The other three belong to the surface judge; without one they are not run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from bfcl.canonical import Json
from bfcl.records.quality import (
    CONTRACT_VERSION,
    JUDGE_CHECKS,
    PYTHON_CHECKS,
    PythonCheck,
    SurfaceCheck,
    SurfaceQuality,
)
from bfcl.records.surface import Surface, Violation
from bfcl.records.task import Task
from bfcl.stages import stage_named
from bfcl.stages.rewording import rewording_violations, shape_faults

_, REJECTIONS_FILE = stage_named("surface_quality").writes

_MEANING: Final[Mapping[tuple[str, str], tuple[PythonCheck, str]]] = {
    ("must_preserve", "slot"): ("semantic_preservation", "must_preserve"),
    ("must_omit", "slot"): ("semantic_preservation", "must_omit"),
    ("novel_literal", "reason"): ("semantic_preservation", "novel_literal"),
    ("must_not_mention", "tool"): ("leakage", "tool_name_leakage"),
    ("must_not_mention", "phrase"): ("leakage", "forbidden_mention"),
    ("expected_result_leakage", "reason"): ("leakage", "expected_result_leakage"),
}
"""Guard and what it names, to the check it fails and the code it fails with. A shape is its own code."""

_SHAPES: Final = frozenset({"empty_user_turn", "unchanged_surface", "user_turn_count_changed"})


def judge_surface(task: Task, surface: Surface, canonical: Surface | None = None) -> SurfaceQuality:
    """The verdict on one wording without a judge: any failed check drops it.

    `canonical` is the template's wording of the same conversation; a model's wording is held against it, a template's
    needs none. Raises ValueError for a guard that no check answers for: it must never pass unseen.
    """
    checks = python_checks(surface, canonical)
    reasons = tuple(sorted(f"{check.check}:{check.reason_code}" for check in checks if check.status == "failed"))
    return SurfaceQuality(
        task_id=surface.task_id,
        base_task_id=surface.base_task_id,
        template_id=task.template_id,
        variant_index=surface.variant_index,
        surface_source=surface.source,
        turn_policy=task.turn_policy,
        contract_version=CONTRACT_VERSION,
        drop_source="python" if reasons else None,
        drop_reasons=reasons,
        advisory_failures=(),
        judge_error=None,
        checks=(*checks, *UNJUDGED),
    )


UNJUDGED: Final = tuple(SurfaceCheck(check=check, status="not_run", source="surface_judge") for check in JUDGE_CHECKS)
"""What the judge's checks say of a wording that it was not shown."""


def python_checks(surface: Surface, canonical: Surface | None = None) -> tuple[SurfaceCheck, ...]:
    """Shape, preservation and leakage, passed or failed; the first violation of a check gives its code and evidence."""
    first: dict[PythonCheck, tuple[str, str | None]] = {}
    for violation in (*surface.guard_violations, *_shape_violations(surface, canonical)):
        check, code = _meaning(surface, violation)
        # What a reason stands for is kept nowhere, so there is nothing to show.
        first.setdefault(check, (code, None if violation.key == "reason" else violation.value))
    return tuple(_checked(check, first.get(check)) for check in PYTHON_CHECKS)


def _checked(check: PythonCheck, failed: tuple[str, str | None] | None) -> SurfaceCheck:
    if failed is None:
        return SurfaceCheck(check=check, status="passed", source="python")
    code, evidence = failed
    return SurfaceCheck(check=check, status="failed", source="python", reason_code=code, evidence=evidence)


def _meaning(surface: Surface, violation: Violation) -> tuple[PythonCheck, str]:
    if violation.guard == "semantic_shape" and violation.value in _SHAPES:
        return "surface_shape", violation.value
    meaning = _MEANING.get((violation.guard, violation.key))
    if meaning is None:
        raise ValueError(f"{surface.task_id}: no surface check answers for guard `{violation.guard}`")
    return meaning


def _shape_violations(surface: Surface, canonical: Surface | None) -> Sequence[Violation]:
    spoken = user_turns(surface)
    if surface.source == "template":
        # Its wording is the canonical one: it cannot be unchanged, and all its literals are its own.
        faults = shape_faults(spoken, surface.num_user_turns)
        return [Violation(guard="semantic_shape", key="reason", value=fault) for fault in faults]
    if canonical is None or canonical.task_id != surface.base_task_id:
        raise ValueError(f"{surface.task_id}: a model's wording without the one it rewords, {surface.base_task_id}")
    return rewording_violations(spoken, user_turns(canonical))


def user_turns(surface: Surface) -> list[str]:
    """What the user says, in conversation order."""
    return [turn.content or "" for turn in surface.turns if turn.kind == "user"]


# --- the report ------------------------------------------------------------------------------------------------------


def rejections(verdicts: Iterable[SurfaceQuality]) -> dict[str, Json]:
    """`surface_quality_rejections.json` of a run without a judge, in one pass. Rule: generation.md §3.7.4.

    `by_template` and `by_variant_index` map to the four counts of the head; variant indexes are JSON keys, so text.
    """
    total: Counter[str] = Counter()
    by_template: dict[str, Counter[str]] = {}
    by_variant: dict[int, Counter[str]] = {}
    reasons: Counter[str] = Counter()
    advisory: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for verdict in verdicts:
        outcome = "kept" if verdict.drop_source is None else f"dropped_by_{verdict.drop_source}"
        template = by_template.setdefault(verdict.template_id, Counter())
        variant = by_variant.setdefault(verdict.variant_index, Counter())
        for counts in (total, template, variant):
            counts["evaluated"] += 1
            counts[outcome] += 1
        reasons.update(verdict.drop_reasons)
        advisory.update(verdict.advisory_failures)
        if verdict.judge_error is not None:
            errors[verdict.judge_error] += 1
    return {
        **_counts(total),
        "judge_enabled": False,
        "judge_advisory": None,
        "drop_reason_counts": reasons,
        "advisory_failure_counts": advisory,
        "judge_error_counts": errors,
        "contract_version": CONTRACT_VERSION,
        "judge_prompt_version": None,
        "judge_prompt_hash": None,
        "by_template": {template: _counts(counts) for template, counts in by_template.items()},
        "by_variant_index": {str(index): _counts(counts) for index, counts in by_variant.items()},
    }


def _counts(counts: Counter[str]) -> dict[str, int]:
    return {key: counts[key] for key in ("evaluated", "kept", "dropped_by_python", "dropped_by_surface_judge")}
