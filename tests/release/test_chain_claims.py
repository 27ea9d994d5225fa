"""What checkpoints say of a run; one that is gone or damaged says nothing, and hides nothing of the others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import readable_json
from bfcl.release.chain_claims import chain_claims
from bfcl.stages import STAGES
from tests.graph.chains import build
from tests.graph.projects import write_project

LATER = "expected_trace"
IDENTITY = {
    ("generation_config_hash",),
    ("runtime", "pipeline_source_hash"),
    ("runtime", "dependency_lock_hash"),
    ("runtime", "worker_image_digest"),
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published run with its checkpoints; never to be changed."""
    project = write_project(
        tmp_path_factory.mktemp("claims").resolve() / "project", task_generation__tasks_per_category=4
    )
    build(project)
    return Path(project / "build" / "runs" / "trial")


@pytest.fixture
def run_dir(published: Path, tmp_path: Path) -> Path:
    """A copy of its checkpoints to do anything to."""
    chain = Path("stage_cache") / "checkpoints"
    shutil.copytree(published / chain, tmp_path / chain)
    return tmp_path


def file_of(run_dir: Path, stage: str, name: str) -> Path:
    return run_dir / "stage_cache" / "checkpoints" / stage / f"{name}.json"


def first_of(run_dir: Path) -> str:
    """The stage whose checkpoint has no parent."""
    paths = {stage.name: file_of(run_dir, stage.name, "manifest") for stage in STAGES}
    (first,) = (
        name for name, path in paths.items() if path.exists() and json.loads(path.read_bytes())["parent"] is None
    )
    return first


def edit(path: Path, change: Callable[[Any], object]) -> None:
    document = json.loads(path.read_bytes())
    change(document)
    path.write_bytes(readable_json(document))


def stages_of(claims: dict[tuple[str, ...], Any]) -> set[str]:
    """The stages whose results something is said of."""
    return {path[2] for path in claims if path[:2] == ("build", "stages")}


def test_whole_chain_says_what_the_manifest_says(published: Path) -> None:
    manifest = json.loads((published / "run_manifest.json").read_bytes())
    claims = chain_claims(published)
    for path, claimed in claims.items():
        told = manifest
        for name in path:
            told = told[name]
        assert told == claimed, path
    assert claims.keys() >= IDENTITY
    assert stages_of(claims) == manifest["build"]["stages"].keys()
    assert "prepare" in stages_of(claims)


def test_run_without_checkpoints_says_nothing(tmp_path: Path) -> None:
    assert chain_claims(tmp_path) == {}


@pytest.mark.parametrize("name", ["manifest", "state"])
@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"\xff{}"),
        lambda path: path.write_bytes(b"[]"),
        lambda path: path.write_bytes(b"[" * 100_000),
        lambda path: (path.unlink(), path.mkdir()),
    ],
    ids=["gone", "empty", "no_text", "no_object", "too_deep", "directory"],
)
def test_damaged_checkpoint_says_nothing_of_its_stage(
    published: Path, run_dir: Path, name: str, damage: Callable[[Path], object]
) -> None:
    whole = chain_claims(published)
    damage(file_of(run_dir, LATER, name))
    left = chain_claims(run_dir)
    assert left == {path: claimed for path, claimed in whole.items() if path[:3] != ("build", "stages", LATER)}
    assert left != whole


def test_damaged_first_checkpoint_leaves_what_prepare_made_unheld(run_dir: Path) -> None:
    whole = stages_of(chain_claims(run_dir))
    first = first_of(run_dir)
    file_of(run_dir, first, "manifest").unlink()
    assert stages_of(chain_claims(run_dir)) == whole - {first, "prepare"}


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.update(payload=None),
        lambda state: state["payload"].update(pointer=["x"]),
        lambda state: state["payload"]["pointer"].pop("fp"),
        lambda state: state["payload"]["pointer"].update(shards={"a": 1}),
    ],
    ids=["no_payload", "no_pointer", "no_fp", "no_shards"],
)
def test_state_without_a_pointer_says_nothing_of_its_stage(run_dir: Path, change: Callable[[Any], object]) -> None:
    whole = stages_of(chain_claims(run_dir))
    edit(file_of(run_dir, LATER, "state"), change)
    assert stages_of(chain_claims(run_dir)) == whole - {LATER}


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.update(input_artifacts=None),
        lambda manifest: manifest.update(input_artifacts={"a": None, "b": {"source": 1}, "c": {"source": "build/x/y"}}),
    ],
    ids=["no_inputs", "no_sources"],
)
def test_first_checkpoint_without_a_source_says_nothing_of_prepare(
    run_dir: Path, change: Callable[[Any], object]
) -> None:
    whole = stages_of(chain_claims(run_dir))
    edit(file_of(run_dir, first_of(run_dir), "manifest"), change)
    assert stages_of(chain_claims(run_dir)) == whole - {"prepare"}


def test_identity_is_as_far_as_a_checkpoint_tells_it(run_dir: Path) -> None:
    for stage in STAGES:
        path = file_of(run_dir, stage.name, "manifest")
        if path.exists():
            edit(path, lambda manifest: manifest["identity"].update(pipeline="none"))
    claims = chain_claims(run_dir)
    assert claims.keys() & IDENTITY == {("generation_config_hash",)}


def test_forged_identity_of_any_checkpoint_is_claimed(run_dir: Path) -> None:
    last = [stage.name for stage in STAGES if file_of(run_dir, stage.name, "manifest").exists()][-1]
    edit(
        file_of(run_dir, last, "manifest"),
        lambda manifest: manifest["identity"].update(generation_config_hash="forged"),
    )
    assert chain_claims(run_dir)["generation_config_hash",] == "forged"
