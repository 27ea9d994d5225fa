"""Every refusal names its gate, its place and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import Problem
from bfcl.evaluate.source.gates import REGENERATE, Place, SourceGate, refusal, retold


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run" / "run_manifest.json"


def test_gates_are_numbered_in_the_order_in_which_they_are_passed() -> None:
    numbers = ["three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    numbers += ["thirteen", "fourteen", "fifteen", "sixteen"]
    assert [gate.value.split(",")[0] for gate in SourceGate] == [f"gate {number}" for number in numbers]


def test_refusal_tells_file_line_field_and_gate(file: Path) -> None:
    place = Place(file=file, line=7, field="publication.raw")
    problem = refusal(SourceGate.PUBLICATION, "eval_source_publication_invalid", "is gone; expected rows", place=place)
    assert problem == Problem(
        code="eval_source_publication_invalid",
        path="run/run_manifest.json",
        line=7,
        field="publication.raw",
        message="is gone; expected rows (gate five, the publication block)",
        fix="generate the benchmark again; published files are never edited",
    )


def test_refusal_without_a_file_is_about_its_subject(file: Path) -> None:
    problem = refusal(SourceGate.TASK_IDS, "code", "is twice", place=Place(subject="task-1"), fix="take one away")
    assert str(problem) == "code: task-1: is twice (gate nine, the task ids)\n  fix: take one away"


def test_problems_of_another_room_are_retold_with_the_code_of_the_gate(file: Path) -> None:
    problems = [
        Problem(code="release_unreadable", message="no JSON", path="elsewhere.json", line=3, fix="mend it"),
        Problem(code="release_unreadable", message="is short", subject="raw"),
        Problem(code="release_unreadable", message="is gone"),
    ]
    assert [str(one) for one in retold(SourceGate.BYTES, "eval_source_hash_mismatch", problems, file=file)] == [
        "elsewhere.json:3: eval_source_hash_mismatch: no JSON (gate six, the bytes of both tables)\n  fix: mend it",
        "run/run_manifest.json: eval_source_hash_mismatch: raw: is short (gate six, the bytes of both tables)\n"
        f"  fix: {REGENERATE}",
        "run/run_manifest.json: eval_source_hash_mismatch: is gone (gate six, the bytes of both tables)\n"
        f"  fix: {REGENERATE}",
    ]


def test_problem_without_any_place_stays_without_one() -> None:
    (problem,) = retold(SourceGate.PACK, "code", [Problem(code="other", message="is gone", subject="pack")])
    assert (problem.path, problem.subject) == (None, None)
    assert problem.message == "pack: is gone (gate ten, the oracle's pack)"
