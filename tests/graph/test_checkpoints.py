"""When a stage leaves its checkpoint, what it is made of, and what a stage may not change."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import BinaryIO

import pytest

from bfcl.digest import blake3_file, sha256_file
from bfcl.graph.commit_record import read_commit_record
from bfcl.graph.late import late
from bfcl.graph.publish import withdraw
from bfcl.stages import enabled_stages
from tests.graph.chains import Chain, opened, refused, run

STAGES = enabled_stages(())
NAMES = [stage.name for stage in STAGES]
SIX = ["expand", "state_machine", "render", "expected_trace", "schema_validation", "executable_replay"]


def left(chain: Chain) -> list[str]:
    """Stages with a checkpoint, in order."""
    return [name for name in NAMES if (chain.root / name).is_dir()]


def test_published_run_has_a_checkpoint_of_every_stage(chain: Chain) -> None:
    assert left(chain) == NAMES
    assert sorted(path.name for path in chain.root.iterdir()) == sorted(NAMES)
    for previous, name in zip([None, *NAMES], NAMES, strict=False):
        manifest = chain.document(name)
        assert manifest["dependency"] == previous
        assert manifest["parent"] == (
            None
            if previous is None
            else {"stage": previous, "checkpoint_id": chain.document(previous)["checkpoint_id"]}
        )


def test_checkpoints_hold_no_data_but_name_entries_that_do(chain: Chain) -> None:
    files = sorted(path.name for path in chain.root.rglob("*") if path.is_file())
    assert set(files) == {"manifest.json", "state.json"}
    for name, facts in chain.document("final_output")["output_artifacts"].items():
        kept, published = chain.project / facts["source"], chain.run.root / name
        assert kept.name == name
        shown = published if published.exists() else chain.run.stage_cache / name
        assert shown.read_bytes() == kept.read_bytes()


def test_checkpoint_lists_the_tasks_of_its_stage(chain: Chain) -> None:
    ids = chain.document("expand")["task_ids"]
    assert len(ids) == 10
    assert all(chain.document(name)["task_ids"] == ids for name in SIX)
    assert chain.document("reference_profile")["task_ids"] == []
    last = chain.document("final_output")
    assert last["task_ids"] == ids
    assert set(last["produced_artifacts"]) == {"benchmark_raw.parquet", "benchmark.parquet"}


def test_commit_record_knows_every_checkpoint_file(chain: Chain) -> None:
    record = read_commit_record(chain.run.commit_record)
    assert record is not None
    assert record.checkpoints == {
        path.relative_to(chain.root).as_posix(): blake3_file(path) for path in chain.root.rglob("*.json")
    }


def test_run_begins_by_removing_all_checkpoints_with_the_publication(chain: Chain) -> None:
    withdraw(chain.run.root)
    with opened(chain.project) as session:
        late("prepare")(session)
        assert left(chain) == []


def test_prepare_alone_leaves_the_chain_of_a_release_that_stays(chain: Chain) -> None:
    with opened(chain.project, "prepare") as session:
        late("prepare")(session)
    assert left(chain) == NAMES


def test_chain_grows_in_stage_order_whatever_order_tasks_end_in(chain: Chain) -> None:
    before = {name: chain.document(name)["checkpoint_id"] for name in NAMES[:-1]}
    with opened(chain.project) as session:
        late("prepare")(session)
        stages = {stage.name: stage for stage in session.stages}
        grown = []
        for name in ("expand", "state_machine", "expected_trace", "reference_profile", "render"):
            late("stage")(session, stages[name])
            grown.append(left(chain))
    assert grown == [[], [], [], NAMES[:3], NAMES[:5]]
    assert {name: chain.document(name)["checkpoint_id"] for name in NAMES[:5]} == {
        name: before[name] for name in NAMES[:5]
    }


def test_last_checkpoint_comes_with_the_manifest_and_not_with_its_stage(chain: Chain) -> None:
    with opened(chain.project) as session:
        run(session, stop_after="final_output")
        assert left(chain) == NAMES[:-1]
        late("publish")(session)
    assert left(chain) == NAMES


def test_inherited_copy_that_changed_stops_the_next_checkpoint(chain: Chain) -> None:
    with opened(chain.project) as session:
        run(session, stop_after="state_machine")
        path = session.run.stage_cache / "task_instances.parquet"
        path.write_bytes(b"edited")
        render = next(stage for stage in session.stages if stage.name == "render")
        assert refused(lambda: late("stage")(session, render)) == [
            "build_cache_tampered: stage_cache/task_instances.parquet: has changed since it was written\n"
            f"  fix: delete {path}; the next run writes it again"
        ]
    assert left(chain) == NAMES[:3]


def test_inherited_result_that_was_exchanged_stops_the_next_checkpoint(chain: Chain) -> None:
    with opened(chain.project) as session:
        run(session, stop_after="state_machine")
        pointer = session.tree.pointer(session.invocation.ck, "reference_profile")
        pointer.unlink()
        render = next(stage for stage in session.stages if stage.name == "render")
        assert refused(lambda: late("stage")(session, render)) == [
            f"build_cache_tampered: refs/{session.invocation.ck}/reference_profile.json: vanished during the run\n"
            "  fix: delete the named entry or pointer, or all with `doit clean -a`; the next run computes it again"
        ]
    assert left(chain) == NAMES[:3]


def test_stage_table_is_hashed_with_sha256_once_for_its_checkpoint_and_the_manifest(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: Counter[str] = Counter()
    digest = hashlib.file_digest

    def counted(stream: BinaryIO, name: str) -> object:
        hashed[Path(stream.name).name] += 1
        return digest(stream, name)

    monkeypatch.setattr(hashlib, "file_digest", counted)
    withdraw(chain.run.root)
    with opened(chain.project) as session:
        run(session)
    tables = [file for stage in STAGES for file in stage.writes]
    assert {file: hashed[file] for file in tables} == dict.fromkeys(tables, 1)
    manifest = json.loads(chain.run.manifest.read_bytes())
    for file in tables:
        assert manifest["artifacts"][Path(file).stem]["content_hash"] == sha256_file(chain.run.stage_cache / file)


def test_copy_changed_after_its_checkpoint_stops_the_release(chain: Chain) -> None:
    with opened(chain.project) as session:
        run(session, stop_after="final_output")
        path = session.run.stage_cache / "replay_validated_tasks.parquet"
        path.write_bytes(path.read_bytes()[::-1])
        assert refused(lambda: late("publish")(session)) == [
            "build_cache_tampered: stage_cache/replay_validated_tasks.parquet: has changed since it was written\n"
            f"  fix: delete {path}; the next run writes it again"
        ]
    assert not chain.run.manifest.exists()
