"""Where what is written would change what is hashed, or would be removed with what is the build's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from bfcl.cli.page_place import refuse_output_place, write_page
from bfcl.errors import StageError
from bfcl.graph.layout import BuildTree
from tests.cli.conftest import Ended
from tests.evaluate.after.finishing import Evaluated, evaluated_once

Bfcl = Callable[..., Ended]


@pytest.fixture
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return evaluated_once(tmp_path_factory.getbasetemp())


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildTree:
    monkeypatch.chdir(tmp_path)
    return BuildTree(Path())


def refusal(output: Path, tree: BuildTree) -> str:
    with pytest.raises(click.UsageError) as refused:
        refuse_output_place(output, tree)
    return refused.value.message


@pytest.mark.parametrize(
    ("marker", "what"),
    [
        ("run_manifest.json", "the run directory {}, where only a run writes"),
        ("manifest.yaml", "the pack {}, whose fingerprint it would change"),
        ("eval_manifest.json", "the evaluation {}, where only a run writes"),
    ],
)
def test_page_never_lies_inside_what_is_hashed(tree: BuildTree, tmp_path: Path, marker: str, what: str) -> None:
    (tmp_path / "whole" / "below").mkdir(parents=True)
    (tmp_path / "whole" / marker).write_text("{}")
    inside = "--output lies inside " + what.format(tmp_path / "whole")
    assert refusal(tmp_path / "whole" / "below" / "page.html", tree) in (inside, inside.replace(f"{tmp_path}/", ""))


@pytest.mark.parametrize("name", ["refs", "log", "validate", "a" * 64])
def test_page_never_lies_inside_what_is_the_builds_own(tree: BuildTree, tmp_path: Path, name: str) -> None:
    said = refusal(Path("build") / name / "page.html", tree)
    inside = f"--output lies inside {tmp_path}/build/{name}, where only the build writes"
    assert said in (inside, inside.replace(f"{tmp_path}/", ""))


@pytest.mark.parametrize("place", ["page.html", "build/page.html", "build/report/page.html", "results/page.html"])
def test_page_may_lie_anywhere_else(tree: BuildTree, place: str) -> None:
    refuse_output_place(Path(place), tree)
    assert not Path(place).parent.joinpath("page.html").exists()


def test_directory_that_is_itself_hashed_is_refused_by_the_name_of_its_option(tree: BuildTree) -> None:
    Path("whole").mkdir()
    Path("whole/manifest.yaml").touch()
    with pytest.raises(click.UsageError) as refused:
        refuse_output_place(Path("whole"), tree, named="--out")
    assert refused.value.message == "--out lies inside the pack whole, whose fingerprint it would change"


def test_place_in_the_named_evaluation_is_allowed_but_not_in_another_around_it(tree: BuildTree) -> None:
    Path("outer/inner").mkdir(parents=True)
    Path("outer/inner/eval_manifest.json").touch()
    refuse_output_place(Path("outer/inner/notes"), tree, evaluation=Path("outer/inner"))
    Path("outer/eval_manifest.json").touch()
    with pytest.raises(click.UsageError) as refused:
        refuse_output_place(Path("outer/inner/notes"), tree, evaluation=Path("outer/inner"))
    assert refused.value.message == "--output lies inside the evaluation outer, where only a run writes"


def test_place_whose_name_the_system_refuses_is_left_to_the_writing(tree: BuildTree) -> None:
    refuse_output_place(Path("n" * 300) / "page.html", tree)
    with pytest.raises(StageError) as refused:
        write_page(b"<p>", Path("n" * 300) / "page.html", "page.html")
    assert [problem.code for problem in refused.value.problems] == ["storage_failed"]


def test_page_without_a_place_goes_to_the_report_directory_of_the_project(tree: BuildTree, tmp_path: Path) -> None:
    page = tmp_path.resolve() / "build" / "report" / "one.html"
    assert write_page(b"<p>", None, "one.html") == str(page)
    assert page.read_bytes() == b"<p>"


def writing(command: str, evaluated: Evaluated, place: str) -> list[str]:
    """The command line of one that writes what it makes of finished evaluations into the directory `place`."""
    solo = str(evaluated.solo)
    return {
        "eval-failures": ["eval-failures", solo, "--out", place],
        "eval-compare": ["eval-compare", solo, f"{evaluated.trace}:lower", "--out", place],
        "eval-report": ["eval-report", solo, "--output", f"{place}/page.html"],
        "extract-bfcl-eval-measurements": [
            *("extract-bfcl-eval-measurements", "--run-id", "r", "--evaluation-dir", solo, "--output-dir", place)
        ],
    }[command]


def told(ended: Ended) -> tuple[int, str, str, str]:
    """Status, stdout, code and message of the one refusal."""
    (problem,) = json.loads(ended.err)["problems"]
    return ended.status, ended.out, problem["code"], problem["reason"]


REFUSING = [
    ("eval-failures", "--out", 2, "eval_cli_invalid"),
    ("eval-compare", "--out", 2, "eval_cli_invalid"),
    ("eval-report", "--output", 2, "eval_cli_invalid"),
    ("extract-bfcl-eval-measurements", "--output-dir", 1, "usage_error"),
]


@pytest.mark.parametrize(("command", "option", "status", "code"), REFUSING)
@pytest.mark.parametrize("below", ["", "/new"])
@pytest.mark.parametrize(
    ("marker", "what"),
    [
        ("run_manifest.json", "the run directory whole, where only a run writes"),
        ("manifest.yaml", "the pack whole, whose fingerprint it would change"),
        ("eval_manifest.json", "the evaluation whole, where only a run writes"),
    ],
)
def test_command_writes_into_nothing_that_is_hashed(
    bfcl: Bfcl,
    evaluated: Evaluated,
    project: Path,
    command: str,
    option: str,
    status: int,
    code: str,
    below: str,
    marker: str,
    what: str,
) -> None:
    (project / "whole").mkdir()
    (project / "whole" / marker).write_text("{}")
    ended = bfcl(*writing(command, evaluated, f"whole{below}"), "--format", "json")
    assert told(ended) == (status, "", code, f"{option} lies inside {what}")
    assert [path.name for path in project.rglob("*")] == ["whole", marker]


@pytest.mark.parametrize(
    ("command", "file", "status"),
    [
        ("eval-failures", "solo.md", 3),
        ("eval-compare", "eval_comparison.json", 3),
        ("eval-report", "page.html", 3),
        ("extract-bfcl-eval-measurements", "eval_measurements_r.json", 1),
    ],
)
def test_command_that_writes_under_a_file_is_refused_with_the_path(
    bfcl: Bfcl, evaluated: Evaluated, project: Path, command: str, file: str, status: int
) -> None:
    if command == "eval-report":
        for library in ("jinja2", "altair", "vl_convert"):
            pytest.importorskip(library, reason="the extra `report` is not installed")
    (project / "taken").touch()
    ended = bfcl(*writing(command, evaluated, "taken/sub"), "--format", "json")
    assert told(ended) == (status, "", "storage_failed", f"taken/sub/{file}: cannot write: Not a directory")
    assert [path.name for path in project.rglob("*")] == ["taken"]
