"""Private tasks from the command line: asked beside public ones or alone, of which one report of counts leaves."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from pathlib import Path

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


@pytest.mark.parametrize(
    "modes",
    [
        ["held_out_eval"],
        pytest.param(["trace", "held_out_eval"], marks=pytest.mark.slow),
        pytest.param(["executable", "held_out_eval"], marks=pytest.mark.slow),
    ],
)
def test_private_tasks_are_asked_and_nothing_but_counts_of_them_is_written(
    kept_back: Project,
    tmp_path: Path,
    modes: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    project = kept_back.copy(tmp_path / "project")
    monkeypatch.chdir(project.root)
    monkeypatch.setenv(KEY, CANARY)
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
