"""`doit validate` in one process: which pack it is about, what it leaves, and what it says."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from bfcl.errors import PackError, StageError
from bfcl.graph.opening import Opening
from bfcl.graph.validation import clean_validations, validate
from bfcl.graph.variables import check_variables
from tests.graph.projects import invoked, write_project
from tests.packs import put, write_config


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "__stdout__", stream)
    return stream


def opened(project: Path, monkeypatch: pytest.MonkeyPatch, **given: str) -> Opening:
    monkeypatch.chdir(project)
    opening = Opening(invoked(project, **given))
    opening.tasks = ("validate",)
    opening.variables = check_variables(given, opening.tasks)
    opening.command = "prepare"
    return opening


def test_gold_pack_gets_a_report_and_evidence_that_the_next_run_uses(
    project: Path, monkeypatch: pytest.MonkeyPatch, said: io.StringIO
) -> None:
    place = project / "build" / "validate" / "kiln_studio"
    assert validate(opened(project, monkeypatch))
    report = (place / "oracle_validation_report.json").read_bytes()
    assert said.getvalue().splitlines()[-2:] == [
        "checks: 0 reused, 12 run (1, 2, 3, 4, 5, 6, 7 for 4 of 4 templates, M1, D1, D2, T1, I1)",
        "validate: gold; failed checks: none; report: build/validate/kiln_studio/oracle_validation_report.json",
    ]
    assert validate(opened(project, monkeypatch))
    assert said.getvalue().splitlines()[-2] == "checks: 12 reused, 0 run"
    assert (place / "oracle_validation_report.json").read_bytes() == report
    write_project(project, task_generation__tasks_per_category=11)
    assert validate(opened(project, monkeypatch))
    assert said.getvalue().splitlines()[-2] == "checks: 11 reused, 1 run (7 for 4 of 4 templates)"
    clean_validations(opened(project, monkeypatch), dryrun=True)
    assert said.getvalue().splitlines()[-1] == f"would remove {project / 'build' / 'validate'}"
    assert place.is_dir()
    clean_validations(opened(project, monkeypatch), dryrun=False)
    assert not place.parent.exists()


@pytest.mark.parametrize("given", [{}, {"pack": "packs/studio"}])
def test_setting_that_the_pack_refuses_is_placed_at_its_line_however_the_pack_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    project = write_project(tmp_path.resolve())
    pack = project / "packs" / "studio"
    for path in (project / "configs" / "tiny.yaml", pack / "validate.yaml"):
        write_config(path, pack, oracle_pack__fixtures_path=str(pack / "nowhere.json"))
    with pytest.raises(PackError) as caught:
        validate(opened(project, monkeypatch, **given))
    text = (pack / "validate.yaml").read_text(encoding="utf-8")
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "fixtures_path" in one)
    told = "packs/studio/validate.yaml" if given else "configs/tiny.yaml"
    assert str(caught.value) == (
        f"{told}:{line}: pack_file_missing: `fixtures`: `packs/studio/nowhere.json` does not exist\n"
        "  fix: add the file or correct the path"
    )


def test_report_that_cannot_be_written_is_told_after_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: io.StringIO
) -> None:
    project = write_project(tmp_path.resolve())
    (project / "build").mkdir()
    (project / "build" / "validate").write_text("in the way", encoding="utf-8")
    with pytest.raises(StageError) as caught:
        validate(opened(project, monkeypatch))
    assert said.getvalue().splitlines()[-1] == "validate: gold; failed checks: none"
    assert (
        str(caught.value)
        .splitlines()[0]
        .startswith("storage_failed: build/validate/kiln_studio/oracle_validation_report.json: cannot write: ")
    )


def test_words_of_a_pack_cannot_steer_the_terminal_or_pass_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: io.StringIO
) -> None:
    forged = "a\x1b[2Jb\nvalidate: gold"
    project = write_project(
        tmp_path.resolve(),
        put("validation_cases.yaml", (0, "id"), forged),
        put("validation_cases.yaml", (0, "expect", "zone"), "\x07west"),
    )
    assert not validate(opened(project, monkeypatch))
    told = said.getvalue()
    assert "a\\x1b[2Jb\\nvalidate: gold" in told
    assert not {"\x1b", "\x07"} & set(told)
    assert [line.split(";")[0] for line in told.splitlines() if line.startswith("validate:")] == ["validate: silver"]


def test_pack_that_does_not_load_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = write_project(tmp_path.resolve(), put("tools.json", (0, "type"), 1))
    with pytest.raises(PackError) as caught:
        validate(opened(project, monkeypatch))
    assert [one.code for one in caught.value.problems] == ["tools_catalog_invalid"]
    assert not (project / "build").exists()
