"""Two candidates held against each other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import canonical_text
from bfcl.errors import ConfigError
from bfcl.evaluate.after.compare import compare
from bfcl.evaluate.after.comparison_page import comparison_page
from bfcl.evaluate.after.sides import side_of
from bfcl.evaluate.score.intervals import SEED
from bfcl.tables.task_results import read_task_results
from tests.evaluate.after.finishing import Data, Evaluated
from tests.evaluate.after.forging import edit_json
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]
FIX = "\n  fix: evaluate both on the same benchmark under the same policy and limits, then compare those"


def compared(first: str, second: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(canonical_text(compare(side_of(first), side_of(second))))
    return document


def test_compare_pairs_every_task_and_lists_those_that_flipped(evaluated: Evaluated) -> None:
    found = compared(f"{evaluated.trace}:gold", f"{evaluated.trace}:lower")
    failed = [
        row["task_id"]
        for row in read_task_results(evaluated.trace / "eval_task_results.parquet")
        if row["candidate_alias"] == "lower" and not row["task_success"]
    ]
    count = len(failed)
    assert 0 < count < 10
    assert found["paired_tasks"] == 10
    assert found["table"] == {"both": 10 - count, "only_first": count, "only_second": 0, "neither": 0}
    assert found["mcnemar_exact_p"] == 2 / 2**count
    assert found["difference"]["value"] == count / 10
    assert found["difference"]["clustered_by_template_id"]["seed"] == SEED
    assert [flip["task_id"] for flip in found["flips"]["only_first"]] == failed
    assert found["flips"]["only_second"] == []
    assert (found["first"]["success_rate"], found["second"]["success_rate"]) == (1.0, (10 - count) / 10)
    manifest = json.loads((evaluated.trace / "eval_manifest.json").read_bytes())
    assert found["shared"] == {
        "source_identity": manifest["source_identity"],
        "scoring_policy_hash": manifest["scoring_policy_hash"],
        "eval_scope": "trace",
        "limits": manifest["limits"],
        "task_count": 10,
    }


def test_compare_gives_the_mirror_image_when_sides_are_swapped(evaluated: Evaluated) -> None:
    one = compared(f"{evaluated.trace}:gold", f"{evaluated.trace}:lower")
    other = compared(f"{evaluated.trace}:lower", f"{evaluated.trace}:gold")
    assert one["flips"]["only_first"] == other["flips"]["only_second"]
    assert one["mcnemar_exact_p"] == other["mcnemar_exact_p"]
    assert one["difference"]["value"] == -other["difference"]["value"]


def test_compare_takes_candidates_of_two_directories(evaluated: Evaluated) -> None:
    found = compared(f"{evaluated.trace}:lower", str(evaluated.solo))
    assert found["table"]["only_first"] == found["table"]["only_second"] == 0
    assert found["first"]["eval_run_id"] == "run-trace"
    assert found["second"]["eval_run_id"] == "run-solo"


def test_compare_pairs_shares_of_trials_where_tasks_are_repeated(evaluated: Evaluated) -> None:
    found = compared(f"{evaluated.repeated}:gold", f"{evaluated.repeated}:unsteady")
    assert found["table"] == {"both": 0, "only_first": 10, "only_second": 0, "neither": 0}
    assert found["difference"]["value"] == pytest.approx(1 / 3)
    assert found["first"]["interval"] is None
    assert found["flips"]["only_first"][0]["second"] == {"successes": 2, "trials": 3}
    assert "\n- `" in comparison_page(found)
    assert ": 3 of 3 against 2 of 3" in comparison_page(found)


def test_compare_says_the_same_bytes_twice_and_no_path(evaluated: Evaluated) -> None:
    one, other = (compared(f"{evaluated.trace}:gold", f"{evaluated.trace}:mute") for _ in range(2))
    assert one == other
    assert str(evaluated.site.root) not in canonical_text(one)


def test_compare_refuses_another_scope_by_name(evaluated: Evaluated) -> None:
    problems = refused(lambda: compared(f"{evaluated.trace}:gold", f"{evaluated.executable}:gold"))
    assert [str(problem) for problem in problems] == [
        f'comparison_incompatible: {evaluated.executable}:gold: eval_scope is "trace_and_executable"; '
        f'{evaluated.trace}:gold has "trace"{FIX}'
    ]


def test_compare_refuses_everything_that_differs_at_once(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.solo)

    def other(manifest: Data) -> None:
        manifest["source_identity"] = "sha256:1"
        manifest["scoring_policy_hash"] = "sha256:2"
        manifest["limits"]["max_turns"] = 3

    edit_json(directory / "eval_manifest.json", other)
    manifest = json.loads((evaluated.trace / "eval_manifest.json").read_bytes())
    problems = refused(lambda: compared(f"{evaluated.trace}:gold", str(directory)))
    assert [problem.field for problem in problems] == ["source_identity", "scoring_policy_hash", "limits.max_turns"]
    assert str(problems[0]) == (
        f'comparison_incompatible: {directory}:solo: source_identity is "sha256:1"; {evaluated.trace}:gold has '
        f'"{manifest["source_identity"]}"{FIX}'
    )
    assert problems[2].message == f"limits.max_turns is 3; {evaluated.trace}:gold has 12"


def test_compare_allows_another_number_of_tasks_in_flight(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.solo)
    edit_json(directory / "eval_manifest.json", lambda manifest: manifest["limits"].update(max_parallel_tasks=1))
    assert compared(f"{evaluated.trace}:gold", str(directory))["paired_tasks"] == 10


def test_compare_refuses_a_candidate_against_itself(evaluated: Evaluated) -> None:
    with pytest.raises(ConfigError) as refusal:
        compared(f"{evaluated.trace}:gold", f"{evaluated.trace}/../trace:gold")
    assert str(refusal.value) == (
        f"comparison_incompatible: {evaluated.trace}/../trace:gold: is compared with itself; expected two candidates\n"
        "  fix: name another alias or another directory"
    )


def test_comparison_page_tells_table_groups_and_flips(evaluated: Evaluated) -> None:
    found = compared(f"{evaluated.trace}:gold", f"{evaluated.trace}:mute")
    page = comparison_page(found)
    assert page.startswith("# `gold` and `mute`\n")
    assert "The two differ: exact McNemar p = 0.0020.\n" in page
    assert "| both | first only | second only | neither |\n|---:|---:|---:|---:|\n| 0 | 10 | 0 | 0 |\n" in page
    assert "(bootstrap over 4 templates, seed 20260101)." in page
    assert "## Better by the first: 10\n" in page
    assert "## Better by the second: 0\n" in page
    assert page.count("\n- `") == 10
