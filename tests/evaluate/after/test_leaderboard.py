"""Candidates of one benchmark in order, as far as they can be told apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.evaluate.after.leaderboard import leaderboard
from bfcl.evaluate.score.intervals import wilson
from tests.evaluate.after.finishing import Data, Evaluated
from tests.evaluate.after.forging import edit_json, restate, succeed
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]
ALIKE = "\n  fix: evaluate both on the same benchmark under the same policy and limits, then compare those"


def told(*directories: Path) -> list[str]:
    return [str(problem) for problem in refused(lambda: leaderboard(directories))]


def test_leaderboard_orders_by_success_and_shares_ranks_that_cannot_be_told_apart(evaluated: Evaluated) -> None:
    board = leaderboard([evaluated.trace, evaluated.solo])
    lines = [(one.rank, one.side.measured.alias) for one in board.standings]
    # Four or five tasks that flip do not tell two candidates apart, ten do; of equals the model's name decides.
    assert lines == [(1, "gold"), (1, "lower"), (1, "solo"), (4, "gone"), (4, "mute")]
    first = board.standings[0]
    assert (first.rate, first.interval) == (1.0, wilson(10, 10))
    document = board.to_json()
    manifest = json.loads((evaluated.trace / "eval_manifest.json").read_bytes())
    assert document["shared"] == {
        "source_identity": manifest["source_identity"],
        "scoring_policy_hash": manifest["scoring_policy_hash"],
        "eval_scope": "trace",
        "limits": manifest["limits"],
        "task_count": 10,
    }
    assert str(evaluated.site.root) not in json.dumps(document)


def test_leaderboard_does_not_depend_on_the_order_of_directories(evaluated: Evaluated) -> None:
    one, other = leaderboard([evaluated.trace, evaluated.solo]), leaderboard([evaluated.solo, evaluated.trace])
    assert one.to_json() == other.to_json()


@pytest.mark.parametrize(
    ("reasons", "fix"),
    [
        (["publication.requested"], ""),
        (
            ["candidates[lower].model_identity", "candidates[solo].model_identity", "publication.requested"],
            ", `revision` or `weights_digest` in `model_identity` of lower, solo",
        ),
        (
            ["candidates[solo].model_identity", "outputs.write_task_results", "scoring.task_success"],
            ", `revision` or `weights_digest` in `model_identity` of solo, without what else bars it "
            "(outputs.write_task_results, scoring.task_success)",
        ),
    ],
)
def test_leaderboard_refuses_what_may_not_be_published_by_name_with_all_that_it_takes(
    reasons: list[str], fix: str, evaluated: Evaluated, copied: Copied
) -> None:
    directory = copied(evaluated.solo)

    def weaken(document: Data) -> None:
        document["publication_allowed"] = False
        document["non_publication_reasons"] = reasons

    edit_json(directory / "eval_report.json", weaken)
    edit_json(directory / "eval_manifest.json", weaken)
    restate(directory)
    assert told(evaluated.trace, directory) == [
        f"leaderboard_ineligible: {directory}: may not be published: {', '.join(reasons)}; expected results that may\n"
        f"  fix: evaluate again with `publication.requested: true`{fix}; or leave the directory out"
    ]


def test_leaderboard_refuses_what_was_measured_otherwise_by_name(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.solo)
    edit_json(directory / "eval_manifest.json", lambda manifest: manifest["limits"].update(max_turns=3))
    assert told(evaluated.trace, directory) == [
        f"leaderboard_ineligible: {directory}:solo: limits.max_turns is 3; {evaluated.trace}:gold has 12{ALIKE}"
    ]


def test_leaderboard_refuses_a_table_and_report_that_were_forged_together(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.solo)
    succeed(directory)
    problems = refused(lambda: leaderboard([evaluated.trace, directory]))
    assert [problem.code for problem in problems] == ["eval_artifact_invalid"] * 2
    assert "candidates[0].successful_tasks is 10; the records give" in problems[0].message
    assert "task_success is true; the records give false" in problems[1].message


def test_leaderboard_refuses_metrics_that_the_hash_of_the_aggregate_is_not_of(
    evaluated: Evaluated, copied: Copied
) -> None:
    directory = copied(evaluated.solo)

    def better(report: Data) -> None:
        metric = report["candidates"][0]["metrics"]["task_success_rate"]
        metric["numerator"] = metric["denominator"]

    edit_json(directory / "eval_report.json", better)
    restate(directory)
    (problem,) = refused(lambda: leaderboard([evaluated.trace, directory]))
    assert (problem.code, problem.path) == ("eval_artifact_invalid", f"{directory}/eval_report.json")
    assert "candidates[0].metrics.task_success_rate.numerator is 10; the records give" in problem.message


def test_leaderboard_refuses_a_model_twice(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.solo)
    assert told(evaluated.solo, directory) == [
        f"leaderboard_ineligible: {directory}:solo: is the model of {evaluated.solo}:solo, hub:org/solo@{'ab' * 20}; "
        "expected each model once\n  fix: leave one of the two directories out"
    ]


def test_leaderboard_refuses_every_directory_that_is_no_evaluation(tmp_path: Path) -> None:
    problems = refused(lambda: leaderboard([tmp_path / "a", tmp_path / "b"]))
    assert [(problem.code, problem.path) for problem in problems] == [
        ("eval_artifact_invalid", f"{tmp_path}/a/eval_manifest.json"),
        ("eval_artifact_invalid", f"{tmp_path}/b/eval_manifest.json"),
    ]
