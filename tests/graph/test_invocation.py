"""What is known when doit loads: read cheaply, never refused, the same wherever the project lies."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bfcl.errors import BfclError
from bfcl.graph.invocation import invocation
from tests.graph.projects import invoked, write_project
from tests.packs import append, put, write_pack


def test_default_configuration_is_found_from_any_directory(project: Path, tmp_path: Path) -> None:
    found = invocation(project, tmp_path, {})
    assert found.config_path == project / "configs" / "tiny.yaml"
    assert found.trouble is None
    assert found.run is not None
    assert found.run.root == project / "build" / "runs" / "trial"
    assert found.tree.root == project / "build"


def test_config_resolves_against_the_shells_directory(project: Path) -> None:
    found = invocation(project, project / "packs", {"config": "../configs/tiny.yaml"})
    assert found.config_path == project / "configs" / "tiny.yaml"
    assert found.ck == invoked(project).ck


@pytest.mark.parametrize("content", [None, b"family: [\n", b"- a\n", b"", b"\xff"])
def test_unreadable_configuration_is_trouble_kept_for_later(project: Path, content: bytes | None) -> None:
    path = project / "configs" / "tiny.yaml"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    found = invoked(project)
    assert isinstance(found.trouble, BfclError)
    assert {problem.code for problem in found.trouble.problems} == {"generation_config_invalid"}
    assert found.raw == {}
    assert found.run is None
    assert found.pack_files() == {}
    assert found.ck == "unreadable"


@pytest.mark.parametrize(
    "text",
    [
        "output_dir: 7\nexpt_name: [x]\noracle_pack: no mapping\n",
        "oracle_pack: {manifest_path: 3}\nreference_benchmark: []\nexpt_name: ''\n",
        "oracle_pack: {manifest_path: absent/manifest.yaml, backend_path: {}}\n",
        "{}\n",
    ],
)
def test_configuration_of_the_wrong_shape_gives_no_run_and_no_exception(project: Path, text: str) -> None:
    (project / "configs" / "tiny.yaml").write_text(text)
    found = invoked(project)
    assert found.run is None
    assert found.pack_files() == {}
    assert len(found.ck) == 16
    assert len(found.publication_key("generate")) == 64


def test_pack_files_are_all_regular_files_below_the_root_by_logical_name(project: Path) -> None:
    pack = project / "packs" / "studio"
    (pack / "notes").mkdir()
    (pack / "notes" / "é.txt").write_bytes(b"")
    (pack / "link").symlink_to("README.md")
    assert list(invoked(project).pack_files()) == [
        "tree/README.md",
        "tree/assertions.py",
        "tree/backend.py",
        "tree/fixtures.json",
        "tree/manifest.yaml",
        "tree/task_templates.yaml",
        "tree/tools.json",
        "tree/validation_cases.yaml",
        "tree/notes/é.txt",
    ]


def test_files_declared_outside_the_pack_count(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "project"
    (root / "shared").mkdir(parents=True)
    (root / "shared" / "prompt.txt").write_text("Be kind.")
    (root / "shared" / "backend.py").write_text("")
    write_project(
        root,
        put("manifest.yaml", ("system_prompt_path",), "../../shared/prompt.txt"),
        oracle_pack__backend_path=str(root / "shared" / "backend.py"),
    )
    files = invoked(root).pack_files()
    outside = {name: path for name, path in files.items() if name.startswith("declared/")}
    assert outside == {
        "declared/../../shared/backend.py": root / "shared" / "backend.py",
        "declared/../../shared/prompt.txt": root / "shared" / "prompt.txt",
    }


def test_ck_ignores_stage_and_place_and_nothing_else(project: Path, tmp_path: Path) -> None:
    ck = invoked(project).ck
    moved = tmp_path.resolve() / "moved"
    write_project(moved, stage="generate")
    assert invoked(moved).ck == ck
    write_project(moved, random_seed=8)
    assert invoked(moved).ck != ck


def test_publication_key_ignores_place_and_times(project: Path, tmp_path: Path) -> None:
    key = invoked(project).publication_key("all")
    moved = write_project(tmp_path.resolve() / "moved")
    for path in moved.rglob("*"):
        os.utime(path, (1, 1))
    assert invoked(moved).publication_key("all") == key


def test_policy_outside_the_pack_counts(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "project"
    (root / "shared").mkdir(parents=True)
    policy = root / "shared" / "reserved.yaml"
    policy.write_text("version: 1\n")
    write_project(root, put("manifest.yaml", ("held_out",), "../../shared/reserved.yaml"))
    assert invoked(root).pack_files()["declared/../../shared/reserved.yaml"] == policy
    before = invoked(root).publication_key("all")
    policy.write_text("version: 2\n")
    assert invoked(root).publication_key("all") != before


@pytest.mark.parametrize("what", ["stage", "configuration", "pack file", "new pack file", "gone pack file"])
def test_publication_key_takes_in_every_root_input(project: Path, what: str) -> None:
    key = invoked(project).publication_key("all")
    pack = project / "packs" / "studio"
    if what == "configuration":
        write_project(project, random_seed=8)
    elif what == "pack file":
        write_pack(pack, append("README.md", "more"))
    elif what == "new pack file":
        (pack / "new").write_bytes(b"")
    elif what == "gone pack file":
        (pack / "README.md").unlink()
    assert invoked(project).publication_key("generate" if what == "stage" else "all") != key


def test_missing_pack_gives_a_key_all_the_same(project: Path) -> None:
    shutil.rmtree(project / "packs")
    assert len(invoked(project).publication_key("all")) == 64
