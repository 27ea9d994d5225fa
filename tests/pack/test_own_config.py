"""The configuration a pack is looked at under when nobody names one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.errors import ConfigError, PackError
from bfcl.pack.own_config import DEFAULT_CLOCK, load_own
from tests.packs import Edit, drop, put, text, write_pack


@pytest.mark.parametrize(
    ("edit", "clock"),
    [
        (put("manifest.yaml", ["clock"], "2026-05-01T10:00:00+07:00"), "2026-05-01T10:00:00+07:00"),
        (put("manifest.yaml", ["clock"], "2026-05-01T10:00:00"), DEFAULT_CLOCK),
        (put("manifest.yaml", ["clock"], "noon"), DEFAULT_CLOCK),
        (drop("manifest.yaml", ["description"]), DEFAULT_CLOCK),
    ],
)
def test_clock_is_the_manifests_where_that_is_a_time_with_an_offset(tmp_path: Path, edit: Edit, clock: str) -> None:
    assert load_own(write_pack(tmp_path / "pack", edit)).loaded.config.oracle_runtime.clock == clock


def test_defaults_are_those_of_a_smoke_run_beside_the_pack_wide_enough_for_it(tmp_path: Path) -> None:
    config = load_own(write_pack(tmp_path / "pack")).loaded.config
    assert (config.oracle_runtime.worker, config.lineage.policy) == ("process", "smoke_no_publication")
    assert config.oracle_runtime.allowed_roots == (tmp_path / "pack",)
    assert config.run_dir == tmp_path / "pack_runs" / "validate"
    assert config.task_generation.tasks_per_category == 2


def test_validate_yaml_of_the_pack_wins(tmp_path: Path) -> None:
    root = write_pack(
        tmp_path / "pack",
        text(
            "validate.yaml",
            "family: bfcl\nexpt_name: mine\nstage: prepare\noutput_dir: ../out\n"
            "oracle_pack: {manifest_path: manifest.yaml}\n"
            'oracle_runtime: {clock: "2027-01-01T00:00:00+00:00", allowed_roots: [.]}\n'
            "lineage: {policy: smoke_no_publication}\ntask_generation: {tasks_per_category: 9}\n",
        ),
    )
    config = load_own(root).loaded.config
    assert (config.expt_name, config.task_generation.tasks_per_category) == ("mine", 9)
    assert config.run_dir == tmp_path / "out" / "mine"


def test_fault_of_validate_yaml_is_refused_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_pack(tmp_path / "pack", text("validate.yaml", "family: bfcl\nexpt_nam: x\n"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        load_own(root)
    told = "pack/validate.yaml:2: generation_config_invalid: expt_nam is not a key of the configuration"
    assert told in str(caught.value)


def test_directory_without_a_manifest_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pack").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PackError) as caught:
        load_own(Path("pack"))
    assert str(caught.value) == (
        "pack: pack_file_missing: `pack` holds no manifest.yaml; expected an oracle pack\n"
        "  fix: name the directory of a pack, or write one with `bfcl scaffold-oracle-pack`"
    )
