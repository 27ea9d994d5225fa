"""Killed, interrupted or raced at any moment: no manifest or a whole release, and the next run publishes cleanly."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.files import Lock
from bfcl.release.verify import verify_release
from tests.packs import replace
from tests.system.project import PUBLISHED, Project, Running, write_project

WHOLE = ["run_manifest.json", *PUBLISHED]


def logged(project: Project, task: str) -> Callable[[], bool]:
    """Whether the newest invocation has finished `task`."""
    return lambda: any((project.build / "log").glob(f"*/{task}.json"))


def there(path: Path) -> Callable[[], bool]:
    return path.exists


def staging(project: Project, name: str = "") -> Callable[[], bool]:
    return lambda: any(project.run_dir.glob(f".stage12-*/{name}" if name else ".stage12-*"))


def stopped(project: Project, reached: Callable[[Project], Callable[[], bool]]) -> Running:
    """A run frozen right after a moment."""
    running = project.start("generate")
    assert running.until(reached(project))
    running.signal(signal.SIGSTOP)
    return running


MOMENTS: dict[str, Callable[[Project], Callable[[], bool]]] = {
    "lock taken": lambda project: there(project.run_dir / ".bfcl.lock"),
    "pack stored": lambda project: there(project.run_dir / "stage_cache" / "pack_manifest.json"),
    "tasks rendered": lambda project: logged(project, "render"),
    "tasks replayed": lambda project: logged(project, "executable_replay"),
    "tables staged": lambda project: staging(project, "benchmark.parquet"),
    "first table placed": lambda project: there(project.run_dir / "benchmark_raw.parquet"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_run_leaves_no_half_release_and_the_next_one_publishes(
    original: Project, fresh: Project, moment: str
) -> None:
    running = fresh.start("generate")
    running.until(MOMENTS[moment](fresh))
    running.kill()
    if (fresh.run_dir / "run_manifest.json").exists():
        verify_release(fresh.run_dir)
    fresh.generate()
    assert fresh.published() == WHOLE
    assert fresh.leftovers() == []
    # Whoever starts an oracle clears away what killed runs left; later moments may leave nothing to replay.
    if moment == "tasks rendered":
        assert list(fresh.temporary.iterdir()) == []
    assert fresh.tables() == original.tables()
    verify_release(fresh.run_dir)


def test_kill_while_replacing_a_release_never_leaves_the_old_manifest(built: Project) -> None:
    built.append(built.pack / "README.md", "Changed.\n")
    old = (built.run_dir / "run_manifest.json").read_bytes()
    running = built.start("generate")
    running.until(lambda: not (built.run_dir / "run_manifest.json").exists())
    running.kill()
    manifest = built.run_dir / "run_manifest.json"
    assert not manifest.exists() or manifest.read_bytes() != old
    built.generate()
    verify_release(built.run_dir)


def test_interrupt_is_told_keeps_finished_shards_and_leaves_no_manifest_and_no_process(fresh: Project) -> None:
    running = fresh.start("generate")
    assert running.until(logged(fresh, "render"))
    running.signal(signal.SIGINT)
    ended = running.end()
    assert ended.status != 0
    assert "Traceback" not in ended.err
    assert "ignored" not in ended.out
    assert "interrupted" in ended.out + ended.err
    assert fresh.published() == []
    assert fresh.leftovers() == []
    assert list(fresh.temporary.iterdir()) == []
    fresh.generate()
    again = {name.partition(":")[0] for name in fresh.shards("computed")}
    assert again.isdisjoint({"expand", "state_machine", "render"})
    assert fresh.published() == WHOLE


def test_second_run_is_refused_while_the_first_goes_on_and_the_first_publishes(fresh: Project) -> None:
    running = stopped(fresh, lambda project: there(project.run_dir / "stage_cache" / "pack_manifest.json"))
    second = fresh.doit("generate")
    cleaned = fresh.doit("clean", "render")
    running.signal(signal.SIGCONT)
    first = running.end()
    assert second.status == 1
    assert second.blocks == [
        "run_locked: another BFCL process is using this project's build directory "
        f"(process {running.process.pid})\n  fix: wait for that process to end, or stop it"
    ]
    assert cleaned.status == 1
    assert "run_locked" in cleaned.err
    assert first.status == 0, first.err
    assert fresh.published() == WHOLE


def test_run_of_another_project_into_the_same_experiment_is_refused(fresh: Project, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    fresh.configure(output_dir=str(shared))
    lock = Lock(shared / "trial" / ".bfcl.lock", "")
    lock.acquire()
    try:
        ended = fresh.doit("generate")
    finally:
        lock.release()
    assert ended.status == 1
    assert ended.blocks == [
        f"run_locked: another BFCL process is writing experiment 'trial' (process {os.getpid()})\n"
        "  fix: wait for that process to end, or stop it"
    ]
    fresh.generate()


def test_pack_edited_during_the_run_is_drift_and_publishes_nothing(fresh: Project) -> None:
    running = stopped(fresh, lambda project: logged(project, "expand"))
    fresh.append(fresh.pack / "README.md", "Edited while it ran.\n")
    (fresh.pack / "late.txt").write_text("new\n")
    running.signal(signal.SIGCONT)
    ended = running.end()
    assert ended.status == 1
    for name in ("README.md", "late.txt"):
        assert [block for block in ended.blocks if "pack_drift" in block and name in block], ended.err
    assert fresh.published() == []
    assert fresh.leftovers() == []
    fresh.generate()


def test_terminated_run_leaves_no_manifest_no_process_and_no_temporary_directory(fresh: Project) -> None:
    running = fresh.start("generate")
    assert running.until(logged(fresh, "render"))
    running.signal(signal.SIGTERM)
    assert running.end().status != 0
    assert fresh.published() == []
    assert list(fresh.temporary.iterdir()) == []
    fresh.generate()


def test_configuration_edited_during_the_run_does_not_enter_it(fresh: Project) -> None:
    running = stopped(fresh, lambda project: logged(project, "expand"))
    fresh.configure(random_seed=8)
    running.signal(signal.SIGCONT)
    assert running.end().status == 0
    assert fresh.manifest()["seeds"]["global"] == 7
    fresh.generate()
    assert fresh.manifest()["seeds"]["global"] == 8


def test_stage_table_edited_during_the_run_publishes_nothing(fresh: Project) -> None:
    table = fresh.run_dir / "stage_cache" / "task_instances.parquet"
    running = stopped(fresh, lambda project: logged(project, "expand"))
    table.write_bytes(b"mine")
    running.signal(signal.SIGCONT)
    ended = running.end()
    assert ended.status == 1
    told = "build_cache_tampered: stage_cache/task_instances.parquet: has changed since it was written"
    assert told in ended.err
    assert fresh.published() == []


@pytest.mark.parametrize("limit", [150, 1500])
def test_full_disk_is_one_clear_refusal_and_publishes_nothing(fresh: Project, limit: int) -> None:
    # Python itself would leave a cut-off .pyc behind, which is not what is tested.
    full = {"PYTHONDONTWRITEBYTECODE": "1"}
    ended = fresh.doit("generate", before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)), env=full)
    assert ended.status == 1
    assert len(ended.blocks) == 1
    assert ended.err.startswith("storage_failed: ")
    assert ended.err.endswith(
        "cannot write: File too large\n"
        "  fix: free space or make the directory writable, then run the same command again\n"
    )
    assert fresh.published() == []
    assert fresh.leftovers() == []
    fresh.generate()


REPLAY = """
import hashlib, importlib.util, json, sys
import pyarrow.parquet
from types import SimpleNamespace

sys.dont_write_bytecode = True  # other tests may build on the same pack
pack, table, clock = sys.argv[1:]
spec = importlib.util.spec_from_file_location("backend", pack + "/backend.py")
backend = importlib.util.module_from_spec(spec)
spec.loader.exec_module(backend)
fixtures = json.load(open(pack + "/fixtures.json"))
for row in pyarrow.parquet.read_table(table).to_pylist():
    ctx = SimpleNamespace(clock=clock, seed=row["seed"], task_id=row["task_id"], timeout_s=5.0, turn_index=0)
    backend.reset(ctx=ctx, fixtures=fixtures)
    told = [message["content"] for message in row["messages"] if message["role"] == "tool"]
    asked = [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for message in row["messages"]
        for call in message["tool_calls"] or ()
    ]
    assert len(told) == len(asked), row["task_id"]
    for text, (name, arguments) in zip(told, asked):
        result = backend.call_tool(name, arguments, ctx=ctx)
        assert text == json.dumps(result, sort_keys=True, separators=(",", ":"), ensure_ascii=False), row["task_id"]
        print(row["task_id"], text)
"""


def test_every_published_call_gives_the_same_result_in_a_script_that_knows_only_the_pack(original: Project) -> None:
    command = [sys.executable, "-c", REPLAY, str(original.pack), str(original.run_dir / "benchmark.parquet")]
    command.append(json.loads((original.run_dir / "run_manifest.json").read_bytes())["oracle_clock"])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == sum(row["num_tool_calls"] for row in original.rows())


def test_slow_tool_is_stopped_with_the_run_that_asked_it(tmp_path: Path) -> None:
    project = write_project(
        tmp_path / "project",
        replace(
            "backend.py", "def _get_kiln(kiln_id):\n", "def _get_kiln(kiln_id):\n    import time; time.sleep(600)\n"
        ),
        oracle_runtime__tool_timeout_s=500.0,
        oracle_runtime__episode_timeout_s=500.0,
    )
    running = project.start("generate")
    assert running.until(lambda: any(project.build.glob("*/tree/backend.py")))
    running.signal(signal.SIGINT)
    ended = running.end()
    assert ended.status != 0
    assert project.published() == []
