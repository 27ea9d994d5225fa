"""Private tasks from the command line: asked beside public ones or alone, of which one report of counts leaves."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from bfcl.cli.main import cli
from bfcl.cli.show import run
from bfcl.evaluate.held_out.private import private_tasks
from bfcl.evaluate.scripted.load import published_rows
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.source.verify import verify_source
from bfcl.exports.row import ExportRow
from bfcl.pack.load import load_pack
from bfcl.release.read import open_release
from tests.evaluate.arena import CANARY, KEY, served
from tests.evaluate.held_out.bench import ATTIC, HELD_OUT, SECRETS, section_of
from tests.packs import ALL_POLICIES, put, run_config
from tests.system.project import REPOSITORY, Project, write_project


@pytest.fixture(scope="session")
def kept_back(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published project whose pack holds something out; never to be changed."""
    root = tmp_path_factory.mktemp("kept") / "project"
    attic = put("fixtures.json", ("kilns", "-"), ATTIC)
    budget = {"task_generation__tasks_per_category": 8}
    project = write_project(root, attic, HELD_OUT, templates=ALL_POLICIES, **budget)
    project.generate()
    return project


def configure(project: Project, base_url: str, modes: list[str]) -> Path:
    config = yaml.safe_load((REPOSITORY / "configs" / "eval.tiny.yaml").read_text(encoding="utf-8"))
    section = dataclasses.asdict(section_of(load_pack(run_config(project.pack), project=project.root)))
    config |= {
        "source_run_manifest": str(project.run_dir / "run_manifest.json"),
        "source_oracle": {
            "kind": "python",
            "pack_manifest": str(project.pack / "manifest.yaml"),
            "resource": str(project.pack / "backend.py"),
        },
        "eval": {"mode": modes},
        "held_out_eval": {name: list(value) if isinstance(value, tuple) else value for name, value in section.items()},
    }
    (candidate,) = config["candidates"]
    candidate["api"] = {"base_url": base_url, "api_key_env": KEY}
    candidate |= {"model": "scripted-gold", "model_identity": {"source": "scripted", "model": "scripted-gold"}}
    off = dict.fromkeys(("write_task_results", "cache_candidate_responses", "cache_tool_results"), False)
    config["outputs"] |= {"output_dir": "../build/eval/mine", **off}
    path = project.root / "configs" / "mine.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def every_row(project: Project) -> tuple[list[ExportRow], list[ExportRow]]:
    """Public rows and private ones."""
    settings = load_settings(configure(project, "http://127.0.0.1:9/v1", ["held_out_eval"]))
    private = asyncio.run(private_tasks(settings, verify_source(settings, probe_oracle=True)))
    return published_rows(open_release(project.run_dir)), [one.row for one in private.tasks]


def opening(row: ExportRow) -> object:
    """What the user says first."""
    return next(message["content"] for message in row.messages if message["role"] == "user")


@pytest.fixture
def project(kept_back: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A copy to evaluate, the current directory; the candidate's key is set."""
    copied = kept_back.copy(tmp_path / "project")
    monkeypatch.chdir(copied.root)
    monkeypatch.setenv(KEY, CANARY)
    return copied


def told_of(out: Path) -> dict[str, Any]:
    (one,) = json.loads((out / "held_out_eval_report.json").read_bytes())["candidates"]
    return dict(one)


@pytest.mark.parametrize(
    "modes",
    [["held_out_eval"], pytest.param(["trace", "held_out_eval"], marks=pytest.mark.slow)],
)
def test_stops_on_either_side_are_told_and_a_side_without_any_measured_task_ends_in_nothing_measured(
    project: Project,
    modes: list[str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    public, private = every_row(project)
    out = project.root / "build" / "eval" / "mine"
    ended, counts = [], []
    said = {opening(row) for row in private}
    # The candidate refuses by 400 what it does not know; a private task that begins as a public one is none of that.
    for rows in (public, [row for row in public if opening(row) not in said]):
        with served(rows) as candidate:
            path = str(configure(project, candidate.base_url, modes))
            ended.append(run(cli, ["eval", "--config", path], terminal=True))
        seen, hidden, gap = (told_of(out)[name] for name in ("seen", "held_out", "gap"))
        assert seen["successes"] == seen["tasks"] - seen["non_candidate_stops"] == len(rows)
        assert hidden["successes"] == hidden["tasks"] - hidden["non_candidate_stops"]
        assert (gap is None) == (hidden["successes"] == 0)
        counts.append(hidden["non_candidate_stops"])
        shutil.rmtree(out)
    printed = capfd.readouterr()
    assert ended == [0, 3]
    count, (stopped, every) = len(private), counts
    assert 0 < stopped < every == count
    assert (
        f"tasks_stopped: scripted-gold: {stopped} of {count} held-out tasks were stopped by the run and count as "
        f"failed, in the gap, too: HTTP 400 Bad Request, {stopped} times\n"
    ) in printed.err
    assert (
        f"eval_nothing_measured: scripted-gold: all {count} held-out tasks ended for reasons that are not the "
        f"candidate's, so that its rate of 0 is no score, and the gap was not measured: HTTP 400 Bad Request, {count} "
        "times\n"
    ) in printed.err
    secrets = (*SECRETS, *(row.task_id for row in private))
    assert not [word for word in secrets if word in printed.out + printed.err]


@pytest.mark.parametrize(
    "modes",
    [["held_out_eval"], pytest.param(["trace", "held_out_eval"], marks=pytest.mark.slow)],
)
def test_endpoint_that_is_down_leaves_neither_side_of_the_gap(
    project: Project,
    modes: list[str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    path = configure(project, "http://127.0.0.1:9/v1", modes)
    path.write_text(path.read_text().replace("max_retries: 2", "max_retries: 0"), encoding="utf-8")
    assert run(cli, ["eval", "--config", str(path)], terminal=True) == 3
    printed = capfd.readouterr()
    refusals = [line for line in printed.err.splitlines() if line.startswith("eval_nothing_measured: ")]
    assert [line.partition(" ended for ")[0].partition(" tasks")[0].split()[-1] for line in refusals] == [
        "public",
        "held-out",
    ]
    assert 'status: "completed"' in printed.out
    one = told_of(project.root / "build" / "eval" / "mine")
    assert (one["gap"], one["gap_excluding_non_candidate_stops"]) == (None, None)
    for side in ("seen", "held_out"):
        assert one[side]["non_candidate_stops"] == one[side]["tasks"] > 0


@pytest.mark.parametrize(
    "modes",
    [
        ["held_out_eval"],
        pytest.param(["trace", "held_out_eval"], marks=pytest.mark.slow),
        pytest.param(["executable", "held_out_eval"], marks=pytest.mark.slow),
    ],
)
def test_private_tasks_are_asked_and_nothing_but_counts_of_them_is_written(
    project: Project,
    modes: list[str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    public, private = every_row(project)
    with served([*public, *private]) as candidate:
        path = str(configure(project, candidate.base_url, modes))
        assert run(cli, ["eval", "--config", path, "--dry-run"], terminal=True) == 0
        assert candidate.bodies == []
        assert run(cli, ["eval", "--config", path, "--format", "json"], terminal=True) == 0
        status = run(cli, ["eval", "--config", path, "--format", "json"], terminal=True)
    printed = capfd.readouterr()
    assert status == 0, printed.err
    out = project.root / "build" / "eval" / "mine"
    payload = json.loads(printed.out.splitlines()[-1])
    alone = modes == ["held_out_eval"]
    report_name = "held_out_eval_report.json" if alone else "eval_report.json"
    assert payload["report_path"] == str(out / report_name)
    assert payload["manifest_path"] == (None if alone else str(out / "eval_manifest.json"))
    report = json.loads((out / "held_out_eval_report.json").read_bytes())
    (one,) = report["candidates"]
    assert (one["seen"]["successes"], one["seen"]["tasks"]) == (len(public), len(public))
    assert (one["held_out"]["successes"], one["held_out"]["tasks"]) == (len(private), len(private))
    if not alone:
        manifest = json.loads((out / "eval_manifest.json").read_bytes())
        assert "held_out_eval_report" in manifest["artifacts"]
    # The configuration names what is reserved, and its own copy repeats it.
    files = [file for file in out.iterdir() if file.name != "resolved_eval_config.json"]
    told = [file.read_text() for file in files] + [printed.out, printed.err]
    hidden = [row.task_id for row in private]
    assert not [word for word in (*SECRETS, *hidden) for text in told if word in text]
