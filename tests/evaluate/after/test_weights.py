"""Digests of weight directories."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_hex, sha256_json
from bfcl.evaluate.after.weights import digest_of_tree
from tests.evaluate.refusals import refused

FIX = "\n  fix: name a plain copy of the weights: `cp -rL` follows the links of a download cache"


def told(act: Callable[[], object]) -> list[str]:
    return [str(problem) for problem in refused(act)]


def tree(root: Path) -> Path:
    (root / "deep").mkdir(parents=True)
    (root / "model.bin").write_bytes(b"weights")
    (root / "deep" / ".hidden").write_bytes(b"")
    return root


def test_digest_of_tree_is_of_path_size_and_sha256_of_every_file_sorted(tmp_path: Path) -> None:
    found = digest_of_tree(tree(tmp_path / "w"))
    body = sha256_json(
        [
            {"path": "deep/.hidden", "size": 0, "sha256": sha256_hex(b"")},
            {"path": "model.bin", "size": 7, "sha256": sha256_hex(b"weights")},
        ]
    )
    assert found.digest == "bfcl-weight-manifest-v1:" + body.removeprefix("sha256:")
    assert (found.files, found.size_bytes) == (2, 7)


def test_digest_of_tree_is_pinned(tmp_path: Path) -> None:
    expected = "bfcl-weight-manifest-v1:9813665d6432650bffe42d12b06031b5e47370bf2b2bf0ce1bf62d0e405af04c"
    assert digest_of_tree(tree(tmp_path / "w")).digest == expected


def test_digest_of_tree_does_not_change_with_place_and_time(tmp_path: Path) -> None:
    one, other = tree(tmp_path / "one"), tree(tmp_path / "other")
    os.utime(other / "model.bin", (1, 1))
    assert digest_of_tree(one) == digest_of_tree(other)


def test_digest_of_tree_refuses_every_entry_that_is_no_plain_file(tmp_path: Path) -> None:
    root = tree(tmp_path / "w")
    (root / "link").symlink_to("model.bin")
    os.mkfifo(root / "pipe")
    assert told(lambda: digest_of_tree(root)) == [
        f"{root}/link: weights_tree_unsupported: is a symbolic link; expected directories and plain files{FIX}",
        f"{root}/pipe: weights_tree_unsupported: is no regular file; expected directories and plain files{FIX}",
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda root: root.mkdir(), "holds no file; expected the files of a model"),
        (lambda root: None, "is no directory; expected one that holds weights"),
        (lambda root: root.symlink_to(root.parent), "is no directory; expected one that holds weights"),
    ],
)
def test_digest_of_tree_refuses_what_holds_no_weights(tmp_path: Path, make: object, message: str) -> None:
    root = tmp_path / "w"
    assert callable(make)
    make(root)
    assert told(lambda: digest_of_tree(root)) == [f"{root}: weights_tree_unsupported: {message}{FIX}"]


def test_digest_of_tree_refuses_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    root = tree(tmp_path / "w")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).write_bytes(b"")
    assert told(lambda: digest_of_tree(root)) == [
        f"{root}: weights_tree_unsupported: holds the name '\\udcff', which is no UTF-8{FIX}"
    ]
