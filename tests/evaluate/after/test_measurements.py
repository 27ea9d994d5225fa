"""Tokens, latency and success of one candidate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_text
from bfcl.digest import sha256_file, sha256_json
from bfcl.evaluate.after.measurements import measurements, nearest_rank, write_measurements
from bfcl.tables.task_results import read_task_results, write_task_results
from tests.evaluate.after.finishing import Evaluated
from tests.evaluate.after.forging import edit_json, restate
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]
AGAIN = "\n  fix: evaluate anew into another directory; nothing is measured of a result that does not hold"


def measured(directory: Path, run_id: str = "r-1") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(canonical_text(measurements(run_id, directory)))
    return document


def told(directory: Path, run_id: str = "r-1") -> list[str]:
    return [str(problem) for problem in refused(lambda: measured(directory, run_id))]


def test_measurements_add_up_the_record(evaluated: Evaluated) -> None:
    found = measured(evaluated.solo)
    rows = read_task_results(evaluated.solo / "eval_task_results.parquet")
    records = [json.loads(line) for line in (evaluated.solo / "candidate_io_cache.jsonl").read_bytes().splitlines()]
    done = [record["payload"] for record in records if record["record_type"] == "completion"]
    assert found["measurements"]["task_success_rate"] == {
        "numerator": sum(row["task_success"] for row in rows),
        "denominator": 10,
        "value": sum(row["task_success"] for row in rows) / 10,
    }
    usage = [one["response"]["usage"] for one in done]
    assert found["measurements"]["input_tokens"] == sum(one["prompt_tokens"] for one in usage)
    assert found["measurements"]["output_tokens"] == 3 * len(done)
    latencies = sorted(round(one["attempts"][0]["latency_s"] * 1000, 3) for one in done)
    assert found["measurements"]["latency_p50_ms"] == latencies[(len(latencies) + 1) // 2 - 1]
    assert found["latency_context"] == {
        "environment_dependent": True,
        "calls": len(done),
        "calls_not_completed": {},
    }
    failed = [row for row in rows if not row["task_success"]]
    assert found["failure_codes"]["arguments.mismatch"] == len(failed)
    assert found["files"] == {
        name: {"file": file, "content_hash": sha256_file(evaluated.solo / file)}
        for name, file in (
            ("eval_report", "eval_report.json"),
            ("eval_task_results", "eval_task_results.parquet"),
            ("candidate_io_cache", "candidate_io_cache.jsonl"),
        )
    }
    assert found["report_hash"] == sha256_json({key: one for key, one in found.items() if key != "report_hash"})


def test_write_measurements_writes_both_files_and_keeps_equal_ones(evaluated: Evaluated, tmp_path: Path) -> None:
    document = measurements("r-1", evaluated.solo)
    data, page = write_measurements(document, tmp_path / "m")
    assert (data.name, page.name) == ("eval_measurements_r-1.json", "eval_measurements_r-1.md")
    assert page.read_text().startswith("# Measurements of `solo`\n")
    before = data.read_bytes()
    write_measurements(document, tmp_path / "m")
    assert data.read_bytes() == before


def test_write_measurements_refuses_another_report_and_writes_nothing(evaluated: Evaluated, tmp_path: Path) -> None:
    other = tmp_path / "eval_measurements_r-1.md"
    other.write_text("mine")
    problems = refused(lambda: write_measurements(measurements("r-1", evaluated.solo), tmp_path))
    assert [str(problem) for problem in problems] == [
        f"measurements_refused: {other}: is there and says something else\n"
        "  fix: choose another --run-id or --output-dir"
    ]
    assert [path.name for path in tmp_path.iterdir()] == [other.name]


def test_measurements_refuse_more_than_one_candidate(evaluated: Evaluated) -> None:
    assert told(evaluated.trace) == [
        f"measurements_refused: {evaluated.trace}: holds 4 candidates (gold, gone, lower, mute); expected one\n"
        "  fix: evaluate each candidate into its own directory"
    ]


def test_measurements_refuse_a_success_that_the_table_does_not_give(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.solo)
    report = json.loads((directory / "eval_report.json").read_bytes())
    seen = report["candidates"][0]["metrics"]["task_success_rate"]["numerator"]
    edit_json(
        directory / "eval_report.json",
        lambda report: report["candidates"][0]["metrics"]["task_success_rate"].update(numerator=10),
    )
    restate(directory)
    assert told(directory) == [
        f"measurements_refused: {directory}/eval_report.json: tells 10 successes of 10 tasks, "
        f"eval_task_results.parquet gives {seen} of 10{AGAIN}"
    ]


def test_measurements_refuse_a_task_that_stands_twice(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.solo)
    path = directory / "eval_task_results.parquet"
    rows = read_task_results(path)
    rows[1]["task_id"] = rows[0]["task_id"]
    write_task_results(path, rows)
    restate(directory)
    assert told(directory) == [
        f"measurements_refused: {path}: holds {rows[0]['task_id']} 2 times; expected once{AGAIN}"
    ]


@pytest.mark.parametrize("run_id", ["", "../up", "a b", "-x"])
def test_measurements_refuse_an_id_that_names_no_file(evaluated: Evaluated, run_id: str) -> None:
    assert told(evaluated.solo, run_id) == [
        f"measurements_refused: --run-id: is {run_id!r}; expected up to 128 of letters, digits, `.`, `_` and `-`: "
        "files are named by it\n  fix: give an id that a file can be named by"
    ]


@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(1, 100))
def test_nearest_rank_is_the_smallest_value_that_enough_do_not_exceed(values: list[float], percent: int) -> None:
    ascending = sorted(values)
    found = nearest_rank(ascending, percent)
    assert found is not None
    assert sum(one <= found for one in values) * 100 >= percent * len(values)
    assert sum(one < found for one in values) * 100 < percent * len(values)


def test_nearest_rank_of_nothing_is_none() -> None:
    assert nearest_rank([], 50) is None
