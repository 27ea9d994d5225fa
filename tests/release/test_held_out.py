"""Verifying that a release kept out what its policy reserves: whoever edits one side contradicts another."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file
from bfcl.errors import ReleaseError
from bfcl.graph.publish import ReleaseRequest, publish, stage_release
from bfcl.pack.held_out import policy_hash, policy_json
from bfcl.pack.model import HeldOut
from bfcl.release.read import open_release
from bfcl.release.verify import verify_release
from bfcl.stages.artifacts import STAGE_ARTIFACTS
from bfcl.stages.held_out_scan import held_out_scan, stage_four
from bfcl.stages.publication_plan import Gates, publication_plan
from bfcl.stages.run_manifest import run_manifest
from bfcl.tables.benchmark import BenchmarkWriter, encode_row
from tests.release.samples import decisions, inputs, pack, published, rows, write_artifacts
from tests.stages.policies import POLICY, bindings, scanned

HELD_OUT_ARTIFACTS = {
    name: STAGE_ARTIFACTS[name].file for name in ("held_out_bindings", "held_out_normalized", "held_out_scan")
}
FIX = "\n  fix: generate the benchmark again; published files are never edited"
READ_FIX = "\n  fix: generate the benchmark again; never edit a manifest"
CODE = "release_held_out_mismatch: "


def published_under(policy: HeldOut, run_dir: Path, count: int = 4) -> Path:
    """A whole release of `count` raw rows, the second not published, of a pack with the policy."""
    made = decisions(count, rejected=(2,))
    plan = publication_plan(made, Gates())
    raw = rows(count)
    for row in raw:
        row["held_out_hit"] = False
    evidence = bindings(policy, count)
    scan = held_out_scan(scanned(count, policy), policy, stage_four(evidence, policy, count), len(plan.published))
    artifacts = write_artifacts(run_dir, made)
    contents = {
        "held_out_normalized": readable_json(policy_json(policy)),
        "held_out_bindings": evidence,
        "held_out_scan": readable_json(scan),
    }
    for name, content in contents.items():
        (run_dir / HELD_OUT_ARTIFACTS[name]).write_bytes(content)
        artifacts[name] = sha256_file(run_dir / HELD_OUT_ARTIFACTS[name])

    def manifest(tables: Any) -> bytes:
        given = inputs(run_dir, made, tables, artifacts)
        own = dataclasses.replace(pack(), held_out=policy)
        holding = frozenset({"held_out"})
        return readable_json(run_manifest(dataclasses.replace(given, pack=own, held_out_scan=scan, holding=holding)))

    publish(
        run_dir,
        ReleaseRequest(
            plan=plan,
            fill=lambda staging: stage_release(staging, lambda: map(encode_row, raw), plan),
            export=lambda staging, tables: None,
            recheck=lambda: None,
            manifest=manifest,
        ),
    )
    return run_dir


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published_under(POLICY, tmp_path_factory.mktemp("runs") / "demo")


@pytest.fixture
def run_dir(pristine: Path, tmp_path: Path) -> Path:
    """A private copy to break."""
    return Path(shutil.copytree(pristine, tmp_path / "demo"))


def refusal(run_dir: Path) -> list[str]:
    with pytest.raises(ReleaseError) as caught:
        verify_release(run_dir)
    return [str(problem) for problem in caught.value.problems]


def edit_manifest(run_dir: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    path = run_dir / "run_manifest.json"
    manifest = json.loads(path.read_bytes())
    edit(manifest)
    path.write_bytes(readable_json(manifest))


def forge(run_dir: Path, name: str, content: bytes) -> None:
    """Replace a held-out artifact and let the manifest vouch for it."""
    path = run_dir / HELD_OUT_ARTIFACTS[name]
    path.write_bytes(content)
    edit_manifest(run_dir, lambda manifest: manifest["artifacts"][name].update(content_hash=sha256_file(path)))


def forge_rows(run_dir: Path, **fields: Any) -> None:
    """Change the third row in both tables and let the manifest vouch for them."""
    raw = list(open_release(run_dir).rows("raw"))
    changed: Any = {**raw[2], **fields}
    raw[2] = changed
    for key, artifact, name, content in (
        ("raw", "benchmark_raw_parquet", "benchmark_raw.parquet", raw),
        ("published", "benchmark_parquet", "benchmark.parquet", [raw[0], *raw[2:]]),
    ):
        with BenchmarkWriter(run_dir / name) as writer:
            writer.write(content)
            info = writer.close()

        def restate(manifest: dict[str, Any], key: str = key, artifact: str = artifact, info: Any = info) -> None:
            manifest["publication"][key].update(content_hash=info.content_hash, rows_digest=info.rows_digest)
            manifest["artifacts"][artifact]["content_hash"] = info.content_hash

        edit_manifest(run_dir, restate)


def test_release_under_a_policy_verifies(run_dir: Path) -> None:
    release = verify_release(run_dir)
    assert release.held_out["evaluated"] is True
    assert HELD_OUT_ARTIFACTS.keys() <= release.artifacts.keys()


@pytest.mark.parametrize("name", HELD_OUT_ARTIFACTS)
def test_edited_artifact_is_refused(run_dir: Path, name: str) -> None:
    path = run_dir / HELD_OUT_ARTIFACTS[name]
    path.write_bytes(b"{}")
    (problem,) = refusal(run_dir)
    assert problem.startswith(f"release_hash_mismatch: {name}: {HELD_OUT_ARTIFACTS[name]} has {sha256_file(path)}, ")


@pytest.mark.parametrize("name", HELD_OUT_ARTIFACTS)
def test_manifest_that_lost_an_artifact_is_refused(run_dir: Path, name: str) -> None:
    edit_manifest(run_dir, lambda manifest: manifest["artifacts"].pop(name))
    (problem,) = refusal(run_dir)
    assert (
        f"release_manifest_invalid: artifacts.{name} is missing, while held_out.evaluated is true{READ_FIX}" in problem
    )


def test_manifest_that_denies_its_policy_is_refused(run_dir: Path) -> None:
    edit_manifest(run_dir, lambda manifest: manifest["held_out"].update(evaluated=False))
    assert [one.partition("release_manifest_invalid: ")[2] for one in refusal(run_dir)] == [
        f"artifacts.{name} is there, while held_out.evaluated is false{READ_FIX}"
        for name in ("held_out_normalized", "held_out_bindings", "held_out_scan")
    ]


def test_row_that_uses_a_reserved_row_is_found_anew(run_dir: Path) -> None:
    forge_rows(run_dir, fixture_refs=['["valves","V-77"]'])
    task_id = rows(3)[2]["task_id"]
    assert refusal(run_dir) == [
        f'{CODE}benchmark_raw_parquet: row `{task_id}` uses what the policy reserves: ["valves","V-77"]{FIX}'
    ]


def test_row_of_a_reserved_template_is_found_anew(run_dir: Path) -> None:
    forge_rows(run_dir, template_id="secret")
    assert refusal(run_dir) == [
        f"{CODE}benchmark_raw_parquet: row `{rows(3)[2]['task_id']}` uses what the policy reserves: secret{FIX}"
    ]


def test_row_without_its_flag_is_refused(run_dir: Path) -> None:
    forge_rows(run_dir, held_out_hit=None)
    assert refusal(run_dir) == [
        f"{CODE}benchmark_raw_parquet: `held_out_hit` holds false, null; expected false only{FIX}"
    ]


def test_flag_without_a_policy_is_refused(tmp_path: Path) -> None:
    run_dir = published(tmp_path / "demo", 4)
    forge_rows(run_dir, held_out_hit=False)
    assert refusal(run_dir) == [
        f"{CODE}benchmark_raw_parquet: `held_out_hit` holds false, null; expected null only{FIX}"
    ]


def test_policy_that_reserves_less_than_it_did_is_refused(run_dir: Path) -> None:
    less = dataclasses.replace(POLICY, templates=())
    forge(run_dir, "held_out_normalized", readable_json(policy_json(less)))
    assert refusal(run_dir) == [
        f'{CODE}held_out_normalized: the policy has {policy_hash(less)}, the manifest says "{policy_hash(POLICY)}"{FIX}'
    ]


@pytest.mark.parametrize("content", [b"{", b"[]"])
def test_artifact_that_is_no_object_is_refused(run_dir: Path, content: bytes) -> None:
    forge(run_dir, "held_out_normalized", content)
    (problem,) = refusal(run_dir)
    assert problem.startswith(f"{CODE}held_out_normalized: the policy has sha256:")


def test_scan_that_says_something_else_than_the_rows_is_refused(run_dir: Path) -> None:
    scan = json.loads((run_dir / HELD_OUT_ARTIFACTS["held_out_scan"]).read_bytes())
    scan["action"] = "abort"
    scan["hits"] = [{"task_id": "x"}]
    scan["counts"].update(rows_scanned=9, rows_hit=1, rows_published=0)
    forge(run_dir, "held_out_scan", readable_json(scan))
    problems = refusal(run_dir)
    assert [one.partition("held_out_scan: ")[2].partition(" is ")[0] for one in problems] == [
        "`action`",
        "`hits`",
        "`counts.rows_scanned`",
        "`counts.rows_hit`",
        "`counts.rows_published`",
    ]
    assert problems[0] == f'{CODE}held_out_scan: `action` is "abort", expected "publish"{FIX}'


def test_scan_of_another_policy_than_the_manifest_tells_is_refused(run_dir: Path) -> None:
    scan = json.loads((run_dir / HELD_OUT_ARTIFACTS["held_out_scan"]).read_bytes())
    attempts = scan["stage_four"]["counts"]["bind_attempts"]
    scan["policy"]["seed"] = 3
    scan["stage_four"]["counts"]["bind_attempts"] = 1
    forge(run_dir, "held_out_scan", readable_json(scan))
    told = "release_report_mismatch: run_manifest.json: `held_out."
    assert refusal(run_dir) == [
        f"{told}policy.seed` is {POLICY.seed}, expected 3{FIX}",
        f"{told}stage_four.counts.bind_attempts` is {attempts}, expected 1{FIX}",
    ]


def test_manifest_that_counts_other_rows_is_refused(run_dir: Path) -> None:
    edit_manifest(run_dir, lambda manifest: manifest["held_out"].update(rows_scanned=1, rows_hit=2, rows_dropped=3))
    assert refusal(run_dir) == [
        f"release_report_mismatch: run_manifest.json: `held_out.{name}` is {seen}, expected {wanted}{FIX}"
        for name, seen, wanted in (("rows_dropped", 3, 0), ("rows_hit", 2, 0), ("rows_scanned", 1, 4))
    ]
