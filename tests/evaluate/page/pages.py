"""Evaluations as the page gets them, built by hand: episodes of the real driver and scorer, no directory.

data = page_data({"potter": [None] * 3, "novice": [ANSWERS["wrong_value"], None, hostile()]})
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_of
from bfcl.evaluate.after.failures import Episode, Failure, failure_of
from bfcl.evaluate.after.finished import Finished, Measured
from bfcl.evaluate.after.paired import Tries
from bfcl.evaluate.artifacts.committed import Committed
from bfcl.evaluate.page.data import Entrant, Evaluation, PageData
from bfcl.evaluate.page.usage import usage_of
from bfcl.evaluate.records import EpisodeEvidence, Script, TaskScore
from bfcl.evaluate.run.unanswered import stop_cause
from bfcl.evaluate.score.breakdowns import Kinds
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.score.repeats import repeated
from bfcl.evaluate.score.result_rows import result_row
from tests.evaluate.driven import SCORING, Answer, Message, answering, calls, one_group, play, wire_call

MARKUP = "</script><img src=x onerror=alert(1)><script>alert('model')</script>"
"""What must never become an element, and names nothing outside."""

Told = Answer | None
"""A candidate's answer to the first turn of a task; None where it is as expected."""


def hostile() -> Message:
    """A reply that is made of markup: words, tool, argument and value."""
    return calls(wire_call(MARKUP, {MARKUP: MARKUP}), content=MARKUP)


def kinds(number: int) -> Kinds:
    """Of a task by its number: two templates to a turn policy."""
    return Kinds(
        category=("reads", "writes")[number % 2],
        difficulty=(None, "easy", "hard")[number % 3],
        turn_policy=("single_turn", "multi_turn")[number % 4 // 2],
        language="en",
        call_order="strict",
        template_id=f"template_{number % 4}",
    )


def task_id(number: int) -> str:
    return f"plant__{number:04}"


def episode(number: int, told: Told, alias: str, trial: int = 0) -> tuple[Script, EpisodeEvidence]:
    """One task, played."""
    script = dataclasses.replace(one_group(), task_id=task_id(number), template_id=kinds(number).template_id)
    instead = {} if told is None else {0: told}
    played = play(script, answering(script, instead), trial=trial)
    return script, dataclasses.replace(played, candidate_alias=alias)


def entrant(alias: str, answers: Sequence[Told], further: Sequence[Sequence[Told]] = ()) -> Entrant:
    """A candidate that answers so; `further` are its answers in later trials."""
    played = [episode(number, told, alias) for number, told in enumerate(answers)]
    scores = tuple(score_episode(*each, SCORING) for each in played)
    later = [
        score_episode(*episode(number, told, alias, trial), SCORING)
        for trial, those in enumerate(further, 1)
        for number, told in enumerate(those)
    ]
    return Entrant(
        measured=measured(alias, scores),
        scores=scores,
        tries={
            one.task_id: Tries(
                successes=sum(each.task_success for each in (*scores, *later) if each.task_id == one.task_id),
                trials=1 + len(further),
            )
            for one in scores
        },
        repeated=repeated([*scores, *later], trials=1 + len(further)) if further else None,
        failures=tuple(failures(played, scores)),
        usage=usage_of(()),
        stops=Counter(stop_cause(score, None) for score in scores if score.non_candidate_stop),
    )


def alike(alias: str, answer: Answer, tasks: int) -> Entrant:
    """A candidate that answers every one of many tasks so; played once."""
    one = entrant(alias, [answer])
    (score,), (failure,) = one.scores, tuple(one.failures)
    ids = [task_id(number) for number in range(tasks)]
    scores = tuple(dataclasses.replace(score, task_id=each) for each in ids)
    return dataclasses.replace(
        one,
        measured=measured(alias, scores),
        scores=scores,
        tries={each: Tries(successes=int(score.task_success), trials=1) for each in ids},
        failures=tuple(
            dataclasses.replace(
                failure,
                episode=dataclasses.replace(
                    failure.episode, evidence=dataclasses.replace(failure.episode.evidence, task_id=each)
                ),
            )
            for each in ids
        ),
    )


def measured(alias: str, scores: Sequence[TaskScore]) -> Measured:
    """A candidate as a report tells of it."""
    return Measured(
        alias=alias,
        canonical_id=f"hub:org/{alias}@{'a' * 40}",
        scope="trace",
        task_count=len(scores),
        successful_tasks=sum(score.task_success for score in scores),
        non_candidate_stops=sum(score.non_candidate_stop for score in scores),
        metrics={},
        aggregate_hash=sha256_of(alias.encode()),
        results=tuple(result_row(score, f"hub:org/{alias}") for score in scores),
    )


def failures(played: Sequence[tuple[Script, EpisodeEvidence]], scores: Sequence[TaskScore]) -> Iterator[Failure]:
    for (script, evidence), score in zip(played, scores, strict=True):
        one = Episode(script=script, evidence=evidence, score=score, prompt_of=sending(script))
        told = failure_of(one, SCORING)
        if told is not None:
            yield told


def sending(script: Script) -> Callable[[str], Sequence[Mapping[str, Json]]]:
    """What a candidate is sent, as if only the first turn of this script were ever asked."""
    return lambda _: script.seed_messages


def evaluation(name: str, entrants: Sequence[Entrant], **manifest: Json) -> Evaluation:
    """A finished evaluation; `manifest` edits what its manifest says."""
    told: dict[str, Json] = {
        "eval_run_id": f"run-{name}",
        "eval_config_hash": sha256_of(b"config"),
        "measurement_hash": sha256_of(b"measurement"),
        "source_identity": sha256_of(b"source"),
        "plan_identity": sha256_of(b"plan"),
        "scoring_policy_hash": SCORING.policy_hash,
        "eval_scope": "trace",
        "limits": {"max_turns": 12, "max_parallel_tasks": 4},
        "comparison_set": {"policy": "common_intersection", "task_count": len(entrants[0].scores)},
        "source": {
            "run_id": "plant-run",
            "benchmark": {"content_hash": sha256_of(b"benchmark")},
            "run_manifest": {"content_hash": sha256_of(b"run manifest")},
            "oracle": None,
        },
        "publication_allowed": False,
        "non_publication_reasons": ["publication.requested"],
        **manifest,
    }
    report: dict[str, Json] = {
        "scopes": {
            "eval_scope": {"value": "trace", "meaning": "calls are compared"},
            "publication_scope": {"value": "trace_only", "meaning": "stands for scope `trace`"},
        }
    }
    committed = Committed(
        directory=Path("/nowhere") / name, manifest=told, manifest_hash=Digest(sha256_of(name.encode())), files={}
    )
    return Evaluation(
        name=name,
        finished=Finished(committed=committed, report=report, candidates=tuple(one.measured for one in entrants)),
        kinds={task_id(number): kinds(number) for number in range(len(entrants[0].scores))},
        entrants=tuple(entrants),
    )


def page_data(answers: Mapping[str, Sequence[Told]], **manifest: Json) -> PageData:
    """One evaluation of these candidates, by alias."""
    entrants = [entrant(alias, told) for alias, told in sorted(answers.items())]
    return PageData(evaluations=(evaluation("trial", entrants, **manifest),))
