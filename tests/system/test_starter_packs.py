"""What a person does with a scaffolded pack, over the real command line: validate it, and make a benchmark of it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.system.project import REPOSITORY, Ended, Project, run_to_end


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project without packs."""
    root = tmp_path / "project"
    root.mkdir()
    shutil.copyfile(REPOSITORY / "dodo.py", root / "dodo.py")
    return Project(root)


def bfcl(project: Project, *arguments: str) -> Ended:
    return run_to_end([sys.executable, "-m", "bfcl", *arguments], project.root, project.environment())


@pytest.mark.parametrize("flags", [["--language", "vi"], ["--include-held-out"]], ids=["vi", "held_out"])
def test_scaffolded_pack_is_gold_and_publishes_rows_unedited(project: Project, flags: list[str]) -> None:
    made = bfcl(project, "scaffold-oracle-pack", "--domain", "desk", "--target", "packs/desk", *flags)
    assert made == (0, f"{project.root}/packs/desk\n", "")
    config = "packs/desk/validate.yaml"
    validated = bfcl(project, "validate-oracle-pack", "--config", config)
    assert (validated.status, validated.err) == (0, "")
    assert json.loads(validated.out)["tier"] == "gold"
    generated = project.doit("generate", f"config={config}")
    assert (generated.status, generated.err) == (0, "")
    run = project.root / "packs" / "desk_output" / "bfcl_desk_starter"
    assert generated.last_line == str(run / "benchmark.parquet")
    manifest = json.loads((run / "run_manifest.json").read_bytes())
    assert manifest["publication"]["published"]["rows"] == 3


def test_scaffolded_endpoint_pack_ends_in_a_verdict_and_generates_nothing(project: Project) -> None:
    bfcl(project, "scaffold-oracle-pack", "--domain", "desk", "--target", "packs/desk", "--transport", "endpoint")
    config = "packs/desk/validate.yaml"
    validated = bfcl(project, "validate-oracle-pack", "--config", config)
    assert (validated.status, validated.err) == (2, "")
    told = json.loads(validated.out)
    assert (told["oracle_kind"], told["tier"]) == ("endpoint", "silver")
    assert told["gold_ineligibility_reasons"][-1] == "A1: endpoint_attestation_missing"
    generated = project.doit("generate", f"config={config}")
    assert generated.status == 1
    assert [block.partition(": ")[0] for block in generated.blocks] == [
        "non_gold_pack",
        "packs/desk/endpoint_config.yaml",
    ]
    assert not (project.root / "packs" / "desk_output" / "bfcl_desk_starter" / "benchmark.parquet").exists()
