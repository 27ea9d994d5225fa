"""Opening a published run directory."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import readable_json
from bfcl.digest import sha256_file
from bfcl.errors import ReleaseError
from bfcl.release.read import open_release
from tests.release.samples import published, row

FIX = "\n  fix: generate the benchmark again; never edit a manifest"


@pytest.fixture(scope="module")
def release_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole release of four raw and three published rows; tests read it only."""
    return published(tmp_path_factory.mktemp("runs") / "demo", 4, rejected=(2,))


@pytest.fixture
def edited(release_dir: Path, tmp_path: Path) -> Callable[[Callable[[dict[str, Any]], Any]], list[str]]:
    """Apply one edit to the manifest and return the problems, the file's own path shortened."""

    def refusals(edit: Callable[[dict[str, Any]], Any]) -> list[str]:
        manifest = json.loads((release_dir / "run_manifest.json").read_bytes())
        edit(manifest)
        path = tmp_path / "run_manifest.json"
        path.write_bytes(readable_json(manifest))
        with pytest.raises(ReleaseError) as caught:
            open_release(tmp_path)
        lines = path.read_text().splitlines()
        for problem in caught.value.problems:
            assert problem.line is not None
            assert problem.field is not None
            # A present key is shown where it stands, a missing one where its object does.
            last = problem.field.split(".")[-1]
            assert f'"{last}"' in lines[problem.line - 1] or "is missing" in problem.message
        return [re.sub(f"^{re.escape(str(path))}:[0-9]+", "M", str(problem)) for problem in caught.value.problems]

    return refusals


def test_open_release_gives_tables_artifacts_and_rows(release_dir: Path) -> None:
    release = open_release(release_dir)
    assert release.run_dir == release_dir
    assert (release.raw.rows, release.published.rows) == (4, 3)
    assert release.path("raw") == release_dir / "benchmark_raw.parquet"
    assert release.published.content_hash == sha256_file(release_dir / "benchmark.parquet")
    assert release.artifacts["benchmark_parquet"] == release.published.content_hash
    assert release.artifacts["tools_internal"] == sha256_file(
        release_dir / "stage_cache/tools_normalized_internal.json"
    )
    assert list(release.rows()) == [row(1), row(3), row(4)]
    assert sum(1 for _ in release.rows("raw")) == 4
    assert release.manifest["tier"] == "gold"


def test_open_release_refuses_a_directory_without_manifest(release_dir: Path, tmp_path: Path) -> None:
    told = (
        f"{tmp_path}: release_manifest_missing: holds no run_manifest.json, so nothing in it is published\n"
        "  fix: run `doit generate`, or name the directory of a finished run"
    )
    with pytest.raises(ReleaseError) as caught:
        open_release(tmp_path)
    assert str(caught.value) == told
    (tmp_path / "run_manifest.json").symlink_to(release_dir / "run_manifest.json")
    with pytest.raises(ReleaseError) as linked:
        open_release(tmp_path)
    assert str(linked.value) == told


@pytest.mark.parametrize(
    "left",
    [["benchmark_raw.parquet"], ["benchmark_raw.parquet", "benchmark.parquet"], ["exports"], ["benchmark.parquet"]],
)
def test_open_release_tells_payloads_without_manifest_from_nothing_published(
    release_dir: Path, tmp_path: Path, left: list[str]
) -> None:
    told = (
        f"{tmp_path}: export_publication_interrupted: holds {', '.join(left)} and no run_manifest.json, so they are no "
        "release: a publication was interrupted, or somebody deleted the manifest\n"
        "  fix: run the same command again: it removes them and publishes a whole release"
    )
    for name in left:
        if name == "exports":
            (tmp_path / name).mkdir()
        else:
            (tmp_path / name).write_bytes(b"")
    with pytest.raises(ReleaseError) as caught:
        open_release(tmp_path)
    assert str(caught.value) == told
    (tmp_path / "run_manifest.json").symlink_to(release_dir / "run_manifest.json")
    with pytest.raises(ReleaseError) as linked:
        open_release(tmp_path)
    assert str(linked.value) == told


def test_open_release_refuses_a_manifest_that_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "run_manifest.json"
    path.write_text('{"tier": "gold",\n}')
    with pytest.raises(ReleaseError) as caught:
        open_release(tmp_path)
    assert caught.value.problems[0].code == "release_manifest_invalid"
    assert str(caught.value).startswith(f"{path}:2: release_manifest_invalid: not JSON: ")
    path.write_text("[]")
    with pytest.raises(ReleaseError) as listed:
        open_release(tmp_path)
    assert str(listed.value) == f"{path}:1: release_manifest_invalid: the manifest is not an object{FIX}"


def test_open_release_refuses_an_unreadable_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    path = tmp_path / "run_manifest.json"
    path.write_text("{}")
    monkeypatch.setattr(Path, "read_bytes", deny)
    with pytest.raises(ReleaseError) as caught:
        open_release(tmp_path)
    assert str(caught.value) == f"{path}: release_manifest_invalid: cannot be read: Permission denied"


def test_open_release_refuses_missing_and_mistyped_keys_all_at_once(edited: Callable[..., list[str]]) -> None:
    def edit(manifest: dict[str, Any]) -> None:
        del manifest["run_id"]
        manifest["gold_eligible"] = "yes"
        manifest["schema_version"] = "2.0"

    assert edited(edit) == [
        f"M: release_manifest_invalid: schema_version is '2.0', this version reads '1.1'{FIX}",
        f"M: release_manifest_invalid: gold_eligible is not true or false{FIX}",
        f"M: release_manifest_invalid: run_id is missing, expected text{FIX}",
    ]


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda m: m["publication"].update(verified=False), ["publication.verified is not true"]),
        (lambda m: m["publication"].update(raw=None), ["publication.raw is not an object"]),
        (
            lambda m: m["publication"]["published"].update(file="../benchmark.parquet", rows=True),
            [
                "publication.published.rows is not a number",
                "publication.published.file is '../benchmark.parquet', expected 'benchmark.parquet'",
            ],
        ),
        (
            lambda m: m["publication"]["raw"].update(rows_digest="sha256:ABC"),
            ["publication.raw.rows_digest is not `sha256:` and 64 hex digits"],
        ),
        (
            lambda m: m["artifacts"]["benchmark_parquet"].update(content_hash="sha256:" + "0" * 64),
            [
                "publication.published.content_hash differs from artifacts.benchmark_parquet.content_hash: sha256:"
                + "0" * 64
            ],
        ),
        (
            lambda m: (
                m["artifacts"].pop("task_instances"),
                m["artifacts"].update({"etc/passwd": {"content_hash": ""}}),
            ),
            ["artifacts.task_instances is missing", "artifacts.etc/passwd is no artifact this version knows"],
        ),
        (
            lambda m: m["artifacts"].update(task_instances="sha256:" + "0" * 64),
            ["artifacts.task_instances is not an object"],
        ),
    ],
)
def test_open_release_refuses_contradictions(
    edit: Callable[[dict[str, Any]], Any], told: list[str], edited: Callable[..., list[str]]
) -> None:
    assert [problem.split(": ", 2)[2].removesuffix(FIX) for problem in edited(edit)] == told
