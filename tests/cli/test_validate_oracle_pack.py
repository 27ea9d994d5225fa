"""`bfcl validate-oracle-pack`: three answers, one document, nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.packs import append, put, write_config, write_pack

REPOSITORY = Path(__file__).resolve().parents[2]
Bfcl = Callable[..., Any]
REPORT = Path("trial", "stage_cache", "oracle_validation_report.json")


@pytest.fixture
def config(project: Path) -> Path:
    """A good pack with a configuration beside it."""
    return write_config(project / "run.yaml", write_pack(project / "pack"))


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def refusal(ended: Any) -> dict[str, Any]:
    assert ended.status == 1
    assert ended.out == ""
    return dict(json.loads(ended.err))


def test_gold_pack_is_status_0_and_stdout_is_the_report(
    bfcl: Bfcl, config: Path, project: Path, temporary: Path
) -> None:
    before = tree(project)
    ended = bfcl("validate-oracle-pack", "--config", str(config))
    assert (ended.status, ended.err) == (0, "")
    report = json.loads(ended.out)
    assert (report["tier"], report["gold_eligible"], report["pack_id"]) == ("gold", True, "kiln_studio")
    assert ended.out == json.dumps(report, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert tree(project) == before
    assert list(temporary.iterdir()) == []


def test_pack_below_gold_is_status_2_with_the_same_document(bfcl: Bfcl, project: Path) -> None:
    pack = write_pack(project / "pack", put("validation_cases.yaml", (0, "expect", "result_class"), "structured_error"))
    config = write_config(project / "run.yaml", pack)
    ended = bfcl("validate-oracle-pack", "--config", str(config), "--format", "json")
    assert (ended.status, ended.err) == (2, "")
    report = json.loads(ended.out)
    assert report["tier"] == "silver"
    assert "5: result_class_mismatch" in report["gold_ineligibility_reasons"]


def test_worker_thread_is_status_2(bfcl: Bfcl, project: Path) -> None:
    config = write_config(project / "run.yaml", write_pack(project / "pack"), oracle_runtime__worker="thread")
    ended = bfcl("validate-oracle-pack", "--config", str(config))
    assert ended.status == 2
    report = json.loads(ended.out)
    assert report["gold_ineligibility_reasons"] == ["T1: skipped", "I1: worker_not_process"]
    assert not report["gold_eligible"]


def test_text_lists_findings_then_summary_then_failing_checks(bfcl: Bfcl, project: Path) -> None:
    pack = write_pack(project / "pack", put("validation_cases.yaml", (0, "expect", "result_class"), "structured_error"))
    config = write_config(project / "run.yaml", pack)
    ended = bfcl("validate-oracle-pack", "--config", str(config), "--format", "text")
    assert ended.status == 2
    lines = ended.out.splitlines()
    told = "pack/validation_cases.yaml:6: result_class_mismatch: kiln_found: "
    assert [line for line in lines if line.startswith(told)]
    assert lines[-2:] == [
        "validate: silver; failed checks: 5 declared_validation_cases",
        "  5 declared_validation_cases: result_class_mismatch at pack/validation_cases.yaml:6",
    ]


@pytest.mark.parametrize(
    ("line", "code", "named"),
    [
        ("expt_nam: x", "generation_config_invalid", "expt_nam is not a key"),
        ("expt_name: REPLACE_ME_1\nconfig_status: resolved", "generation_config_invalid", "REPLACE_ME_"),
        ("oracle_runtime: {clock: '2026-03-02T09:00:00'}", "generation_config_invalid", "clock"),
    ],
)
def test_configuration_at_fault_is_status_1_with_one_object(
    bfcl: Bfcl, config: Path, line: str, code: str, named: str
) -> None:
    key = line.partition(":")[0]
    kept = _without(config.read_text(encoding="utf-8"), key)
    config.write_text(f"{kept}{line}\n", encoding="utf-8")
    document = refusal(bfcl("validate-oracle-pack", "--config", str(config), "--format", "json"))
    assert {"schema_version", "status", "error_type", "code", "reason", "recovery", "file", "line"} < document.keys()
    assert (document["status"], document["error_type"], document["schema_version"]) == ("error", "ConfigError", "1.0")
    assert document["file"] == "run.yaml"
    assert any(one["code"] == code and named in one["reason"] for one in document["problems"])


def _without(text: str, key: str) -> str:
    """A YAML mapping without one top-level block."""
    kept, dropping = [], False
    for line in text.splitlines(keepends=True):
        if not line.startswith((" ", "-")):
            dropping = line.startswith(f"{key}:")
        if not dropping:
            kept.append(line)
    return "".join(kept)


@pytest.mark.parametrize("content", [b"- a\n- list\n", b"", b"a: [\n", b"\xff\xfe"])
def test_file_that_is_no_configuration_is_status_1(bfcl: Bfcl, project: Path, content: bytes) -> None:
    (project / "run.yaml").write_bytes(content)
    document = refusal(bfcl("validate-oracle-pack", "--config", "run.yaml", "--format", "json"))
    assert document["code"] == "generation_config_invalid"
    assert document["file"] == "run.yaml"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing option '--config'."),
        (("--config", "absent.yaml"), "Invalid value for '--config': File 'absent.yaml' does not exist."),
        (("--config", "run.yaml", "--format", "xml"), "'xml' is not one of 'auto', 'json', 'text'."),
        (("--config", "run.yaml", "more"), "Got unexpected extra argument (more)"),
    ],
)
def test_wrong_command_line_is_status_1(bfcl: Bfcl, config: Path, arguments: tuple[str, ...], said: str) -> None:
    assert config.is_file()
    ended = bfcl("validate-oracle-pack", *arguments)
    assert (ended.status, ended.out) == (1, "")
    assert said in ended.err


def test_pack_that_does_not_load_is_status_1_with_every_problem(bfcl: Bfcl, project: Path, config: Path) -> None:
    (project / "pack" / "tools.json").write_text("[", encoding="utf-8")
    (project / "pack" / "fixtures.json").write_text("[]", encoding="utf-8")
    document = refusal(bfcl("validate-oracle-pack", "--config", str(config), "--format", "json"))
    assert document["error_type"] == "PackError"
    assert {one["file"] for one in document["problems"]} == {"pack/tools.json", "pack/fixtures.json"}


def test_output_directory_gets_the_report_and_keeps_what_else_it_holds(bfcl: Bfcl, config: Path, project: Path) -> None:
    first = bfcl("validate-oracle-pack", "--config", str(config), "--output-dir", "out")
    assert first.status == 0
    assert (project / "out" / REPORT).read_bytes() == first.out.encode()
    (project / "out" / "notes.txt").write_text("mine", encoding="utf-8")
    (project / "out" / REPORT).with_name("mine.json").write_text("{}", encoding="utf-8")
    (project / "out" / REPORT).write_text("{}", encoding="utf-8")
    text = bfcl("validate-oracle-pack", "--config", str(config), "--output-dir", "out", "--format", "text")
    assert text.out.splitlines()[-1] == f"validate: gold; failed checks: none; report: {Path('out', REPORT)}"
    assert set(tree(project / "out")) == {
        "notes.txt",
        str(REPORT),
        str(REPORT.with_name("mine.json")),
        "trial/.bfcl.lock",
    }
    assert (project / "out" / REPORT).read_bytes() == first.out.encode()


@pytest.mark.parametrize("output", ["pack", "pack/out", "link"])
def test_output_inside_the_pack_is_refused(bfcl: Bfcl, config: Path, project: Path, output: str) -> None:
    (project / "link").symlink_to(project / "pack")
    before = tree(project)
    ended = bfcl("validate-oracle-pack", "--config", str(config), "--output-dir", output)
    assert (ended.status, ended.out) == (1, "")
    place = "pack/out/trial" if output == "pack/out" else "pack/trial"
    assert ended.err == (
        f"output_inside_pack: --output-dir: {place} lies inside the pack pack, whose files it would change\n"
        "  fix: name a directory beside the pack\n"
    )
    assert tree(project) == before


def test_report_of_a_published_run_is_not_replaced(bfcl: Bfcl, config: Path, project: Path) -> None:
    run = project / "out" / "trial"
    run.mkdir(parents=True)
    (run / "run_manifest.json").write_text("{}", encoding="utf-8")
    ended = bfcl("validate-oracle-pack", "--config", str(config), "--output-dir", "out")
    assert (ended.status, ended.out) == (1, "")
    assert ended.err == (
        "output_holds_release: --output-dir: out/trial holds a published run, whose manifest vouches for another "
        "report\n  fix: name another directory, or leave `--output-dir` out\n"
    )


def test_own_configuration_of_a_pack_works_from_any_directory(
    bfcl: Bfcl, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = write_pack(project / "somewhere" / "pack")
    own = (
        "family: bfcl\nexpt_name: own\noutput_dir: ../pack_runs\nstage: prepare\nconfig_status: resolved\n"
        "oracle_pack: {manifest_path: manifest.yaml}\n"
        "oracle_runtime: {clock: '2026-03-02T09:00:00+07:00', allowed_roots: [.]}\n"
        "lineage: {policy: smoke_no_publication}\ntask_generation: {tasks_per_category: 4}\n"
    )
    (pack / "validate.yaml").write_text(own, encoding="utf-8")
    here = bfcl("validate-oracle-pack", "--config", "somewhere/pack/validate.yaml")
    monkeypatch.chdir(tmp_path)
    there = bfcl("validate-oracle-pack", "--config", str(pack / "validate.yaml"))
    assert here.status == there.status == 0
    assert here.out == there.out
    (pack / "validate.yaml").write_text(own + "wrong: 1\n", encoding="utf-8")
    document = refusal(bfcl("validate-oracle-pack", "--config", str(pack / "validate.yaml"), "--format", "json"))
    assert document["file"] == "project/somewhere/pack/validate.yaml"


def test_configuration_of_a_project_finds_its_packs_from_any_directory(
    bfcl: Bfcl, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pack(project / "packs" / "pack")
    (project / "dodo.py").write_text("", encoding="utf-8")
    path = write_config(project / "configs" / "run.yaml", project / "packs" / "pack")
    text = path.read_text(encoding="utf-8")
    path.write_text("".join(_without_roots(text)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ended = bfcl("validate-oracle-pack", "--config", str(path))
    assert ended.status == 0, ended.err
    path.write_text("".join(_without_roots(text)) + "wrong: 1\n", encoding="utf-8")
    document = refusal(bfcl("validate-oracle-pack", "--config", str(path), "--format", "json"))
    assert document["file"] == "project/configs/run.yaml"


def _without_roots(text: str) -> list[str]:
    lines = text.splitlines(keepends=True)
    at = next(index for index, line in enumerate(lines) if line.strip().startswith("allowed_roots:"))
    inline = "[" in lines[at]
    return lines[:at] + lines[at + (1 if inline else 2) :]


def test_what_a_pack_prints_never_reaches_stdout(project: Path) -> None:
    noise = "import os, sys\nprint('NOISE')\nos.write(1, b'NOISE')\nsys.__stdout__.write('NOISE')\n"
    pack = write_pack(project / "pack", append("backend.py", noise), append("assertions.py", noise))
    config = write_config(project / "run.yaml", pack)
    done = subprocess.run(
        [sys.executable, "-m", "bfcl", "validate-oracle-pack", "--config", str(config)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "NOISE" not in done.stdout
    assert json.loads(done.stdout)["tier"] == "gold"
