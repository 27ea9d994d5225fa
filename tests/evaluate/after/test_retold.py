"""A document says what was made again, byte for byte, or where it first does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from bfcl.canonical import readable_json
from bfcl.errors import Problem
from bfcl.evaluate.after.rebuild import rebuild
from bfcl.evaluate.after.retold import differs, document_difference, source_report_differences
from tests.evaluate.after.finishing import Evaluated
from tests.evaluate.after.forging import edit_json
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]
FIX = "restore the file from a copy, or evaluate into another `outputs.output_dir`; results are never mended"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "told.json"


def said(problems: Iterable[Problem]) -> list[str]:
    return [str(problem).removesuffix(f"\n  fix: {FIX}") for problem in problems]


def test_document_that_says_the_same_in_the_same_bytes_has_no_difference(path: Path) -> None:
    path.write_bytes(readable_json({"a": [1, None], "b": "x"}))
    assert [*document_difference(path, {"b": "x", "a": [1, None]})] == []


def test_document_that_is_gone_is_told(path: Path) -> None:
    assert said([*document_difference(path, {})]) == [
        "told.json: eval_artifact_invalid: is gone; expected what the records give"
    ]


def test_first_value_that_differs_is_told_on_both_sides(path: Path) -> None:
    path.write_bytes(readable_json({"a": [1, 3], "b": "y"}))
    assert said([*document_difference(path, {"a": [1, 2], "b": "x"})]) == [
        "told.json: eval_artifact_invalid: a[1] is 3; the records give 2"
    ]


def test_same_document_in_other_bytes_is_told(path: Path) -> None:
    path.write_text(json.dumps({"a": 1}))
    assert said([*document_difference(path, {"a": 1})]) == [
        "told.json: eval_artifact_invalid: says what the records give, but not in the same bytes"
    ]


def test_what_is_no_document_is_refused(path: Path) -> None:
    path.write_text("[]")
    assert said(refused(lambda: [*document_difference(path, {})])) == [
        "told.json: eval_artifact_invalid: holds no JSON object"
    ]


def test_difference_is_a_problem_of_the_file(path: Path) -> None:
    assert said([differs(path, "row 3", "1", "2")]) == [
        "told.json: eval_artifact_invalid: row 3 is 1; the records give 2"
    ]


# --- reports that say when they were written ----------------------------------------------------------------------


@pytest.fixture
def directory(evaluated: Evaluated, copied: Copied) -> Path:
    return copied(evaluated.executable)


def told_of(directory: Path, evaluated: Evaluated) -> list[str]:
    result = rebuild(evaluated.executable).result
    return [f"{Path(str(one.path)).name}: {one.message}" for one in source_report_differences(directory, result)]


def test_source_reports_hold_whenever_they_were_written(directory: Path, evaluated: Evaluated) -> None:
    assert told_of(directory, evaluated) == []
    for name in ("source_verification_report.json", "contamination_report.json"):
        edit_json(directory / name, lambda told: told.update(written_at="2031-05-06T07:08:09+00:00"))
    assert told_of(directory, evaluated) == []


@pytest.mark.parametrize("moment", ["yesterday", "2031-05-06T07:08:09", "2031-05-06T07:08:09+02:00", 3])
def test_source_report_has_to_say_a_time_in_utc(directory: Path, evaluated: Evaluated, moment: str | int) -> None:
    edit_json(directory / "source_verification_report.json", lambda told: told.update(written_at=moment))
    shown = json.dumps(moment)
    assert told_of(directory, evaluated) == [
        f'source_verification_report.json: written_at is {shown}; the records give "a time in UTC"'
    ]


def test_report_of_an_oracle_that_was_not_probed_does_not_hold_where_tasks_ran(
    directory: Path, evaluated: Evaluated
) -> None:
    edit_json(directory / "source_verification_report.json", lambda told: told["oracle"].update(probed=False))
    assert told_of(directory, evaluated) == [
        "source_verification_report.json: oracle.probed is false; the records give true"
    ]


def test_failure_beside_the_reports_is_told(directory: Path, evaluated: Evaluated) -> None:
    (directory / "contamination_failure.json").write_text("{}")
    assert told_of(directory, evaluated) == [
        "contamination_failure.json: stands beside the report that every gate was passed"
    ]
