"""What a collection removes, what it keeps, and in which order."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bfcl.errors import DriftError
from bfcl.graph.gc import Amount, Collection, collect, sweep
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.graph.pointers import Pointer, Shard, write_pointer
from bfcl.graph.store import Entry, Key, Store
from bfcl.graph.writer import build_lock

FIX = "\n  fix: delete it if it is worth nothing, then run the same command again"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(BuildTree(tmp_path))


def put(store: Store, stage: str, shard: str | None = None, data: bytes = b"{}\n") -> Entry:
    key = Key(stage=stage, shard=shard, code="", params={}, inputs={})
    return store.put([(key, {"rows.jsonl": data})])[0]


def point(store: Store, ck: str, entry: Entry, shards: Sequence[Entry] = ()) -> None:
    stage = str(entry.key["stage"])
    labelled = tuple(
        Shard(label=f"t{number}", fp=each.fp, digest=each.files["rows.jsonl"], rows=1)
        for number, each in enumerate(shards)
    )
    pointer = Pointer(stage=stage, fp=entry.fp, record_digest=entry.record_digest, shards=labelled)
    write_pointer(store.tree.pointer(ck, stage), pointer)


def results(store: Store) -> set[str]:
    return {path.name for path in store.tree.root.iterdir() if len(path.name) == 64}


def test_results_that_pointers_name_stay_and_others_go_by_stage(store: Store) -> None:
    merged, shard, view = put(store, "render"), put(store, "render", "a"), put(store, "oracle_view")
    point(store, "aaaa", merged, [shard])
    point(store, "bbbb", view)
    lost = [put(store, "render", "b"), put(store, "expand", "a"), put(store, "expand", "b", b"longer\n")]
    sizes = {entry.fp: sum(path.stat().st_size for path in entry.path.iterdir()) for entry in [*lost, merged]}
    found = collect(store.tree, [])
    assert found.removed == {
        "expand": Amount(results=2, size_bytes=sizes[lost[1].fp] + sizes[lost[2].fp]),
        "render": Amount(results=1, size_bytes=sizes[lost[0].fp]),
    }
    assert found.kept.results == 3
    assert found.freed_bytes == sum(sizes[entry.fp] for entry in lost)
    assert results(store) >= {entry.fp for entry in lost}
    sweep(store, found)
    assert results(store) == {merged.fp, shard.fp, view.fp}
    assert Store(store.tree).find(merged.fp) is not None
    again = collect(store.tree, [])
    assert (again.removed, again.freed_bytes, again.kept) == ({}, 0, found.kept)


@pytest.mark.parametrize(
    "place",
    [
        "run_manifest.json",
        "stage_cache/checkpoints/render/manifest.json",
        "stage_cache/checkpoints/render/state.json",
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_results_that_a_run_names_stay_wherever_its_files_mention_them(
    store: Store, tmp_path: Path, place: str, inside: bool
) -> None:
    entry, other = put(store, "render"), put(store, "expand")
    run = (store.tree.root / "runs" if inside else tmp_path / "far") / "trial"
    path = run / place
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"deep": [{"source": f"build/{entry.fp}/rows.jsonl"}], "sha": f"sha256:{'0' * 64}"}))
    found = collect(store.tree, [] if inside else [RunTree(run)])
    assert found.doomed == (other.fp,)


def test_pointers_of_configurations_that_are_not_kept_are_forgotten_with_their_results(store: Store) -> None:
    ours, theirs = put(store, "render"), put(store, "expand")
    point(store, "aaaa", ours)
    point(store, "bbbb", theirs)
    (store.tree.root / "refs" / "bbbb" / "render.json").write_text("not read")
    found = collect(store.tree, [], frozenset({"aaaa"}))
    assert (found.forgotten, found.doomed) == (("bbbb",), (theirs.fp,))
    sweep(store, found)
    assert [path.name for path in (store.tree.root / "refs").iterdir()] == ["aaaa"]
    assert results(store) == {ours.fp}


def test_pointers_that_cannot_be_believed_stop_everything_each_named(store: Store) -> None:
    point(store, "aaaa", put(store, "render"))
    for ck in ("aaaa", "bbbb"):
        path = store.tree.pointer(ck, "expand")
        path.parent.mkdir(exist_ok=True)
        path.write_text("{")
    with pytest.raises(DriftError) as caught:
        collect(store.tree, [])
    assert [problem.subject for problem in caught.value.problems] == [
        "build/refs/aaaa/expand.json",
        "build/refs/bbbb/expand.json",
    ]
    assert {problem.code for problem in caught.value.problems} == {"build_cache_tampered"}


def test_manifests_and_checkpoints_that_cannot_be_read_stop_everything_each_named(store: Store) -> None:
    run = RunTree(store.tree.root / "runs" / "trial")
    checkpoint = run.stage_cache / "checkpoints" / "render" / "manifest.json"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"\xff")
    run.manifest.write_text('{"build": ')
    with pytest.raises(DriftError) as caught:
        collect(store.tree, [run])
    assert list(map(str, caught.value.problems)) == [
        f"build_roots_unreadable: {path}: cannot be read, so nobody knows which stored results it names; "
        f"nothing was removed{FIX}"
        for path in (run.manifest, checkpoint)
    ]


def test_what_stands_in_the_place_of_a_result_goes_without_what_it_leads_to(store: Store, tmp_path: Path) -> None:
    store.tree.root.mkdir()
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    (store.tree.root / ("a" * 64)).symlink_to(kept)
    (store.tree.root / ("b" * 64)).write_text("a file")
    (store.tree.root / ("c" * 64)).mkdir()
    (store.tree.root / "notes").mkdir()
    found = collect(store.tree, [])
    assert found.removed == {"unknown": Amount(results=3, size_bytes=len(str(kept)) + len("a file"))}
    sweep(store, found)
    assert sorted(path.name for path in store.tree.root.iterdir()) == ["notes"]
    assert (kept / "file").read_text() == "mine"


def test_leftovers_of_killed_runs_go(store: Store) -> None:
    put(store, "render")
    half = store.tree.root / ".tmp-0123"
    half.mkdir()
    (half / "rows.jsonl").write_bytes(b"12345")
    (store.tree.root / ".tmp-4567").symlink_to(half)
    found = collect(store.tree, [])
    assert found.leftovers_bytes == 5 + len(str(half))
    sweep(store, found)
    assert list(store.tree.root.iterdir()) == []


def test_project_without_a_build_has_nothing_to_collect(tmp_path: Path) -> None:
    assert collect(BuildTree(tmp_path), [RunTree(tmp_path / "gone")]) == Collection(
        kept=Amount(), removed={}, forgotten=(), leftovers_bytes=0, doomed=()
    )


def test_lock_of_the_build_keeps_a_second_writer_out(tmp_path: Path) -> None:
    first = build_lock(BuildTree(tmp_path))
    first.acquire()
    with pytest.raises(DriftError) as caught:
        build_lock(BuildTree(tmp_path)).acquire()
    first.release()
    assert str(caught.value) == (
        f"run_locked: another BFCL process is using this project's build directory (process {os.getpid()})\n"
        "  fix: wait for that process to end, or stop it"
    )


def test_collection_killed_after_any_number_of_removals_is_finished_by_the_next(tmp_path: Path) -> None:
    """Each time in a child that kills itself at its n-th rename or deletion."""
    kill_at = 0
    while True:
        store = Store(BuildTree(tmp_path / str(kill_at)))
        kept = put(store, "render")
        point(store, "aaaa", kept)
        point(store, "bbbb", put(store, "expand"))
        for number in range(3):
            put(store, "state_machine", str(number))
        child = os.fork()
        if child == 0:
            _die_at(kill_at)
            sweep(store, collect(store.tree, [], frozenset({"aaaa"})))
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert Store(store.tree).find(kept.fp) is not None
        for path in (store.tree.root / "refs").glob("*/*.json"):
            named = json.loads(path.read_bytes())["fp"]
            assert named in results(store), "a pointer outlived what it names"
        fresh = Store(store.tree)
        sweep(fresh, collect(fresh.tree, [], frozenset({"aaaa"})))
        assert sorted(path.name for path in store.tree.root.iterdir()) == sorted([kept.fp, "refs"])
        if status == 0:
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        kill_at += 1
    assert kill_at > 10


def _die_at(number: int) -> None:
    """Let this process kill itself when it is about to change a directory for the n-th time."""
    seen = 0

    def hook(event: str, arguments: object) -> None:
        nonlocal seen
        if event in ("os.rename", "os.remove", "os.rmdir"):
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
            seen += 1

    sys.addaudithook(hook)


@pytest.mark.parametrize("place", ["runs/trial", "runs/trial/stage_cache/checkpoints"])
def test_a_link_that_leads_nowhere_may_hide_what_is_needed_so_nothing_goes(store: Store, place: str) -> None:
    put(store, "render")
    path = store.tree.root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(store.tree.root / "not mounted today")
    with pytest.raises(DriftError) as caught:
        collect(store.tree, [])
    assert str(caught.value) == (
        f"build_roots_unreadable: {path}: cannot be read, so nobody knows which stored results it names; nothing was "
        f"removed{FIX}"
    )


def test_a_manifest_that_is_a_dead_link_is_not_taken_for_absent(store: Store) -> None:
    put(store, "render")
    run = RunTree(store.tree.root / "runs" / "trial")
    run.root.mkdir(parents=True)
    run.manifest.symlink_to(run.root / "gone")
    with pytest.raises(DriftError, match=r"build_roots_unreadable: .*run_manifest\.json: cannot be read"):
        collect(store.tree, [])


def test_a_directory_that_cannot_be_listed_stops_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "render")
    refused = store.tree.root / "refs" / "aaaa"
    refused.mkdir(parents=True)
    genuine = Path.iterdir

    def iterdir(path: Path) -> object:
        # Root may list everything, so what the kernel tells others is said here.
        if path == refused:
            raise PermissionError
        return genuine(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    with pytest.raises(DriftError, match=r"build_roots_unreadable: .*refs/aaaa: cannot be read"):
        collect(store.tree, [])
