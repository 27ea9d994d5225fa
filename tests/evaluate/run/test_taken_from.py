"""What a reported directory says that it took answers from stands, whoever runs the command again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from bfcl.errors import Problem
from bfcl.evaluate.after.verify import verify_evaluation
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.how import How
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.arena import CANARY, KEY, Arena, Candidate, Edit, put, served
from tests.evaluate.refusals import refused

HOW = How(environment={KEY: CANARY})
NO_MANIFEST = put("outputs", "write_eval_manifest", value=False)


class Bench:
    """An evaluation of one candidate, `late`, that took everything over from another, `early`."""

    def __init__(self, arena: Arena, candidate: Candidate) -> None:
        self.arena = arena
        self.candidate = candidate

    def run(self, name: str, earlier: str | None = None, *edits: Edit) -> None:
        path = self.arena.configure(name, self.candidate.base_url, *edits)
        resume_from = None if earlier is None else self.arena.out(earlier)
        evaluate(Envelope(path=path, eval_config_path=path, resume_from=resume_from), load_settings(path), HOW)

    def refused(self, name: str, *edits: Edit) -> tuple[Problem, ...]:
        return refused(lambda: self.run(name, None, *edits))

    def interrupted(self, name: str, earlier: str | None) -> dict[str, bytes]:
        """As an interrupt leaves it that comes between report and manifest; the files it would have had."""
        self.run(name, earlier)
        whole = self.arena.files(name)
        (self.arena.out(name) / "eval_manifest.json").unlink()
        return whole

    def told(self, name: str) -> Any:
        return json.loads((self.arena.out(name) / "eval_manifest.json").read_bytes())["resumed_from"]

    def recorded(self, name: str) -> Any:
        """What the resolved configuration calls `resume_from`."""
        document = json.loads((self.arena.out(name) / "resolved_eval_config.json").read_bytes())
        return document["resolved_paths"]["resume_from"]


@pytest.fixture
def bench(arena: Arena) -> Iterator[Bench]:
    with served(arena.rows()) as candidate:
        found = Bench(arena, candidate)
        found.run("early")
        yield found


def test_run_that_is_let_end_names_what_it_took_answers_from(bench: Bench) -> None:
    whole = bench.interrupted("late", "early")
    asked = len(bench.candidate.bodies)
    bench.run("late")
    assert (bench.arena.files("late"), len(bench.candidate.bodies)) == (whole, asked)
    assert bench.told("late")["candidate_io_cache"]["content_hash"].startswith("sha256:")
    assert bench.recorded("late") == str(bench.arena.out("early"))
    assert verify_evaluation(bench.arena.out("late")).calls == asked


def test_run_that_asked_by_itself_has_taken_nothing_over_whatever_it_is_let_end_with(bench: Bench) -> None:
    whole = bench.interrupted("late", None)
    bench.run("late", "early")
    assert bench.arena.files("late") == whole
    assert (bench.told("late"), bench.recorded("late")) == (None, None)


def test_run_is_not_let_end_where_what_its_manifest_has_to_name_is_gone(bench: Bench) -> None:
    bench.interrupted("late", "early")
    early, late = bench.arena.out("early"), bench.arena.out("late")
    early.rename(early.with_name("aside"))
    before = {path.name: path.read_bytes() for path in late.iterdir()}
    (problem,) = bench.refused("late")
    assert problem.field == "resume_from"
    early, late = (path.relative_to(bench.arena.root) for path in (early, late))
    assert str(problem) == (
        f"{late}/resolved_eval_config.json: eval_artifact_invalid: says that answers were taken over "
        f"from {early}, which is gone; expected it, as eval_manifest.json is not written yet and has to name its "
        f"records\n  fix: bring {early} back, or evaluate into another `outputs.output_dir` with `--resume-from "
        f"{late}` (`resume_from`): what was answered is not asked again"
    )
    assert {path.name: path.read_bytes() for path in late.iterdir() if path.name in before} == before
    bench.arena.root.joinpath("build/eval/aside").rename(early)
    bench.run("late")
    assert bench.told("late") is not None


def test_run_without_a_manifest_replays_without_what_it_took_answers_from(bench: Bench) -> None:
    bench.run("late", "early", NO_MANIFEST)
    before, asked = bench.arena.files("late"), len(bench.candidate.bodies)
    shutil.rmtree(bench.arena.out("early"))
    bench.run("late", None, NO_MANIFEST)
    assert (bench.arena.files("late"), len(bench.candidate.bodies)) == (before, asked)
    assert bench.recorded("late") == str(bench.arena.out("early"))


def test_replay_of_a_finished_run_leaves_what_its_configuration_says(bench: Bench) -> None:
    bench.run("late", "early")
    shutil.rmtree(bench.arena.out("early"))
    bench.run("late")
    assert bench.recorded("late") == str(bench.arena.out("early"))


def test_directory_that_says_nothing_of_itself_has_what_it_is_told(bench: Bench) -> None:
    bench.interrupted("late", "early")
    (bench.arena.out("late") / "resolved_eval_config.json").unlink()
    bench.run("late", "early")
    assert bench.told("late") is not None


def test_directory_whose_word_cannot_be_read_is_refused(bench: Bench) -> None:
    bench.interrupted("late", "early")
    (bench.arena.out("late") / "resolved_eval_config.json").write_bytes(b"[]")
    (problem,) = bench.refused("late")
    path = "build/eval/late/resolved_eval_config.json"
    assert (problem.code, problem.path, problem.message) == ("eval_artifact_invalid", path, "holds no JSON object")
