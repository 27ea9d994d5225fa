"""The bytes of a published run against its manifest."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bfcl.digest import Digest, sha256_file
from bfcl.errors import ReleaseError
from bfcl.release import file_digests
from bfcl.release.file_digests import verify_files
from bfcl.release.read import open_release
from bfcl.release.verify import verify_release
from tests.release.samples import published

PROJECT = Path(__file__).resolve().parents[2]
FIX = "\n  fix: generate the benchmark again; published files are never edited"


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return published(tmp_path / "demo", 4, rejected=(2,))


def test_verify_files_finds_nothing_in_what_was_published(run_dir: Path) -> None:
    assert verify_files(open_release(run_dir)) == []


def test_verify_files_names_every_changed_missing_or_linked_file(run_dir: Path) -> None:
    table = run_dir / "stage_cache/task_instances.parquet"
    old = sha256_file(table)
    table.write_bytes(b"edited\n")
    (run_dir / "stage_cache/pack_manifest.json").unlink()
    (run_dir / "benchmark.parquet").rename(run_dir / "moved.parquet")
    (run_dir / "benchmark.parquet").symlink_to("moved.parquet")
    (run_dir / "benchmark_raw.parquet").unlink()
    assert [str(problem) for problem in verify_files(open_release(run_dir))] == [
        f"release_payload_missing: benchmark_parquet: benchmark.parquet is missing or no regular file{FIX}",
        f"release_payload_missing: benchmark_raw_parquet: benchmark_raw.parquet is missing or no regular file{FIX}",
        "release_artifact_missing: pack_manifest: stage_cache/pack_manifest.json is missing or no regular file" + FIX,
        (
            f"release_hash_mismatch: task_instances: stage_cache/task_instances.parquet has {sha256_file(table)}, "
            f"the manifest says {old}{FIX}"
        ),
    ]
    with pytest.raises(ReleaseError) as caught:
        verify_release(run_dir)
    assert len(caught.value.problems) == 4


def test_verify_files_tells_of_a_file_the_system_does_not_read(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> Digest:
        if path.name == "pack_manifest.json":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return sha256_file(path)

    monkeypatch.setattr(file_digests, "sha256_file", fail)
    assert [str(problem) for problem in verify_files(open_release(run_dir))] == [
        "release_payload_unreadable: pack_manifest: stage_cache/pack_manifest.json cannot be read: Input/output error"
    ]


def test_verify_files_loads_neither_pyarrow_nor_jsonschema(run_dir: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from bfcl.release.read import open_release; "
        "from bfcl.release.file_digests import verify_files; print(verify_files(open_release(Path(sys.argv[1])))); "
        "print(sorted({'pyarrow', 'jsonschema', 'click', 'rich', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(run_dir)], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n[]\n"
