"""Candidates as people name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import ConfigError
from bfcl.evaluate.after.paired import Tries
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.after.sides import kinds_by_task, side_of, tries_by_task
from tests.evaluate.after.finishing import Evaluated
from tests.evaluate.refusals import refused


def test_side_of_takes_the_only_candidate_when_none_is_named(evaluated: Evaluated) -> None:
    assert side_of(str(evaluated.solo)).measured.alias == "solo"


def test_side_of_takes_the_candidate_that_is_named(evaluated: Evaluated) -> None:
    found = side_of(f"{evaluated.trace}:mute")
    assert (found.measured.alias, found.name) == ("mute", f"{evaluated.trace}:mute")


def test_side_of_takes_a_directory_with_a_colon_as_it_is(evaluated: Evaluated, tmp_path: Path) -> None:
    (tmp_path / "a:b").symlink_to(evaluated.solo)
    assert side_of(f"{tmp_path}/a:b").measured.alias == "solo"
    assert side_of(f"{tmp_path}/a:b:solo").measured.alias == "solo"


@pytest.mark.parametrize(
    ("suffix", "message", "fix"),
    [
        (
            "",
            "has 4 candidates, and none is named; expected one of gold, gone, lower, mute",
            "write `DIR:gold`",
        ),
        (":golt", "has no candidate `golt`; expected one of gold, gone, lower, mute", "did you mean `gold`?"),
    ],
)
def test_side_of_refuses_an_alias_that_means_nobody(evaluated: Evaluated, suffix: str, message: str, fix: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        side_of(f"{evaluated.trace}{suffix}")
    told = str(refusal.value).replace(str(evaluated.trace), "DIR")
    assert told == f"candidate_not_named: DIR: {message}\n  fix: {fix}"


def test_side_of_refuses_what_is_no_evaluation(tmp_path: Path) -> None:
    (problem,) = refused(lambda: side_of(str(tmp_path / "nothing")))
    assert problem.code == "eval_artifact_invalid"


def test_tries_by_task_counts_every_trial_where_tasks_are_repeated(evaluated: Evaluated) -> None:
    unsteady = tries_by_task(side_of(f"{evaluated.repeated}:unsteady"), None)
    gold = tries_by_task(side_of(f"{evaluated.repeated}:gold"), None)
    task_ids = [row["task_id"] for row in evaluated.site.rows()]
    assert list(unsteady) == list(gold) == task_ids
    assert set(gold.values()) == {Tries(successes=3, trials=3)}
    assert set(unsteady.values()) == {Tries(successes=2, trials=3)}


def test_tries_by_task_reads_the_table_where_nothing_is_repeated(evaluated: Evaluated) -> None:
    found = tries_by_task(side_of(f"{evaluated.trace}:gone"), None)
    assert set(found.values()) == {Tries(successes=0, trials=1)}


def test_kinds_by_task_are_those_of_the_benchmark(evaluated: Evaluated, tmp_path: Path) -> None:
    side = side_of(str(evaluated.solo))
    found = kinds_by_task(side, None)
    assert {task_id: one.template_id for task_id, one in found.items()} == {
        row["task_id"]: row["template_id"] for row in evaluated.site.rows()
    }
    (problem,) = refused(lambda: kinds_by_task(side, Whereabouts(run_dir=tmp_path)))
    assert problem.message == "is gone; expected the manifest of the published run"
