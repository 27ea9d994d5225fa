from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file, sha256_of
from bfcl.evaluate.artifacts.committed import verify_committed
from tests.evaluate.refusals import refused

FIX = "restore the file from a copy, or evaluate into another `outputs.output_dir`; results are never mended"
FILES = {"eval_report": "eval_report.json", "eval_breakdowns": "eval_breakdowns.json"}


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in FILES.values():
        (tmp_path / name).write_bytes(b"{}\n")
    write_manifest(tmp_path, {name: {"file": file, "content_hash": sha256_of(b"{}\n")} for name, file in FILES.items()})
    return tmp_path


def write_manifest(directory: Path, artifacts: object) -> None:
    (directory / "eval_manifest.json").write_bytes(readable_json({"artifacts": artifacts}))  # type: ignore[dict-item]


def test_directory_whose_files_are_as_committed_holds(finished: Path) -> None:
    committed = verify_committed(finished)
    assert committed.files == {name: finished / file for name, file in FILES.items()}
    assert committed.manifest_hash == sha256_file(finished / "eval_manifest.json")


def edit(path: Path) -> None:
    path.write_bytes(b"{} \n")


def link(path: Path) -> None:
    other = path.with_name("other")
    path.rename(other)
    path.symlink_to(other)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (edit, f"has {sha256_of(b'{} ' + bytes([10]))}; the manifest says {sha256_of(b'{}' + bytes([10]))}"),
        (Path.unlink, "is no regular file; expected what the manifest names"),
        (link, "is no regular file; expected what the manifest names"),
    ],
)
def test_file_that_is_not_as_committed_is_refused(finished: Path, damage: Callable[[Path], None], told: str) -> None:
    damage(finished / "eval_report.json")
    (problem,) = refused(lambda: verify_committed(finished))
    assert str(problem) == f"eval_report.json: eval_artifact_invalid: {told}\n  fix: {FIX}"


def test_directory_without_a_manifest_is_no_result(finished: Path) -> None:
    (finished / "eval_manifest.json").unlink()
    (problem,) = refused(lambda: verify_committed(finished))
    assert str(problem) == (
        "eval_manifest.json: eval_artifact_invalid: is not there: a directory without it is no finished evaluation\n"
        f"  fix: {FIX}"
    )


def test_misnamed_and_left_out_artifacts_are_all_told(finished: Path) -> None:
    write_manifest(finished, {"eval_report": {"file": "../eval_report.json", "content_hash": "x"}, "odd": 1})
    told = [problem.message for problem in refused(lambda: verify_committed(finished))]
    assert told == [
        "names `../eval_report.json` as eval_report, which no evaluation writes",
        "names `None` as odd, which no evaluation writes",
        "names no eval_breakdowns.json",
    ]


def test_manifest_without_artifacts_is_refused(finished: Path) -> None:
    write_manifest(finished, None)
    (problem,) = refused(lambda: verify_committed(finished))
    assert problem.message == "names no artifacts"
