from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from bfcl.evaluate.run.stopped import Stopped, require_measured, warnings_of
from bfcl.evaluate.run.unanswered import Cause
from bfcl.evaluate.score.taxonomy import ASSERTION_INFRASTRUCTURE_ERROR
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
    ", then evaluate into another output_dir with `--resume-from /out` (`resume_from`): what was answered is not asked "
    "again"
)


def refusing(status: int, words: str) -> Cause:
    return Cause(f"HTTP {status} {words}", "answered", status)


WAIT = "raise `limits.candidate_timeout_s`, or lower `limits.max_parallel_tasks` for the server at http://x/v1"
REFUSED = Cause("transport_error (Connection refused)", "unreached")
LATE = Cause("timeout", "timeout")
BROKEN, BUSY = refusing(500, "Internal Server Error"), refusing(503, "Service Unavailable")


def stopped(causes: Mapping[Cause, int], *, tasks: int | None = None, alias: str = "small") -> Stopped:
    stops = sum(causes.values())
    return Stopped(
        alias=alias,
        tasks=tasks or stops,
        stops=stops,
        causes=causes,
        endpoint="http://x/v1",
        model="org/m",
        answered=True,
    )


def told(*those: Stopped) -> list[str]:
    return [str(problem) for problem in refused(lambda: require_measured(those, OUT))]


def test_candidate_whose_tasks_were_all_stopped_is_refused_by_name_with_the_causes() -> None:
    some = stopped({BUSY: 3}, tasks=4, alias="large")
    assert told(some, stopped({BROKEN: 1, BUSY: 3})) == [
        "eval_nothing_measured: small: all 4 tasks ended for reasons that are not the candidate's, so that its rate of "
        "0 is no score: HTTP 503 Service Unavailable, 3 times; HTTP 500 Internal Server Error\n"
        f"  fix: look into the log of the server at http://x/v1, which answered that it cannot{GO_ON}"
    ]


def test_run_without_any_answer_is_none_to_go_on_from() -> None:
    silent = replace(stopped({REFUSED: 2}), answered=False)
    (one,) = told(silent)
    assert one.partition("  fix: ")[2] == (
        "check that a server runs at http://x/v1, then evaluate into another output_dir: no answer is on record here "
        "to go on from"
    )


def test_every_candidate_of_which_nothing_was_measured_is_named() -> None:
    one, other = told(stopped({LATE: 1}), stopped({LATE: 2}, alias="large"))
    assert one.startswith("eval_nothing_measured: small: its only task ended for reasons ")
    assert other.startswith("eval_nothing_measured: large: all 2 tasks ended for reasons ")


def test_candidate_with_one_task_of_its_own_is_warned_of_and_passes() -> None:
    one = stopped({BUSY: 3}, tasks=4)
    require_measured([one], OUT)
    assert [str(problem) for problem in warnings_of([one, stopped({LATE: 2}, alias="large")], OUT)] == [
        "tasks_stopped: small: 3 of 4 tasks were stopped by the run and count as failed: HTTP 503 Service Unavailable, "
        "3 times\n"
        f"  fix: look into the log of the server at http://x/v1, which answered that it cannot{GO_ON}"
    ]


@pytest.mark.parametrize(
    ("causes", "check"),
    [
        ({REFUSED: 4}, "check that a server runs at http://x/v1"),
        ({Cause("candidate_call_failed", "unreached"): 4}, "check that a server runs at http://x/v1"),
        ({BUSY: 3, LATE: 1}, "look into the log of the server at http://x/v1, which answered that it cannot"),
        ({BUSY: 1, LATE: 3}, WAIT),
        ({refusing(408, "Request Timeout"): 1}, WAIT),
        ({refusing(504, "Gateway Timeout"): 1}, WAIT),
        (
            {refusing(429, "Too Many Requests"): 4},
            "lower `limits.max_parallel_tasks` or set `requests_per_minute` to what the server at http://x/v1 allows",
        ),
        (
            {refusing(403, "Forbidden"): 4},
            "check that the key of `api_key_env` is one that the server at http://x/v1 takes for `org/m`",
        ),
        (
            {refusing(404, "Not Found"): 4},
            "check the path of `base_url` (http://x/v1; most end in /v1), and that `org/m` is served there",
        ),
        (
            {refusing(400, "Bad Request"): 4},
            "check what the server at http://x/v1 refuses: the model `org/m`, `inference`, the length of requests",
        ),
        ({Cause("max_turns_exceeded", "episode"): 3, LATE: 1}, "raise `limits.max_turns`"),
        ({Cause("episode_timeout", "episode"): 4}, "raise `limits.episode_timeout_s`"),
    ],
)
def test_fix_begins_at_the_most_frequent_cause(causes: Mapping[Cause, int], check: str) -> None:
    (problem,) = told(stopped(causes))
    assert problem.endswith(f"\n  fix: {check}{GO_ON}")


@pytest.mark.parametrize(
    "status", ["oracle_reset_failed", "assertion_infrastructure_failed", ASSERTION_INFRASTRUCTURE_ERROR]
)
def test_broken_pack_is_to_be_mended_and_needs_another_benchmark(status: str) -> None:
    (problem,) = told(stopped({Cause(status, "episode"): 4}))
    assert problem.endswith(
        "\n  fix: see `bfcl eval-failures /out` for what broke, mend the pack, generate again and evaluate that"
    )


def test_nothing_is_gone_on_with_where_no_answer_was_to_be_kept() -> None:
    bare = replace(OUT, cache_candidate_responses=False)
    (problem,) = refused(lambda: require_measured([stopped({LATE: 4})], bare))
    assert problem.fix == f"{WAIT}, then evaluate into another output_dir"


def test_advised_command_can_be_pasted_whatever_the_directory_is_called() -> None:
    (problem,) = refused(lambda: require_measured([stopped({BUSY: 1})], replace(OUT, output_dir=Path("/my out"))))
    assert problem.fix is not None
    assert "with `--resume-from '/my out'` (`resume_from`)" in problem.fix


def test_side_of_a_held_out_comparison_that_was_stopped_altogether_leaves_no_gap() -> None:
    silent = replace(stopped({REFUSED: 3}), answered=False)
    assert told(replace(silent, part="public"), replace(silent, part="held-out", tasks=4)) == [
        "eval_nothing_measured: small: all 3 public tasks ended for reasons that are not the candidate's, so that its "
        "rate of 0 is no score, and the gap was not measured: transport_error (Connection refused), 3 times\n"
        "  fix: check that a server runs at http://x/v1, then evaluate into another output_dir: no answer is on record "
        "here to go on from"
    ]
    (problem,) = told(replace(stopped({LATE: 1}), part="held-out"))
    assert problem.startswith("eval_nothing_measured: small: its only held-out task ended for reasons ")


def test_side_of_a_held_out_comparison_that_was_stopped_in_part_is_named() -> None:
    some = replace(stopped({LATE: 3}, tasks=4), part="held-out")
    (warning,) = warnings_of([some], OUT)
    assert warning.message == (
        "3 of 4 held-out tasks were stopped by the run and count as failed, in the gap, too: timeout, 3 times"
    )


def test_pack_that_broke_under_tasks_of_no_record_is_looked_into_by_another_run() -> None:
    (problem,) = told(replace(stopped({Cause("oracle_reset_failed", "episode"): 4}), part="held-out"))
    assert problem.endswith(
        "\n  fix: evaluate with `mode: [executable]` alone, see `bfcl eval-failures` of that for what broke, mend the "
        "pack, generate again and evaluate that"
    )
