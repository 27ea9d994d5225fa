"""Gate sixteen: everything is still as it was verified."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_file, sha256_of
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.source.plan import Plan, plan_of
from bfcl.evaluate.source.recheck import Watch, recheck
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.evaluate.source.verify import verify_source
from tests.evaluate.source.builder import Site

GATE = (
    " (gate sixteen, the source before a request)"
    "\n  fix: restore the file and start the evaluation again, once nobody writes there"
)
Passed = tuple[EvalSettings, VerifiedSource, Plan]


def passed(site: Site) -> Passed:
    settings = site.settings()
    verified = verify_source(settings, probe_oracle=True)
    return settings, verified, plan_of(settings, verified)


@pytest.fixture
def ready(site: Site) -> Passed:
    return passed(site)


def again(ready: Passed) -> Callable[[], None]:
    return lambda: recheck(*ready)


def swap(path: Path) -> None:
    """Other bytes of the same size and time."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_recheck_passes_while_nothing_but_times_moves(site: Site, ready: Passed) -> None:
    watch = Watch(*ready)
    published = [site.run_dir / name for name in ready[1].files]
    for path in (*published, site.pack / "backend.py", site.root / "contract.json"):
        os.utime(path, ns=(0, 0))
    watch.settle()
    assert watch.checks == 1


@pytest.mark.parametrize("name", ["run_manifest.json", "benchmark.parquet", "benchmark_raw.parquet"])
def test_recheck_finds_bytes_of_the_same_size_and_time(name: str, site: Site, ready: Passed) -> None:
    wanted = sha256_file(site.run_dir / name)
    swap(site.run_dir / name)
    assert site.told(again(ready)) == [
        f"run/{name}: eval_source_changed_during_eval: {name} has {sha256_file(site.run_dir / name)}; it was verified "
        f"with {wanted}{GATE}"
    ]


def test_recheck_finds_a_table_that_became_a_link(site: Site, ready: Passed) -> None:
    path = site.run_dir / "benchmark.parquet"
    wanted = sha256_file(path)
    path.symlink_to(path.rename(site.root / "elsewhere"))
    assert site.told(again(ready)) == [
        "run/benchmark.parquet: eval_source_changed_during_eval: benchmark.parquet is gone or no regular file; it was "
        f"verified with {wanted}{GATE}"
    ]


def test_recheck_finds_a_table_that_became_a_pipe_and_does_not_wait_for_it(site: Site, ready: Passed) -> None:
    path = site.run_dir / "benchmark.parquet"
    wanted = sha256_file(path)
    path.unlink()
    os.mkfifo(path)
    assert site.told(again(ready)) == [
        "run/benchmark.parquet: eval_source_changed_during_eval: benchmark.parquet is gone or no regular file; it was "
        f"verified with {wanted}{GATE}"
    ]


def test_recheck_finds_another_scoring_contract(site: Site, ready: Passed) -> None:
    (site.root / "contract.json").write_bytes(b"other")
    assert site.told(again(ready)) == [
        f"contract.json: eval_source_changed_during_eval: the scoring contract has {sha256_of(b'other')}; it was "
        f"verified with {sha256_of(b'{}' + bytes([10]))}{GATE}"
    ]


def test_recheck_names_every_file_of_the_pack_that_moved(site: Site, ready: Passed) -> None:
    wanted = sha256_file(site.pack / "assertions.py")
    swap(site.pack / "assertions.py")
    gone = sha256_file(site.pack / "fixtures.json")
    (site.pack / "fixtures.json").unlink()
    (site.pack / "notes.txt").write_bytes(b"other")
    seen = sha256_file(site.pack / "assertions.py")
    assert site.told(again(ready)) == [
        f"packs/studio/assertions.py: eval_source_changed_during_eval: tree/assertions.py of the pack has {seen}; it "
        f"was verified with {wanted}{GATE}",
        "packs/studio/fixtures.json: eval_source_changed_during_eval: tree/fixtures.json of the pack is gone; it was "
        f"verified with {gone}{GATE}",
        f"packs/studio/notes.txt: eval_source_changed_during_eval: tree/notes.txt of the pack has "
        f"{sha256_of(b'other')}; it was not there{GATE}",
    ]


def test_recheck_looks_at_no_pack_where_there_is_no_oracle(site: Site, ready: Passed) -> None:
    settings = site.settings(trace_only=True)
    verified = verify_source(settings, probe_oracle=False)
    (site.pack / "backend.py").unlink()
    (told,) = site.told(again(ready))
    assert told.startswith("packs/studio/backend.py: eval_source_changed_during_eval: tree/backend.py of the pack is")
    watch = Watch(settings, verified, plan_of(settings, verified))
    watch.settle()
    assert watch.checks == 1


def test_recheck_refuses_a_plan_that_nobody_derived(site: Site, ready: Passed) -> None:
    settings, verified, plan = ready
    made = dataclasses.replace(plan, reasons=("mine",))
    (told,) = site.told(lambda: recheck(settings, verified, made))
    assert told.startswith("eval_contamination_plan_drift: the plan: ")


def test_watch_checks_a_small_source_before_every_task(site: Site, ready: Passed) -> None:
    watch = Watch(*ready)
    for count in (1, 2, 3):
        watch.before_task()
        assert watch.checks == count
    swap(site.run_dir / "benchmark.parquet")
    (told,) = site.told(watch.before_task)
    assert "eval_source_changed_during_eval" in told


@pytest.mark.parametrize("name", ["run/benchmark.parquet", "packs/studio/backend.py", "packs/studio/new.txt"])
def test_watch_checks_a_large_source_as_soon_as_the_system_notes_a_change(name: str, site: Site, ready: Passed) -> None:
    watch = Watch(*ready, bytes_per_task=1)
    for _ in range(3):
        watch.before_task()
    assert watch.checks == 1
    path = site.root / name
    if path.exists():
        swap(path)
    else:
        path.write_bytes(b"other")
    (told,) = site.told(watch.before_task)
    assert told.startswith(f"{name}: eval_source_changed_during_eval: ")


def test_recheck_tells_what_the_pack_may_not_hold(site: Site, ready: Passed) -> None:
    (site.pack / "link").symlink_to(site.pack / "backend.py")
    assert site.told(again(ready)) == [
        "packs/studio/link: eval_source_changed_during_eval: the entry is a symbolic link (gate sixteen, the source "
        "before a request)\n  fix: put the file itself there"
    ]


def test_watch_checks_a_large_source_first_and_last_and_as_often_as_tasks_pay(site: Site, ready: Passed) -> None:
    watch = Watch(*ready, bytes_per_task=1 + Watch(*ready).cost // 4)
    checks = []
    for _ in range(9):
        watch.before_task()
        checks.append(watch.checks)
    assert checks == [1, 1, 1, 1, 2, 2, 2, 2, 3]
    swap(site.run_dir / "benchmark.parquet")
    (told,) = site.told(watch.settle)
    assert "eval_source_changed_during_eval" in told
