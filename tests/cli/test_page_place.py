"""Where a page would change what is hashed, or would be removed with what is the build's."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from bfcl.cli.page_place import refuse_page_place
from bfcl.graph.layout import BuildTree


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildTree:
    monkeypatch.chdir(tmp_path)
    return BuildTree(Path())


def refusal(output: Path, tree: BuildTree) -> str:
    with pytest.raises(click.UsageError) as refused:
        refuse_page_place(output, tree)
    return refused.value.message


@pytest.mark.parametrize(
    ("marker", "what"),
    [
        ("run_manifest.json", "the run directory {}, where only a run writes"),
        ("manifest.yaml", "the pack {}, which the page would change"),
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
    refuse_page_place(Path(place), tree)
    assert not Path(place).parent.joinpath("page.html").exists()
