"""`bfcl init`: what is written, and what never is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.cli import init
from bfcl.cli.project import project_files
from bfcl.errors import ConfigError, StageError

FIX = "  fix: move it away, or choose another directory\n"

NAMES = [
    ".github/workflows/benchmark.yml",
    ".gitignore",
    "README.md",
    "configs/eval.cli.yaml",
    "configs/eval.default.yaml",
    "configs/eval.tiny.yaml",
    "configs/tiny.yaml",
    "dodo.py",
    "packs/tiny_oracle_pack/README.md",
    "packs/tiny_oracle_pack/assertions.py",
    "packs/tiny_oracle_pack/backend.py",
    "packs/tiny_oracle_pack/fixtures.json",
    "packs/tiny_oracle_pack/manifest.yaml",
    "packs/tiny_oracle_pack/task_templates.yaml",
    "packs/tiny_oracle_pack/tools.json",
    "packs/tiny_oracle_pack/validation_cases.yaml",
]


def tree(root: Path) -> dict[str, bytes]:
    """Every file below `root`."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_init_writes_a_project_and_says_what_to_do_next(bfcl: Callable[..., object], project: Path) -> None:
    listed = "".join(f"  {name}\n" for name in NAMES)
    said = f"wrote 16 files below my bench:\n{listed}next: cd 'my bench' && doit generate\n"
    assert bfcl("init", "--format", "text", "my bench") == (0, said, "")
    assert tree(project / "my bench") == project_files()


def test_init_here_needs_no_change_of_directory(bfcl: Callable[..., object], project: Path) -> None:
    listed = "".join(f"  {name}\n" for name in NAMES)
    assert bfcl("init", "--format", "text", ".") == (0, f"wrote 16 files below .:\n{listed}next: doit generate\n", "")
    assert sorted(tree(project)) == NAMES


def test_init_makes_missing_parents(bfcl: Callable[..., object], project: Path) -> None:
    bfcl("init", "--format", "text", "a/b/c")
    assert sorted(tree(project / "a/b/c")) == NAMES


def test_init_leaves_other_files_of_the_directory_alone(bfcl: Callable[..., object], project: Path) -> None:
    (project / "packs" / "mine").mkdir(parents=True)
    (project / "packs" / "mine" / "notes.txt").write_text("kept")
    bfcl("init", "--format", "text", ".")
    assert tree(project) == {**project_files(), "packs/mine/notes.txt": b"kept"}


def test_init_over_existing_files_names_each_and_writes_nothing(bfcl: Callable[..., object], project: Path) -> None:
    target = project / "p"
    (target / "configs").mkdir(parents=True)
    (target / "dodo.py").write_text("mine")
    (target / "configs" / "tiny.yaml").symlink_to("gone")
    before = tree(target)
    said = (
        "p/configs/tiny.yaml: init_target_exists: is there already; `bfcl init` overwrites nothing\n"
        f"{FIX}p/dodo.py: init_target_exists: is there already; `bfcl init` overwrites nothing\n{FIX}"
    )
    assert bfcl("init", "--format", "text", "p") == (1, "", said)
    assert tree(target) == before
    assert sorted(path.name for path in target.iterdir()) == ["configs", "dodo.py"]


def test_second_init_refuses_every_file(bfcl: Callable[..., object], project: Path) -> None:
    bfcl("init", "--format", "text", "p")
    said = "".join(
        f"p/{name}: init_target_exists: is there already; `bfcl init` overwrites nothing\n{FIX}" for name in NAMES
    )
    assert bfcl("init", "--format", "text", "p") == (1, "", said)


@pytest.mark.parametrize(("wall", "target"), [("p", "p"), ("p", "p/q")])
def test_init_names_a_file_where_a_directory_must_be_once(
    bfcl: Callable[..., object], project: Path, wall: str, target: str
) -> None:
    (project / wall).write_text("a file")
    assert bfcl("init", "--format", "text", target) == (
        1,
        "",
        f"p: init_target_exists: is there already and is no directory\n{FIX}",
    )


def test_init_names_each_wall_inside_the_directory(bfcl: Callable[..., object], project: Path) -> None:
    (project / "p").mkdir()
    for name in ("packs", "configs"):
        (project / "p" / name).write_text("a file")
    said = "".join(
        f"p/{name}: init_target_exists: is there already and is no directory\n{FIX}" for name in ("configs", "packs")
    )
    assert bfcl("init", "--format", "text", "p") == (1, "", said)
    assert sorted(tree(project / "p")) == ["configs", "packs"]


def test_file_that_appears_meanwhile_is_kept_and_what_was_written_removed(project: Path) -> None:
    (project / "b.txt").write_text("theirs")
    with pytest.raises(ConfigError) as refused:
        init.write_new(project, {"a/a.txt": b"1", "b.txt": b"2", "c.txt": b"3"})
    assert f"{refused.value}\n" == f"b.txt: init_target_exists: appeared while the project was written\n{FIX}"
    assert tree(project) == {"b.txt": b"theirs"}
    assert not (project / "a").exists()


def test_disk_that_refuses_is_told_and_what_was_written_removed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkdir = Path.mkdir

    def full(path: Path) -> None:
        if path.name == "full":
            raise OSError(28, "No space left on device", str(path))
        mkdir(path)

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(StageError) as refused:
        init.write_new(project / "p", {"a.txt": b"1", "full/b.txt": b"2"})
    said = (
        f"storage_failed: {project / 'p/full/b.txt'}: cannot write: No space left on device\n"
        "  fix: free space or make the directory writable, then run the same command again"
    )
    assert str(refused.value) == said
    assert list(project.iterdir()) == []


def test_init_tells_a_script_what_it_wrote(bfcl: Callable[..., object], project: Path) -> None:
    listed = "".join(f'    "{name}",\n' for name in NAMES).removesuffix(",\n")
    document = f'{{\n  "directory": "p",\n  "schema_version": "1.0",\n  "written": [\n{listed}\n  ]\n}}\n'
    assert bfcl("init", "p") == (0, document, "")
    assert tree(project / "p") == project_files()
