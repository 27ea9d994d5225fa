"""`bfcl eval-failures`."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ended
from tests.evaluate.after.finishing import Evaluated, evaluated_once

Bfcl = Callable[..., Ended]
REMARK = "No final state is held to that of the expected calls"


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return evaluated_once(tmp_path_factory.getbasetemp())


def test_eval_failures_writes_a_page_and_lines_for_every_candidate(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    ended = bfcl("eval-failures", str(evaluated.trace), "--out", "why", "--format", "json")
    assert ended.status == 0
    told = json.loads(ended.out)["candidates"]
    assert told["mute"] == {"page": "why/mute.md", "lines": "why/mute.jsonl", "failures": 10}
    assert sorted(path.name for path in (project / "why").iterdir()) == sorted(
        f"{alias}.{suffix}" for alias in ("gold", "gone", "lower", "mute") for suffix in ("md", "jsonl")
    )


def test_eval_failures_tells_where_the_pages_are_in_text(bfcl: Bfcl, evaluated: Evaluated) -> None:
    ended = bfcl("eval-failures", str(evaluated.trace), "--out", "why", "--format", "text")
    assert ended.out.splitlines()[0] == "gold: 0 failed, why/gold.md"


def test_eval_failures_of_an_executable_evaluation_hold_final_states_to_the_expected_ones(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    ended = bfcl("eval-failures", str(evaluated.executable), "--out", "why", "--format", "text")
    assert (ended.status, ended.err) == (0, "")
    lines = lines_of(project / "why/mute.jsonl")
    assert {line["state_difference"]["reference"] for line in lines} == {"the expected calls"}
    assert {line["expected_state_refused"] for line in lines} == {None}
    assert REMARK not in (project / "why/mute.md").read_text()


def test_eval_failures_says_why_final_states_are_held_to_no_expected_ones(
    bfcl: Bfcl, evaluated: Evaluated, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(project / "absent"))
    ended = bfcl("eval-failures", str(evaluated.executable), "--out", "why", "--format", "json")
    assert ended.status == 0
    assert ended.err == (
        f"no final state is held to that of the expected calls: storage_failed: {project}/absent: cannot write: "
        "No such file or directory\n"
    )
    lines = lines_of(project / "why/mute.jsonl")
    assert {line["expected_state_refused"] for line in lines} == {"storage_failed"}
    assert (project / "why/mute.md").read_text().endswith(f"\n\n{REMARK}: `storage_failed`.\n")
    assert REMARK not in (project / "why/gold.md").read_text()


def test_eval_failures_refuses_what_is_no_finished_evaluation(bfcl: Bfcl, project: Path) -> None:
    (project / "empty").mkdir()
    ended = bfcl("eval-failures", "empty", "--format", "text")
    assert (ended.status, ended.out) == (7, "")
    assert ended.err.startswith("empty/eval_manifest.json: eval_artifact_invalid: is not there: ")
    assert [path.name for path in project.rglob("*")] == ["empty"]


def test_eval_failures_replaces_no_other_result_and_passes_an_equal_one(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    asked = ("eval-failures", str(evaluated.solo), "--out", "why", "--format", "text")
    assert [bfcl(*asked).status, bfcl(*asked).status] == [0, 0]
    (project / "why/solo.md").write_text("mine")
    assert bfcl(*asked) == (
        7,
        "",
        "eval_cli_artifact_conflict: why/solo.md: is there and says something else\n"
        "  fix: move it away, or choose another --out\n",
    )
    assert (project / "why/solo.md").read_text() == "mine"


@pytest.mark.parametrize("given", [(), ("--out", "solo/eval_failures")])
def test_eval_failures_may_lie_in_the_evaluation_itself(
    bfcl: Bfcl, evaluated: Evaluated, project: Path, given: tuple[str, ...]
) -> None:
    shutil.copytree(evaluated.solo, project / "solo")
    # The options first: the directory has to be known all the same.
    ended = bfcl("eval-failures", *given, "--format", "text", "solo")
    assert (ended.status, ended.err) == (0, "")
    assert (project / "solo/eval_failures/solo.md").is_file()


def test_eval_failures_of_an_evaluation_inside_a_pack_need_another_place(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    shutil.copytree(evaluated.solo, project / "pack/solo")
    (project / "pack/manifest.yaml").touch()
    assert bfcl("eval-failures", "pack/solo", "--format", "text") == (
        2,
        "",
        "eval_cli_invalid: eval_failures of DIR lies inside the pack pack, whose fingerprint it would change\n"
        "  fix: name a place with `--out` that lies outside of it\n",
    )
    assert not (project / "pack/solo/eval_failures").exists()


def test_eval_failures_elsewhere_in_the_evaluation_are_refused(bfcl: Bfcl, evaluated: Evaluated, project: Path) -> None:
    shutil.copytree(evaluated.solo, project / "solo")
    ended = bfcl("eval-failures", "solo", "--out", "solo/other", "--format", "text")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("eval_cli_invalid: --out lies inside the evaluation solo, where only a run writes\n")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("eval-failures", "Its code runs, in the pack's worker."),
        *(
            (command, "Its files are read; none of its code runs.")
            for command in ("eval-compare", "eval-leaderboard", "eval-report", "eval-verify")
        ),
    ],
)
def test_help_says_whether_code_of_the_pack_runs(bfcl: Bfcl, command: str, told: str) -> None:
    assert told in " ".join(bfcl(command, "--help").out.split())
