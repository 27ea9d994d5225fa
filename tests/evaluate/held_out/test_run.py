"""What a held-out run asks, compares and lets out."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.canonical import canonical_text
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.artifacts.names import HELD_OUT_FILE
from bfcl.evaluate.held_out.private import PrivateTasks
from bfcl.evaluate.held_out.report import HeldOutReport, write_report
from bfcl.evaluate.records import Script, TaskScore
from bfcl.evaluate.score.episode import score_episode
from bfcl.modelio.exchange import ChatRequest
from tests.evaluate.driven import Answer, answering, as_expected, candidate, play
from tests.evaluate.held_out.bench import RESERVED, SECRETS, Around, Bench, told


def hidden_ids(private: PrivateTasks) -> set[str]:
    return {one.row.task_id for one in private.tasks}


def fails_private(private: PrivateTasks) -> Callable[[Script], bool]:
    ids = hidden_ids(private)
    return lambda script: script.task_id in ids


def seen_of(bench: Bench) -> dict[str, list[TaskScore]]:
    """What a public trace run of candidates without fault comes to."""
    scripts = bench.scripts(PrivateTasks(tasks=(), refused=0))
    return {
        one.alias: [
            score_episode(
                scripts[task_id],
                play(scripts[task_id], answering(scripts[task_id]), asked=candidate(one.alias)),
                bench.settings.scoring,
            )
            for task_id in one.task_ids
        ]
        for one in bench.plan.candidates
    }


def test_run_held_out_alone_drives_public_and_private_tasks_live(bench: Bench, private: PrivateTasks) -> None:
    around = bench.answering(private, fails=lambda _: False)
    report = told(bench.run(private, around))
    public = len(bench.verified.rows)
    (one,) = report["candidates"]
    assert report["eval_scope"] == "trace_and_executable"
    assert report["tasks"] == {"seen": public, "held_out": 13, "held_out_refused_by_checks": 0}
    assert (one["seen"]["successes"], one["seen"]["tasks"]) == (public, public)
    assert (one["held_out"]["successes"], one["held_out"]["tasks"]) == (13, 13)
    assert one["failures"] == {"seen": {}, "held_out": {}}
    assert around.statuses == ["completed"] * (public + 13)
    assert [one.part for one in around.ended] == ["public"] * public + ["held-out"] * 13
    assert around.before == public + 13
    assert around.asked == ["small"]


def test_run_held_out_tells_the_gap_of_a_candidate_that_knows_only_what_is_public(
    bench: Bench, private: PrivateTasks
) -> None:
    (one,) = told(bench.run(private, bench.answering(private, fails=fails_private(private))))["candidates"]
    assert one["gap"]["value"] == 1.0
    seen, hidden = (one[side]["interval"] for side in ("seen", "held_out"))
    assert one["gap"]["interval"] == {"low": seen["low"] - hidden["high"], "high": seen["high"] - hidden["low"]}
    assert one["failures"]["seen"] == {}
    assert one["failures"]["held_out"]["episode.candidate_mismatch"] == 13
    assert [(stratum["tool"], stratum["turn_policy"]) for stratum in one["strata"]] == [
        (None, "clarify_only"),
        ("get_firing", "multi_tool"),
        ("get_kiln", "correction"),
        ("get_kiln", "multi_tool"),
        ("get_kiln", "single_turn"),
        ("start_firing", "confirmation"),
        ("start_firing", "correction"),
    ]
    assert [stratum["gap"]["value"] for stratum in one["strata"]] == [1.0] * 7


def test_run_held_out_tells_what_was_stopped_beside_every_gap(bench: Bench, private: PrivateTasks) -> None:
    ids, scripts = hidden_ids(private), bench.scripts(private)
    spared = min(ids)

    def answer(request: ChatRequest) -> Answer:
        if request.task_id in ids - {spared}:
            return "provider_rejected"
        return as_expected(scripts[request.task_id].turns[request.turn_index])

    (one,) = told(bench.run(private, Around(answer)))["candidates"]
    assert (one["seen"]["non_candidate_stops"], one["held_out"]["non_candidate_stops"]) == (0, 12)
    assert one["gap"]["value"] == 1 - 1 / 13
    assert one["gap_excluding_non_candidate_stops"]["value"] == 0.0
    for stratum in one["strata"]:
        stopped = stratum["held_out"]["non_candidate_stops"] == stratum["held_out"]["tasks"]
        assert (stratum["gap"] is None) == (stratum["gap_excluding_non_candidate_stops"] is None) == stopped
    assert {stratum["gap"] is None for stratum in one["strata"]} == {True, False}


def test_run_held_out_makes_its_tasks_where_nobody_did(
    bench: Bench, private: PrivateTasks, report: HeldOutReport
) -> None:
    around = bench.answering(private, fails=lambda _: False)
    assert told(bench.run(None, around)) == told(report)


def test_run_held_out_beside_a_trace_takes_its_scores_and_executes_nothing(bench: Bench, private: PrivateTasks) -> None:
    beside = bench.asking_for("trace", "held_out_eval", candidates=(candidate("large"), candidate("small")))
    around = beside.answering(private, fails=lambda script: script.template_id == "kiln_status")
    report = beside.run(private, around, seen_of(beside))
    assert told(report)["eval_scope"] == "trace"
    assert around.asked == ["large", "small"]
    assert {request.task_id for chat in around.chats for request in chat.requests} == hidden_ids(private)
    assert [one.held_out.scores[0].mode for one in report.candidates] == ["trace", "trace"]
    rates = [(one["seen"]["successes"], one["held_out"]["successes"]) for one in told(report)["candidates"]]
    assert rates == [(len(bench.verified.rows), 12)] * 2


def test_run_held_out_refuses_scores_that_are_not_of_this_run(bench: Bench, private: PrivateTasks) -> None:
    beside = bench.asking_for("trace", "held_out_eval")
    around = beside.answering(private, fails=lambda _: False)
    seen = seen_of(beside)
    with pytest.raises(ValueError, match="given exactly where one is asked for"):
        beside.run(private, around)
    with pytest.raises(ValueError, match="given exactly where one is asked for"):
        bench.run(private, around, seen)
    with pytest.raises(ValueError, match="the scores of small are not those of the planned tasks in trace mode"):
        beside.run(private, around, {"small": seen["small"][1:]})
    live = bench.asking_for("executable", "held_out_eval")
    with pytest.raises(ValueError, match="in executable mode"):
        live.run(private, around, seen)
    assert around.chats == []


def test_run_held_out_shows_private_prompts_to_the_candidate_alone(
    bench: Bench,
    private: PrivateTasks,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    around = bench.answering(private, fails=lambda script: script.template_id in ("kiln_status", "last_firing"))
    report = bench.run(private, around)
    write_report(tmp_path / "out", report)
    prompted = canonical_text([request.body for chat in around.chats for request in chat.requests])
    assert [secret for secret in SECRETS if secret in prompted] == list(SECRETS)
    said = capfd.readouterr()
    texts = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert list(texts) == [HELD_OUT_FILE]
    forbidden = {*SECRETS, *hidden_ids(private), *RESERVED}
    forbidden |= {str(message["content"]) for one in private.tasks for message in one.row.messages[1:]} - {"None"}
    for text in (*texts.values(), said.out, said.err, caplog.text):
        assert [secret for secret in sorted(forbidden) if secret in text] == []
    assert not bench.settings.outputs.output_dir.exists()


def test_run_held_out_ends_without_the_words_of_the_private_task_that_ended_it(
    bench: Bench, private: PrivateTasks
) -> None:
    ids = hidden_ids(private)

    def answer(request: ChatRequest) -> Answer:
        assert request.task_id in ids
        raise EvalError(Problem(code="eval_conversation_answer_key_leak", message="K-8", subject="attic", fix="x"))

    beside = bench.asking_for("trace", "held_out_eval")
    seen = seen_of(beside)
    with pytest.raises(EvalError) as refusal:
        beside.run(private, Around(answer), seen)
    shown = "".join(traceback.format_exception(refusal.value))
    assert [problem.code for problem in refusal.value.problems] == ["eval_conversation_answer_key_leak"]
    assert [secret for secret in (*SECRETS, *ids) if secret in shown] == []
