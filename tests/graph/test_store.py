"""The content-addressed store: what is kept, what is refused, what is never half there."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from bfcl.canonical import canonical_json, readable_json
from bfcl.digest import blake3_json, blake3_of
from bfcl.errors import DriftError, StageError
from bfcl.files import storage, write_synced
from bfcl.graph.layout import BuildTree
from bfcl.graph.store import REMEDY, Entry, Key, Store, tampered

CLEAN = f"\n  fix: {REMEDY}"
KEY = Key(stage="render", shard="kiln", code="c0de", params={"limit": 3}, inputs={"rows/expand": "d1"})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(BuildTree(tmp_path))


def put(store: Store, key: Key, files: dict[str, bytes]) -> Entry:
    """Store one result."""
    (entry,) = store.put([(key, files)])
    return entry


def again(store: Store) -> Store:
    """The same entries, seen by another process."""
    return Store(store.tree)


def refusal(store: Store, fp: str) -> str:
    with pytest.raises(DriftError) as caught:
        again(store).find(fp)
    return str(caught.value)


def test_key_is_pinned() -> None:
    assert KEY.to_json() == {
        "contract": "bfcl-build/1",
        "stage": "render",
        "shard": "kiln",
        "code": "c0de",
        "params": {"limit": 3},
        "inputs": {"rows/expand": "d1"},
    }
    assert KEY.fp == "45e7de6467804eea927898b5739d14112ea385aa5cb56ec028c21230bb5337a1"


def test_entry_comes_back_with_its_files(store: Store) -> None:
    kept = put(store, KEY, {"rows.jsonl": b"{}\n"})
    found = again(store).find(KEY.fp)
    assert found == kept
    assert found is not None
    assert found.files == {"rows.jsonl": blake3_of(b"{}\n")}
    assert found.file("rows.jsonl").read_bytes() == b"{}\n"
    assert found.key == KEY.to_json()
    with pytest.raises(KeyError):
        found.file("record.json")


def test_record_holds_what_the_contract_names(store: Store) -> None:
    put(store, KEY, {"b": b"2", "a": b""})
    record = json.loads((store.tree.entry(KEY.fp) / "record.json").read_bytes())
    digest = record.pop("record_digest")
    assert record == {
        "contract": "bfcl-build-record/1",
        "fp": KEY.fp,
        "key": KEY.to_json(),
        "files": {"a": {"blake3": blake3_of(b""), "size": 0}, "b": {"blake3": blake3_of(b"2"), "size": 1}},
    }
    assert digest == blake3_json(record)


def test_entry_is_the_same_under_any_umask(store: Store, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        entry = put(store, KEY, {"rows.jsonl": b"{}\n"})
    finally:
        os.umask(before)
    other = put(Store(BuildTree(tmp_path / "other")), KEY, {"rows.jsonl": b"{}\n"})
    assert entry.record_digest == other.record_digest
    assert stat.S_IMODE(entry.file("rows.jsonl").stat().st_mode) == 0o644


def test_absent_entry_is_a_miss(store: Store) -> None:
    assert store.find("0" * 64) is None


def test_results_stored_together_are_found_one_by_one(store: Store) -> None:
    keys = [Key(stage="render", shard=str(number), code="", params={}, inputs={}) for number in range(3)]
    entries = store.put([(key, {"rows.jsonl": b"%d" % number}) for number, key in enumerate(keys)])
    assert [again(store).find(key.fp) for key in keys] == entries
    assert sorted(path.name for path in store.tree.root.iterdir()) == sorted(key.fp for key in keys)
    assert store.put([]) == []


def test_batch_with_a_differing_result_keeps_the_others(store: Store) -> None:
    other = Key(stage="render", shard="other", code="", params={}, inputs={})
    put(store, KEY, {"rows.jsonl": b"{}\n"})
    with pytest.raises(DriftError, match="build_nondeterministic"):
        store.put([(other, {"rows.jsonl": b"1"}), (KEY, {"rows.jsonl": b"[]\n"})])
    assert again(store).find(other.fp) is not None
    assert [path.name for path in store.tree.root.iterdir() if path.name.startswith(".")] == []


def test_entry_with_directories_is_found_whole(store: Store) -> None:
    with store.building(KEY) as directory:
        (directory / "tree" / "lib").mkdir(parents=True)
        write_synced(directory / "tree" / "lib" / "a.py", b"1")
    found = again(store).find(KEY.fp)
    assert found is not None
    assert list(found.files) == ["tree/lib/a.py"]


def test_same_content_again_is_no_matter(store: Store) -> None:
    first = put(store, KEY, {"rows.jsonl": b"{}\n"})
    assert put(store, KEY, {"rows.jsonl": b"{}\n"}) == first
    assert sorted(path.name for path in store.tree.root.iterdir()) == [KEY.fp]


def test_other_content_for_the_same_key_is_refused_and_the_old_stays(store: Store) -> None:
    put(store, KEY, {"rows.jsonl": b"{}\n", "same": b""})
    with pytest.raises(DriftError) as caught:
        put(store, KEY, {"rows.jsonl": b"[]\n", "same": b"", "new": b""})
    assert str(caught.value) == (
        f"build_nondeterministic: render:kiln: computed again from the same inputs, new, rows.jsonl of build/{KEY.fp} "
        "differs; the stored entry stays\n"
        "  fix: look for clock, environment or set order in what this stage runs, then `doit clean` it"
    )
    found = again(store).find(KEY.fp)
    assert found is not None
    assert found.file("rows.jsonl").read_bytes() == b"{}\n"


def test_failure_while_building_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.building(KEY) as directory:
            write_synced(directory / "half", b"")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        fail()
    assert list(store.tree.root.iterdir()) == []


def test_full_disk_while_building_is_told_and_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.building(KEY) as directory, storage(directory / "rows.jsonl"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StageError) as caught:
        fail()
    assert "rows.jsonl: cannot write: No space left on device\n" in str(caught.value)
    assert list(store.tree.root.iterdir()) == []


def change(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])


def test_changed_missing_extra_and_foreign_files_are_named_together(store: Store) -> None:
    entry = put(store, KEY, {"a": b"1", "b": b"2", "c": b"3"})
    change(entry.path / "a")
    (entry.path / "b").unlink()
    (entry.path / "c").unlink()
    os.mkfifo(entry.path / "c")
    (entry.path / "d").mkdir()
    (entry.path / "d" / "e").write_bytes(b"")
    shown = f"build_cache_tampered: build/{KEY.fp}"
    assert refusal(store, KEY.fp) == "\n".join(
        [
            f"{shown}/d/e: is not part of the entry{CLEAN}",
            f"{shown}/a: has changed since it was stored{CLEAN}",
            f"{shown}/b: is missing{CLEAN}",
            f"{shown}/c: is not a regular file{CLEAN}",
        ]
    )


def test_entry_without_record_is_refused(store: Store) -> None:
    entry = put(store, KEY, {"a": b"1"})
    (entry.path / "record.json").unlink()
    assert refusal(store, KEY.fp) == f"build_cache_tampered: build/{KEY.fp}/record.json: is missing{CLEAN}"


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"7", b"\xff", b'{"record_digest": 1}', b"[" * 100_000])
def test_record_that_is_none_is_refused(store: Store, data: bytes) -> None:
    entry = put(store, KEY, {"a": b"1"})
    (entry.path / "record.json").write_bytes(data)
    assert refusal(store, KEY.fp) == f"build_cache_tampered: build/{KEY.fp}/record.json: is not a build record{CLEAN}"


@pytest.mark.parametrize("size", [None, "many", "3", [1], -5, 3.0, True])
def test_record_with_a_size_that_is_none_is_refused_though_its_digest_agrees(store: Store, size: object) -> None:
    path = put(store, KEY, {"rows.jsonl": b"{}\n"}).path / "record.json"
    record = json.loads(path.read_bytes())
    del record["record_digest"]
    record["files"]["rows.jsonl"]["size"] = size
    path.write_bytes(canonical_json({**record, "record_digest": blake3_json(record)}) + b"\n")
    assert refusal(store, KEY.fp) == f"build_cache_tampered: build/{KEY.fp}/record.json: is not a build record{CLEAN}"


def test_record_laid_out_otherwise_is_refused_though_it_says_the_same(store: Store) -> None:
    path = put(store, KEY, {"rows.jsonl": b"{}\n"}).path / "record.json"
    path.write_bytes(readable_json(json.loads(path.read_bytes())))
    wanted = f"build_cache_tampered: build/{KEY.fp}/record.json: does not match its own digest{CLEAN}"
    assert refusal(store, KEY.fp) == wanted


def test_record_of_another_key_is_refused(store: Store) -> None:
    path = put(store, KEY, {"rows.jsonl": b"{}\n"}).path / "record.json"
    record = json.loads(path.read_bytes())
    del record["record_digest"]
    record["key"]["stage"] = "expand"
    path.write_bytes(canonical_json({**record, "record_digest": blake3_json(record)}) + b"\n")
    wanted = f"build_cache_tampered: build/{KEY.fp}/record.json: belongs to build/{blake3_json(record['key'])}{CLEAN}"
    assert refusal(store, KEY.fp) == wanted


def test_change_in_a_large_file_is_found(store: Store) -> None:
    entry = put(store, KEY, {"table": bytes(1 << 20)})
    assert again(store).find(KEY.fp) == entry
    entry.file("table").write_bytes(bytes((1 << 20) - 1) + b"1")
    assert refusal(store, KEY.fp) == (
        f"build_cache_tampered: build/{KEY.fp}/table: has changed since it was stored{CLEAN}"
    )


def test_record_whose_digest_disagrees_is_refused(store: Store) -> None:
    entry = put(store, KEY, {"a": b"1"})
    path = entry.path / "record.json"
    path.write_bytes(path.read_bytes().replace(b'"limit":3', b'"limit":4'))
    assert refusal(store, KEY.fp) == (
        f"build_cache_tampered: build/{KEY.fp}/record.json: does not match its own digest{CLEAN}"
    )


def test_entry_under_another_name_is_refused(store: Store) -> None:
    entry = put(store, KEY, {"a": b"1"})
    entry.path.rename(store.tree.entry("f" * 64))
    assert refusal(store, "f" * 64) == (
        f"build_cache_tampered: build/{'f' * 64}/record.json: belongs to build/{KEY.fp}{CLEAN}"
    )


@pytest.mark.parametrize("linked", ["entry", "record"])
def test_links_are_refused(store: Store, tmp_path: Path, linked: str) -> None:
    entry = put(store, KEY, {"a": b"1"})
    path = entry.path if linked == "entry" else entry.path / "record.json"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert refusal(store, KEY.fp) == f"build_cache_tampered: build/{KEY.fp}/record.json: is not a regular file{CLEAN}"


def test_removed_entry_is_a_miss_and_removing_again_is_fine(store: Store) -> None:
    put(store, KEY, {"a": b"1"})
    store.remove(KEY.fp)
    store.remove(KEY.fp)
    assert store.find(KEY.fp) is None
    assert list(store.tree.root.iterdir()) == []


def test_removing_a_link_leaves_what_it_names(store: Store, tmp_path: Path) -> None:
    store.tree.root.mkdir()
    (tmp_path / "mine").mkdir()
    store.tree.entry(KEY.fp).symlink_to(tmp_path / "mine")
    store.remove(KEY.fp)
    assert (tmp_path / "mine").is_dir()
    assert list(store.tree.root.iterdir()) == []


def test_sweep_takes_what_killed_processes_left_and_nothing_else(store: Store) -> None:
    put(store, KEY, {"a": b"1"})
    (store.tree.root / ".tmp-0123").mkdir()
    (store.tree.root / ".tmp-0123" / "half").write_bytes(b"")
    store.sweep()
    assert [path.name for path in store.tree.root.iterdir()] == [KEY.fp]
    Store(BuildTree(store.tree.root / "absent")).sweep()


def test_refusal_names_the_remedy_it_is_given() -> None:
    error = tampered("x", "is odd", fix="mend it")
    assert str(error) == "build_cache_tampered: x: is odd\n  fix: mend it"


# --- results that somebody else stored ---


def files_of(entry: Entry) -> dict[str, bytes]:
    return {name: (entry.path / name).read_bytes() for name in (*entry.files, "record.json")}


def test_adopted_result_verifies_and_is_found(store: Store, tmp_path: Path) -> None:
    entry = put(store, KEY, {"rows.jsonl": b"{}\n"})
    there = Store(BuildTree(tmp_path / "there"))
    there.tree.root.mkdir(parents=True)
    assert there.adopt(entry.fp, files_of(entry), shown="afar", fix="none")
    found = again(there).find(entry.fp)
    assert found is not None
    assert files_of(found) == files_of(entry)


def test_adopting_what_somebody_stored_meanwhile_leaves_it_and_says_so(store: Store) -> None:
    entry = put(store, KEY, {"rows.jsonl": b"{}\n"})
    before = (entry.path / "record.json").stat()
    assert not store.adopt(entry.fp, files_of(entry), shown="afar", fix="none")
    assert (entry.path / "record.json").stat() == before
    assert [path.name for path in store.tree.root.iterdir()] == [entry.fp]


def test_adopting_where_a_directory_cannot_be_put_is_refused(store: Store) -> None:
    entry = put(store, KEY, {"rows.jsonl": b"{}\n"})
    files = files_of(entry)
    store.remove(entry.fp)
    store.tree.entry(entry.fp).write_text("in the way")
    with pytest.raises(StageError) as caught:
        store.adopt(entry.fp, files, shown="afar", fix="none")
    assert str(caught.value) == (
        f"storage_failed: {store.tree.root}: cannot write: Not a directory\n"
        "  fix: free space or make the directory writable, then run the same command again"
    )
    assert [path.name for path in store.tree.root.iterdir()] == [entry.fp]


def test_adopting_what_does_not_verify_is_refused_in_the_words_of_where_it_came_from(store: Store) -> None:
    entry = put(store, KEY, {"rows.jsonl": b"{}\n"})
    files = {**files_of(entry), "rows.jsonl": b"[]\n"}
    store.remove(entry.fp)
    with pytest.raises(DriftError) as caught:
        store.adopt(entry.fp, files, shown="afar/object", fix="look")
    assert str(caught.value) == (
        f"build_cache_tampered: afar/object: {entry.fp}/rows.jsonl has changed since it was stored\n  fix: look"
    )
    assert not store.holds(entry.fp)
