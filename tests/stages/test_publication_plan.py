"""Which rows are published, and in which order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import StageError
from bfcl.stages.publication_plan import Gates, PublicationPlan, publication_plan
from bfcl.stages.tally import tally
from tests.release.samples import decision, decisions


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=20))
def test_plan_publishes_guarded_survivors_of_replay_in_task_order(flags: list[tuple[bool, bool]]) -> None:
    made = [
        decision(number, guards=() if clean else ("must_preserve",), reason=None if valid else "assertion_failed")
        for number, (valid, clean) in enumerate(flags)
    ]
    raw = tuple(one.task_id for one, (valid, _) in zip(made, flags, strict=True) if valid)
    kept = tuple(one.task_id for one, flag in zip(made, flags, strict=True) if all(flag))
    if kept:
        assert publication_plan(made, Gates()) == PublicationPlan(raw, kept)
        assert tally(made, kept).published == len(kept)
    else:
        with pytest.raises(StageError) as caught:
            publication_plan(made, Gates())
        assert caught.value.problems[0].code == ("no_published_rows" if raw else "no_replay_validated_rows")


def test_plan_refuses_a_run_without_replay_valid_rows_and_ranks_the_reasons() -> None:
    reasons = ["e", "e", "d", "c", "b", "a", "assertion_failed", "assertion_failed", "assertion_failed"]
    with pytest.raises(StageError) as caught:
        publication_plan([decision(number, reason=reason) for number, reason in enumerate(reasons)], Gates())
    assert str(caught.value) == (
        "no_replay_validated_rows: replay_validated_tasks: 0 of 9 tasks passed the replay: "
        "assertion_failed 3, e 2, a 1, b 1, c 1 and 1 more reasons\n"
        "  fix: read stage_cache/replay_validated_tasks.parquet (reason, detail), "
        "then stage_cache/rendered_conversations.parquet"
    )


def test_plan_refuses_a_run_without_any_task() -> None:
    with pytest.raises(StageError) as caught:
        publication_plan([], Gates())
    assert caught.value.problems[0].message == "0 of 0 tasks passed the replay"


def test_plan_refuses_a_run_whose_every_wording_breaks_a_guard() -> None:
    made = [*decisions(3, rejected=(1, 2, 3)), decision(4, reason="assertion_failed")]
    with pytest.raises(StageError) as caught:
        publication_plan(made, Gates())
    assert str(caught.value) == (
        "no_published_rows: rendered_conversations: 0 of 3 replay-valid rows passed the surface gate "
        "deterministic_guards: must_omit 3\n"
        "  fix: read stage_cache/rendered_conversations.parquet (guard_violations) and reword those templates"
    )


def test_surface_quality_takes_the_place_of_the_guards() -> None:
    made = decisions(3, rejected=(2,))
    ids = [one.task_id for one in made]
    gates = Gates(kept=frozenset(ids[1:]))
    assert gates.surface_gate == "surface_quality"
    assert publication_plan(made, gates) == PublicationPlan(tuple(ids), tuple(ids[1:]))
    assert gates.count(made) == 2


def test_selection_decides_rows_and_order_of_the_published_table() -> None:
    made = decisions(4)
    ids = [one.task_id for one in made]
    gates = Gates(kept=frozenset(ids), ranked=(ids[3], ids[0]))
    assert publication_plan(made, gates) == PublicationPlan(tuple(ids), (ids[3], ids[0]))
    assert gates.count(made) == 2


@pytest.mark.parametrize("ranked", [(1, 0), (0, 0), (5,)])
def test_a_selection_of_what_no_gate_let_through_is_our_bug(ranked: tuple[int, ...]) -> None:
    made = decisions(6)[:5]
    ids = [one.task_id for one in decisions(6)]
    with pytest.raises(ValueError, match="did not pass the surface gate, or one twice"):
        publication_plan(made, Gates(kept=frozenset(ids[:1]), ranked=tuple(ids[one] for one in ranked)))


def test_nothing_kept_and_nothing_selected_name_gate_and_artifact() -> None:
    made = decisions(2)
    with pytest.raises(StageError) as caught:
        publication_plan(made, Gates(kept=frozenset()))
    assert str(caught.value) == (
        "no_published_rows: surface_validated_tasks: 0 of 2 replay-valid rows passed the surface gate surface_quality\n"
        "  fix: read stage_cache/surface_quality_rejections.json and reword those templates"
    )
    with pytest.raises(StageError) as caught:
        publication_plan(made, Gates(kept=frozenset(one.task_id for one in made), ranked=()))
    assert str(caught.value) == (
        "no_published_rows: balanced_tasks: 0 of 2 rows that passed the surface gate were selected\n"
        "  fix: read stage_cache/dedup_balancing_report.json and relax the bound it names"
    )
