"""A problem of a setting is told at its line in the configuration that a person wrote."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from bfcl.config.load import load_config_from_here
from bfcl.config.loaded import LoadedConfig, is_setting
from bfcl.errors import ConfigError, PackError, Problem
from tests.config.builder import GOOD, load, write


@pytest.fixture
def loaded(tmp_path: Path) -> LoadedConfig:
    return load(tmp_path, GOOD)


def problem(subject: str | None, path: str | None = None) -> Problem:
    return Problem(code="odd", message="MESSAGE", subject=subject, path=path)


@pytest.mark.parametrize("key", ["output_dir", "oracle_runtime.clock", "lineage.policy"])
def test_problem_of_a_setting_is_placed_at_its_line(loaded: LoadedConfig, key: str) -> None:
    placed = loaded.placed(problem(key))
    line = loaded.document.line(key.split("."))
    assert str(placed) == f"configs/run.yaml:{line}: odd: MESSAGE"
    assert (placed.field, placed.column) == (key, loaded.document.place(key.split(".")).column)


def test_setting_that_is_not_written_is_placed_where_it_would_stand(loaded: LoadedConfig) -> None:
    line = loaded.document.line(("oracle_pack",))
    assert str(loaded.placed(problem("oracle_pack.backend_path"))) == f"configs/run.yaml:{line}: odd: MESSAGE"


@pytest.mark.parametrize("one", [problem(None), problem("kiln_status"), problem("tree/a"), problem("stage", "a.py")])
def test_problem_of_something_else_stays_as_it_is(loaded: LoadedConfig, one: Problem) -> None:
    assert loaded.placed(one) is one


def test_defaults_that_nobody_wrote_have_no_line(loaded: LoadedConfig) -> None:
    one = problem("output_dir")
    assert dataclasses.replace(loaded, written=False).placed(one) is one


def test_every_problem_of_a_refusal_is_placed_and_its_kind_stays(loaded: LoadedConfig) -> None:
    with pytest.raises(PackError) as caught, loaded.placing():
        raise PackError([problem("stage"), problem("kiln_status")])
    assert [one.field for one in caught.value.problems] == ["stage", None]


@pytest.mark.parametrize(
    ("subject", "told"), [("stage", True), ("lineage.policy", True), ("a.b", False), (None, False)]
)
def test_setting_is_told_by_its_section(subject: str | None, told: bool) -> None:
    assert is_setting(subject) is told


def test_configuration_is_named_as_seen_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, GOOD)
    monkeypatch.chdir(path.parent)
    loaded = load_config_from_here(path, project=tmp_path, command="prepare")
    assert loaded.document.path == "run.yaml"
    write(tmp_path, {**GOOD, "colour": 1})
    with pytest.raises(ConfigError) as caught:
        load_config_from_here(path, project=tmp_path, command="prepare")
    assert {one.path for one in caught.value.problems} == {"run.yaml"}
    monkeypatch.chdir("/")
    with pytest.raises(ConfigError) as caught:
        load_config_from_here(path, project=tmp_path, command="prepare")
    assert {one.path for one in caught.value.problems} == {str(path).removeprefix("/")}
