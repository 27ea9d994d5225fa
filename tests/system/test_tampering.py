"""One changed byte anywhere in what is stored or published is refused by name; a wholly absent result is a miss."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bfcl.canonical import canonical_json
from bfcl.digest import blake3_file, blake3_json, blake3_of
from bfcl.errors import DriftError
from bfcl.graph.layout import BuildTree
from bfcl.graph.store import Store
from tests.system.project import PUBLISHED, Project

REMEDY = "  fix: delete the named entry or pointer, or all with `doit clean -a`; the next run computes it again"
CLEAN_PUBLISH = "  fix: `doit clean publish` withdraws the publication, the next run publishes again"


def flip(path: Path, at: int | None = None) -> None:
    """Change one bit of one byte, by default in the middle."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1
    path.write_bytes(bytes(data))


def refused(project: Project) -> list[str]:
    """The problems of a run that must refuse and must not touch what it refused."""
    before = project.snapshot()
    ended = project.doit("generate")
    assert ended.status == 1, ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err
    assert project.snapshot() == before
    return ended.blocks


def entries(project: Project) -> list[Path]:
    return sorted(path for path in project.build.iterdir() if len(path.name) == 64)


def test_any_byte_of_records_rows_and_facts_is_guarded(built: Project) -> None:
    """In process, since a run of doit for each byte would take an hour."""
    tree = BuildTree(built.root)
    flipped = 0
    for stage in ("render", "final_output"):
        entry = built.build / built.pointers()[stage]["fp"]
        for path in sorted(path for path in entry.iterdir() if path.stat().st_size < 4096):
            data = path.read_bytes()
            for at in range(0, len(data), 11):
                flip(path, at)
                with pytest.raises(DriftError) as caught:
                    Store(tree).find(entry.name)
                assert {problem.code for problem in caught.value.problems} == {"build_cache_tampered"}
                assert [problem.subject for problem in caught.value.problems] == [f"build/{entry.name}/{path.name}"]
                path.write_bytes(data)
                flipped += 1
    assert flipped > 300


def test_every_stored_file_of_every_stage_is_refused_by_name_in_process(built: Project) -> None:
    for entry in entries(built):
        for path in sorted(entry.rglob("*")):
            if path.is_file():
                data = path.read_bytes()
                flip(path)
                with pytest.raises(DriftError) as caught:
                    Store(BuildTree(built.root)).find(entry.name)
                assert [problem.subject for problem in caught.value.problems] == [
                    path.relative_to(built.root).as_posix()
                ]
                path.write_bytes(data)


def test_flipped_byte_in_a_shards_rows_is_refused(built: Project) -> None:
    fp = built.pointers()["executable_replay"]["shards"][0]["fp"]
    flip(built.build / fp / "rows.jsonl")
    assert refused(built) == [f"build_cache_tampered: build/{fp}/rows.jsonl: has changed since it was stored\n{REMEDY}"]


def test_flipped_byte_in_a_shards_rows_is_refused_when_the_run_needs_it(built: Project) -> None:
    fp = built.pointers()["render"]["shards"][0]["fp"]
    flip(built.build / fp / "rows.jsonl")
    built.append(built.pack / "task_templates.yaml", "# a remark\n")
    ended = built.doit("generate")
    assert ended.status == 1
    assert ended.blocks == [f"build_cache_tampered: build/{fp}/rows.jsonl: has changed since it was stored\n{REMEDY}"]
    assert built.published() == []


def test_changed_record_is_refused(built: Project) -> None:
    fp = built.pointers()["expand"]["fp"]
    record = built.build / fp / "record.json"
    record.write_bytes(record.read_bytes().replace(b'"limit"', b'"lamit"').replace(b'"stage"', b'"stagf"', 1))
    (block,) = refused(built)
    assert block.startswith(f"build_cache_tampered: build/{fp}/record.json: ")


def test_extra_missing_and_linked_files_are_refused_together(built: Project) -> None:
    fp = built.pointers()["final_output"]["fp"]
    entry = built.build / fp
    (entry / "notes.txt").write_text("mine")
    (entry / "plan.json").unlink()
    (entry / "summary.json").rename(built.root / "summary.json")
    (entry / "summary.json").symlink_to(built.root / "summary.json")
    assert refused(built) == [
        f"build_cache_tampered: build/{fp}/notes.txt: is not part of the entry\n{REMEDY}",
        f"build_cache_tampered: build/{fp}/plan.json: is missing\n{REMEDY}",
        f"build_cache_tampered: build/{fp}/summary.json: is not a regular file\n{REMEDY}",
    ]


def test_pointer_that_disagrees_with_its_entry_is_refused(built: Project) -> None:
    pointer = built.pointers()["schema_validation"]
    (refs,) = (built.build / "refs").iterdir()
    digest = pointer["record_digest"]
    built.edit(refs / "schema_validation.json", digest, ("0" if digest[0] != "0" else "1") + digest[1:])
    assert refused(built) == [
        f"build_cache_tampered: build/refs/{refs.name}/schema_validation.json: has changed since it was written\n"
        + REMEDY
    ]


def test_pointer_that_is_no_pointer_is_refused(built: Project) -> None:
    (refs,) = (built.build / "refs").iterdir()
    (refs / "render.json").write_text("{}\n")
    assert refused(built) == [f"build_cache_tampered: build/refs/{refs.name}/render.json: is not a pointer\n{REMEDY}"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_flipped_byte_in_a_published_table_is_refused(built: Project, name: str) -> None:
    flip(built.run_dir / name)
    (block,) = refused(built)
    artifact = name.replace(".parquet", "_parquet")
    assert block.startswith(f"build_cache_tampered: {artifact}: ")
    assert block.endswith(CLEAN_PUBLISH)


@pytest.mark.parametrize(
    ("name", "artifact"),
    [
        ("task_instances.parquet", "task_instances"),
        ("replay_validated_tasks.parquet", "replay_validated_tasks"),
        ("tools_normalized.json", "tools_model_facing"),
        ("reference_profile.json", "reference_profile"),
        ("pack_paths.json", "stage_cache/pack_paths.json"),
        ("validation_cases_normalized.yaml", "stage_cache/validation_cases_normalized.yaml"),
    ],
)
def test_flipped_byte_in_a_stage_artifact_is_refused(built: Project, name: str, artifact: str) -> None:
    flip(built.run_dir / "stage_cache" / name)
    (block,) = refused(built)
    assert block.startswith(f"build_cache_tampered: {artifact}: ")


def test_flipped_byte_in_a_stage_table_is_refused_by_a_run_that_would_replace_it(built: Project) -> None:
    path = built.run_dir / "stage_cache" / "rendered_conversations.parquet"
    flip(path)
    built.append(built.pack / "task_templates.yaml", "# a remark\n")
    ended = built.doit("generate")
    assert ended.status == 1
    assert ended.blocks == [
        "build_cache_tampered: stage_cache/rendered_conversations.parquet: has changed since it was written\n"
        f"  fix: delete {path}; the next run writes it again"
    ]
    path.unlink()
    built.generate()


def test_changed_manifest_is_refused(built: Project) -> None:
    manifest = built.run_dir / "run_manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"gold_eligible": true', b'"gold_eligible": tRue'.lower()))
    built.edit(manifest, '"tier": "gold"', '"tier": "iron"')
    assert refused(built) == [
        "build_cache_tampered: run_manifest.json: has changed since it was published\n"
        "  fix: `doit clean publish` withdraws the publication, the next run publishes again"
    ]


def forge_assembled(project: Project, old: bytes, new: bytes) -> tuple[str, str]:
    """Change rows of an assembled shard and recompute its record, as a forger would. Returns address and label."""
    shard = project.pointers()["final_output"]["shards"][0]
    entry = project.build / shard["fp"]
    rows = (entry / "rows.jsonl").read_bytes()
    assert old in rows
    (entry / "rows.jsonl").write_bytes(rows.replace(old, new))
    record = json.loads((entry / "record.json").read_bytes())
    data = (entry / "rows.jsonl").read_bytes()
    record["files"]["rows.jsonl"] = {"blake3": blake3_of(data), "size": len(data)}
    del record["record_digest"]
    record["record_digest"] = blake3_json(record)
    (entry / "record.json").write_bytes(canonical_json(record) + b"\n")
    # Not the row in place any more, so that a plain run has to publish.
    project.append(project.pack / "task_templates.yaml", "# a remark\n")
    return shard["fp"], shard["label"]


def test_full_replay_publishes_no_row_that_somebody_put_into_the_store(built: Project) -> None:
    fp, label = forge_assembled(built, b'"role":"user"', b'"role":"User"')
    before = built.tables()["benchmark.parquet"]
    # Digests find no forger who makes them anew: a plain run takes his rows, ...
    built.generate()
    assert built.shards("computed") == []
    assert built.tables()["benchmark.parquet"] != before
    poisoned = built.pointers()["final_output"]["fp"]
    # ... and one that computes all rows again finds them.
    ended = built.doit("generate", "replay=full")
    assert ended.status == 1
    assert ended.blocks == [
        f"build_nondeterministic: final_output:{label}: computed again from the same inputs, rows.jsonl of build/{fp} "
        "differs; the stored entry stays\n"
        "  fix: look for clock, environment or set order in what this stage runs, then `doit clean` it"
    ]
    assert built.published() == []
    # So are the tables that were made of them.
    shutil.rmtree(built.build / fp)
    (block,) = built.doit("generate", "replay=full").blocks
    assert block.startswith(
        "build_nondeterministic: final_output: computed again from the same inputs, benchmark.parquet"
    )
    shutil.rmtree(built.build / poisoned)
    built.generate("replay=full")
    assert built.tables()["benchmark.parquet"] == before


@pytest.mark.parametrize("asked", ["replay=full", "rebuild=1"])
def test_what_somebody_put_into_the_oracle_view_is_never_run_under_either(built: Project, asked: str) -> None:
    view = built.pointers()["oracle_view"]["fp"]
    backend = built.build / view / "tree" / "backend.py"
    backend.write_bytes(backend.read_bytes() + b"\n# forged\n")
    record = json.loads((built.build / view / "record.json").read_bytes())
    record["files"]["tree/backend.py"] = {"blake3": blake3_file(backend), "size": backend.stat().st_size}
    del record["record_digest"]
    record["record_digest"] = blake3_json(record)
    (built.build / view / "record.json").write_bytes(canonical_json(record) + b"\n")
    (block,) = built.doit("generate", asked).blocks
    assert block.startswith(
        "build_nondeterministic: oracle_view: computed again from the same inputs, tree/backend.py of "
    )
    assert built.published() == []


@pytest.mark.parametrize(
    "stage",
    [
        "executable_replay",
        pytest.param("surface_quality", marks=pytest.mark.slow),
        pytest.param("dedup_balancing", marks=pytest.mark.slow),
        "final_output",
    ],
)
def test_full_replay_finds_any_forged_result_that_comes_of_the_replays(
    selected: Project, tmp_path: Path, stage: str
) -> None:
    project = selected.copy(tmp_path / "project")
    entry = project.build / project.pointers()[stage]["fp"]
    record = json.loads((entry / "record.json").read_bytes())
    name = next(name for name in sorted(record["files"]) if name.endswith((".jsonl", ".json")))
    (entry / name).write_bytes((entry / name).read_bytes() + b" ")
    data = (entry / name).read_bytes()
    record["files"][name] = {"blake3": blake3_of(data), "size": len(data)}
    del record["record_digest"]
    record["record_digest"] = blake3_json(record)
    (entry / "record.json").write_bytes(canonical_json(record) + b"\n")
    shutil.rmtree(project.build / "refs")
    shutil.rmtree(project.run_dir)
    ended = project.doit("generate", "replay=full")
    assert ended.status == 1
    (block,) = ended.blocks
    assert block.startswith(f"build_nondeterministic: {stage}: computed again from the same inputs, {name} of build/")
    assert project.published() == []


@pytest.mark.parametrize("flag", [b"false", b"null"])
def test_row_that_is_gold_otherwise_than_the_manifest_is_never_published(built: Project, flag: bytes) -> None:
    forge_assembled(built, b'"gold_eligible":true', b'"gold_eligible":' + flag)
    ended = built.doit("generate")
    assert ended.status == 1
    seen = flag.decode().replace("null", "none").capitalize()
    assert ended.blocks == [
        f"release_rows_disagree: {name}: column `gold_eligible` holds {', '.join(sorted([seen, 'True']))}; "
        "the manifest says True\n"
        "  fix: run with rebuild=1; if it stays, report it as a bug"
        for name in ("benchmark_raw.parquet", "benchmark.parquet")
    ]
    assert built.published() == []


def test_absent_entries_are_misses(built: Project) -> None:
    tables = built.tables()
    gone = built.pointers()["executable_replay"]
    for fp in (gone["fp"], gone["shards"][1]["fp"]):
        shutil.rmtree(built.build / fp)
    built.append(built.pack / "task_templates.yaml", "# a remark\n")
    built.generate()
    assert built.shards("computed") == [f"executable_replay:{gone['shards'][1]['label']}"]
    assert built.tables() == tables


def test_absent_pointers_are_misses(built: Project) -> None:
    shutil.rmtree(built.build / "refs")
    tables = built.tables()
    built.generate()
    assert built.shards("computed") == []
    assert built.tables() == tables


def test_edited_report_is_written_anew_and_never_believed(built: Project) -> None:
    report = built.run_dir / "stage_cache" / "oracle_validation_report.json"
    genuine = report.read_bytes()
    report.write_bytes(genuine.replace(b"gold", b"lead"))
    built.generate()
    assert report.read_bytes() == genuine


def test_report_that_claims_gold_opens_no_gate(built: Project) -> None:
    report = built.run_dir / "stage_cache" / "oracle_validation_report.json"
    genuine = report.read_bytes()
    built.append(built.pack / "backend.py", "\n\ndef get_state():\n    return 7\n")
    ended = built.doit("generate")
    assert ended.status == 1
    assert "non_gold_pack: kiln_studio: tier" in ended.err
    report.write_bytes(genuine)
    again = built.doit("generate")
    assert again.status == 1
    assert "non_gold_pack: kiln_studio: tier" in again.err
    assert report.read_bytes() != genuine


def test_remedy_that_a_refusal_names_works(built: Project) -> None:
    tables = built.tables()
    flip(built.build / built.pointers()["render"]["fp"] / "record.json")
    refused(built)
    assert built.doit("clean", "-a").status == 0
    built.generate()
    assert built.tables() == tables


@pytest.mark.parametrize("field", ["fp", "digest", "rows", "label"])
def test_shard_changed_in_a_pointer_is_refused(built: Project, field: str) -> None:
    (refs,) = (built.build / "refs").iterdir()
    path = refs / "expand.json"
    pointer = json.loads(path.read_bytes())
    shard = pointer["shards"][0]
    shard[field] = shard[field] - 1 if field == "rows" else ("0" if shard[field][0] != "0" else "1") + shard[field][1:]
    path.write_text(json.dumps(pointer, indent=2, sort_keys=True) + "\n")
    assert refused(built) == [
        f"build_cache_tampered: build/refs/{refs.name}/expand.json: has changed since it was written\n{REMEDY}"
    ]


def test_manifest_made_unreadable_is_refused(built: Project) -> None:
    manifest = built.run_dir / "run_manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-20])
    (block,) = refused(built)
    assert block.startswith("build_cache_tampered: run_manifest.json: ")


def test_stage_table_edited_and_ledger_deleted_is_refused(built: Project) -> None:
    (built.run_dir / "stage_cache" / ".views.json").unlink()
    (built.run_dir / "stage_cache" / "task_instances.parquet").write_bytes(b"mine")
    built.append(built.pack / "task_templates.yaml", "# a remark\n")
    ended = built.doit("generate")
    assert ended.status == 1
    assert "build_cache_tampered: stage_cache/task_instances.parquet" in ended.err
