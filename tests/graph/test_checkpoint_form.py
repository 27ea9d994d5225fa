"""What a checkpoint says, given what a stage left."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bfcl.canonical import readable_json
from bfcl.digest import Digest, sha256_file, sha256_json, sha256_of
from bfcl.graph.checkpoint_form import Artifacts, Documents, Origin, Result, TaskIds, documents, plain_facts
from bfcl.graph.layout import BuildTree
from bfcl.graph.pointers import Pointer
from bfcl.graph.store import Entry, Key, Store
from bfcl.stages import stage_named

ORIGIN = Origin(Digest("sha256:c"), Digest("sha256:p"), Digest("sha256:s"), Digest("sha256:l"))


class Made:
    """A store to put results of stages into."""

    def __init__(self, root: Path) -> None:
        self.store = Store(BuildTree(root))

    def entry(self, stage: str, **files: list[str] | bytes) -> Entry:
        """A result: tables of these task ids, other files of these bytes."""
        key = Key(stage=stage, shard=None, code="", params={}, inputs={})
        with self.store.building(key) as directory:
            for name, content in files.items():
                if isinstance(content, bytes):
                    (directory / f"{name}.json").write_bytes(content)
                else:
                    table = pyarrow.table({"task_id": pyarrow.array(content, pyarrow.string())})
                    pyarrow.parquet.write_table(table, directory / f"{name}.parquet")
        entry = self.store.find(key.fp)
        assert entry is not None
        return entry

    def result(self, stage: str, **files: list[str] | bytes) -> Result:
        entry = self.entry(stage, **files)
        pointer = Pointer(stage=stage, fp=entry.fp, record_digest=entry.record_digest)
        order = [f"{name}.{'json' if isinstance(content, bytes) else 'parquet'}" for name, content in files.items()]
        return Result(pointer, entry, order)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def prepared(made: Made) -> Artifacts:
    entry = made.entry("prepare", pack_manifest=b"{}")
    return {"pack_manifest.json": plain_facts(entry, "pack_manifest.json")}


def chained(made: Made) -> tuple[Documents, Documents]:
    first = documents(stage_named("expand"), ORIGIN, prepared(made), made.result("expand", tasks=["b", "a"]))
    again = made.result("render", wording=["b", "a"], notes=b"[]")
    return first, documents(stage_named("render"), ORIGIN, first.checkpoint, again)


def test_first_checkpoint_has_no_parent_and_takes_what_prepare_left(made: Made) -> None:
    first, _ = chained(made)
    assert first.manifest["parent"] is None
    assert first.manifest["dependency"] is None
    assert set(first.manifest["input_artifacts"]) == {"pack_manifest.json"}
    assert set(first.manifest["produced_artifacts"]) == {"tasks.parquet"}


def test_next_checkpoint_takes_its_parents_outputs_and_adds_its_own(made: Made) -> None:
    first, second = chained(made)
    assert second.manifest["input_artifacts"] == first.manifest["output_artifacts"]
    assert set(second.manifest["produced_artifacts"]) == {"wording.parquet", "notes.json"}
    assert second.manifest["output_artifacts"] == {
        **first.manifest["output_artifacts"],
        **second.manifest["produced_artifacts"],
    }
    assert second.manifest["parent"] == {"stage": "expand", "checkpoint_id": first.manifest["checkpoint_id"]}
    assert second.manifest["dependency"] == "expand"


def test_manifest_has_exactly_the_contracts_fields(made: Made) -> None:
    _, second = chained(made)
    assert set(second.manifest) == {
        *("contract", "stage", "stage_index", "stage_contract_version", "dependency", "identity", "state"),
        *("task_ids", "task_count", "task_set_hash", "input_artifacts", "output_artifacts", "produced_artifacts"),
        *("parent", "checkpoint_id"),
    }
    assert {name: second.manifest[name] for name in ("contract", "stage", "stage_index", "stage_contract_version")} == {
        "contract": "bfcl-generation-checkpoint/1.0",
        "stage": "render",
        "stage_index": 6,
        "stage_contract_version": "1.0",
    }
    assert second.manifest["identity"] == {
        "generation_config_hash": "sha256:c",
        "pack_fingerprint": "sha256:p",
        "endpoint": {"identity": None, "identity_digest": None, "config_content_hash": None},
        "pipeline": {"source_hash": "sha256:s", "dependency_lock_hash": "sha256:l", "worker_image_digest": None},
    }
    rest = {name: value for name, value in second.manifest.items() if name != "checkpoint_id"}
    assert second.manifest["checkpoint_id"] == sha256_json(rest)


def test_state_names_the_result_and_the_manifest_pins_the_state(made: Made) -> None:
    _, second = chained(made)
    assert set(second.state) == {"contract", "stage", "task_ids", "task_set_hash", "payload"}
    assert second.state["contract"] == "bfcl-generation-state/1.0"
    assert second.state["payload"] == {"pointer": second.checkpoint.pointer.to_json()}
    data = second.files["state.json"]
    assert second.manifest["state"] == {"file": "state.json", "content_hash": sha256_of(data), "size": len(data)}


def test_artifact_is_named_by_the_entry_that_holds_it(made: Made) -> None:
    result = made.result("expand", tasks=["b", "a"])
    first = documents(stage_named("expand"), ORIGIN, prepared(made), result)
    path = result.entry.file("tasks.parquet")
    assert first.manifest["produced_artifacts"] == {
        "tasks.parquet": {
            "source": f"build/{result.entry.fp}/tasks.parquet",
            "content_hash": sha256_file(path),
            "size": path.stat().st_size,
            "format": "parquet",
            "row_count": 2,
            "schema_fingerprint": sha256_json([["task_id", "string"]]),
            "task_ids": "expand",
            "task_set_hash": sha256_json(["b", "a"]),
        }
    }
    assert first.manifest["task_ids"] == ["b", "a"]
    assert first.manifest["task_count"] == 2
    assert first.manifest["task_set_hash"] == sha256_json(["b", "a"])


def test_artifact_that_is_no_table_has_neither_rows_nor_tasks(made: Made) -> None:
    _, second = chained(made)
    notes = second.manifest["produced_artifacts"]["notes.json"]  # type: ignore[call-overload,index]
    assert (notes["format"], notes["size"]) == ("json", 2)
    assert {notes[name] for name in ("row_count", "schema_fingerprint", "task_ids", "task_set_hash")} == {None}


def test_table_with_other_tasks_than_its_stage_lists_them_itself(made: Made) -> None:
    result = made.result("final_output", raw=["a", "b", "c"], published=["c", "a"])
    last = documents(stage_named("final_output"), ORIGIN, prepared(made), result)
    assert last.manifest["task_ids"] == ["c", "a"]
    facts = json.loads(last.files["manifest.json"])["produced_artifacts"]
    assert facts["raw.parquet"]["task_ids"] == ["a", "b", "c"]
    assert facts["published.parquet"]["task_ids"] == "final_output"


def test_stage_without_tasks_lists_none(made: Made) -> None:
    only = documents(stage_named("reference_profile"), ORIGIN, prepared(made), made.result("x", profile=b"{}"))
    assert only.manifest["task_ids"] == []
    assert only.manifest["task_count"] == 0


def test_documents_are_readable_json(made: Made) -> None:
    for document in chained(made):
        assert document.files == {
            "state.json": readable_json(document.state),
            "manifest.json": readable_json(document.manifest),
        }


def test_same_ids_are_shared_with_the_parent_and_not_encoded_again(made: Made) -> None:
    first, second = chained(made)
    assert second.checkpoint.tasks is first.checkpoint.tasks


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
@example([","])
def test_id_list_is_laid_out_as_readable_json_does(ids: list[str]) -> None:
    assert f'{{\n  "task_ids": {TaskIds(ids).lines}\n}}\n'.encode() == readable_json({"task_ids": ids})
