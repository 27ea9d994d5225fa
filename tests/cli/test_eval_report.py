"""`bfcl eval-report`: where the page goes, what is told, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_hex
from tests.cli.conftest import Ended
from tests.evaluate.page.evaluations import evaluate_two

for library in ("jinja2", "altair", "vl_convert"):
    pytest.importorskip(library, reason="the extra `report` is not installed")

Command = Callable[..., Ended]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evaluate_two(tmp_path_factory.mktemp("finished"))


def test_page_goes_to_the_build_directory_and_its_path_to_stdout(bfcl: Command, project: Path, finished: Path) -> None:
    digest = sha256_hex(b'["run-out"]')[:12]
    page = project / "build" / "report" / f"eval-out-{digest}.html"
    assert bfcl("eval-report", str(finished)) == (0, f"{page}\n", "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>\n")


def test_json_tells_page_candidates_and_failures(bfcl: Command, project: Path, finished: Path) -> None:
    ended = bfcl("eval-report", str(finished), "--output", "two.html", "--format", "json")
    assert (ended.status, ended.err) == (0, "")
    told = json.loads(ended.out)
    failures = told.pop("failures")
    assert failures == told.pop("failures_shown") > 0
    assert told == {
        "schema_version": "1.0",
        "page": str(project / "two.html"),
        "eval_run_ids": ["run-out"],
        "candidates": ["gold", "lower"],
        "size_bytes": (project / "two.html").stat().st_size,
    }


def test_directory_that_is_no_finished_evaluation_ends_in_its_status(bfcl: Command, project: Path) -> None:
    (project / "empty").mkdir()
    assert bfcl("eval-report", "empty") == (
        7,
        "",
        "empty/eval_manifest.json: eval_artifact_invalid: is not there: a directory without it is no finished "
        "evaluation\n"
        "  fix: name the output directory of a finished evaluation\n",
    )


def test_page_inside_an_evaluation_is_refused_before_anything_is_read(bfcl: Command, finished: Path) -> None:
    before = sorted(finished.iterdir())
    assert bfcl("eval-report", str(finished), "--output", str(finished / "page.html")) == (
        2,
        "",
        f"eval_cli_invalid: --output lies inside the evaluation {finished}, where only a run writes\n"
        "  fix: name a place with `--output` that lies outside of it\n",
    )
    assert sorted(finished.iterdir()) == before


def test_no_directory_is_a_refused_command_line(bfcl: Command) -> None:
    assert bfcl("eval-report") == (
        2,
        "",
        "eval_cli_invalid: Missing argument 'DIR...'.\n  fix: run `bfcl eval-report --help`\n",
    )
