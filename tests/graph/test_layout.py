"""Where things lie on disk."""

from __future__ import annotations

from pathlib import Path

from bfcl.graph.layout import BuildTree, RunTree


def test_what_is_unfinished_has_a_name_of_its_own_and_is_found_as_a_leftover(tmp_path: Path) -> None:
    tree = BuildTree(tmp_path)
    names = {tree.unfinished() for _ in range(3)}
    for path in names:
        path.mkdir(parents=True)
    tree.entry("0" * 64).mkdir()
    tree.lock.touch()
    assert len(names) == 3
    assert set(tree.leftovers()) == names


def test_siblings_that_killed_writers_left_are_leftovers_of_build_and_run(tmp_path: Path) -> None:
    tree, run = BuildTree(tmp_path), RunTree(tmp_path / "run")
    places = [tree.pointer("aaaa", "x").parent, tree.validations / "studio", run.root, run.stage_cache]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
        (place / f".x.json.{10**9}-0123456789ab").touch()
        (place / "x.json").touch()
    assert [path.parent for path in tree.leftovers()] == places[:2]
    assert [path.parent for path in run.leftovers()] == places[2:]
