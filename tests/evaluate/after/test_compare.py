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
from bfcl.evaluate.after.comparison_page import comparison_page, difference_text, p_text, stops_text
from bfcl.evaluate.after.sides import side_of
from bfcl.evaluate.score.intervals import SEED
from bfcl.tables.task_results import read_task_results
from tests.evaluate.after.finishing import DEPARTURES, Data, Evaluated, finish
from tests.evaluate.after.forging import edit_json, succeed
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


def test_compare_allows_another_number_of_tasks_in_flight(evaluated: Evaluated) -> None:
    other = finish(
        evaluated.site,
        {"solo": DEPARTURES["lower"]},
        lambda config: config["limits"].update(max_parallel_tasks=1),
        name="one-by-one",
    )
    assert compared(f"{evaluated.trace}:gold", str(other))["paired_tasks"] == 10


def test_compare_refuses_a_table_and_report_that_were_forged_together(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.solo)
    succeed(directory)
    problems = refused(lambda: compared(f"{evaluated.trace}:gold", str(directory)))
    assert [problem.code for problem in problems] == ["eval_artifact_invalid"] * 2
    assert "candidates[0].successful_tasks is 10; the records give" in problems[0].message
    assert "task_success is true; the records give false" in problems[1].message


def test_compare_takes_a_result_without_records_at_its_word_and_says_so(evaluated: Evaluated) -> None:
    def forget(config: Data) -> None:
        config["publication"]["requested"] = False
        config["outputs"]["cache_candidate_responses"] = False

    other = finish(evaluated.site, {"solo": DEPARTURES["lower"]}, forget, name="forgetful")
    document = compared(f"{evaluated.trace}:gold", str(other))
    assert (document["first"]["verified"], document["second"]["verified"]) == (True, False)
    assert "\n`solo` of `run-forgetful` kept no records: it is taken at its word.\n" in comparison_page(document)
    assert "at its word" not in comparison_page(compared(f"{evaluated.trace}:gold", str(evaluated.solo)))


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
    assert " over 4 templates. Whether the two differ, p decides; " in page
    assert "it is too narrow. Bootstrap seed: 20260101.\n" in page
    assert "several trials" not in page
    assert "## Better by the first: 10\n" in page
    assert "## Better by the second: 0\n" in page
    assert page.count("\n- `") == 10
    tested, untested = page.partition("## Kinds of task")[2].split("\nNot tested: ")
    assert "template_id" not in tested
    assert [line.split(" | ")[1] for line in untested.splitlines() if line.startswith("| template_id |")] == [
        f"`{one['value']}`" for one in found["groups"]["untested"] if one["dimension"] == "template_id"
    ]
    assert tested.count("\n| ") - 1 == len(found["groups"]["tests"]) > 0


@pytest.mark.parametrize(
    ("p_value", "text"),
    [
        (1.0, "1.0000"),
        (0.03125, "0.0312"),
        (0.001, "0.0010"),
        (2.0679515e-10, "2.1e-10"),
        (0.00095, "9.5e-04"),
        (0, "0.0000"),
    ],
)
def test_p_text_keeps_two_digits_of_a_small_p_value(p_value: float, text: str) -> None:
    assert p_text(p_value) == text


def test_comparison_page_says_why_rates_over_several_trials_have_no_interval(evaluated: Evaluated) -> None:
    page = comparison_page(compared(f"{evaluated.repeated}:gold", f"{evaluated.repeated}:unsteady"))
    assert (
        "| 95 % interval | none | none |\n\n"
        "No interval of a rate is given over several trials: those of one task are not independent.\n\n"
    ) in page


def test_difference_text_tells_the_interval_where_there_is_one(evaluated: Evaluated) -> None:
    found = compared(f"{evaluated.trace}:gold", f"{evaluated.trace}:mute")
    clusters = found["difference"]["clustered_by_template_id"]["clusters"]
    assert difference_text(found) == (
        f"1.0000, 95 % interval 1.0000 to 1.0000 over {clusters} templates. Whether the two differ, p decides; the "
        "interval may say otherwise, since it draws whole templates, and over few of them it is too narrow."
    )
    found["difference"]["clustered_by_template_id"]["interval"] = None
    assert difference_text(found) == "1.0000, no interval: all tasks are of one template"


def test_stopped_tasks_are_told_as_failures_but_not_where_repeats_leave_them_out(evaluated: Evaluated) -> None:
    found = compared(f"{evaluated.trace}:gold", f"{evaluated.trace}:gone")
    assert [found[name]["stops_count_as_failures"] for name in ("first", "second")] == [True, True]
    assert stops_text(found) == (
        "first 0 of 10 tasks, second 10 of 10 tasks (counted as failures here), stopped for reasons that are not the "
        "candidate's"
    )
    again = compared(f"{evaluated.repeated}:gold", f"{evaluated.repeated}:unsteady")
    assert not again["first"]["stops_count_as_failures"]
    again["second"]["non_candidate_stops"] = 3
    assert stops_text(again) == (
        "first 0 of 10 tasks, second 3 of 10 tasks (in the first trial; stopped trials are not counted here), stopped "
        "for reasons that are not the candidate's"
    )
