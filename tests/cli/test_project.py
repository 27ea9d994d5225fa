"""What a new user project consists of."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from bfcl.cli import project
from bfcl.cli.main import COMMANDS
from bfcl.cli.project import CONFIG, project_files
from bfcl.config.load import load_config
from bfcl.errors import ConfigError
from bfcl.exports.formats import FORMATS
from bfcl.graph.variables import KNOWN

REPOSITORY = Path(__file__).resolve().parents[2]


def imported_names(source: str) -> dict[str, list[str]]:
    """Module to the names imported from it."""
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return {node.module or "": [name.name for name in node.names] for node in found}


def write(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_project_is_the_same_bytes_each_time_in_sorted_order() -> None:
    first = project_files()
    assert first == project_files()
    assert list(first) == sorted(first)


def test_starter_pack_and_configuration_are_the_repositorys_own() -> None:
    files = project_files()
    pack = REPOSITORY / "packs" / "tiny_oracle_pack"
    theirs = {
        path.relative_to(REPOSITORY).as_posix(): path.read_bytes()
        for path in pack.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name: data for name, data in files.items() if name.startswith("packs/")} == theirs
    ours, own = (yaml.safe_load(data) for data in (files["configs/tiny.yaml"], (REPOSITORY / CONFIG).read_bytes()))
    assert ours == own


def test_configuration_points_to_no_page_that_a_new_project_lacks() -> None:
    own = (REPOSITORY / CONFIG).read_text(encoding="utf-8")
    assert project_files()[CONFIG].decode() == own
    assert "docs/" not in project_files()[CONFIG].decode()


def test_configuration_is_accepted_in_a_new_project(tmp_path: Path) -> None:
    write(tmp_path, project_files())
    config = load_config(tmp_path / "configs" / "tiny.yaml", project=tmp_path, command="generate").config
    assert config.oracle_pack.manifest_path.is_file()
    assert config.run_dir == tmp_path.resolve() / "build" / "runs" / "tiny"


def test_dodo_names_the_tasks_and_holds_no_logic() -> None:
    source = project_files()["dodo.py"].decode()
    assert imported_names(source) == {"bfcl.graph.tasks": ["DOIT_CONFIG", "task_pipeline"]}
    kinds = [type(node) for node in ast.parse(source).body]
    assert kinds == [ast.Expr, ast.ImportFrom, ast.Assign]
    assert source.endswith('__all__ = ["DOIT_CONFIG", "task_pipeline"]\n')


def test_dodo_imports_what_the_repositorys_own_imports() -> None:
    own = imported_names((REPOSITORY / "dodo.py").read_text())
    assert set(own["bfcl.graph.tasks"]) >= {"DOIT_CONFIG", "task_pipeline"}


def test_output_is_ignored_by_git() -> None:
    assert project_files()[".gitignore"].decode().split("\n") == [
        "/build/",
        "# What packs publish under their own validate.yaml.",
        "/packs/*_output/",
        "/packs/*_runs/",
        "/packs/.bfcl/",
        "",
    ]


def test_workflow_restores_and_saves_build_under_one_key() -> None:
    workflow = yaml.safe_load(project_files()[".github/workflows/benchmark.yml"])
    steps = workflow["jobs"]["generate"]["steps"]
    caches = {step["uses"]: step["with"] for step in steps if "cache" in step.get("uses", "")}
    restore, save = caches["actions/cache/restore@v4"], caches["actions/cache/save@v4"]
    assert restore["path"] == save["path"] == "build"
    assert restore["key"] == save["key"]
    assert restore["key"].startswith(restore["restore-keys"])
    assert [step["run"] for step in steps if "run" in step] == [
        'pip install "${BFCL_BUILD:?set this repository variable to the source of bfcl-build}"',
        "doit generate",
        "bfcl build-report --format text",
        "bfcl gc --config configs",
    ]


def test_no_file_installs_from_an_index_that_does_not_have_it() -> None:
    # Anybody could register a name that is still free.
    for name, data in project_files().items():
        assert b"pip install bfcl-build" not in data, name


def test_readme_names_extras_commands_and_settings_that_exist() -> None:
    readme = project_files()["README.md"].decode()
    known = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    (installed,) = re.findall(r"pip install 'PATH_OF_THE_CHECKOUT\[([\w,]+)\]'", readme)
    assert set(installed.split(",")) == set(re.findall(r"\(extra `(\w+)`\)", readme)) <= set(known)
    assert set(re.findall(r"\bbfcl ([a-z][a-z-]+)\b", readme.replace("`bfcl` ", ""))) <= set(COMMANDS)
    assert set(re.findall(r"\b([a-z_]+)=", readme)) <= set(KNOWN)
    assert {name for name in FORMATS if f"`{name}`" in readme or f"{{{name}: true}}" in readme} == set(FORMATS)


@pytest.mark.parametrize("setting", re.findall(r"`(\w+: \{[^`]*\})`", project.README))
def test_setting_that_the_readme_shows_is_accepted_in_a_new_project(tmp_path: Path, setting: str) -> None:
    files = project_files()
    write(tmp_path, {**files, CONFIG: files[CONFIG] + f"{setting}\n".encode()})
    load_config(tmp_path / CONFIG, project=tmp_path, command="generate")


def test_readme_names_only_files_that_are_written() -> None:
    files = project_files()
    cells = [line.split("`")[1] for line in files["README.md"].decode().splitlines() if line.startswith("| `")]
    missing = [cell for cell in cells if not any(name == cell or name.startswith(cell) for name in files)]
    assert missing == ["build/"]


def test_installed_starter_wins_over_the_checkout_and_its_bytecode_stays_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starter = {
        "configs/eval.cli.yaml": b"stage: eval\n",
        "configs/eval.default.yaml": b"config_status: template\n",
        "configs/eval.tiny.yaml": b"config_status: resolved\n",
        "configs/tiny.yaml": b"family: bfcl\n",
        "packs/tiny_oracle_pack/manifest.yaml": b"pack_id: p\n",
        "packs/tiny_oracle_pack/__pycache__/backend.cpython-311.pyc": b"\0",
    }
    write(tmp_path, starter)
    monkeypatch.setattr(project, "_INSTALLED", tmp_path)
    assert sorted(project_files()) == [
        ".github/workflows/benchmark.yml",
        ".gitignore",
        "README.md",
        "configs/eval.cli.yaml",
        "configs/eval.default.yaml",
        "configs/eval.tiny.yaml",
        "configs/tiny.yaml",
        "dodo.py",
        "packs/tiny_oracle_pack/manifest.yaml",
    ]


def test_missing_starter_is_refused_naming_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "_INSTALLED", tmp_path)
    with pytest.raises(ConfigError) as refused:
        project_files()
    assert str(refused.value) == (
        f"starter_missing: this installation lacks {tmp_path}/configs/tiny.yaml, "
        f"{tmp_path}/configs/eval.cli.yaml, {tmp_path}/configs/eval.default.yaml, {tmp_path}/configs/eval.tiny.yaml, "
        f"{tmp_path}/packs/tiny_oracle_pack/manifest.yaml\n  fix: install `bfcl-build` again"
    )
