"""What is counted: the funnel adds up, mixes are of published tasks, assertions of all that were replayed."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bfcl.release.report.facts import Step, gather
from bfcl.release.report.fates import STOPS, Loss, Seen, seen_tasks
from tests.release.report import releases

LATE = ("surface_validated_tasks", "balanced_tasks")


def seen(number: int, loss: Loss | None = None) -> Seen:
    return Seen(
        task_id=f"t{number}",
        template_id=f"template{number % 3}",
        intent=None,
        category="talk",
        difficulty=None,
        turn_policy="single_turn",
        language="en",
        user_turns=1,
        tools_present=("look", "touch"),
        called=("look", "look"),
        assertions=(("assert_seen", "passed"),),
        loss=loss,
    )


def test_funnel_names_each_stage_of_the_run_with_its_reasons(tmp_path: Path) -> None:
    release = releases.release(tmp_path / "demo", releases.lost_tasks())
    facts = gather(seen_tasks(release), release.artifacts)
    assert (facts.tasks, facts.published) == (8, 4)
    assert facts.funnel() == [
        Step(stage="render", label="wording accepted", stayed=7, lost=1, reasons=(("must_omit", 1),)),
        Step(stage="expected_trace", label="trace derived", stayed=6, lost=1, reasons=(("call_binding_failed", 1),)),
        Step(
            stage="schema_validation",
            label="schema valid",
            stayed=5,
            lost=1,
            reasons=(("expected_trace_schema_mismatch", 1),),
        ),
        Step(stage="executable_replay", label="replay valid", stayed=4, lost=1, reasons=(("assertion_failed", 1),)),
        Step(stage="final_output", label="published", stayed=4, lost=0, reasons=()),
    ]


def test_stages_of_not_every_run_are_in_the_funnel_where_the_run_has_them() -> None:
    assert [step.stage for step in gather([], LATE).funnel()] == list(STOPS)


@given(st.lists(st.none() | st.builds(Loss, stage=st.sampled_from(list(STOPS)), reason=st.sampled_from(["a", "b"]))))
def test_funnel_ends_in_what_is_published_and_loses_the_rest(losses: list[Loss | None]) -> None:
    facts = gather([seen(number, loss) for number, loss in enumerate(losses)], LATE)
    left = facts.tasks
    for step in facts.funnel():
        assert step.lost == sum(count for _, count in step.reasons)
        assert step.stayed == left - step.lost
        left = step.stayed
    assert left == facts.published == losses.count(None)
    assert sum(each.tasks for each in facts.templates.values()) == facts.tasks
    for counts in (facts.policies, facts.categories, facts.difficulties, facts.languages, facts.calls):
        assert sum(counts.values()) == facts.published


def test_tool_that_is_only_shown_counts_as_never_called() -> None:
    facts = gather([seen(1), seen(2)], ())
    assert dict(facts.tool_tasks) == {"look": 2, "touch": 0}
    assert dict(facts.tool_calls) == {"look": 4}
    assert dict(facts.difficulties) == {"(none)": 2}


def test_assertions_of_lost_tasks_count_too() -> None:
    facts = gather([seen(0), seen(3, Loss(stage="render", reason="must_omit"))], ())
    assert dict(facts.assertions) == {("template0", "assert_seen", "passed"): 2}
