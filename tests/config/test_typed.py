"""Defaults and types of a configuration without problems."""

from __future__ import annotations

from pathlib import Path

from bfcl.config.axes import STYLE_AXES
from bfcl.config.model import (
    Lineage,
    ModelRole,
    OraclePackPaths,
    OracleRuntime,
    RunConfig,
    SurfaceGeneration,
    TaskGeneration,
)
from tests.config.builder import GOOD, MODEL, edited, load


def test_typed_fills_every_default(tmp_path: Path) -> None:
    off = ModelRole()
    assert load(tmp_path, GOOD).config == RunConfig(
        family="bfcl",
        expt_name="trial",
        output_dir=tmp_path / "build" / "runs",
        oracle_pack=OraclePackPaths(manifest_path=tmp_path / "packs" / "sample" / "manifest.yaml"),
        oracle_runtime=OracleRuntime(clock="2026-03-02T09:00:00+00:00", allowed_roots=(tmp_path / "packs",)),
        lineage=Lineage(policy="smoke_no_publication", roles={"profile": off, "paraphrase": off, "surface_judge": off}),
        surface_generation=SurfaceGeneration(surface_style_axes=STYLE_AXES),
    )


def test_typed_resolves_paths_from_the_directory_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "packs" / "real").mkdir(parents=True)
    (tmp_path / "packs" / "link").symlink_to("real")
    edits = {
        "oracle_pack.manifest_path": "../packs/link/manifest.yaml",
        "oracle_pack.fixtures_path": "fixtures.json",
        "oracle_pack.backend_path": None,
        "oracle_runtime.allowed_roots": ["..", "/srv/packs"],
    }
    config = load(tmp_path, edited(edits)).config
    assert config.pack_root == tmp_path / "packs" / "real"
    assert config.oracle_pack.fixtures_path == tmp_path / "configs" / "fixtures.json"
    assert config.oracle_pack.backend_path is None
    assert config.oracle_runtime.allowed_roots == (tmp_path, Path("/srv/packs"))


def test_typed_takes_an_empty_list_of_roots_for_the_default(tmp_path: Path) -> None:
    for empty in (None, []):
        config = load(tmp_path, edited({"oracle_runtime.allowed_roots": empty})).config
        assert config.oracle_runtime.allowed_roots == (tmp_path / "packs",)


def test_typed_makes_floats_of_whole_numbers(tmp_path: Path) -> None:
    edits = {"oracle_runtime.tool_timeout_s": 5, "task_generation.turn_mix": {"single_turn": 1}}
    config = load(tmp_path, edited(edits), "prepare").config
    assert isinstance(config.oracle_runtime.tool_timeout_s, float)
    assert config.task_generation.turn_mix == {"single_turn": 1.0}
    assert isinstance((config.task_generation.turn_mix or {})["single_turn"], float)


def test_typed_candidates_default_to_the_tasks(tmp_path: Path) -> None:
    config = load(tmp_path, edited({"task_generation.tasks_per_category": 5})).config
    assert config.task_generation == TaskGeneration(tasks_per_category=5, candidate_tasks_per_category=5)


def test_typed_keeps_roles_and_axes_given(tmp_path: Path) -> None:
    edits = {
        "lineage.roles.profile": {"model_config": MODEL},
        "surface_generation.surface_style_axes": ["b", "a"],
        "surface_generation.unheard_of": 1,
        "exports.csv": True,
    }
    config = load(tmp_path, edited(edits), "prepare").config
    assert config.lineage.roles["profile"] == ModelRole(model_config=MODEL)
    assert config.surface_generation.surface_style_axes == ("b", "a")


def test_style_axes_are_twenty_different_ones() -> None:
    assert len(STYLE_AXES) == len(set(STYLE_AXES)) == 20
    assert all(axis == axis.strip() and axis for axis in STYLE_AXES)
