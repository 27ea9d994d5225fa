from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bfcl.evaluate.run.stopped import Stopped, require_measured, warnings_of
from bfcl.evaluate.settings.model import Outputs
from tests.evaluate.refusals import refused

OUT = Outputs(
    output_dir=Path("/out"),
    write_task_results=True,
    write_eval_manifest=True,
    cache_candidate_responses=True,
    cache_tool_results=True,
)
GO_ON = (
    ", then evaluate into another output_dir with /out as `--resume-from` (`resume_from`): what was answered is not "
    "asked again"
)


def stopped(causes: Mapping[str, int], *, tasks: int | None = None, alias: str = "small") -> Stopped:
    stops = sum(causes.values())
    return Stopped(alias=alias, tasks=tasks or stops, stops=stops, causes=causes, endpoint="http://x/v1")


def told(*those: Stopped) -> list[str]:
    return [str(problem) for problem in refused(lambda: require_measured(those, OUT))]


def test_candidate_whose_tasks_were_all_stopped_is_refused_by_name_with_the_causes() -> None:
    causes = {"HTTP 500 Internal Server Error": 1, "HTTP 503 Service Unavailable": 3}
    some = stopped({"HTTP 503 Service Unavailable": 3}, tasks=4, alias="large")
    assert told(some, stopped(causes)) == [
        "eval_nothing_measured: small: all 4 tasks ended for reasons that are not the candidate's, so that its rate of "
        "0 is no score: HTTP 503 Service Unavailable, 3 times; HTTP 500 Internal Server Error\n"
        f"  fix: look into the log of the server at http://x/v1, which answered that it cannot{GO_ON}"
    ]


def test_run_without_any_answer_is_none_to_go_on_from() -> None:
    silent = replace(stopped({"transport_error (Connection refused)": 2}), answered=False)
    (one,) = told(silent)
    assert one.partition("  fix: ")[2] == (
        "check endpoint http://x/v1 and the model's name there, then evaluate into another output_dir: no answer is on "
        "record here to go on from"
    )


def test_every_candidate_of_which_nothing_was_measured_is_named() -> None:
    one, other = told(stopped({"timeout": 1}), stopped({"timeout": 2}, alias="large"))
    assert one.startswith("eval_nothing_measured: small: its only task ended for reasons ")
    assert other.startswith("eval_nothing_measured: large: all 2 tasks ended for reasons ")


def test_candidate_with_one_task_of_its_own_is_warned_of_and_passes() -> None:
    one = stopped({"HTTP 503 Service Unavailable": 3}, tasks=4)
    require_measured([one], OUT)
    assert [str(problem) for problem in warnings_of([one, stopped({"timeout": 2}, alias="large")], OUT)] == [
        "tasks_stopped: small: 3 of 4 tasks were stopped by the run and count as failed: HTTP 503 Service Unavailable, "
        "3 times\n"
        f"  fix: look into the log of the server at http://x/v1, which answered that it cannot{GO_ON}"
    ]


@pytest.mark.parametrize(
    ("causes", "check"),
    [
        ({"transport_error (Connection refused)": 4}, "check endpoint http://x/v1 and the model's name there"),
        ({"HTTP 503 Service Unavailable": 3, "timeout": 1}, "check endpoint http://x/v1 and the model's name there"),
        (
            {"HTTP 400 Bad Request": 4},
            "check what the server at http://x/v1 refuses: the model's name, `inference`, the length of requests",
        ),
        ({"max_turns_exceeded": 3, "timeout": 1}, "raise `limits.max_turns`"),
        ({"episode_timeout": 4}, "raise `limits.episode_timeout_s`"),
    ],
)
def test_fix_begins_at_the_most_frequent_cause(causes: Mapping[str, int], check: str) -> None:
    (problem,) = told(stopped(causes))
    assert problem.endswith(f"\n  fix: {check}{GO_ON}")


@pytest.mark.parametrize("status", ["oracle_reset_failed", "assertion_infrastructure_failed"])
def test_broken_pack_is_to_be_mended_and_needs_another_benchmark(status: str) -> None:
    (problem,) = told(stopped({status: 4}))
    assert problem.endswith(
        "\n  fix: see `bfcl eval-failures /out` for what broke, mend the pack, generate again and evaluate that"
    )


def test_nothing_is_gone_on_with_where_no_answer_was_to_be_kept() -> None:
    bare = replace(OUT, cache_candidate_responses=False)
    (problem,) = refused(lambda: require_measured([stopped({"timeout": 4})], bare))
    assert problem.fix == (
        "check endpoint http://x/v1 and the model's name there, then evaluate into another output_dir"
    )
