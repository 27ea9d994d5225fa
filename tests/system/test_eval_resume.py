"""Killed, stopped, raced, moved or repeated: nothing is paid for twice, and the same answers come to the same bytes.

Rule: evaluation.md §11, §15; spec README, ruling 11.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import canonical_text
from bfcl.evaluate.scripted.server import Conduct, Serving
from bfcl.evaluate.settings.model import Mode
from tests.evaluate.scripted.served import served
from tests.system.evaluation import (
    CALLS,
    EPISODES,
    EXECUTABLE,
    FINISHED,
    TRACE,
    Bench,
    Evaluation,
    Log,
)
from tests.system.project import Running

SAME = ("eval_report.json", "eval_breakdowns.json", "eval_task_results.parquet")
"""What two runs over the same answers share; the manifest tells of the records besides, which hold times."""
MODELS = ("scripted-gold", "scripted-flaky-0.5")
ODD = {"LC_ALL": "C", "LANG": "tr_TR", "TZ": "Pacific/Chatham", "PYTHONHASHSEED": "4711", "PYTHONUTF8": "0"}
"""Another machine, as far as it could show in a byte."""


@dataclasses.dataclass(kw_only=True)
class Stage:
    """A benchmark, a server that answers for it, and one uninterrupted run."""

    bench: Bench
    modes: tuple[Mode, ...]
    trials: int
    serving: Serving
    log: Log
    directory: Path
    requests: int = 0
    """How many the uninterrupted run took."""

    @property
    def whole(self) -> Evaluation:
        return Evaluation(config=self.directory / "eval.yaml")

    def evaluation(self, directory: Path) -> Evaluation:
        """Two candidates, every request with bytes of its own."""
        edits: dict[tuple[str | int, ...], Any] = {
            ("schema_version",): "1.3",
            ("repeats",): {"trials": self.trials, "seed_policy": "increment"},
            ("limits", "max_parallel_tasks"): 3,
        }
        for number in range(len(MODELS)):
            edits["candidates", number, "inference", "seed"] = 5
        return self.bench.evaluation(directory, self.serving.base_url, MODELS, self.modes, edits)

    def sent(self) -> list[str]:
        """Requests since the last time this was asked."""
        bodies, self.log.bodies[:] = list(self.log.bodies), []
        return [canonical_text(dict(body)) for body in bodies]

    def start(self, measured: Evaluation, share: float, *arguments: str) -> Running:
        """Start it and wait until so large a share of all requests was sent."""
        before = self.serving.requests
        running = measured.start(*arguments)
        assert running.until(lambda: self.serving.requests - before >= max(1, share * self.requests))
        return running


@pytest.fixture(scope="module")
def small(tiny: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The small pack on the oracle, every task twice."""
    with _staged(tiny, tmp_path_factory.mktemp("whole"), EXECUTABLE, 2) as stage:
        yield stage


@pytest.fixture(scope="module")
def large(banking: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The large pack by its traces, every task once."""
    with _staged(banking, tmp_path_factory.mktemp("whole"), TRACE, 1) as stage:
        yield stage


@contextmanager
def _staged(bench: Bench, directory: Path, modes: tuple[Mode, ...], trials: int) -> Iterator[Stage]:
    log = Log()
    with served(bench.candidate, conduct=Conduct(record=log)) as serving:
        stage = Stage(bench=bench, modes=modes, trials=trials, serving=serving, log=log, directory=directory)
        stage.evaluation(directory).succeed()
        stage.requests = serving.requests
        assert set(Counter(stage.sent()).values()) == {1}
        yield stage


def _recorded_bodies(measured: Evaluation) -> list[str]:
    """Bodies of the calls that are concluded on record."""
    concluded = set(measured.completions())
    return [
        canonical_text(one["payload"]["body"])
        for one in measured.records()
        if one["record_type"] == "request" and one["request_hash"] in concluded
    ]


def _go_on(stage: Stage, directory: Path, earlier: Evaluation) -> Evaluation:
    """Resume in a new directory, on another machine; nothing that was on record may be asked again."""
    paid = _recorded_bodies(earlier)
    stage.sent()
    later = stage.evaluation(directory)
    later.succeed("--resume-from", str(earlier.out), **ODD)
    asked = stage.sent()
    assert set(asked) & set(paid) == set()
    assert len(asked) + len(paid) == stage.requests
    assert later.bytes(*SAME) == stage.whole.bytes(*SAME)
    assert sorted(later.completions()) == sorted(stage.whole.completions())
    return later


def _killed(stage: Stage, directory: Path, share: float, *arguments: str) -> Evaluation:
    killed = stage.evaluation(directory)
    assert stage.start(killed, share, *arguments).kill().status == -signal.SIGKILL
    assert not any((killed.out / name).exists() for name in FINISHED)
    return killed


@pytest.mark.parametrize(
    ("name", "share"), [("small", 0.2), ("small", 0.9), pytest.param("large", 0.5, marks=pytest.mark.slow)]
)
def test_killed_run_goes_on_where_it_was_and_ends_in_the_same_bytes(
    name: str, share: float, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    stage: Stage = request.getfixturevalue(name)
    killed = _killed(stage, tmp_path / "killed", share)
    left = killed.bytes(CALLS)
    _go_on(stage, tmp_path / "later", killed)
    assert killed.bytes(CALLS) == left


def test_directory_of_a_killed_run_is_never_mended(small: Stage, tmp_path: Path) -> None:
    killed = _killed(small, tmp_path, 0.3)
    left = killed.bytes(CALLS)
    small.sent()
    again = killed.run()
    assert (again.status, small.sent(), killed.bytes(CALLS)) == (7, [], left)
    assert "eval_cli_artifact_conflict" in again.err


def test_run_that_is_killed_twice_pays_for_each_call_once(small: Stage, tmp_path: Path) -> None:
    first = _killed(small, tmp_path / "first", 0.4)
    paid = set(_recorded_bodies(first))
    small.sent()
    second = _killed(small, tmp_path / "second", 0.3, "--resume-from", str(first.out))
    assert set(small.sent()) & paid == set()
    assert set(_recorded_bodies(second)) > paid
    _go_on(small, tmp_path / "later", second)


def test_terminated_run_keeps_what_was_answered_and_says_how_to_go_on(small: Stage, tmp_path: Path) -> None:
    stopped = small.evaluation(tmp_path / "stopped")
    running = small.start(stopped, 0.5)
    running.signal(signal.SIGTERM)
    ended = running.end()
    assert ended.status == 130
    assert f"interrupted: what was answered is kept in {stopped.out}" in ended.err
    assert "Traceback" not in ended.err
    assert not any((stopped.out / name).exists() for name in FINISHED)
    assert 0 < len(stopped.completions()) < small.requests
    _go_on(small, tmp_path / "later", stopped)


def test_second_run_into_one_directory_is_refused_while_the_first_goes_on(small: Stage, tmp_path: Path) -> None:
    measured = small.evaluation(tmp_path / "shared")
    small.sent()
    running = small.start(measured, 0.2)
    running.signal(signal.SIGSTOP)
    second = measured.run()
    running.signal(signal.SIGCONT)
    first = running.end()
    assert (first.status, second.status) == (0, 3), first.err + second.err
    assert "another evaluation is writing into this directory" in second.err
    assert set(Counter(small.sent()).values()) == {1}
    assert measured.bytes(*SAME) == small.whole.bytes(*SAME)


@pytest.mark.parametrize("name", ["small", pytest.param("large", marks=pytest.mark.slow)])
def test_finished_set_replays_elsewhere_without_network_or_key(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The whole tree is moved, and the machine is another one."""
    stage: Stage = request.getfixturevalue(name)
    roots = (stage.bench.project.root, stage.directory)
    top = Path(os.path.commonpath(roots))
    for root in roots:
        shutil.copytree(root, tmp_path / root.relative_to(top))
    moved = Evaluation(config=tmp_path / stage.directory.relative_to(top) / "eval.yaml", key=None)
    names = (*FINISHED, CALLS, *((EPISODES,) if stage.modes == EXECUTABLE else ()))
    before = moved.bytes(*names)
    stage.sent()
    moved.succeed(**ODD)
    assert moved.bytes(*names) == before == stage.whole.bytes(*names)
    assert stage.sent() == []
    hashes = [json.loads(one.succeed("--dry-run", "--format", "json").out) for one in (moved, stage.whole)]
    assert hashes[0] == hashes[1]
    assert hashes[0]["eval_config_hash"] == stage.whole.report()["eval_config_hash"]


def test_run_cut_off_while_it_writes_its_result_is_completed_of_its_records(small: Stage, tmp_path: Path) -> None:
    """The manifest comes last, so that what is there of a result before it is told again, or not at all."""
    cut = small.evaluation(tmp_path)
    shutil.copytree(small.whole.out, cut.out)
    for name in FINISHED:
        if name != "eval_report.json":
            (cut.out / name).unlink()
    small.sent()
    dataclasses.replace(cut, key=None).succeed()
    assert cut.bytes(*SAME) == small.whole.bytes(*SAME)
    assert (cut.out / "eval_manifest.json").exists()
    assert small.sent() == []
