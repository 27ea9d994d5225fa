"""Names of scripted candidates, and who is wrong where."""

from __future__ import annotations

import pytest

from bfcl.evaluate.scripted.behaviours import BEHAVIOURS, UnknownModel, check_model, departed, play
from bfcl.evaluate.scripted.said import gold_play
from tests.evaluate.scripted.plays import outcome, read, script, set_

GROUP = script([read("V-1"), read("V-2"), set_()], ("Sure?", "Yes."), [set_(confirm=True)], "Done.")
IDS = [f"task-{number}" for number in range(400)]


def wrong(model: str) -> set[str]:
    return {task_id for task_id in IDS if departed(model, task_id, GROUP) is not None}


@pytest.mark.parametrize("model", BEHAVIOURS)
def test_behaviour_completes_exactly_where_it_says_it_is_right(model: str) -> None:
    behaviour = BEHAVIOURS[model]
    right = behaviour.departure is None or behaviour.summary.endswith("; still right.")
    assert (outcome(GROUP, play(model, "task", GROUP))[0] == "completed") is right


@pytest.mark.parametrize("model", BEHAVIOURS)
def test_every_departure_has_room_in_a_long_script(model: str) -> None:
    departs = departed(model, "task", GROUP) is not None
    assert departs is (BEHAVIOURS[model].departure is not None)


def test_behaviour_without_room_is_right() -> None:
    of = script("No.")
    assert play("scripted-wrong-tool", "task", of) == gold_play(of)


@pytest.mark.parametrize(("share", "expected"), [("0", 0), ("1", 400), ("0.0", 0), ("1.0", 400)])
def test_flaky_share_of_none_or_all_is_exact(share: str, expected: int) -> None:
    assert len(wrong(f"scripted-flaky-{share}")) == expected


def test_flaky_share_is_near_and_holds_the_smaller_one() -> None:
    small, large = wrong("scripted-flaky-0.2"), wrong("scripted-flaky-0.5")
    assert 0.15 < len(small) / 400 < 0.25
    assert 0.44 < len(large) / 400 < 0.56
    assert small < large


def test_flaky_seed_draws_other_tasks() -> None:
    assert wrong("scripted-flaky-0.2") == wrong("scripted-flaky-0.2-0") != wrong("scripted-flaky-0.2-1")


def test_flaky_candidate_is_wrong_in_several_ways_and_wrong_indeed() -> None:
    ended = [outcome(GROUP, play("scripted-flaky-1", task_id, GROUP)) for task_id in IDS[:20]]
    assert {status for status, _ in ended} == {"candidate_mismatch"}
    assert len({tuple(gates) for _, gates in ended}) > 2
    assert {outcome(script("No."), play("scripted-flaky-1", task_id, script("No.")))[0] for task_id in IDS[:20]} == {
        "candidate_mismatch"
    }


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("scripted-glod", "did you mean `scripted-gold`?"),
        ("scripted-flaky-2", "did you mean `scripted-flaky-<p>`?"),
        ("scripted-flaky-0.5-x", "did you mean `scripted-flaky-<p>`?"),
        ("gpt", "GET /v1/models lists them"),
    ],
)
def test_unknown_name_is_refused_with_what_could_be_meant(model: str, hint: str) -> None:
    with pytest.raises(UnknownModel) as refused:
        check_model(model)
    assert str(refused.value) == f"no scripted candidate has this name; {hint}"
