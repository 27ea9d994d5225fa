"""A directory of new files: all of them at once, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.scaffold import place
from bfcl.authoring.scaffold.place import place_new
from bfcl.errors import ConfigError, StageError

FILES = {"a.txt": b"1", "b.txt": b"2"}
FIX = "\n  fix: choose another `--target`; nothing that exists is overwritten"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


def test_files_lie_in_the_new_directory_whose_absolute_path_is_told(home: Path) -> None:
    assert place_new(Path("new"), FILES) == home / "new"
    assert everything(home) == ["new", "new/a.txt", "new/b.txt"]
    assert (home / "new" / "b.txt").read_bytes() == b"2"


def test_name_may_be_as_long_as_the_disk_allows(home: Path) -> None:
    place_new(Path("я" * 127), FILES)
    assert everything(home) == ["я" * 127, "я" * 127 + "/a.txt", "я" * 127 + "/b.txt"]


def test_missing_parents_are_made(home: Path) -> None:
    place_new(Path("x/y/new"), FILES)
    assert everything(home) == ["x", "x/y", "x/y/new", "x/y/new/a.txt", "x/y/new/b.txt"]


def test_new_directory_has_the_mode_of_any_other(home: Path) -> None:
    (home / "other").mkdir()
    assert place_new(Path("new"), FILES).stat().st_mode == (home / "other").stat().st_mode


@pytest.mark.parametrize("kind", ["file", "directory", "full directory", "link", "dangling link"])
def test_target_that_exists_in_any_form_is_refused_and_left_alone(home: Path, kind: str) -> None:
    target = home / "new"
    (home / "elsewhere").mkdir()
    match kind:
        case "file":
            target.write_text("mine")
        case "directory":
            target.mkdir()
        case "full directory":
            target.mkdir()
            (target / "a.txt").write_text("mine")
        case "link":
            target.symlink_to("elsewhere")
        case _:
            target.symlink_to("nowhere")
    before = everything(home)
    with pytest.raises(ConfigError) as refused:
        place_new(Path("new"), FILES)
    assert str(refused.value) == f"new: target_exists: is there already; expected a new path{FIX}"
    assert everything(home) == before


def test_file_where_a_parent_must_be_is_refused(home: Path) -> None:
    (home / "wall").write_text("mine")
    with pytest.raises(ConfigError) as refused:
        place_new(Path("wall/x/new"), FILES)
    message = "is there already and is no directory, so the pack cannot lie below it"
    assert str(refused.value) == f"wall: target_exists: {message}{FIX}"
    assert everything(home) == ["wall"]


def test_directory_that_appears_meanwhile_is_kept_and_nothing_else_stays(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Looking for obstacles is over when somebody else makes the directory.
    monkeypatch.setattr(place, "_refuse_obstacle", lambda target: target.mkdir())
    with pytest.raises(ConfigError) as refused:
        place_new(Path("new"), FILES)
    assert str(refused.value) == f"new: target_exists: is there already; expected a new path{FIX}"
    assert everything(home) == ["new"]


def test_disk_that_refuses_leaves_neither_files_nor_parents(home: Path) -> None:
    with pytest.raises(StageError) as refused:
        place_new(Path("x/y/new"), {"a.txt": b"1", "c" * 300: b"3"})
    assert refused.value.problems[0].code == "storage_failed"
    assert everything(home) == []


def test_interruption_leaves_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        place_new(Path("x/new"), FILES)
    assert everything(home) == []


def test_path_that_is_no_utf8_is_refused(home: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        place_new(Path("new\udcff"), FILES)
    message = "is no UTF-8, and packs below such a path cannot be run\n  fix: choose another path"
    assert str(refused.value) == f"new\\udcff: target_invalid: {message}"
    assert everything(home) == []


def test_place_where_nothing_can_be_made_is_refused() -> None:
    with pytest.raises(StageError) as refused:
        place_new(Path("/proc/nowhere/new"), FILES)
    assert str(refused.value) == (
        "storage_failed: /proc/nowhere/new: cannot write: No such file or directory\n"
        "  fix: choose a directory that is there and can be written to"
    )
