"""How checkpoints get onto the disk and off it, and what is noticed about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.digest import blake3_of
from bfcl.errors import DriftError
from bfcl.graph.checkpoint_files import check_files, clear, directory, keep_only, place
from bfcl.graph.layout import RunTree

FILES = {"manifest.json": b"{}\n", "state.json": b"[]\n"}
WRITTEN = {f"{stage}/{name}": blake3_of(data) for stage in ("expand", "render") for name, data in FILES.items()}


@pytest.fixture
def run(tmp_path: Path) -> RunTree:
    """Two checkpoints."""
    run = RunTree(tmp_path)
    place(run, "expand", FILES)
    place(run, "render", FILES)
    return run


def names(run: RunTree) -> list[str]:
    return sorted(path.relative_to(run.root).as_posix() for path in run.root.rglob("*") if not path.is_dir())


def test_placed_checkpoint_replaces_an_older_one_and_leaves_nothing_else(run: RunTree) -> None:
    place(run, "render", {"manifest.json": b"new"})
    assert names(run) == [
        "stage_cache/checkpoints/expand/manifest.json",
        "stage_cache/checkpoints/expand/state.json",
        "stage_cache/checkpoints/render/manifest.json",
    ]
    assert (directory(run) / "render" / "manifest.json").read_bytes() == b"new"
    assert (directory(run) / "render" / "manifest.json").stat().st_mode & 0o777 == 0o644


def test_clear_removes_every_checkpoint_and_what_killed_processes_left(run: RunTree) -> None:
    left = run.stage_cache / ".checkpoints-0123"
    left.mkdir()
    (left / "state.json").write_bytes(b"")
    clear(run)
    clear(run)
    assert list(run.stage_cache.iterdir()) == []


def test_keep_only_removes_every_other_checkpoint_and_what_is_none(run: RunTree, tmp_path: Path) -> None:
    for name in ("surface_quality", "no_stage"):
        place(run, name, FILES)
    (directory(run) / "notes.txt").write_bytes(b"")
    (directory(run) / "link").symlink_to(directory(run) / "expand")
    keep_only(run, ["expand"])
    assert names(run) == ["stage_cache/checkpoints/expand/manifest.json", "stage_cache/checkpoints/expand/state.json"]
    assert [path.name for path in directory(run).iterdir()] == ["expand"]


def test_keep_only_without_a_stage_to_keep_leaves_nothing(run: RunTree) -> None:
    keep_only(run, [])
    keep_only(run, [])
    assert list(run.stage_cache.iterdir()) == []


def test_keep_only_takes_strangers_first_and_stages_from_the_last_so_that_a_kill_leaves_a_chain(
    run: RunTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("final_output", "schema_validation", "a_stranger"):
        place(run, name, FILES)
    gone: list[str] = []
    rename = Path.rename

    def noted(path: Path, target: Path) -> Path:
        gone.append(path.name)
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", noted)
    keep_only(run, ["expand"])
    assert gone == ["a_stranger", "final_output", "schema_validation", "render"]


def test_clear_removes_a_link_and_never_what_it_names(run: RunTree, tmp_path: Path) -> None:
    clear(run)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_bytes(b"")
    directory(run).symlink_to(elsewhere)
    clear(run)
    assert list(run.stage_cache.iterdir()) == []
    assert (elsewhere / "kept").exists()


def test_checkpoints_as_written_pass(run: RunTree) -> None:
    assert check_files(run, WRITTEN)


def test_missing_checkpoint_file_is_no_tampering_but_the_chain_is_not_there(run: RunTree) -> None:
    (directory(run) / "render" / "state.json").unlink()
    assert not check_files(run, WRITTEN)
    clear(run)
    assert not check_files(run, WRITTEN)


def test_every_odd_checkpoint_file_is_told(run: RunTree, tmp_path: Path) -> None:
    render = directory(run) / "render"
    (render / "manifest.json").write_bytes(b"{} ")
    (render / "notes.txt").write_bytes(b"")
    (render / "state.json").unlink()
    (render / "state.json").symlink_to(directory(run) / "expand" / "state.json")
    (directory(run) / "empty").mkdir()
    (directory(run) / "linked").symlink_to(directory(run) / "expand")
    with pytest.raises(DriftError) as caught:
        check_files(run, WRITTEN)
    fix = f"  fix: delete {tmp_path}/stage_cache/checkpoints; the next run writes the checkpoints again"
    assert [str(problem) for problem in caught.value.problems] == [
        f"build_cache_tampered: stage_cache/checkpoints/{name}: {how}\n{fix}"
        for name, how in (
            ("empty", "is no file of a checkpoint"),
            ("linked", "is no file of a checkpoint"),
            ("render/notes.txt", "is no file of a checkpoint"),
            ("render/manifest.json", "has changed since it was written"),
            ("render/state.json", "has changed since it was written"),
        )
    ]


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_stands_in_place_of_the_checkpoints_is_told(run: RunTree, tmp_path: Path, kind: str) -> None:
    clear(run)
    if kind == "file":
        directory(run).write_bytes(b"")
    else:
        directory(run).symlink_to(tmp_path)
    with pytest.raises(DriftError) as caught:
        check_files(run, WRITTEN)
    assert [problem.subject for problem in caught.value.problems] == ["stage_cache/checkpoints"]
    assert [problem.message for problem in caught.value.problems] == ["is not a directory"]
