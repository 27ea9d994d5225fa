"""What `doit clean` takes away, and what it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.files import Lock
from bfcl.graph.clean import clean_pointed, clean_publication
from bfcl.graph.commit_record import CommitRecord, write_commit_record
from bfcl.graph.opening import Opening
from bfcl.graph.pointers import Pointer, Shard, write_pointer
from bfcl.graph.store import Key
from bfcl.graph.views import Views
from tests.graph.projects import invoked


@pytest.fixture
def opening(project: Path) -> Opening:
    """A render result of one shard with its copy, something of another stage, and a publication."""
    opening = Opening(invoked(project))
    tree, ck, run = opening.invocation.tree, opening.invocation.ck, opening.invocation.run
    assert run is not None
    merged, shard, other = (
        opening.store.put([(Key(stage=stage, shard=None, code="", params={}, inputs={}), {"rows.jsonl": b"{}\n"})])[0]
        for stage in ("render", "render/one", "expand")
    )
    shards = (Shard(label="one", fp=shard.fp, digest=shard.files["rows.jsonl"], rows=1),)
    write_pointer(
        tree.pointer(ck, "render"),
        Pointer(stage="render", fp=merged.fp, record_digest=merged.record_digest, shards=shards),
    )
    write_pointer(tree.pointer(ck, "expand"), Pointer(stage="expand", fp=other.fp, record_digest=other.record_digest))
    Views(run.stage_cache).copy({"rendered_conversations.parquet": merged.file("rows.jsonl")})
    for path in (run.manifest, run.benchmark):
        path.write_bytes(b"published")
    write_commit_record(
        run.commit_record,
        CommitRecord(manifest=merged.fp, publication_key=other.fp, configuration=merged.fp, checkpoints={}),
    )
    return opening


def everything(opening: Opening) -> list[str]:
    root = opening.invocation.project
    return sorted(path.relative_to(root).as_posix() for path in (root / "build").rglob("*") if path.name != ".lock")


def test_clean_takes_pointer_entries_and_copies_of_the_stage(
    opening: Opening, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything(opening)
    pointer = opening.pointer("render")
    assert pointer is not None
    clean_pointed(opening, ("render",), dryrun=False)
    gone = set(before) - set(everything(opening))
    fps = {pointer.fp, pointer.shards[0].fp}
    tops = {name for name in gone if "rows.jsonl" not in name and "record.json" not in name}
    assert tops == {
        *(f"build/{fp}" for fp in fps),
        f"build/refs/{opening.invocation.ck}/render.json",
        "build/runs/trial/stage_cache/rendered_conversations.parquet",
    }
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"removing {opening.invocation.project / name}" for name in tops)


def test_dry_run_says_and_does_nothing(opening: Opening, capsys: pytest.CaptureFixture[str]) -> None:
    before = everything(opening)
    clean_pointed(opening, ("render", "expand"), dryrun=True)
    clean_publication(opening, dryrun=True)
    assert everything(opening) == before
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert all(line.startswith("would remove ") for line in lines)


def test_clean_publication_takes_the_published_files_alone(opening: Opening) -> None:
    before = everything(opening)
    clean_publication(opening, dryrun=False)
    assert set(before) - set(everything(opening)) == {
        "build/runs/trial/run_manifest.json",
        "build/runs/trial/benchmark.parquet",
        "build/runs/trial/.published.json",
    }


def test_clean_of_what_is_not_there_is_fine(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opening = Opening(invoked(project))
    clean_pointed(opening, ("render", "prepare"), dryrun=False)
    clean_publication(opening, dryrun=False)
    assert capsys.readouterr().out == ""


def test_pointer_that_is_none_is_taken_away(opening: Opening) -> None:
    path = opening.invocation.tree.pointer(opening.invocation.ck, "render")
    path.write_bytes(b"garbage")
    clean_pointed(opening, ("render",), dryrun=False)
    assert not path.exists()


def test_tampered_entry_is_taken_away(opening: Opening) -> None:
    pointer = opening.pointer("render")
    assert pointer is not None
    (opening.invocation.tree.entry(pointer.fp) / "record.json").write_bytes(b"garbage")
    clean_pointed(opening, ("render",), dryrun=False)
    assert not opening.invocation.tree.entry(pointer.fp).exists()


def test_clean_without_a_readable_configuration_is_fine(project: Path) -> None:
    (project / "configs" / "tiny.yaml").write_text("[")
    opening = Opening(invoked(project))
    clean_pointed(opening, ("render",), dryrun=False)
    clean_publication(opening, dryrun=False)
    assert [path.name for path in (project / "build").iterdir()] == [".lock"]


def test_clean_waits_for_nobody(opening: Opening, capfd: pytest.CaptureFixture[str]) -> None:
    before = everything(opening)
    lock = Lock(opening.invocation.tree.lock, "busy")
    lock.acquire()
    try:
        for clean in (
            lambda: clean_pointed(opening, ("render",), dryrun=False),
            lambda: clean_publication(opening, dryrun=False),
        ):
            with pytest.raises(SystemExit) as caught:
                clean()
            assert caught.value.code == 1
            assert "run_locked: another BFCL process is using this project's build directory" in capfd.readouterr().err
    finally:
        lock.release()
    assert everything(opening) == before


def test_clean_takes_what_only_runs_with_a_held_out_policy_leave(opening: Opening) -> None:
    run = opening.invocation.run
    assert run is not None
    views = Views(run.stage_cache)
    for name in ("held_out_normalized.json", "held_out_bindings.json", "held_out_scan.json"):
        views.write(name, b"{}")
    clean_pointed(opening, ("prepare", "expand"), dryrun=False)
    assert sorted(path.name for path in run.stage_cache.glob("held_out_*")) == ["held_out_scan.json"]
    clean_pointed(opening, ("final_output",), dryrun=False)
    assert list(run.stage_cache.glob("held_out_*")) == []
