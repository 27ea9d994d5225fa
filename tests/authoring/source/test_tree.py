from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.source.tree import SourceTree, read_source
from bfcl.errors import PackError


def test_tree_counts_planned_files_as_present(tmp_path: Path) -> None:
    tree = SourceTree(root=tmp_path / "absent", label="studio", planned={"backend.py": b"x"})
    assert (tree.is_file("backend.py"), tree.read("backend.py")) == (True, b"x")
    assert (tree.is_file("fixtures.json"), tree.read("fixtures.json"), tree.link("fixtures.json")) == (
        False,
        None,
        None,
    )
    assert tree.shown("shelf/one.py") == "studio/shelf/one.py"


def test_tree_names_the_part_of_a_path_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "far" / "deep" / "one.py").write_text("")
    (tmp_path / "studio").mkdir()
    (tmp_path / "studio" / "shelf").symlink_to(tmp_path / "far")
    tree = SourceTree(root=tmp_path / "studio", label="studio")
    assert tree.link("shelf/deep/one.py") == "shelf"
    assert tree.is_file("shelf/deep/one.py")
    assert tree.holds_python("shelf")


def test_tree_refuses_a_file_that_the_system_does_not_give(tmp_path: Path) -> None:
    with pytest.raises(PackError) as caught:
        read_source(tmp_path, "studio/backend.py")
    assert str(caught.value) == (
        "studio/backend.py: source_package_invalid: cannot be read: Is a directory\n  fix: make the file readable"
    )
