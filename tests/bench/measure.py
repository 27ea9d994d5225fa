"""Measures the performance budget as ratios in one run: `python -m tests.bench.measure [ROW ...]`.

Rows: noop, validate, check, edit, replay, selection, solver, stages, banking, scale; the table is in
docs/performance.md. Every figure is a whole process from outside, the median of several runs, with its partner measured
in turn, since machines drift; those of `solver` and `stages` are CPU time.
`scale` prints the points that `tests.bench.plot` draws.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from bfcl.exports.formats import FORMATS
from bfcl.stages.balancing.selection import select
from tests.bench import timed
from tests.bench.entrants import like_stages, tangled
from tests.bench.scaled import DODO, TALKATIVE, scaled_project

REPOSITORY = Path(__file__).resolve().parent.parent.parent
EMPTY = "def task_nothing():\n    return {'actions': [], 'uptodate': [True]}\n"


def doit(project: Path, *arguments: str) -> float:
    """Wall seconds of one doit command, which must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "doit", *arguments], cwd=project, env=environment, capture_output=True, text=True
    )
    elapsed = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"doit {' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
    return elapsed


def bundled(root: Path, pack: str) -> Path:
    """A bundled pack as a project of its own."""
    root.mkdir(parents=True)
    (root / "dodo.py").write_text(DODO, encoding="utf-8")
    shutil.copytree(REPOSITORY / "packs" / pack, root / "packs" / pack)
    shutil.copytree(REPOSITORY / "configs", root / "configs")
    return root


def nothing(root: Path) -> Path:
    """A project whose one task has nothing to do."""
    root.mkdir()
    (root / "dodo.py").write_text(EMPTY, encoding="utf-8")
    return root


def paired(one: Callable[[], float], other: Callable[[], float], runs: int) -> tuple[float, float, float]:
    """Medians of both and of the ratio pair by pair, after one warm-up each."""
    one(), other()
    pairs = [(one(), other()) for _ in range(runs)]
    return (
        statistics.median(first for first, _ in pairs),
        statistics.median(second for _, second in pairs),
        statistics.median(first / second for first, second in pairs),
    )


def measure_noop(directory: Path) -> None:
    project = bundled(directory / "noop", "tiny_oracle_pack")
    doit(project, "generate")
    empty = nothing(directory / "empty")
    ours, bare, ratio = paired(lambda: doit(project, "generate"), lambda: doit(empty), 9)
    print(f"noop: generate with nothing changed {ours:.3f} s, doit no-op {bare:.3f} s, ratio {ratio:.2f} (budget 3)")
    listing, _, ratio = paired(lambda: doit(project, "list"), lambda: doit(empty), 9)
    print(f"list: {listing:.3f} s, ratio {ratio:.2f} to the doit no-op")


def measure_validate(directory: Path) -> None:
    project = bundled(directory / "validate", "tiny_oracle_pack")
    empty = nothing(directory / "nothing")
    times = [doit(project, "prepare") for _ in range(5)]
    print(f"validate: doit prepare on the tiny pack {statistics.median(times):.2f} s")
    cases = project / "packs" / "tiny_oracle_pack" / "validation_cases.yaml"
    base = cases.read_text(encoding="utf-8")

    def cold() -> float:
        shutil.rmtree(project / "build" / "validate", ignore_errors=True)
        return doit(project, "validate")

    def edited() -> float:
        # Another id each time: evidence of earlier rounds must not answer.
        cases.write_text(base.replace("- id: ", f"- id: r{time.monotonic_ns()}_", 1), encoding="utf-8")
        return doit(project, "validate")

    for what, run in (("cold", cold), ("one case edited", edited), ("unchanged", lambda: doit(project, "validate"))):
        seconds, _, ratio = paired(run, lambda: doit(empty, "nothing"), 5)
        print(f"validate: doit validate, tiny pack, {what}: {seconds:.2f} s, {ratio:.1f} x a doit no-op")


def measure_check(directory: Path) -> None:
    project = scaled_project(directory / "check", templates=200, tasks=2000)
    pack = project / "packs" / "scaled"

    def check() -> float:
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        started = time.perf_counter()
        command = [sys.executable, "-m", "bfcl", "check", str(pack)]
        subprocess.run(command, env=environment, capture_output=True, check=False)
        return time.perf_counter() - started

    def start() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        return time.perf_counter() - started

    seconds, _, ratio = paired(check, start, 7)
    print(f"check: bfcl check, 200 templates: {seconds:.2f} s, {ratio:.0f} x an empty interpreter (budget 1 s)")


def measure_edit(directory: Path) -> None:
    project = scaled_project(directory / "edit", templates=500, tasks=10_000)
    clean = doit(project, "generate")
    templates = project / "packs" / "scaled" / "task_templates.yaml"
    text = templates.read_text(encoding="utf-8")
    edits = []
    for number in range(3):
        place = text.index("template_id: t00000")
        head, tail = text[:place], text[place:]
        templates.write_text(head + tail.replace("free right now?", f"free now, {number}?", 1), encoding="utf-8")
        edits.append(doit(project, "generate"))
    edit = statistics.median(edits)
    computed = _computed(project)
    print(f"edit: clean {clean:.1f} s, one template reworded {edit:.2f} s, {edit / clean:.1%} (budget 10 %)")
    print(f"      shards computed by the last edit: {computed}")


def measure_replay(directory: Path) -> None:
    tasks = 4000
    project = scaled_project(directory / "replay", templates=40, tasks=tasks)
    doit(project, "schema_validation")
    started = time.perf_counter()
    doit(project, "executable_replay")
    print(f"replay: the command takes {time.perf_counter() - started:.1f} s")
    _tell_replay(project, project / "packs" / "scaled")


def _tell_replay(project: Path, pack: Path) -> None:
    """What the last invocation's replays took, against bare loops over the same calls."""
    seconds = json.loads(_log(project, "executable_replay").read_text())["seconds"]
    alone = _bare_loops(project, pack, processes=1, passes=2)
    cores = min(2, len(os.sched_getaffinity(0)))
    divided = _bare_loops(project, pack, processes=cores, passes=2 // cores)
    rows = _rows(project, "replay_validated_tasks.parquet")
    print(
        f"replay: {rows} tasks in {seconds:.1f} s ({1000 * seconds / rows:.2f} ms a task); "
        f"bare loop twice {alone:.2f} s in one process, {divided:.2f} s as one process a core"
    )
    for name, bare in (("halved", alone / cores), ("measured on all cores", divided)):
        budget = 1.5 * bare + 0.003 * rows
        print(f"        budget with the bare loop {name}: {budget:.1f} s, used {seconds / budget:.0%}")


def measure_selection(directory: Path, tasks: int = 10_000) -> None:
    """Stages 10 and 11, each alone in a process: its time as the log has it, and the most memory of that process."""
    project = scaled_project(directory / "selection", templates=500, tasks=tasks, rows=20)
    path = project / "configs" / "tiny.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["surface_quality_validation"] = {"enabled": True}
    settings["semantic_deduplication_config"] = {
        "enabled": True,
        "model_identifier": "lexical:char-ngram-v1",
        "n_clusters": 100,
        "eps": 0.05,
        "remove_duplicates": False,
        # Time is measured, not whether a target is met.
        "unmet_target_policy": "publish_non_gold",
    }
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    doit(project, "executable_replay")
    for stage, table in (("surface_quality", "surface_validated_tasks"), ("dedup_balancing", "balanced_tasks")):
        peak = _peak_mib(project, stage)
        seconds = json.loads(_log(project, stage).read_text())["seconds"]
        rows = _rows(project, f"{table}.parquet")
        print(f"selection: {stage}, {rows} candidates: {seconds:.1f} s, peak {peak} MiB", flush=True)


def measure_stages(directory: Path, few: int = 10_000, many: int = 100_000) -> None:
    """Clean builds with stages 10 and 11 under quotas and caps and with every export: CPU of each, and memory."""
    cost = {}
    for tasks in (few, many):
        project = scaled_project(
            directory / f"stages{tasks}", templates=500, tasks=tasks, rows=20, shapes=TALKATIVE, worded=True
        )
        (project / "dodo.py").write_text(timed.DODO, encoding="utf-8")
        _ask_for_everything(project / "configs" / "tiny.yaml", templates=500, tasks=tasks)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        doit(project, "generate")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = _rows(project, "task_instances.parquet")
        cost[tasks] = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / rows
        spent = json.loads((project / timed.SPENT).read_text(encoding="utf-8"))
        for stage, (seconds, peak) in spent.items():
            if seconds >= 0.01:
                print(f"stages: {stage}, {rows} tasks: {1000 * seconds / rows:.3f} ms CPU a task, so far {peak} MiB")
        print(
            f"stages: {rows} tasks: {1000 * cost[tasks]:.2f} ms CPU a task, largest process {after.ru_maxrss >> 10} MiB"
        )
        shutil.rmtree(project)
    print(f"stages: cost per task at {many:,} over {few:,}: {cost[many] / cost[few]:.2f} (budget 1.3)")


def _ask_for_everything(config: Path, *, templates: int, tasks: int) -> None:
    """Nine tenths of the tasks, in shares that are nearly there, under caps that leave a few rows of each template."""
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    size, most = tasks * 9 // 10, tasks * 97 // (100 * templates)
    settings["task_generation"] |= {
        "target_published_tasks": size,
        "difficulty_mix": {"easy": 0.3, "medium": 0.7},
        "turn_mix": {"single_turn": 0.3, "multi_turn": 0.7},
        "policy_mix": {"multi_tool": 0.3, "confirmation": 0.35, "correction": 0.35},
        "tool_call_count_mix": {"1": 0.7, "2": 0.3},
        "max_intent_share": 0.03,
    }
    settings["surface_quality_validation"] = {"enabled": True}
    settings["semantic_deduplication_config"] = {
        "enabled": True,
        "model_identifier": "lexical:char-ngram-v1",
        "n_clusters": 50,
        "eps": 0.05,
        "remove_duplicates": False,
        # The pack's own four templates fit no share.
        "unmet_target_policy": "publish_non_gold",
        "max_exact_surface_reuse": most,
        "max_rows_per_intent": most,
        "max_execution_case_reuse": 1,
        "min_exact_surface_ratio": round(0.9 * templates / size, 6),
    }
    settings["exports"] = dict.fromkeys(FORMATS, True)
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")


def measure_solver(directory: Path) -> None:
    """The selection alone: rows as `stages` has them, and small ones that share groups every which way."""
    for entrants, terms in (*map(like_stages, (10_000, 20_000, 50_000, 100_000)), *map(tangled, range(40))):
        started = time.process_time()
        found = select(entrants, terms)
        seconds = time.process_time() - started
        what = "nothing" if found is None else f"{len(found.positions)} of"
        print(f"solver: {what} {len(entrants)} rows in {seconds:.1f} s CPU", flush=True)


def _peak_mib(project: Path, task: str) -> int:
    """The most memory of one doit command's processes, which must succeed."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with (project / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "doit", task], cwd=project, env=environment, stdout=said, stderr=said
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"doit {task} failed:\n{(project / 'said.txt').read_text(encoding='utf-8')}")
    return round(usage.ru_maxrss / 1024)


def measure_banking(directory: Path) -> None:
    project = bundled(directory / "banking", "banking_vn_oracle_pack")
    config = "config=configs/banking_vn.publication.yaml"
    empty = nothing(directory / "no_work")
    clean = doit(project, "generate", config)
    _tell_replay(project, project / "packs" / "banking_vn_oracle_pack")
    ours, bare, ratio = paired(lambda: doit(project, "generate", config), lambda: doit(empty), 9)
    print(f"banking: nothing changed {ours:.3f} s, doit no-op {bare:.3f} s, ratio {ratio:.2f} (budget 3)")
    templates = project / "packs" / "banking_vn_oracle_pack" / "task_templates.yaml"
    text = templates.read_text(encoding="utf-8")
    edits = []
    for number in range(3):
        templates.write_text(text.replace("Bạn ơi, xem giúp", f"Bạn ơi, lần {number} xem giúp", 1), encoding="utf-8")
        edits.append(doit(project, "generate", config))
    edit = statistics.median(edits)
    print(f"banking: clean {clean:.1f} s, one template of 78 reworded {edit:.2f} s, {edit / clean:.1%}")
    print(f"         shards computed by the last edit: {_computed(project)}")


def measure_scale(directory: Path) -> None:
    """Clean builds of growing size. Cost is CPU time, which other work on the machine disturbs less than wall time."""
    cost = {}
    for tasks in (1_000, 3_000, 10_000, 30_000, 100_000):
        # Two slots of 20 rows each: many tasks from few rows, so that the state does not grow with the task count.
        project = scaled_project(
            directory / f"scale{tasks}", templates=500, tasks=tasks, rows=20, shapes=("kiln_and_firing",)
        )
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = doit(project, "generate")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = _rows(project, "task_instances.parquet")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cost[tasks] = cpu / rows
        stages = {path.stem: json.loads(path.read_text())["seconds"] or 0.0 for path in _logs(project)}
        others = sum(value for name, value in stages.items() if name not in ("executable_replay", "prepare"))
        point: dict[str, float] = {
            "tasks": rows,
            "cpu_ms_task": round(1000 * cost[tasks], 2),
            # The largest of all processes so far: sizes grow, so it is this one's.
            "peak_mib": round(after.ru_maxrss / 1024),
            "wall_ms_task": round(1000 * seconds / rows, 2),
            "replay_ms_task": round(1000 * stages["executable_replay"] / rows, 2),
            "others_ms_task": round(1000 * others / rows, 2),
        }
        print(json.dumps(point))
        shutil.rmtree(project)
    ratio = cost[100_000] / cost[10_000]
    print(f"scale: cost per task at 100,000 over 10,000: {ratio:.2f} (budget 1.3)", file=sys.stderr)


def _logs(project: Path) -> list[Path]:
    newest = max((project / "build" / "log").iterdir())
    return sorted(newest.glob("*.json"))


def _log(project: Path, task: str) -> Path:
    return next(path for path in _logs(project) if path.stem == task)


def _computed(project: Path) -> dict[str, int]:
    found = {}
    for path in _logs(project):
        events = json.loads(path.read_text())["events"]
        found[path.stem] = sum(event["action"] == "computed" and event["shard"] is not None for event in events)
    return {stage: count for stage, count in found.items() if count}


def _rows(project: Path, table: str) -> int:
    import pyarrow.parquet

    (path,) = project.glob(f"build/runs/*/stage_cache/{table}")
    return int(pyarrow.parquet.read_metadata(path).num_rows)


def _bare_loops(project: Path, pack: Path, *, processes: int, passes: int) -> float:
    """Seconds of the slowest of several plain loops at once over the same resets and calls."""
    script = REPOSITORY / "tests" / "bench" / "bare_loop.py"
    command = [sys.executable, str(script), str(project), str(pack), str(passes)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return max(float(process.communicate()[0]) for process in running)


ROWS = {
    "noop": measure_noop,
    "validate": measure_validate,
    "check": measure_check,
    "edit": measure_edit,
    "replay": measure_replay,
    "selection": measure_selection,
    "solver": measure_solver,
    "stages": measure_stages,
    "banking": measure_banking,
    "scale": measure_scale,
}


def main(names: list[str]) -> None:
    for name in names or list(ROWS):
        with tempfile.TemporaryDirectory() as directory:
            ROWS[name](Path(directory))


if __name__ == "__main__":
    main(sys.argv[1:])
