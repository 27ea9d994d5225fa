"""Whoever goes on from a run that has nothing to give is told before anybody is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bfcl.errors import Problem
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.how import How, Silent
from bfcl.evaluate.run.outcome import CallSources, Completed, Preflight
from bfcl.evaluate.run.unanswered import Cause
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


ELSEWHERE = "http://127.0.0.1:9/v1"
SET_BACK = "set it back, or leave --resume-from (`resume_from`) out to ask all again"


def at(url: str) -> Edit:
    return put("candidates", 0, "api", value={"base_url": url, "api_key_env": KEY})


@pytest.mark.parametrize("dry_run", [True, False])
def test_same_candidate_at_another_endpoint_is_refused_before_anybody_is_asked(runs: Runs, dry_run: bool) -> None:
    runs("first")
    asked = len(runs.candidate.bodies)
    (problem,) = refused(lambda: runs("second", at(ELSEWHERE), earlier="first", dry_run=dry_run))
    assert str(problem) == (
        f"build/eval/first: eval_cli_invalid: resume_from has {asked} answers on record, and none is to a request as "
        f'this run makes it: scripted: api.base_url was "{runs.candidate.base_url}", is "{ELSEWHERE}"\n'
        f"  fix: {SET_BACK}"
    )
    assert problem.field == "resume_from"
    assert len(runs.candidate.bodies) == asked
    # Either way that the refusal names is open.
    assert sources(runs("second", earlier="first")[0]) == CallSources(asked=0, taken_over=asked, replayed=0)
    hotter = put("candidates", 0, "inference", "max_tokens", value=77)
    assert sources(runs("third", hotter)[0]) == CallSources(asked=asked, taken_over=0, replayed=0)


def test_every_setting_that_differs_is_named(runs: Runs) -> None:
    runs("first")
    edits = (
        put("candidates", 0, "inference", "max_tokens", value=77),
        put("candidates", 0, "inference", "seed", value=5),
        put("candidates", 0, "provider_api_version", value="v2"),
    )
    (problem,) = refused(lambda: runs("second", *edits, earlier="first"))
    assert problem.message.partition("makes it: ")[2] == (
        'scripted: provider_api_version was "v1", is "v2", inference.max_tokens was 512, is 77, '
        "inference.seed was not sent, is 5"
    )


def test_other_prompts_are_named_and_not_shown(runs: Runs) -> None:
    runs("first")

    def reworded(row: dict[str, Any]) -> dict[str, Any]:
        return {
            **row,
            "messages": [{**one, "content": f"Well. {one['content']}"} for one in row["messages"][:1]]
            + row["messages"][1:],
        }

    Published(runs.arena.root).edit_rows(reworded)
    (problem,) = refused(lambda: runs("second", earlier="first"))
    assert problem.message.endswith("as this run makes it: scripted: the conversation's beginning")


def test_record_that_serves_one_of_two_candidates_is_used(runs: Runs) -> None:
    first, _ = runs("first")

    def two(config: dict[str, Any]) -> None:
        identity = {"source": "scripted", "model": "scripted-silent"}
        other = {**config["candidates"][0], "alias": "other", "model": "scripted-silent", "model_identity": identity}
        config["candidates"].append(other)

    second, warned = runs("second", two, earlier="first")
    # It says nothing, and each of its four tasks is over at once.
    assert (sources(second), warned) == (CallSources(asked=4, taken_over=sources(first).asked, replayed=0), [])


def test_nothing_is_said_of_a_run_that_got_no_answer(runs: Runs) -> None:
    nowhere = put("candidates", 0, "api", value={"base_url": "http://127.0.0.1:9/v1", "api_key_env": KEY})
    first, _ = runs("first", nowhere)
    assert isinstance(first, Completed)
    # What its warning advises: mend the address, and go on from here.
    second, warned = runs("second", earlier="first")
    assert (sources(second).taken_over, warned) == (0, [])
    (stopped,) = first.stopped
    assert stopped.causes == {Cause("transport_error (Connection refused)", "unreached"): sources(first).asked}
