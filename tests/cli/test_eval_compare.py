"""`bfcl eval-compare`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ended
from tests.evaluate.after.finishing import Evaluated, evaluated_once

Bfcl = Callable[..., Ended]


@pytest.fixture
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return evaluated_once(tmp_path_factory.getbasetemp())


def test_eval_compare_writes_document_and_page(bfcl: Bfcl, evaluated: Evaluated, project: Path) -> None:
    sides = (f"{evaluated.trace}:gold", f"{evaluated.trace}:mute")
    ended = bfcl("eval-compare", *sides, "--out", "made/here", "--seed", "5", "--format", "json")
    assert ended.status == 0
    told = json.loads(ended.out)
    assert told == json.loads((project / "made/here/eval_comparison.json").read_bytes())
    assert told["table"] == {"both": 0, "only_first": 10, "only_second": 0, "neither": 0}
    assert told["difference"]["clustered_by_template_id"]["seed"] == 5
    assert (project / "made/here/eval_comparison.md").read_text().startswith("# `gold` and `mute`\n")


def test_eval_compare_tells_the_verdict_in_text(bfcl: Bfcl, evaluated: Evaluated, project: Path) -> None:
    ended = bfcl("eval-compare", f"{evaluated.trace}:lower", str(evaluated.solo), "--format", "text")
    assert ended.status == 0
    assert "they    cannot be told apart: exact McNemar p = 1.0000\n" in ended.out
    (page,) = (project / "build" / "report").glob("compare-lower-solo-*/eval_comparison.md")
    assert ended.out.endswith(f"written {page.relative_to(project)}\n")
    assert page.with_suffix(".json").is_file()


def test_eval_compare_tells_stopped_tasks_before_the_verdict(bfcl: Bfcl, evaluated: Evaluated, project: Path) -> None:
    sides = (f"{evaluated.trace}:mute", f"{evaluated.trace}:gone")
    ended = bfcl("eval-compare", *sides, "--out", ".", "--format", "text")
    told = (
        "first 0 of 10 tasks, second 10 of 10 tasks (counted as failures here), stopped for reasons that are not the "
        "candidate's"
    )
    lines = ended.out.splitlines()
    stops = lines.index(f"stops   {told}")
    assert [line[:8] for line in lines[stops + 1 :]][:2] == ["tasks   ", "they    "]
    page = (project / "eval_comparison.md").read_text()
    assert page.index(f"Tasks: {told}.\n") < page.index("exact McNemar p")


def test_eval_compare_keeps_every_comparison_in_a_place_of_its_own(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    sides = (f"{evaluated.trace}:gold", f"{evaluated.trace}:mute", "--format", "json")
    ended = [bfcl("eval-compare", *sides, *more) for more in ((), (), ("--seed", "5"))]
    assert [one.status for one in ended] == [0, 0, 0]
    assert ended[0] == ended[1]
    places = [one.err.removeprefix("written ").removesuffix("/eval_comparison.md\n") for one in ended]
    assert places[0] == places[1] != places[2]
    for place, one in zip(places, ended, strict=True):
        assert json.loads((project / place / "eval_comparison.json").read_bytes()) == json.loads(one.out)
    assert [path.name for path in project.iterdir()] == ["build"]


def test_eval_compare_refuses_what_was_measured_otherwise_and_writes_nothing(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    ended = bfcl("eval-compare", f"{evaluated.trace}:gold", f"{evaluated.executable}:gold", "--format", "text")
    assert (ended.status, ended.out) == (3, "")
    assert 'eval_scope is "trace_and_executable"' in ended.err
    assert list(project.iterdir()) == []


def test_eval_compare_refuses_a_directory_of_several_without_an_alias(bfcl: Bfcl, evaluated: Evaluated) -> None:
    ended = bfcl("eval-compare", str(evaluated.trace), str(evaluated.solo), "--format", "text")
    assert ended.status == 2
    assert ended.err.startswith("candidate_not_named: ")


def test_eval_compare_replaces_no_other_comparison_and_passes_an_equal_one(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    sides = (f"{evaluated.trace}:gold", f"{evaluated.trace}:mute", "--out", ".", "--format", "text")
    assert [bfcl("eval-compare", *sides).status for _ in range(2)] == [0, 0]
    before = (project / "eval_comparison.json").read_bytes()
    ended = bfcl("eval-compare", *sides, "--seed", "5")
    assert (ended.status, ended.out) == (7, "")
    assert ended.err.startswith(
        "eval_cli_artifact_conflict: eval_comparison.json: is there and says something else\n"
        "  fix: move it away, or choose another --out\n"
    )
    assert (project / "eval_comparison.json").read_bytes() == before


def test_eval_compare_in_a_pack_is_refused_for_its_own_place_too(
    bfcl: Bfcl, evaluated: Evaluated, project: Path
) -> None:
    (project / "manifest.yaml").touch()
    ended = bfcl("eval-compare", f"{evaluated.trace}:gold", f"{evaluated.trace}:mute", "--format", "text")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith(
        "eval_cli_invalid: build/report of the project lies inside the pack ., whose fingerprint it would change\n"
    )
    assert [path.name for path in project.iterdir()] == ["manifest.yaml"]
