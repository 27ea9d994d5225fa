"""One build's results in another, through a cache that nobody has to trust."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.system.project import Ended, Project, write_project


def cached(project: Project, cache: Path) -> str:
    return project.generate(f"cache={cache}").out


def told(out: str) -> str:
    return next(line for line in out.splitlines() if line.startswith("shared cache: "))


def objects(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*") if path.is_file())


def test_a_second_machine_computes_no_shard_and_publishes_the_same_bytes(tmp_path: Path, original: Project) -> None:
    cache = tmp_path / "cache"
    here = original.copy(tmp_path / "here")
    shutil.rmtree(here.build)
    first = cached(here, cache)
    assert told(first) == f"shared cache: 0 results read, {len(objects(cache))} written"
    there = write_project(tmp_path / "there")
    second = cached(there, cache)
    assert there.shards("computed") == []
    assert told(second) == f"shared cache: {len(objects(cache))} results read, 0 written"
    assert there.tables() == original.tables()
    # What workers import, and what the gate looks at, is made of the pack at hand.
    assert {"prepare"} <= set(there.merges("computed"))
    assert not [path for path in objects(cache) if b"backend.py" in path.read_bytes()]


def test_an_edit_shares_only_what_it_changed(tmp_path: Path, built: Project) -> None:
    cache = tmp_path / "cache"
    shutil.rmtree(built.build)
    cached(built, cache)
    before = len(objects(cache))
    built.edit(built.pack / "task_templates.yaml", "How is kiln {kiln_id} doing", "How does kiln {kiln_id} do")
    out = cached(built, cache)
    assert {name.partition(":")[2] for name in built.shards("computed")} == {"kiln_and_firing"}
    written = len(built.shards("computed")) + len(set(built.merges("computed")) - {"prepare"})
    assert told(out) == f"shared cache: 0 results read, {written} written"
    assert len(objects(cache)) == before + written


def test_altered_objects_are_refused_by_name_and_replays_may_be_done_anew(tmp_path: Path, built: Project) -> None:
    cache = tmp_path / "cache"
    shutil.rmtree(built.build)
    cached(built, cache)
    tables = built.tables()
    replayed = (path for path in objects(cache) if b'"stage":"executable_replay"' in path.read_bytes())
    forged = next(path for path in replayed if b'"valid":true' in path.read_bytes())
    forged.write_bytes(forged.read_bytes().replace(b'"valid":true', b'"valid":null'))
    shutil.rmtree(built.build)
    ended = built.doit("generate", f"cache={cache}")
    assert ended.status == 1
    (problem,) = ended.blocks
    assert problem.startswith(f"build_cache_tampered: {cache}/bfcl-build-1/{forged.parent.name}/{forged.name}: ")
    assert problem.endswith("\n  fix: delete that object, or run without `cache=`; then find out who wrote it")
    assert built.published() == []
    # A release for which every replay is done here needs no word of the cache on any.
    built.generate(f"cache={cache}", "replay=full")
    assert built.tables() == tables


def test_a_cache_that_cannot_be_written_costs_a_warning(tmp_path: Path, built: Project) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a directory should be")
    shutil.rmtree(built.build)
    ended = built.generate(f"cache={blocked}")
    assert ended.err.splitlines() == [
        f"warning: cannot {what} the cache {blocked}: NotADirectoryError; this run goes on without it"
        for what in ("read from", "write to")
    ]
    assert built.published() == ["run_manifest.json", "benchmark_raw.parquet", "benchmark.parquet"]


SECRET = "SECRETPW"


@pytest.mark.parametrize(
    ("variable", "problem"),
    [
        (
            f"cache=s3://AKIA:{SECRET}@buck et/x",
            "generation_config_invalid: cache: cache=<str, 28> given; expected a URL, or the absolute path of a "
            "directory\n  fix: write `cache=s3://bucket/bfcl` or leave it out",
        ),
        (
            f"cache=ftp://user:ab/{SECRET}@127.0.0.1:1/x",
            "cache_unavailable: cache: no filesystem answers to `ftp://127.0.0.1:1/x`: refused with ValueError\n"
            "  fix: install the library fsspec names for it, or name a directory or another URL",
        ),
        (
            f"cache=nowhere://k:p@{SECRET}@bk",
            "cache_unavailable: cache: no filesystem answers to `nowhere://bk`: refused with ValueError\n"
            "  fix: install the library fsspec names for it, or name a directory or another URL",
        ),
        (
            f"executor=dask:tcp://me:{SECRET}@host :1",
            "generation_config_invalid: executor: executor=<str, 30> given; expected dask:<address of a scheduler>\n"
            "  fix: write `executor=dask:127.0.0.1:8786` or leave it out",
        ),
        (
            f"executor=dask:tcp://me:{SECRET}@scheduler",
            "executor_unreachable: dask:tcp://scheduler: names no port\n"
            "  fix: start a scheduler there or mend the address, or leave `executor=` out to compute on this machine",
        ),
    ],
)
def test_a_password_on_a_refused_command_line_is_told_and_kept_nowhere(
    fresh: Project, variable: str, problem: str
) -> None:
    ended = fresh.doit("generate", variable)
    assert (ended.status, ended.blocks) == (1, [problem])
    assert_kept_nowhere(fresh, ended)


def test_a_password_of_a_cache_in_use_is_told_and_kept_nowhere(fresh: Project) -> None:
    ended = fresh.generate(f"cache=memory://k:p@{SECRET}/{SECRET}@shared/x")
    assert told(ended.out).startswith("shared cache: 0 results read, ")
    assert_kept_nowhere(fresh, ended)
    assert_kept_nowhere(fresh, fresh.doit("info", "generate", f"cache=memory://k:{SECRET}@shared/x"))


def assert_kept_nowhere(project: Project, ended: Ended) -> None:
    """Neither in what a command said nor in any file, doit's own database among them."""
    assert SECRET not in ended.out + ended.err
    files = [path for place in (project.root, project.temporary) for path in place.rglob("*") if path.is_file()]
    assert any(path.is_relative_to(project.build) for path in files)
    assert [path for path in files if SECRET.encode() in path.read_bytes() or SECRET in path.name] == []
