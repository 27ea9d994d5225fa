"""What can go wrong around a build: kills at any instant, full disks, other users, clocks that jump."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bfcl.release.verify import verify_release
from tests.system.project import PUBLISHED, REPOSITORY, Project

NOBODY = 65534
WHOLE = ["run_manifest.json", *PUBLISHED]


BANKING_RUNS = {"banking_vn": "banking_vn", "banking_vn.publication": "banking_vn_publication"}
"""The bundled configurations of the pack of a retail bank, and the directory of the run that each makes."""


class Banking(Project):
    """The bundled pack of a retail bank under one of its configurations."""

    def __init__(self, root: Path, configuration: str) -> None:
        super().__init__(root)
        self.configuration = configuration

    @property
    def run_dir(self) -> Path:
        return self.build / "runs" / BANKING_RUNS[self.configuration]

    @property
    def config(self) -> Path:
        return self.root / "configs" / f"{self.configuration}.yaml"

    def command(self, *arguments: str) -> list[str]:
        return super().command(*arguments, f"config=configs/{self.config.name}")


def write_banking(root: Path, configuration: str = "banking_vn") -> Banking:
    """The bundled pack in a project of its own, never built; `configuration` is one of `BANKING_RUNS`."""
    project = Banking(root, configuration)
    shutil.copytree(
        REPOSITORY / "packs" / "banking_vn_oracle_pack",
        root / "packs" / "banking_vn_oracle_pack",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("dodo.py", f"configs/{configuration}.yaml"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(REPOSITORY / name, root / name)
    return project


# --- kills --------------------------------------------------------------------------------------------------------


def stored(project: Project) -> set[str]:
    """Addresses of the shards that are stored, but for those that only a bad moment may have caused."""
    found = set()
    for path in project.build.glob("*/record.json"):
        record = json.loads(path.read_bytes())
        if record["key"]["shard"] is not None and "transient" not in record["files"]:
            found.add(path.parent.name)
    return found


class Moment(NamedTuple):
    """So many seconds after a run started, or after it was past the gate."""

    past_gate: bool
    seconds: float


class Spans(NamedTuple):
    """How long a run takes that nobody disturbs, and the part of that behind the gate."""

    whole: float
    behind_gate: float


def undisturbed(project: Project) -> tuple[Spans, dict[str, bytes]]:
    """Durations and tables of a run that is left alone."""
    began = time.monotonic()
    running = project.start("generate")
    assert running.until(past_gate(project))
    opened = time.monotonic()
    ended = running.end()
    assert ended.status == 0, ended.out + ended.err
    return Spans(time.monotonic() - began, time.monotonic() - opened), project.tables()


def past_gate(project: Project) -> Callable[[], bool]:
    """Whether an invocation that begins now has passed the gate."""
    known = set((project.build / "log").glob("*/gold_gate.json"))
    return lambda: bool(set((project.build / "log").glob("*/gold_gate.json")) - known)


def moments(seed: int, spans: Spans) -> Iterator[Moment]:
    """Moments of a run at random, every other one behind the gate, where results are stored and published.

    Equal fractions of the spans for equal seeds.
    """
    chance = random.Random(seed)
    while True:
        yield Moment(False, chance.random() * spans.whole)
        yield Moment(True, chance.random() * spans.behind_gate)


def kill_at(project: Project, moment: Moment) -> bool:
    """Start a run and kill it and see that nothing half-published is left; False where it was over before.

    No process of the run may outlive it, and what is there has to be no release or a whole one.
    """
    reached = past_gate(project)
    running = project.start("generate")
    if moment.past_gate:
        running.until(reached)
    try:
        running.process.wait(timeout=moment.seconds)
    except subprocess.TimeoutExpired:
        running.kill()
        killed = True
    else:
        ended = running.end()
        assert ended.status == 0, ended.out + ended.err
        killed = False
    if (project.run_dir / "run_manifest.json").exists():
        verify_release(project.run_dir)
        assert project.published() == WHOLE
    return killed


class Survived(NamedTuple):
    """What became of one project: runs really killed, shards they had stored, shards the last run still computed."""

    kills: int
    kept: int
    computed: int


def survive(project: Project, kills: Sequence[Moment], tables: dict[str, bytes]) -> Survived:
    """Kill runs of one project at these moments, then let one come to its end.

    The end has to be the release an undisturbed run publishes (`tables`), made of every shard that was finished before.
    """
    before = stored(project)
    killed = sum([kill_at(project, moment) for moment in kills])
    kept = stored(project)
    last = project.generate()
    shards = [event for event in project.events() if event["shard"] is not None]
    again = {event["fp"] for event in shards if event["action"] == "computed"}
    assert again.isdisjoint(kept), f"computed again though stored: {sorted(again & kept)}"
    assert project.published() == WHOLE
    assert project.leftovers() == []
    if "up to date" not in last.out:
        # A run with nothing to do starts no oracle, and whoever starts one clears away what killed ones left.
        assert list(project.temporary.iterdir()) == []
    assert project.tables() == tables
    verify_release(project.run_dir)
    return Survived(killed, len(kept - before), len(again))


# --- disks and users ----------------------------------------------------------------------------------------------


@contextmanager
def small_disk(place: Path, size_kib: int, files: int = 0) -> Iterator[None]:
    """Mount a file system of this size, for this many files where that is limited, at `place`.

    Raises: PermissionError where this process may not.
    """
    place.mkdir(parents=True, exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={size_kib}k,nr_inodes={files}", "none", str(place))
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def grow_disk(place: Path, size_kib: int) -> None:
    """Give a mounted `small_disk` another size."""
    _mount("-o", f"remount,size={size_kib}k", str(place))


def _mount(*arguments: str) -> None:
    if shutil.which("mount") is None:
        raise PermissionError("no `mount` here")
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise PermissionError(done.stderr)


@contextmanager
def open_directory() -> Iterator[Path]:
    """A temporary directory that every user may enter, which pytest's own are not."""
    place = Path(tempfile.mkdtemp(prefix="bfcl-test-")).resolve()
    place.chmod(0o755)
    try:
        yield place
    finally:
        shutil.rmtree(place)


def become_nobody() -> None:
    """For the child of a process of root: give up every right, and let new files be nobody else's business."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.umask(0o077)


def nobody_can_run_python() -> bool:
    """Whether this process may become another user who can read the interpreter, its libraries and the sources."""
    if os.geteuid() != 0:
        return False
    try:
        done = subprocess.run(
            [sys.executable, "-c", "import bfcl.graph.tasks, doit, pyarrow.parquet"],
            cwd="/",
            env={"PYTHONPATH": str(REPOSITORY), "PATH": os.environ["PATH"]},
            preexec_fn=become_nobody,
            capture_output=True,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def own_all(root: Path, user: int) -> None:
    """Give a whole tree to a user."""
    for path in (root, *root.rglob("*")):
        os.chown(path, user, user, follow_symlinks=False)


# --- clocks -------------------------------------------------------------------------------------------------------

TRAVELLING = """
import sys
from datetime import datetime, timezone
import time_machine
moment, *sys.argv[1:] = sys.argv[1:]
from doit.__main__ import main
with time_machine.travel(datetime.fromisoformat(moment), tick=True):
    sys.exit(main())
"""


class Elsewhen(Project):
    """A project whose doit believes that it is another moment."""

    moment = "2026-01-01T00:00:00+00:00"

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-c", TRAVELLING, self.moment, *arguments]
