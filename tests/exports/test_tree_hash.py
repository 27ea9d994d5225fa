"""The hash of a tree depends on names and bytes alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bfcl.digest import sha256_of
from bfcl.exports.tree_hash import tree_files, tree_hash


def test_tree_hash_follows_its_recipe() -> None:
    files = {"b/c.txt": sha256_of(b"two"), "a.txt": sha256_of(b"one")}
    told = b"a.txt\0" + hashlib.sha256(b"one").digest() + b"\0b/c.txt\0" + hashlib.sha256(b"two").digest() + b"\0"
    assert tree_hash(files) == "sha256:" + hashlib.sha256(told).hexdigest()
    assert tree_hash(files) == "sha256:6b9f137d2ca720fdf5da62c268e70e81de8aab40e642f4b672ba442f495b76b7"
    assert tree_hash({}) == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_tree_files_are_named_relative_to_the_tree_wherever_it_lies(tmp_path: Path) -> None:
    for name in ("one", "elsewhere/two"):
        root = tmp_path / name
        (root / "b").mkdir(parents=True)
        (root / "b" / "c.txt").write_bytes(b"two")
        (root / "a.txt").write_bytes(b"one")
        (root / "empty").mkdir()
        assert tree_files(root) == {"a.txt": sha256_of(b"one"), "b/c.txt": sha256_of(b"two")}


def test_tree_hash_sees_a_renamed_file_and_a_moved_byte() -> None:
    one, two = sha256_of(b"one"), sha256_of(b"two")
    hashes = [
        tree_hash(files) for files in ({"a": one, "b": two}, {"a": two, "b": one}, {"a": one, "c": two}, {"a": one})
    ]
    assert len(set(hashes)) == 4
