"""Whoever goes on from a run that was killed pays for nothing twice, however early that run was killed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from bfcl.evaluate.run.earlier import Earlier, earlier_runs
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.preflight import prepare
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.pack.layout import shown
from tests.evaluate.arena import KEY, Arena, Candidate, Edit, executable, put, repeats, served
from tests.evaluate.refusals import refused
from tests.evaluate.settings.builder import loaded

HOW = How(eval_run_id="R", environment={KEY: "k"})
ONE_AT_A_TIME = put("limits", "max_parallel_tasks", value=1)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvalSettings:
    monkeypatch.chdir(tmp_path)
    return loaded(tmp_path)


def begun(directory: Path, resume_from: object = None, *more: str) -> Path:
    """An output directory of a run that did no more than begin."""
    directory.mkdir(parents=True, exist_ok=True)
    document = {"resolved_paths": {"resume_from": None if resume_from is None else str(resume_from)}}
    (directory / "resolved_eval_config.json").write_text(json.dumps(document))
    for name in more:
        (directory / name).write_bytes(b"{}")
    return directory


def resuming(directory: Path | None) -> Envelope:
    path = Path.cwd() / "run.yaml"
    return Envelope(path=path, eval_config_path=path, resume_from=directory)


def test_runs_are_followed_to_the_first_one(settings: EvalSettings, tmp_path: Path) -> None:
    assert earlier_runs(resuming(None), settings) == Earlier((), None)
    first = begun(tmp_path / "first")
    second = begun(tmp_path / "second", first)
    third = begun(tmp_path / "third", second)
    found = earlier_runs(resuming(third), settings)
    assert (found, found.warnings()) == (Earlier((third, second, first), None), ())


@pytest.mark.parametrize("report", ["eval_report.json", "held_out_eval_report.json"])
def test_run_that_ended_has_everything_itself(settings: EvalSettings, tmp_path: Path, report: str) -> None:
    second = begun(tmp_path / "second", begun(tmp_path / "first"), report)
    assert earlier_runs(resuming(second), settings).directories == (second,)


def test_runs_that_name_each_other_or_the_output_directory_end_the_way(settings: EvalSettings, tmp_path: Path) -> None:
    first = begun(tmp_path / "first", tmp_path / "second")
    second = begun(tmp_path / "second", first)
    assert earlier_runs(resuming(second), settings) == Earlier((second, first), None)
    begun(first, settings.outputs.output_dir)
    begun(settings.outputs.output_dir)
    assert earlier_runs(resuming(second), settings) == Earlier((second, first), None)


def test_run_whose_own_source_is_gone_counts_and_warns(settings: EvalSettings, tmp_path: Path) -> None:
    second = begun(tmp_path / "second", tmp_path / "first")
    found = earlier_runs(resuming(second), settings)
    assert found.directories == (second,)
    (warning,) = found.warnings()
    assert str(warning) == (
        "second: resumed_directory_gone: was going on from first, which is gone; what it had not taken over is asked "
        "again\n  fix: stop, and bring back first first, where its answers were paid for"
    )


def test_directory_of_a_run_that_was_stopped_before_its_first_answer_will_do(
    settings: EvalSettings, tmp_path: Path
) -> None:
    (tmp_path / "resolved_eval_config.json").write_bytes(b"{}")
    assert earlier_runs(resuming(tmp_path), settings) == Earlier((tmp_path,), None)


def test_directory_of_a_run_that_a_gate_refused_is_refused(settings: EvalSettings, tmp_path: Path) -> None:
    first = begun(tmp_path / "first")
    failure = first / "source_verification_failure.json"
    failure.write_text('{"failures": [{"code": "eval_source_oracle_pack_drift"}]}')
    (problem,) = refused(lambda: earlier_runs(resuming(first), settings))
    assert str(problem) == (
        "run.yaml: eval_cli_invalid: resume_from names first, which has no answer on record: the evaluation was "
        "refused before anybody was asked: eval_source_oracle_pack_drift, see source_verification_failure.json\n"
        "  fix: name the directory of the run to go on with, or leave `resume_from` out"
    )
    # One whose answers are there is another matter, whatever its source has become since.
    (first / "candidate_io_cache.jsonl").touch()
    assert earlier_runs(resuming(first), settings).directories == (first,)


def test_directory_of_no_run_is_refused(settings: EvalSettings, tmp_path: Path) -> None:
    (problem,) = refused(lambda: earlier_runs(resuming(tmp_path / "run"), settings))
    assert str(problem) == (
        "run.yaml: eval_cli_invalid: resume_from holds neither resolved_eval_config.json nor candidate_io_cache.jsonl; "
        "expected an output directory\n"
        "  fix: name the directory of the run to go on with, or leave `resume_from` out"
    )


def test_output_directory_itself_is_refused(settings: EvalSettings) -> None:
    (problem,) = refused(lambda: earlier_runs(resuming(settings.outputs.output_dir), settings))
    assert problem.field == "resume_from"
    out = shown(settings.outputs.output_dir)
    assert problem.message == (
        f"resume_from is the output directory itself, {out}; expected another than `outputs.output_dir`"
    )
    assert problem.fix == "give `outputs.output_dir` another value: what an earlier run left stays as it is"


# --- whole runs ---


class Bench:
    """Evaluations of one candidate, one after the other."""

    def __init__(self, arena: Arena, candidate: Candidate, *edits: Edit) -> None:
        self.arena = arena
        self.candidate = candidate
        self.edits = (ONE_AT_A_TIME, *edits)

    def envelope(self, name: str, earlier: str | None = None, *, most: int | None = None) -> Envelope:
        path = self.arena.configure(name, self.candidate.base_url, *self.edits)
        resume_from = None if earlier is None else self.arena.out(earlier)
        return Envelope(path=path, eval_config_path=path, resume_from=resume_from, max_requests=most)

    def run(self, name: str, earlier: str | None = None) -> None:
        envelope = self.envelope(name, earlier)
        evaluate(envelope, load_settings(envelope.path), HOW)

    def cut_off(self, name: str, earlier: str | None = None, *, after: int) -> None:
        """Stop once so many requests were sent."""
        envelope = self.envelope(name, earlier, most=after)
        (problem,) = refused(lambda: evaluate(envelope, load_settings(envelope.path), HOW))
        assert problem.code == "eval_budget_exhausted"

    def killed_at_once(self, name: str, earlier: str) -> None:
        """As a kill leaves it that comes after the gates and before the first answer is taken over."""
        envelope = self.envelope(name, earlier)
        prepare(envelope, load_settings(envelope.path), HOW)


@pytest.fixture(params=["trace", "executable"])
def bench(arena: Arena, request: pytest.FixtureRequest) -> Iterator[Bench]:
    edits = (repeats(2, "increment"), put("candidates", 0, "inference", "seed", value=5))
    with served(arena.rows()) as candidate:
        yield Bench(arena, candidate, *edits, *((executable,) if request.param == "executable" else ()))


def test_run_killed_before_it_took_anything_over_passes_on_what_it_would_have(bench: Bench) -> None:
    bench.run("whole")
    turns = len(bench.candidate.bodies)
    bench.candidate.bodies.clear()
    bench.cut_off("first", after=6)
    bench.killed_at_once("second", "first")
    bench.cut_off("third", "second", after=3)
    bench.killed_at_once("fourth", "third")
    bench.killed_at_once("fifth", "fourth")
    bench.run("last", "fifth")
    assert len(bench.candidate.bodies) == len(set(bench.candidate.prompts)) == turns
    assert bench.arena.results("last") == bench.arena.results("whole")
    told = json.loads((bench.arena.out("last") / "eval_manifest.json").read_bytes())["resumed_from"]
    hashes = []
    while told is not None:
        hashes.append(told["candidate_io_cache"]["content_hash"] is not None)
        told = told.get("resumed_from")
    assert hashes == [False, False, True, False, True]


def test_finished_run_replays_without_those_it_went_on_from(bench: Bench) -> None:
    bench.cut_off("first", after=6)
    bench.killed_at_once("second", "first")
    bench.run("last", "second")
    before = bench.arena.files("last")
    for name in ("first", "second"):
        shutil.rmtree(bench.arena.out(name))
    asked = len(bench.candidate.bodies)
    bench.run("last")
    assert (bench.arena.files("last"), len(bench.candidate.bodies)) == (before, asked)
