"""What balancing gathers of the survivors of stage 10."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bfcl.errors import StageError
from bfcl.records.quality import SurfaceCheck
from bfcl.stages.balancing.projection import text_hash
from bfcl.stages.balancing.survivor import Survivor, gather
from bfcl.stages.render import render
from bfcl.stages.surface_quality import judge_surface
from tests.packs import ALL_POLICIES
from tests.stages.studio import studio

STUDIO = studio()


def survivors(template_id: str, **fields: Any) -> list[Survivor]:
    outline, tasks = STUDIO.outline(template_id), STUDIO.tasks(template_id)
    surfaces = render(STUDIO.templates[template_id], outline, tasks, STUDIO.wording())
    values = {"intent": "work", "difficulty": "easy", **fields}
    return [
        Survivor(replace(task, **values), outline, surface, judge_surface(task, surface))
        for task, surface in zip(tasks, surfaces, strict=True)
    ]


def test_gather_tells_what_is_known_of_each_survivor_in_order() -> None:
    rows = survivors("cone_corrected", edge_signatures=("z", "a", "z"), required_tools=("start_firing", "kiln_status"))
    gathered = gather(iter(rows))
    assert [one.task_id for one in gathered.candidates] == [row.task.task_id for row in rows]
    assert list(gathered.texts) == [row.task.task_id for row in rows]
    task, found = rows[0].task, gathered.candidates[0]
    assert (found.template_id, found.language, found.source) == ("cone_corrected", "en", "template")
    assert (found.intent, found.category, found.difficulty) == ("work", task.category, "easy")
    assert (found.turn_policy, found.edge_signatures) == ("correction", ("a", "z"))
    assert (found.required_tools, found.tools_present) == (
        ("kiln_status", "start_firing"),
        tuple(sorted(task.tools_present)),
    )
    assert (found.num_turns, found.num_tool_calls) == (3, 1)
    assert (found.judge_error, found.advisory_failures, found.failed_checks) == (False, 0, 0)
    assert found.text_hash == text_hash(gathered.texts[task.task_id])
    assert gathered.texts[task.task_id] == (
        "[user] Please fire kiln <kiln_id> at cone <cone>.\n[user] No, make that cone <cone>.\n[user] Yes, right."
    )


def test_gather_counts_what_surface_checks_said() -> None:
    row = survivors("kiln_status")[0]
    broken = [
        SurfaceCheck(check="language_locale", status=status, source="surface_judge")
        for status in ("failed", "error", "not_applicable")
    ]
    quality = replace(
        row.quality,
        judge_error="missing_response",
        advisory_failures=("language_locale:mixed_language",),
        checks=(*row.quality.checks[:3], *broken),
    )
    found = gather([row._replace(quality=quality)]).candidates[0]
    assert (found.judge_error, found.advisory_failures, found.failed_checks) == (True, 1, 2)


@pytest.mark.parametrize("template_id", ALL_POLICIES)
def test_rows_of_one_template_share_what_they_exercise_and_no_execution_case(template_id: str) -> None:
    found = gather(survivors(template_id)).candidates
    assert len({one.capability_signature for one in found}) == 1
    assert len({one.execution_case for one in found}) == len(found)


def test_gather_holds_what_rows_have_in_common_once() -> None:
    first, second = gather(survivors("kiln_status")).candidates[:2]
    for name in ("text_hash", "capability_signature", "required_tools", "tools_present", "edge_signatures"):
        assert getattr(first, name) is getattr(second, name), name


def test_gather_refuses_every_template_that_lacks_what_is_counted() -> None:
    rows = [*survivors("kiln_status", intent=None, difficulty=""), *survivors("cone_corrected", intent=None)]
    with pytest.raises(StageError) as caught:
        gather([*rows, *survivors("kiln_unnamed")])
    fix = "give the template these fields, or disable `semantic_deduplication_config`"
    assert [str(problem) for problem in caught.value.problems] == [
        "balancing_field_missing: cone_corrected: lacks `intent`; balancing counts its tasks by them\n  fix: " + fix,
        "balancing_field_missing: kiln_status: lacks `intent`, `difficulty`; balancing counts its tasks by them"
        f"\n  fix: {fix}",
    ]
