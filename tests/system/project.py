"""A project in a temporary directory and real doit over it: what a person has after `bfcl init`, with the test pack."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet

from tests.packs import BASE, CLOCK, Edit, dump, write_pack
from tests.system.forks import forked

REPOSITORY = Path(__file__).resolve().parents[2]
TABLES = (
    "stage_cache/task_instances.parquet",
    "stage_cache/conversation_plans.parquet",
    "stage_cache/rendered_conversations.parquet",
    "stage_cache/expected_traces.parquet",
    "stage_cache/schema_validated_traces.parquet",
    "stage_cache/replay_validated_tasks.parquet",
)
"""The six stage tables that carry the same tasks in the same order."""
PUBLISHED = ("benchmark_raw.parquet", "benchmark.parquet")
SELECTION: dict[str, Any] = {
    "surface_quality_validation": {"enabled": True},
    "semantic_deduplication_config": {
        "enabled": True,
        "model_identifier": "lexical:char-ngram-v1",
        "n_clusters": 4,
        "eps": 0.05,
        "remove_duplicates": False,
        "unmet_target_policy": "abort",
    },
    "task_generation__tasks_per_category": 8,
    "task_generation__candidate_tasks_per_category": 16,
    "task_generation__target_published_tasks": 12,
}
"""Settings of a build that has every stage."""
PATIENCE_S = 120
"""Until a run that hangs fails its test; no test waits for it."""


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def blocks(self) -> list[str]:
        """The problems on standard error, one block each, fix line included."""
        found: list[str] = []
        for line in self.err.splitlines():
            if line.startswith("  "):
                found[-1] += "\n" + line
            else:
                found.append(line)
        return found

    @property
    def last_line(self) -> str:
        return self.out.splitlines()[-1]


def run_to_end(
    command: list[str],
    directory: Path,
    environment: Mapping[str, str],
    *,
    anew: bool = False,
    before: Callable[[], object] | None = None,
) -> Ended:
    """Run a command to its end, in a fork of an interpreter (see `tests.system.forks`) unless that is to be a new one.

    `before` runs in the child just ahead of a new one (umask, limits).
    """
    done = None if anew or before else forked(command, directory, environment, PATIENCE_S)
    done = done or subprocess.run(
        command,
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        preexec_fn=before,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def started(command: list[str], directory: Path, environment: Mapping[str, str]) -> Running:
    """Start a command in an interpreter of its own and return while it runs."""
    process = subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_interruptible,
    )
    return Running(process)


def _interruptible() -> None:
    """As from a terminal: what runs in the background ignores these signals, and so would every child."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Project:
    """`dodo.py`, `configs/tiny.yaml` and `packs/studio` below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    @property
    def pack(self) -> Path:
        return self.root / "packs" / "studio"

    @property
    def config(self) -> Path:
        return self.root / "configs" / "tiny.yaml"

    @property
    def build(self) -> Path:
        return self.root / "build"

    @property
    def run_dir(self) -> Path:
        return self.build / "runs" / "trial"

    @property
    def temporary(self) -> Path:
        """Where its runs put their temporary files, beside the project."""
        return self.root.with_name(f"{self.root.name}.tmp")

    # --- commands ---

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "doit", *arguments]

    def environment(self, **variables: str) -> dict[str, str]:
        """A small one, so that nothing of the test's own environment decides a result."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.temporary.mkdir(exist_ok=True)
        return {
            **kept,
            "PYTHONPATH": str(REPOSITORY),
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.temporary),
            **variables,
        }

    def doit(
        self,
        *arguments: str,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        before: Callable[[], object] | None = None,
        anew: bool = False,
    ) -> Ended:
        """Run doit to its end; in a new interpreter where that is asked for by any of the last three."""
        command, environment = self.command(*arguments), self.environment(**(env or {}))
        return run_to_end(command, cwd or self.root, environment, anew=anew or bool(env), before=before)

    def generate(self, *arguments: str, **options: Any) -> Ended:
        """`doit generate`, which must succeed."""
        ended = self.doit("generate", *arguments, **options)
        assert ended.status == 0, ended.out + ended.err
        return ended

    def start(self, *arguments: str) -> Running:
        """Start doit and return while it runs."""
        return started(self.command(*arguments), self.root, self.environment())

    # --- files ---

    def edit(self, path: Path, old: str, new: str) -> None:
        """Replace text that occurs exactly once in a file."""
        current = path.read_text(encoding="utf-8")
        assert current.count(old) == 1, f"{old!r} occurs {current.count(old)} times in {path}"
        path.write_text(current.replace(old, new), encoding="utf-8")

    def append(self, path: Path, text: str) -> None:
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    def configure(self, **edits: object) -> None:
        """Write the configuration anew; edits name keys, nested ones with a double underscore."""
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(dump("config.yaml", config_mapping(**edits)), encoding="utf-8")

    def manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.run_dir / "run_manifest.json").read_bytes()))

    def tables(self) -> dict[str, bytes]:
        """Stage tables and published tables by name."""
        return {name: (self.run_dir / name).read_bytes() for name in (*TABLES, *PUBLISHED)}

    def rows(self, name: str = "benchmark.parquet") -> list[dict[str, Any]]:
        return list(pyarrow.parquet.read_table(self.run_dir / name).to_pylist())

    def canonical_rows(self) -> dict[str, str]:
        """Task id to the canonical JSON of its published row."""
        return {row["task_id"]: json.dumps(row, sort_keys=True) for row in self.rows()}

    def published(self) -> list[str]:
        """Names of a publication's files that are there."""
        names = ("run_manifest.json", *PUBLISHED, "exports")
        return [name for name in names if (self.run_dir / name).exists()]

    def leftovers(self) -> list[str]:
        """What only a killed process leaves: half entries, staging, temporary siblings."""
        found = [*self.build.glob(".tmp-*"), *self.run_dir.glob(".stage12-*")]
        for directory in (*self.build.glob("refs/*"), self.run_dir, self.run_dir / "stage_cache"):
            found += directory.glob(".*.[1-9]*-????????????")
        return sorted(path.name for path in found)

    def events(self) -> list[dict[str, Any]]:
        """What the last invocation did, shard by shard."""
        newest = max(path for path in (self.build / "log").iterdir() if path.is_dir())
        return [event for path in sorted(newest.glob("*.json")) for event in json.loads(path.read_bytes())["events"]]

    def shards(self, action: str) -> list[str]:
        """`stage:shard` of the last invocation's shards that ended so, sorted."""
        return sorted(
            f"{event['stage']}:{event['shard']}"
            for event in self.events()
            if event["action"] == action and event["shard"] is not None
        )

    def merges(self, action: str) -> list[str]:
        """Stages of the last invocation whose own result ended so, sorted."""
        return sorted(event["stage"] for event in self.events() if event["action"] == action and not event["shard"])

    def pointers(self) -> dict[str, dict[str, Any]]:
        """Stage to its pointer; only one configuration may have run."""
        (refs,) = (self.build / "refs").iterdir()
        return {path.stem: json.loads(path.read_bytes()) for path in refs.glob("*.json")}

    def snapshot(self, *tops: str) -> dict[str, bytes]:
        """Every file below these directories (default: the whole project) but logs, doit's database and locks."""
        found: dict[str, bytes] = {}
        for top in tops or (".",):
            for path in sorted((self.root / top).rglob("*")):
                name = path.relative_to(self.root).as_posix()
                if path.is_file() and not name.startswith(("build/log/", "build/.doit.db", "build/.lock")):
                    found[name] = path.read_bytes()
        return found

    def copy(self, root: Path) -> Project:
        shutil.copytree(self.root, root)
        return Project(root)


class Running:
    """doit at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.workers: set[int] = set()

    def until(self, reached: Callable[[], bool]) -> bool:
        """Watch until the condition holds (True) or the process is over (False); what it looks at may vanish."""

        def holds() -> bool:
            with suppress(FileNotFoundError):
                return reached()
            return False

        while not holds():
            try:
                self.process.wait(timeout=0.001)
            except subprocess.TimeoutExpired:
                continue
            return holds()
        return True

    def signal(self, number: int) -> None:
        """Send a signal to doit alone, noting the processes it has started by now."""
        self.workers |= descendants(self.process.pid)
        self.process.send_signal(number)

    def end(self) -> Ended:
        """Wait for the end of doit and of every process it had when it was signalled."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        patience = time.monotonic() + PATIENCE_S
        while any(alive(pid) for pid in self.workers):
            assert time.monotonic() < patience, "processes of the run outlived it"
            os.sched_yield()
        return Ended(self.process.returncode, out, err)

    def kill(self) -> Ended:
        self.signal(signal.SIGKILL)
        return self.end()


def descendants(pid: int) -> set[int]:
    """Processes started by `pid`, directly or not, that are there now."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents():
        children.setdefault(parent, []).append(child)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.add(child)
            waiting.append(child)
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be collected does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            yield int(entry.name), int(stat.rpartition(")")[2].split()[1])


def config_mapping(**edits: object) -> dict[str, Any]:
    """The configuration of a test project; edits as in `Project.configure`."""
    mapping: dict[str, Any] = {
        "family": "bfcl",
        "expt_name": "trial",
        "output_dir": "../build/runs",
        "oracle_pack": {"manifest_path": "../packs/studio/manifest.yaml"},
        "oracle_runtime": {"clock": CLOCK},
        "lineage": {"policy": "strict_separation"},
        "random_seed": 7,
        "task_generation": {"tasks_per_category": 4},
    }
    for name, value in edits.items():
        *parts, last = name.split("__")
        holder = mapping
        for part in parts:
            holder = holder.setdefault(part, {})
        holder[last] = value
    return mapping


def write_project(root: Path, *edits: Edit, templates: tuple[str, ...] = BASE, **config: object) -> Project:
    """A project that has never been built; edits are those of `tests.packs`, `config` those of `configure`."""
    root.mkdir(parents=True, exist_ok=True)
    project = Project(root)
    shutil.copyfile(REPOSITORY / "dodo.py", project.root / "dodo.py")
    write_pack(project.pack, *edits, templates=templates)
    project.configure(**config)
    return project
