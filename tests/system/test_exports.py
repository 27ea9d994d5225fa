"""Exports as part of a release: written, bound by the manifest, verified, gone with what they came from."""

from __future__ import annotations

import json
import shutil

from bfcl.exports.formats import FORMATS
from bfcl.release.verify import verify_release
from tests.system.project import Ended, Project, run_to_end

CONTRACT = {"bfcl_json": True, "nemo_evaluator_bundle": True}


def exported(project: Project) -> list[str]:
    directory = project.run_dir / "exports"
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


def test_exports_are_published_with_the_tables_and_verified_with_them(built: Project) -> None:
    tables = built.tables()
    assert built.manifest()["exports"]["evaluated"] is False
    built.configure(exports=CONTRACT)
    built.generate()
    assert exported(built) == [
        "bfcl_json/BFCL_v4_multi_turn.jsonl",
        "bfcl_json/possible_answer/BFCL_v4_multi_turn.jsonl",
        "export_validation_report.json",
        "nemo_evaluator_bundle/bundle.json",
        "nemo_evaluator_bundle/dataset.jsonl",
        "nemo_evaluator_bundle/dataset.schema.json",
        "nemo_evaluator_bundle/evaluator.yaml",
        "nemo_evaluator_bundle/metadata.json",
        "nemo_evaluator_bundle/system_prompts.json",
    ]
    block = built.manifest()["exports"]
    report = json.loads((built.run_dir / "exports" / "export_validation_report.json").read_bytes())
    assert (block["evaluated"], block["status"], report["status"]) == (True, "passed", "passed")
    for one in report["formats"]:
        assert block["formats"][one["format"]]["content_hash"] == one["content_hash"]
        assert (one["rows"], one["equivalent"], one["failures"]) == (len(built.rows()), True, [])
    assert built.tables() == tables
    verify_release(built.run_dir)
    assert "up to date" in built.generate().out


def test_every_format_is_exported_at_once_and_the_release_verifies(built: Project) -> None:
    built.configure(exports=dict.fromkeys(FORMATS, True))
    built.generate()
    formats = built.manifest()["exports"]["formats"]
    assert {name: entry["rows"] for name, entry in formats.items()} == dict.fromkeys(FORMATS, len(built.rows()))
    verify_release(built.run_dir)


def test_an_edited_export_is_refused_and_a_missing_one_written_again(built: Project) -> None:
    built.configure(exports={"bfcl_json": True})
    built.generate()
    path = built.run_dir / "exports" / "bfcl_json" / "BFCL_v4_multi_turn.jsonl"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"kiln", b"oven", 1))
    ended = built.doit("generate")
    assert ended.status == 1
    (problem,) = ended.blocks
    assert problem.startswith("build_cache_tampered: exports.bfcl_json: exports/bfcl_json has sha256:")
    assert problem.endswith("`doit clean publish` withdraws the publication, the next run publishes again")
    shutil.rmtree(built.run_dir / "exports" / "bfcl_json")
    built.generate()
    assert path.read_bytes() == before


def test_exports_no_longer_asked_for_leave_with_the_next_release(built: Project) -> None:
    built.configure(exports=CONTRACT)
    built.generate()
    built.configure()
    built.generate()
    assert not (built.run_dir / "exports").exists()
    verify_release(built.run_dir)


def test_payloads_without_a_manifest_are_told_and_replaced_and_never_taken_for_a_release(built: Project) -> None:
    built.configure(exports={"bfcl_json": True})
    built.generate()
    tables = built.tables()
    task_id = built.rows()[0]["task_id"]
    (built.run_dir / "run_manifest.json").unlink()

    def bfcl(*arguments: str) -> Ended:
        command = [*built.command()[:1], "-m", "bfcl", *arguments, "--format", "text"]
        return run_to_end(command, built.root, built.environment())

    said = (
        "build/runs/trial: export_publication_interrupted: holds benchmark_raw.parquet, benchmark.parquet, exports and "
        "no run_manifest.json, so they are no release: a publication was interrupted, or somebody deleted the "
        "manifest\n"
        "  fix: run the same command again: it removes them and publishes a whole release\n"
    )
    for command in ("verify", "report"):
        assert bfcl(command, "build/runs/trial") == (1, "", said)
    assert bfcl("trace", task_id).status == 0
    assert bfcl("gc").status == 0
    built.generate()
    assert built.shards("computed") == []
    assert built.tables() == tables
    (built.run_dir / "run_manifest.json").unlink()
    assert built.doit("clean", "publish").status == 0
    assert built.published() == []


def test_a_name_that_an_export_cannot_carry_publishes_nothing(fresh: Project) -> None:
    fresh.configure(exports={"bfcl_json": True})
    # A tool may be called so; a function of Python may not.
    for path in sorted(fresh.pack.iterdir()):
        old, new = ('"get_kiln"', '"get-kiln"') if path.suffix == ".py" else ("get_kiln", "get-kiln")
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    ended = fresh.doit("generate")
    assert ended.status == 1, ended.out
    assert {block.partition(":")[0] for block in ended.blocks} == {"unsupported_export_call_layout"}
    assert fresh.published() == []
