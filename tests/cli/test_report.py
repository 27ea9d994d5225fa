"""`bfcl report`: which run, where the page goes, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_file, sha256_hex
from tests.cli.conftest import Ended
from tests.release.report import releases

for library in ("jinja2", "altair", "vl_convert"):
    pytest.importorskip(library, reason="the extra `report` is not installed")

Command = Callable[..., Ended]

SOUGHT = "build/runs/ and where configs/*.yaml and packs/*/validate.yaml write"


def test_page_goes_to_the_build_directory_and_its_path_to_stdout(bfcl: Command, project: Path) -> None:
    releases.release(project / "build" / "runs" / "demo")
    page = project / "build" / "report" / "demo.html"
    assert bfcl("report", "build/runs/demo") == (0, f"{page}\n", "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>\n")


def test_runs_of_one_name_keep_a_page_each(bfcl: Command, project: Path) -> None:
    for place in ("build/runs", "a", "b"):
        releases.release(project / place / "demo")
    pages = project / "build" / "report"
    for run, name in (
        ("build/runs/demo", "demo"),
        ("build/runs/../runs/demo/", "demo"),
        ("a/demo", f"demo-{sha256_hex(b'a/demo')[:12]}"),
        ("b/demo", f"demo-{sha256_hex(b'b/demo')[:12]}"),
        (str(project / "b" / "demo" / "stage_cache" / ".."), f"demo-{sha256_hex(b'b/demo')[:12]}"),
    ):
        assert bfcl("report", run) == (0, f"{pages}/{name}.html\n", "")
    assert len(list(pages.iterdir())) == 3


def test_run_outside_the_project_is_told_apart_by_its_whole_path(
    bfcl: Command, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = tmp_path_factory.mktemp("elsewhere") / "demo"
    releases.release(run)
    name = f"demo-{sha256_hex(bytes(run.resolve()))[:12]}.html"
    assert bfcl("report", str(run)) == (0, f"{project}/build/report/{name}\n", "")


def test_page_goes_where_it_is_asked_for(bfcl: Command, project: Path) -> None:
    releases.release(project / "runs" / "demo")
    assert bfcl("report", "--run", "runs/demo", "--output", "pages/one.html") == (0, f"{project}/pages/one.html\n", "")
    assert not (project / "build").exists()
    assert (project / "pages" / "one.html").stat().st_mode & 0o777 == 0o644


def test_run_is_left_as_it_is(bfcl: Command, project: Path) -> None:
    releases.release(project / "runs" / "demo")

    def files() -> dict[str, str]:
        return {str(path): sha256_file(path) for path in (project / "runs").rglob("*") if path.is_file()}

    before = files()
    assert bfcl("report", "runs/demo").status == 0
    assert files() == before


def test_script_gets_a_document(bfcl: Command, project: Path) -> None:
    releases.release(project / "runs" / "demo", releases.lost_tasks())
    said = bfcl("report", "runs/demo", "--format", "json")
    page = project / "build" / "report" / f"demo-{sha256_hex(b'runs/demo')[:12]}.html"
    assert (said.status, said.err) == (0, "")
    assert json.loads(said.out) == {
        "schema_version": "1.0",
        "page": str(page),
        "run": "runs/demo",
        "run_id": "demo-20260102T030405678901Z-0123456789ab-" + "f" * 32,
        "size_bytes": page.stat().st_size,
        "tasks": 8,
        "conversations": 8,
    }


def test_only_published_run_is_found_and_named(bfcl: Command, project: Path) -> None:
    releases.release(project / "build" / "runs" / "demo")
    releases.release(project / "packs" / "plant_output" / "other")
    assert bfcl("report") == (
        0,
        f"{project}/build/report/demo.html\n",
        f"run: build/runs/demo (none was named; the only published one in {SOUGHT})\n",
    )
    said = bfcl("report", "--format", "json")
    assert (json.loads(said.out)["run"], said.err) == ("build/runs/demo", "")


def test_refusal_of_the_run_that_was_found_stands_alone_on_stderr(bfcl: Command, project: Path) -> None:
    releases.release(project / "build" / "runs" / "demo")
    (project / "build" / "runs" / "demo" / "stage_cache" / "expected_traces.parquet").write_bytes(b"x")
    said = bfcl("report")
    assert (said.status, said.out) == (1, "")
    assert "release_hash_mismatch: " in said.err
    assert "run: " not in said.err


def test_choice_between_runs_is_left_to_people(bfcl: Command, project: Path) -> None:
    for name in ("one", "two"):
        releases.release(project / "build" / "runs" / name)
    assert bfcl("report") == (
        1,
        "",
        "run_ambiguous: 2 published runs are there: build/runs/one, build/runs/two; expected one\n"
        "  fix: choose one, such as `bfcl report build/runs/one`\n",
    )


def test_run_that_is_not_published_is_no_run(bfcl: Command, project: Path) -> None:
    releases.release(project / "build" / "runs" / "demo")
    (project / "build" / "runs" / "demo" / "run_manifest.json").unlink()
    said = bfcl("report")
    assert (said.status, said.out) == (1, "")
    assert "run_not_found: " in said.err
    told = f"no run of this project is published; looked for in {SOUGHT}"
    assert f"{told}\n  fix: run `doit generate` first, or name the directory" in said.err


def test_run_that_does_not_verify_is_refused_with_every_problem(bfcl: Command, project: Path) -> None:
    releases.release(project / "runs" / "demo")
    for name in ("expected_traces", "replay_validated_tasks"):
        (project / "runs" / "demo" / "stage_cache" / f"{name}.parquet").write_bytes(b"x")
    said = bfcl("report", "runs/demo")
    assert (said.status, said.out) == (1, "")
    assert said.err.count("release_hash_mismatch: ") == 2
    assert not (project / "build").exists()


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("runs/demo/page.html", "inside the run directory runs/demo, where only a run writes"),
        ("runs/demo/stage_cache/new/page.html", "inside the run directory runs/demo, where only a run writes"),
        ("runs/other/page.html", "inside the run directory runs/other, where only a run writes"),
        ("link/page.html", "inside the run directory runs/other, where only a run writes"),
        ("packs/studio/docs/page.html", "inside the pack packs/studio, whose fingerprint it would change"),
        (f"build/{'a' * 64}/page.html", f"inside build/{'a' * 64}, where only the build writes"),
        ("build/refs/0123/page.html", "inside build/refs, where only the build writes"),
        ("build/log/page.html", "inside build/log, where only the build writes"),
    ],
)
def test_page_goes_into_no_run_no_pack_and_no_store(bfcl: Command, project: Path, output: str, told: str) -> None:
    releases.release(project / "runs" / "demo")
    (project / "runs" / "other" / "stage_cache").mkdir(parents=True)
    (project / "link").symlink_to(project / "runs" / "other")
    pack = project / "packs" / "studio"
    pack.mkdir(parents=True)
    (pack / "manifest.yaml").touch()
    before = sorted(project.rglob("*"))
    said = bfcl("report", "runs/demo", "--output", output, "--format", "json")
    assert (said.status, said.out) == (1, "")
    assert json.loads(said.err)["reason"] == f"--output lies {told}"
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize("output", ["build/page.html", "build/report/mine/page.html", "packs/page.html"])
def test_page_may_lie_beside_them(bfcl: Command, project: Path, output: str) -> None:
    releases.release(project / "runs" / "demo")
    assert bfcl("report", "runs/demo", "--output", output) == (0, f"{project / output}\n", "")


def test_two_ways_to_name_the_run_are_one_too_many(bfcl: Command, project: Path) -> None:
    said = bfcl("report", "runs/demo", "--config", "configs/demo.yaml")
    assert (said.status, said.out) == (1, "")
    assert "give one of RUN_DIR, --run and --config" in said.err


def test_output_that_cannot_be_written_is_told(bfcl: Command, project: Path) -> None:
    releases.release(project / "runs" / "demo")
    (project / "taken").write_bytes(b"")
    said = bfcl("report", "runs/demo", "--output", "taken/page.html")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("storage_failed: taken/page.html: cannot write: ")
