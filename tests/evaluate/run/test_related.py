"""Whoever goes on from a run that has nothing to give is told before anybody is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bfcl.errors import Problem
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.how import How, Silent
from bfcl.evaluate.run.outcome import CallSources, Completed, Preflight
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from tests.evaluate.arena import KEY, Arena, Candidate, Edit, asks, executable, put, repeats, served
from tests.evaluate.refusals import refused
from tests.evaluate.source.builder import Site


class Published(Site):
    """The arena's own release, to be edited."""

    @property
    def run_dir(self) -> Path:
        return Arena(self.root).run_dir


class Noticing(Silent):
    """Keeps the warnings."""

    def __init__(self) -> None:
        self.warned: list[Problem] = []

    def warn(self, problems: Sequence[Problem]) -> None:
        self.warned += problems


@pytest.fixture
def candidate(arena: Arena) -> Iterator[Candidate]:
    with served(arena.rows()) as candidate:
        yield candidate


class Runs:
    def __init__(self, arena: Arena, candidate: Candidate) -> None:
        self.arena = arena
        self.candidate = candidate

    def __call__(
        self, name: str, *edits: Edit, earlier: str | None = None, dry_run: bool = False
    ) -> tuple[Completed | Preflight, list[Problem]]:
        path = self.arena.configure(name, self.candidate.base_url, *edits)
        resume_from = None if earlier is None else self.arena.out(earlier)
        envelope = Envelope(path=path, eval_config_path=path, resume_from=resume_from, dry_run=dry_run)
        showing = Noticing()
        how = How(eval_run_id="R", environment={KEY: "k"}, showing=showing)
        outcome = evaluate(envelope, load_settings(path), how)
        return outcome, list(outcome.warnings) if isinstance(outcome, Preflight) else showing.warned


@pytest.fixture
def runs(arena: Arena, candidate: Candidate) -> Runs:
    return Runs(arena, candidate)


def sources(outcome: Completed | Preflight) -> CallSources:
    assert isinstance(outcome, Completed)
    return outcome.calls


@pytest.mark.parametrize("edits", [(), (executable,), (repeats(2),)], ids=["trace", "executable", "repeats"])
def test_run_of_the_same_requests_takes_all_over_and_a_finished_one_replays(
    runs: Runs, edits: tuple[Edit, ...]
) -> None:
    first, _ = runs("first", *edits)
    turns = len(runs.candidate.bodies)
    assert sources(first) == CallSources(asked=turns, taken_over=0, replayed=0)
    # A limit is no part of a request.
    more = put("limits", "max_turns", value=9)
    second, warned = runs("second", *edits, more, earlier="first")
    assert (sources(second), warned) == (CallSources(asked=0, taken_over=turns, replayed=0), [])
    for _ in range(2):
        again, warned = runs("second", *edits, more)
        assert (sources(again), warned) == (CallSources(asked=0, taken_over=0, replayed=turns), [])
    assert len(runs.candidate.bodies) == turns


def test_finished_run_is_replayed_whatever_it_is_told_to_go_on_from(runs: Runs) -> None:
    runs("stranger", asks("scripted-gold", alias="stranger"))
    first, _ = runs("first")
    again, warned = runs("first", earlier="stranger")
    assert (sources(again).replayed, warned) == (sources(first).asked, [])


@pytest.mark.parametrize("dry_run", [True, False])
def test_run_of_other_candidates_is_refused_before_anybody_is_asked(runs: Runs, dry_run: bool) -> None:
    runs("first", asks("scripted-gold", alias="stranger"))
    asked = len(runs.candidate.bodies)
    (problem,) = refused(lambda: runs("second", earlier="first", dry_run=dry_run))
    assert str(problem) == (
        "build/eval/first: eval_cli_invalid: resume_from is of other candidates: stranger "
        "(scripted:scripted-gold@provider_managed) answered there, scripted (scripted:scripted-gold@provider_managed) "
        "is asked here\n"
        "  fix: name the directory of the run to go on with, or leave `resume_from` out"
    )
    assert len(runs.candidate.bodies) == asked
    # Nothing is left that stands in the way of a run without it.
    assert sources(runs("second")[0]).asked == asked


def test_run_on_another_benchmark_is_refused(runs: Runs) -> None:
    runs("first")
    asked = len(runs.candidate.bodies)
    Published(runs.arena.root).edit_rows(lambda row: {**row, "task_id": f"{row['task_id']}x"})
    (problem,) = refused(lambda: runs("second", earlier="first"))
    assert (problem.code, problem.field) == ("eval_cli_invalid", "resume_from")
    assert problem.message == (f"resume_from is of another benchmark: none of its {asked} answers is to a task of this")
    assert len(runs.candidate.bodies) == asked


def test_same_candidate_asked_otherwise_is_warned_of_and_runs(runs: Runs) -> None:
    first, _ = runs("first")
    asked = sources(first).asked
    hotter = put("candidates", 0, "inference", "max_tokens", value=77)
    dry, told = runs("second", hotter, earlier="first", dry_run=True)
    second, warned = runs("second", hotter, earlier="first")
    assert isinstance(dry, Preflight)
    assert sources(second) == CallSources(asked=asked, taken_over=0, replayed=0)
    assert [str(problem) for problem in told] == [str(problem) for problem in warned]
    assert [str(problem) for problem in warned] == [
        f"build/eval/first: resumed_answers_unusable: {asked} answers are on record, and none is to a request as this "
        "run makes it; all is asked again\n"
        "  fix: where they were paid for, stop, and take back what was changed: model, endpoint, inference settings, "
        "prompts and tools of the tasks"
    ]


def test_nothing_is_said_of_a_run_that_got_no_answer(runs: Runs) -> None:
    nowhere = put("candidates", 0, "api", value={"base_url": "http://127.0.0.1:9/v1", "api_key_env": KEY})
    first, _ = runs("first", nowhere)
    assert isinstance(first, Completed)
    # What its warning advises: mend the address, and go on from here.
    second, warned = runs("second", earlier="first")
    assert (sources(second).taken_over, warned) == (0, [])
    assert first.unanswered == {"scripted": {"transport_error (Connection refused)": sources(first).asked}}
