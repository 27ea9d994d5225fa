from __future__ import annotations

import os
import socket
import threading
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.digest import Digest, sha256_of
from bfcl.errors import DriftError, PackError
from bfcl.pack.fingerprint import check_drift, declared_inputs, drift, fingerprint, read_tree
from tests.pack.conftest import Load

MANIFEST = b'pack_id: demo\nversion: "1"\n'


def test_fingerprint_of_no_entries_is_the_published_vector() -> None:
    assert fingerprint({}) == "sha256:befebc6c0fb2249b23a6d5ed46caabdca2d86d36947e6cfb8f41a14523bb7d10"


def test_fingerprint_of_a_tree_is_the_published_vector(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_bytes(MANIFEST)
    (tmp_path / "tools.json").write_bytes(b"[]\n")
    entries = read_tree(tmp_path, {}).digests
    assert list(entries) == ["tree/manifest.yaml", "tree/tools.json"]
    assert fingerprint(entries) == "sha256:73c659dae14a96207cd7ab0677f0f3308d238396dfe0c9fa56b1b5d823bab239"


def test_fingerprint_with_a_declared_input_outside_is_the_published_vector(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "manifest.yaml").write_bytes(MANIFEST)
    (pack / "tools.json").write_bytes(b"[]\n")
    (tmp_path / "elsewhere.json").write_bytes(b"{}\n")
    declared = {"fixtures": tmp_path / "elsewhere.json", "manifest": pack / "manifest.yaml"}
    entries = read_tree(pack, declared).digests
    assert list(entries) == ["declared/fixtures", "tree/manifest.yaml", "tree/tools.json"]
    assert fingerprint(entries) == "sha256:d1e5db9e88d223dd0c0afa35825a874d10a9f578516acccbf70e7bcb98f2fe42"


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.binary(max_size=3)))
def test_fingerprint_does_not_depend_on_the_order_of_entries(files: dict[str, bytes]) -> None:
    entries = {path: sha256_of(content) for path, content in files.items()}
    assert fingerprint(entries) == fingerprint(dict(reversed(list(entries.items()))))


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.binary(max_size=3), min_size=1))
def test_fingerprint_changes_with_any_path_or_content(files: dict[str, bytes]) -> None:
    entries = {path: sha256_of(content) for path, content in files.items()}
    path = next(iter(entries))
    renamed = {path + "'": entries[path], **{one: entries[one] for one in entries if one != path}}
    edited = {**entries, path: sha256_of(files[path] + b"'")}
    assert len({fingerprint(entries), fingerprint(renamed), fingerprint(edited)}) == 3


def test_entries_cover_hidden_files_and_sub_directories_but_no_empty_ones(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / ".hidden").write_bytes(b"")
    (tmp_path / ".git").write_bytes(b"gitdir: elsewhere\n")
    (tmp_path / "deep" / "er" / "é.txt").write_bytes(b"x")
    assert list(read_tree(tmp_path, {}).digests) == ["tree/.git", "tree/.hidden", "tree/deep/er/é.txt"]


def test_entries_take_known_bytes_instead_of_reading_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"new")
    assert read_tree(tmp_path, {}, {tmp_path / "a": b"old"}).digests == {"tree/a": sha256_of(b"old")}


def test_entries_of_a_root_behind_a_symlink_are_those_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"a")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert read_tree(tmp_path / "link", {}).digests == {"tree/a": sha256_of(b"a")}


def test_tree_tells_where_each_file_lies_under_its_name_on_disk(tmp_path: Path) -> None:
    decomposed = tmp_path / "pack" / unicodedata.normalize("NFD", "é.txt")
    decomposed.parent.mkdir()
    decomposed.write_bytes(b"x")
    (tmp_path / "elsewhere.json").write_bytes(b"{}\n")
    tree = read_tree(tmp_path / "pack", {"fixtures": tmp_path / "elsewhere.json"})
    assert tree.paths == {"declared/fixtures": tmp_path / "elsewhere.json", "tree/é.txt": decomposed}
    assert list(tree.paths) == list(tree.digests)


def _refusal(root: Path) -> str:
    with pytest.raises(PackError) as caught:
        read_tree(root, {})
    return str(caught.value)


def test_bytecode_is_refused_with_all_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep" / "__PyCache__").mkdir(parents=True)
    (tmp_path / "deep" / "__PyCache__" / "x.pyc").write_bytes(b"")
    (tmp_path / "a.PYC").write_bytes(b"")
    (tmp_path / "b.pyo").write_bytes(b"")
    assert _refusal(tmp_path) == (
        ".: pack_bytecode_refused: Python bytecode lies in the pack: `a.PYC`, `b.pyo`, `deep/__PyCache__`\n"
        "  fix: delete it, and set PYTHONDONTWRITEBYTECODE=1 where you import the pack yourself"
    )


def test_symlinks_are_refused_files_and_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "directory").symlink_to("real")
    assert _refusal(tmp_path) == (
        "dangling: pack_tree_unsupported_entry: the entry is a symbolic link\n  fix: put the file itself there\n"
        "directory: pack_tree_unsupported_entry: the entry is a symbolic link\n  fix: put the file itself there"
    )


@pytest.mark.parametrize("name", [".git", ".hg", ".svn"])
def test_version_control_directories_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    assert _refusal(tmp_path) == (
        f"{name}: pack_tree_unsupported_entry: the entry is a version control directory\n"
        "  fix: keep the pack in a sub-directory of its repository"
    )


def test_fifos_and_sockets_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        refusal = _refusal(tmp_path)
    assert refusal == (
        "fifo: pack_tree_unsupported_entry: the entry is neither a regular file nor a directory\n  fix: remove it\n"
        "socket: pack_tree_unsupported_entry: the entry is neither a regular file nor a directory\n  fix: remove it"
    )


def test_file_names_that_are_not_utf_8_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(os.fsdecode(b"kiln\xff")).write_bytes(b"")
    assert _refusal(tmp_path) == (
        "kiln\\udcff: pack_tree_unsupported_entry: the entry has a name that is not UTF-8\n  fix: rename it"
    )


def test_names_equal_after_normalisation_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("e\u0301", "\u00e9"):
        Path(name).write_bytes(b"")
    assert _refusal(tmp_path) == (
        "\u00e9: pack_tree_unsupported_entry: the entry has the same name as `e\\u0301` "
        "once both are normalised (NFC)\n  fix: rename one of the two"
    )


def test_a_declared_file_that_went_away_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pack").mkdir()
    with pytest.raises(PackError) as caught:
        read_tree(tmp_path / "pack", {"fixtures": tmp_path / "gone.json"})
    assert str(caught.value) == (
        "gone.json: pack_file_missing: the entry cannot be read: No such file or directory\n"
        "  fix: make it readable, and let no other program write into the pack"
    )


ONE, TWO = Digest("sha256:1"), Digest("sha256:2")
FIX = "\n  fix: run again once nothing writes into the pack; keep notes beside it"


def test_drift_names_each_path_what_happened_and_whether_it_is_declared() -> None:
    before = {"tree/README.md": ONE, "tree/tools.json": ONE, "tree/same": ONE}
    after = {"tree/new.txt": ONE, "tree/tools.json": TWO, "tree/same": ONE}
    declared = {"tree/tools.json": "`tools`, named by the manifest", "tree/same": "`fixtures`, under its usual name"}
    assert [str(problem) for problem in drift(before, after, declared)] == [
        f"pack_drift: tree/README.md: removed since the pack was read (an undeclared file){FIX}",
        f"pack_drift: tree/new.txt: added since the pack was read (an undeclared file){FIX}",
        f"pack_drift: tree/tools.json: changed since the pack was read "
        f"(a declared oracle input: `tools`, named by the manifest){FIX}",
    ]


def test_drift_of_an_undeclared_file_alone_says_that_no_input_changed() -> None:
    (problem,) = drift({"tree/README.md": ONE}, {"tree/README.md": TWO}, {"tree/tools.json": "`tools`"})
    assert str(problem) == (
        "pack_drift: tree/README.md: changed since the pack was read "
        f"(an undeclared file; no declared oracle input changed){FIX}"
    )


def test_drift_is_empty_where_nothing_moved() -> None:
    assert drift({"tree/a": ONE}, {"tree/a": ONE}, {}) == []


def test_drift_says_which_rule_names_a_declared_input(load: Load) -> None:
    pack = load()
    declared = declared_inputs(pack)
    assert declared["tree/manifest.yaml"] == "`manifest`, named by the configuration"
    assert declared["tree/tools.json"].startswith("`tools`, ")
    (pack.root / "tools.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DriftError) as caught:
        check_drift(pack)
    assert str(caught.value) == (
        "pack_drift: tree/tools.json: changed since the pack was read (a declared oracle input: "
        f"{declared['tree/tools.json']}){FIX}"
    )


def test_pack_that_stayed_has_not_drifted_and_any_new_file_is_drift(load: Load) -> None:
    pack = load()
    check_drift(pack)
    (pack.root / "notes.txt").write_text("x", encoding="utf-8")
    with pytest.raises(DriftError) as caught:
        check_drift(pack)
    assert [problem.code for problem in caught.value.problems] == ["pack_drift"]
    (pack.root / "notes.txt").unlink()
    (pack.root / "__pycache__").mkdir()
    with pytest.raises(DriftError) as caught:
        check_drift(pack)
    assert [problem.code for problem in caught.value.problems] == ["pack_bytecode_refused"]


def test_files_that_come_and_go_while_the_tree_is_read_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / "manifest.yaml").write_bytes(MANIFEST)
    done = threading.Event()

    def storm() -> None:
        while not done.is_set():
            for number in range(4):
                directory = tmp_path / f".editor-{number}"
                directory.mkdir()
                (directory / "swap").write_bytes(b"x")
                (tmp_path / f".swap-{number}").write_bytes(b"x")
            for number in range(4):
                (tmp_path / f".swap-{number}").unlink()
                (tmp_path / f".editor-{number}" / "swap").unlink()
                (tmp_path / f".editor-{number}").rmdir()

    thread = threading.Thread(target=storm)
    thread.start()
    try:
        for _ in range(300):
            assert "tree/manifest.yaml" in read_tree(tmp_path, {}).digests
    finally:
        done.set()
        thread.join()


def test_root_and_declared_files_that_are_gone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PackError) as caught:
        read_tree(tmp_path / "gone", {"tools": tmp_path / "tools.json"})
    assert [(one.code, one.path) for one in caught.value.problems] == [
        ("pack_file_missing", str(tmp_path / "gone")),
        ("pack_file_missing", str(tmp_path / "tools.json")),
    ]
