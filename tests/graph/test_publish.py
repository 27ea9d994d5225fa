"""Staging, committing and withdrawing a release."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from bfcl.digest import sha256_of
from bfcl.errors import BfclError, DriftError, Problem, ReleaseError, StageError
from bfcl.graph import publish as module
from bfcl.graph.publish import ReleaseRequest, StagedTables, publish, stage_release, withdraw
from bfcl.release.file_digests import verify_files
from bfcl.release.read import TABLE_ARTIFACTS, open_release
from bfcl.release.verify import verify_release
from bfcl.stages.publication_plan import PublicationPlan
from bfcl.tables.benchmark import BenchmarkRow, BenchmarkWriter, encode_row
from tests.release.samples import decisions, published, request, row, rows, task

PROJECT = Path(__file__).resolve().parents[2]
FIX = "\n  fix: run again; if it stays, report it as a bug"


def names(run_dir: Path) -> list[str]:
    return sorted(path.name for path in run_dir.iterdir())


def ids(*numbers: int) -> list[str]:
    return [task(number).task_id for number in numbers]


def test_publish_leaves_tables_and_manifest_and_nothing_else(tmp_path: Path) -> None:
    run_dir = published(tmp_path / "demo", 5, rejected=(2, 4))
    assert names(run_dir) == ["benchmark.parquet", "benchmark_raw.parquet", "run_manifest.json", "stage_cache"]
    release = verify_release(run_dir)
    assert [one["task_id"] for one in release.rows("raw")] == ids(1, 2, 3, 4, 5)
    assert list(release.rows()) == [row(1), row(3), row(5)]
    assert run_dir.joinpath("run_manifest.json").stat().st_mode & 0o777 == 0o644


def test_publish_gives_equal_tables_every_time(tmp_path: Path) -> None:
    made = decisions(7, rejected=(3,))
    one = publish(tmp_path / "a", request(tmp_path / "a", made))
    other = publish(tmp_path / "b", request(tmp_path / "b", made))
    assert one == other
    assert (tmp_path / "a/benchmark.parquet").read_bytes() == (tmp_path / "b/benchmark.parquet").read_bytes()


def test_publish_replaces_an_older_release_whole(tmp_path: Path) -> None:
    run_dir = published(tmp_path / "demo", 5)
    (run_dir / "exports" / "bfcl_json").mkdir(parents=True)
    published(run_dir, 2, rejected=())
    assert verify_release(run_dir).published.rows == 2
    assert "exports" not in names(run_dir)


def test_publish_rechecks_after_staging_and_before_touching_the_old_release(tmp_path: Path) -> None:
    run_dir = published(tmp_path / "demo", 5)
    order: list[str] = []

    def recheck() -> None:
        order.append("recheck")
        assert verify_release(run_dir).raw.rows == 5
        assert any(name.startswith(".stage12-") for name in names(run_dir))

    publish(run_dir, dataclasses.replace(request(run_dir, decisions(5, rejected=(2,))), recheck=recheck), order.append)
    assert order == [
        "staging created",
        "tables staged",
        "tables verified",
        "exports staged",
        "recheck",
        "rechecked",
        "manifest staged",
        "old manifest removed",
        "old benchmark_raw.parquet removed",
        "new benchmark_raw.parquet placed",
        "old benchmark.parquet removed",
        "new benchmark.parquet placed",
        "old exports removed",
        "payloads synced",
        "manifest placed",
        "staging removed",
    ]


def test_publish_removes_everything_when_the_recheck_refuses(tmp_path: Path) -> None:
    run_dir = published(tmp_path / "demo", 5)
    problem = Problem(code="pack_drift", subject="tree/tools.json", message="changed")

    def refuse() -> None:
        raise DriftError(problem)

    with pytest.raises(DriftError) as caught:
        publish(run_dir, dataclasses.replace(request(run_dir, decisions(5)), recheck=refuse))
    assert caught.value.problems == (problem,)
    assert names(run_dir) == ["stage_cache"]


STEPS = 15


@pytest.mark.parametrize("number", range(STEPS))
def test_publish_interrupted_at_any_step_leaves_nothing(number: int, tmp_path: Path) -> None:
    run_dir = published(tmp_path / "demo", 3)
    seen = 0

    def step(_: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        publish(run_dir, request(run_dir, decisions(4)), step)
    assert names(run_dir) == ["stage_cache"]


def test_publish_has_as_many_steps_as_are_interrupted(tmp_path: Path) -> None:
    seen: list[str] = []
    publish(tmp_path / "demo", request(tmp_path / "demo", decisions(4)), seen.append)
    assert len(seen) == STEPS


@pytest.mark.parametrize("kind", ["fresh", "rerun", "replace"])
def test_publish_killed_at_any_step_leaves_no_manifest_or_a_whole_release(kind: str, tmp_path: Path) -> None:
    run = [sys.executable, "-W", "error", "-m", "tests.graph.crash_driver", str(tmp_path), kind]
    done = subprocess.run(run, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    steps = done.stdout.splitlines()
    assert len(steps) == {"fresh": STEPS, "rerun": STEPS + 5, "replace": STEPS}[kind]
    trees = sorted(path / "demo" for path in tmp_path.iterdir() if path.name != "old")
    placed = steps.index("manifest placed")
    gone = {"fresh": 0, "rerun": 0, "replace": steps.index("old manifest removed")}[kind]
    expected = [OLD if index < gone else NEW if index >= placed else 0 for index in range(len(steps) + 1)]
    assert [released(tree) for tree in trees] == expected
    for tree in (trees[2], trees[-4]):
        withdraw(tree)
        assert verify_release(published(tree, 2, rejected=())).raw.rows == 2
        assert not [name for name in names(tree) if name.startswith(".")]


OLD, NEW = 3, 4


def released(run_dir: Path) -> int:
    """Raw rows of the whole release the tree holds; 0 without a manifest."""
    if not (run_dir / "run_manifest.json").exists():
        return 0
    release = open_release(run_dir)
    if release.raw.rows == NEW:
        return verify_release(run_dir).raw.rows
    # Beside the release before, the stage tables are those of the run that was killed.
    assert not {problem.subject for problem in verify_files(release)} & set(TABLE_ARTIFACTS.values())
    return release.raw.rows


def test_withdraw_cleans_what_a_kill_left(tmp_path: Path) -> None:
    run_dir = published(tmp_path / "demo", 3)
    (run_dir / "exports" / "bfcl_json").mkdir(parents=True)
    (run_dir / ".stage12-0123").mkdir()
    (run_dir / ".stage12-0123" / "benchmark.parquet").write_bytes(b"half")
    (run_dir / "notes.txt").write_text("mine")
    order: list[str] = []
    withdraw(run_dir, order.append)
    assert names(run_dir) == ["notes.txt", "stage_cache"]
    assert order == [
        "manifest removed",
        "benchmark_raw.parquet removed",
        "benchmark.parquet removed",
        "exports removed",
        ".stage12-0123 removed",
    ]


def test_withdraw_of_nothing_is_fine(tmp_path: Path) -> None:
    withdraw(tmp_path / "absent")
    withdraw(tmp_path)
    assert names(tmp_path) == []


def test_withdraw_removes_a_link_and_not_what_it_names(tmp_path: Path) -> None:
    run_dir, kept = tmp_path / "demo", tmp_path / "kept"
    run_dir.mkdir()
    kept.mkdir()
    (kept / "file").write_text("x")
    (run_dir / "exports").symlink_to(kept)
    (run_dir / "run_manifest.json").symlink_to(tmp_path / "nowhere")
    withdraw(run_dir)
    assert (names(run_dir), names(kept)) == ([], ["file"])


# --- Tables that are not what was planned -------------------------------------------------------------------------


def staged(tmp_path: Path, plan: PublicationPlan, batches: Sequence[Sequence[BenchmarkRow]]) -> StagedTables:
    return stage_release(tmp_path, lambda: [encode_row(one) for batch in batches for one in batch], plan)


def plan(raw: Sequence[int], kept: Sequence[int]) -> PublicationPlan:
    return PublicationPlan(cast("Any", tuple(ids(*raw))), cast("Any", tuple(ids(*kept))))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            [1, 2],
            [
                "release_rows_disagree: benchmark_raw.parquet: 3 rows planned, 2 written, 2 read back",
                "release_rows_disagree: benchmark.parquet: 2 rows planned, 1 written, 1 read back",
            ],
        ),
        (
            [1, 2, 3, 4],
            ["release_rows_disagree: benchmark_raw.parquet: 3 rows planned, 4 written, 4 read back"],
        ),
        (
            [2, 1, 3],
            [
                (
                    "release_rows_disagree: benchmark_raw.parquet: 3 rows planned, 3 written, 3 read back; "
                    f"row 0 is `{ids(2)[0]}`, planned `{ids(1)[0]}`"
                ),
                (
                    "release_rows_disagree: benchmark.parquet: 2 rows planned, 2 written, 2 read back; "
                    f"row 0 is `{ids(2)[0]}`, planned `{ids(1)[0]}`"
                ),
            ],
        ),
    ],
)
def test_stage_release_refuses_rows_other_than_planned(given: list[int], told: list[str], tmp_path: Path) -> None:
    with pytest.raises(StageError) as caught:
        staged(tmp_path, plan([1, 2, 3], [1, 3]), [[row(number) for number in given]])
    assert [str(problem) for problem in caught.value.problems] == [line + FIX for line in told]


def test_stage_release_refuses_a_published_row_that_is_not_its_raw_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Careless(BenchmarkWriter):
        """Writes another tier into the published table."""

        def write_lines(self, lines: Iterable[bytes]) -> None:
            if self._path.name == "benchmark.parquet":
                lines = [line.replace(b'"tier":"gold"', b'"tier":"silver"') for line in lines]
            super().write_lines(lines)

    monkeypatch.setattr(module, "BenchmarkWriter", Careless)
    with pytest.raises(StageError) as caught:
        staged(tmp_path, plan([1, 2], [2]), [rows(2)])
    assert str(caught.value) == (
        f"release_rows_disagree: benchmark.parquet: row `{ids(2)[0]}` differs from its raw row in column `tier`{FIX}"
    )


def test_publish_leaves_nothing_when_the_rows_cannot_be_made(tmp_path: Path) -> None:
    problem = Problem(code="stage_tables_disagree", subject="expected_traces", message="row 3 is absent")

    def broken() -> Iterator[bytes]:
        yield from map(encode_row, rows(2))
        raise StageError(problem)

    made = request(tmp_path / "demo", decisions(5))
    made = dataclasses.replace(made, fill=lambda staging: stage_release(staging, broken, made.plan))
    with pytest.raises(StageError) as caught:
        publish(tmp_path / "demo", made)
    assert caught.value.problems == (problem,)
    assert names(tmp_path / "demo") == ["stage_cache"]


def test_publish_refuses_copied_tables_that_are_not_what_was_written(tmp_path: Path) -> None:
    stored, run_dir = tmp_path / "stored", tmp_path / "demo"
    stored.mkdir()
    made = request(run_dir, decisions(3))
    tables = stage_release(stored, lambda: map(encode_row, rows(3)), made.plan)
    (stored / "benchmark.parquet").write_bytes(b"another file")

    def copy(staging: Path) -> StagedTables:
        for path in stored.iterdir():
            shutil.copyfile(path, staging / path.name)
        return tables

    with pytest.raises(ReleaseError) as caught:
        publish(run_dir, dataclasses.replace(made, fill=copy))
    assert str(caught.value) == (
        f"release_hash_mismatch: benchmark.parquet: staged with {sha256_of(b'another file')}, "
        f"written with {tables.published.content_hash}\n  fix: run again with rebuild=1"
    )
    assert names(run_dir) == ["stage_cache"]


# --- A disk that refuses ------------------------------------------------------------------------------------------

LIMITED = """
import dataclasses, resource, sys
from pathlib import Path
import pyarrow.parquet
from bfcl.errors import StageError
from bfcl.graph.publish import publish
from tests.release.samples import decisions, request
run_dir = Path(sys.argv[1])
made = request(run_dir, decisions(6))
def fill():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
if sys.argv[2] == "benchmark_raw.parquet":
    fill()
else:
    made = dataclasses.replace(made, recheck=fill)
try:
    publish(run_dir, made)
except StageError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["benchmark_raw.parquet", "run_manifest.json"])
def test_publish_on_a_full_disk_says_so_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    run_dir = published(tmp_path / "demo", 3)
    run = [sys.executable, "-W", "error", "-c", LIMITED, str(run_dir), name]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    done = subprocess.run(run, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    first, fix = done.stdout.splitlines()
    assert first.startswith(f"storage_failed: {run_dir}/.stage12-")
    assert first.endswith(f"/{name}: cannot write: File too large")
    assert fix == "  fix: free space or make the directory writable, then run the same command again"
    assert names(run_dir) == ["stage_cache"]


def test_publish_tells_of_what_it_could_not_remove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drift = Problem(code="pack_drift", subject="tree/tools.json", message="changed")
    stuck = Problem(code="storage_failed", subject=str(tmp_path), message="cannot write: Read-only file system")

    def refuse() -> None:
        raise DriftError(drift)

    def fail(_: Path) -> None:
        raise StageError(stuck)

    monkeypatch.setattr(module, "withdraw", fail)
    with pytest.raises(BfclError) as caught:
        publish(tmp_path / "demo", dataclasses.replace(request(tmp_path / "demo", decisions(1)), recheck=refuse))
    assert (type(caught.value), caught.value.problems) == (DriftError, (drift, stuck))
    interrupt: Callable[[str], None] = lambda _: (_ for _ in ()).throw(KeyboardInterrupt)  # noqa: E731
    with pytest.raises(StageError) as second:
        publish(tmp_path / "demo", request(tmp_path / "demo", decisions(1)), interrupt)
    assert second.value.problems == (stuck,)


def test_manifest_bytes_are_readable_json_of_the_staged_tables(tmp_path: Path) -> None:
    seen: list[StagedTables] = []
    run_dir = tmp_path / "demo"
    made: ReleaseRequest = request(run_dir, decisions(3))
    build = made.manifest
    publish(run_dir, dataclasses.replace(made, manifest=lambda tables: seen.append(tables) or build(tables)))
    manifest = json.loads((run_dir / "run_manifest.json").read_bytes())
    assert manifest["artifacts"]["benchmark_parquet"]["content_hash"] == seen[0].published.content_hash
