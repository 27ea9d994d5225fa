"""Whatever became of an executed episode, its record drives to the same evidence again, without an oracle."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from bfcl.evaluate.after.recalled import RecordedAnswers, recalled_results
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.records import EpisodeEvidence, EpisodeStatus
from bfcl.evaluate.settings.model import Scoring
from bfcl.exports.row import ExportRow
from tests.evaluate.drive.benchmark import Benchmark, other_pack, play_live, script_of, studio_benchmark
from tests.evaluate.driven import LIMITS, SCORING, Answer, answering, as_expected, calls, candidate, wire_call, words
from tests.evaluate.refusals import refused
from tests.packs import Edit, replace

Answers = Mapping[int, Answer]
LIVE = dataclasses.replace(SCORING, executable_continuation="live")
KILN = '    return {"kiln": copy.deepcopy(_STATE["kilns"][kiln_id])}'
STARTED = '    return {"status": "started", "firing_id": firing_id}'
STATE = "def get_state():\n"
ASSERT = "def assert_kiln_read(*, state, trace, task, ctx):\n"
RESET = "def reset(*, ctx, fixtures=None):\n"
CLOCKED = (
    replace("backend.py", KILN, KILN.replace("}", ', "at": time.monotonic_ns()}', 1)),
    replace("backend.py", "import copy\n", "import copy\nimport time\n"),
)


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    return studio_benchmark(tmp_path_factory.mktemp("recalled"))


def again(
    studio: Benchmark, row: ExportRow, evidence: EpisodeEvidence, answers: Answers, scoring: Scoring = SCORING
) -> EpisodeEvidence:
    """The episode driven over its record."""
    script = script_of(row)
    asking = Asking(candidate=candidate(), client=answering(script, answers), mode="executable", clock=lambda: 0.0)
    results = recalled_results(evidence, studio.spec(row), scoring)
    return asyncio.run(drive(script, asking, results, scoring, LIMITS))


def bare(evidence: EpisodeEvidence) -> EpisodeEvidence:
    """Without the prose about the episode."""
    return dataclasses.replace(evidence, detail=None)


def started(row: ExportRow) -> Answer:
    return calls(wire_call("start_firing", script_of(row).turns[1].calls[0].arguments))


SOUND: Sequence[tuple[str, Callable[[ExportRow], Answers], EpisodeStatus]] = [
    ("kiln_status", lambda _: {}, "completed"),
    ("start_confirmed", lambda _: {}, "completed"),
    ("last_firing", lambda _: {}, "completed"),
    ("kiln_unknown", lambda _: {}, "completed"),
    ("start_confirmed", lambda row: {0: started(row)}, "confirmation_not_earned"),
    ("kiln_status", lambda _: {0: calls(wire_call("get_kiln", {"kiln_id": "K-2"}))}, "candidate_mismatch"),
    ("kiln_status", lambda _: {0: calls(wire_call("melt", {}))}, "candidate_mismatch"),
    ("kiln_status", lambda _: {0: calls(wire_call("get_kiln", "{"))}, "candidate_mismatch"),
    ("kiln_status", lambda _: {0: words("No.")}, "candidate_mismatch"),
    ("kiln_status", lambda _: {1: "retry_exhausted"}, "candidate_call_failed"),
    ("kiln_status", lambda _: {0: "malformed_response"}, "malformed_response"),
    (
        "kiln_and_firing",
        lambda row: {0: calls(*(wire_call(one.tool, one.arguments) for one in script_of(row).turns[0].calls))},
        "unusable_tool_call_ids",
    ),
]


@pytest.mark.parametrize(("template", "answers", "status"), SOUND)
def test_record_of_a_sound_oracle_gives_the_same_evidence(
    studio: Benchmark, template: str, answers: Callable[[ExportRow], Answers], status: EpisodeStatus
) -> None:
    row = studio.row(template)
    evidence = play_live(studio, row, answers(row))
    assert evidence.status == status
    assert bare(again(studio, row, evidence, answers(row))) == bare(evidence)


BROKEN: Sequence[tuple[str, Sequence[Edit], EpisodeStatus]] = [
    ("kiln_and_firing", [replace("backend.py", KILN, "    return [1]")], "oracle_result_malformed"),
    ("kiln_and_firing", [replace("backend.py", KILN, "    raise RuntimeError")], "oracle_call_failed"),
    ("start_confirmed", [replace("backend.py", STARTED, "    raise RuntimeError")], "oracle_call_failed"),
    (
        "start_confirmed",
        [replace("backend.py", STATE, f'{STATE}    assert _STATE["next_firing"] == 14\n')],
        "unknown_commit_state",
    ),
    ("kiln_status", [replace("backend.py", RESET, f"{RESET}    raise RuntimeError\n")], "oracle_reset_failed"),
    ("kiln_status", [replace("backend.py", STATE, f"{STATE}    raise RuntimeError\n")], "oracle_state_failed"),
    (
        "kiln_status",
        [replace("assertions.py", ASSERT, f"{ASSERT}    raise KeyError\n")],
        "assertion_infrastructure_failed",
    ),
    (
        "kiln_status",
        [*CLOCKED, replace("assertions.py", ASSERT, f"{ASSERT}    import os; os._exit(1)\n")],
        "oracle_session_failed",
    ),
    ("last_firing", CLOCKED, "oracle_session_failed"),
    (
        "last_firing",
        [replace("backend.py", KILN, '    return {"kiln": {"recent_firings": []}}')],
        "dependency_resolution_failed",
    ),
]


@pytest.mark.parametrize(("template", "edits", "status"), BROKEN)
def test_record_of_a_broken_oracle_gives_the_same_evidence(
    studio: Benchmark, tmp_path: Path, template: str, edits: Sequence[Edit], status: EpisodeStatus
) -> None:
    row = studio.row(template)
    evidence = play_live(studio, row, pack=other_pack(tmp_path, *edits))
    assert evidence.status == status
    assert bare(again(studio, row, evidence, {})) == bare(evidence)


def test_record_of_a_call_that_hangs_gives_the_same_evidence(studio: Benchmark, tmp_path: Path) -> None:
    row = studio.row("kiln_status")
    pack = other_pack(tmp_path, replace("backend.py", KILN, "    while True: pass"))
    evidence = play_live(studio, row, pack=pack, tool_s=0.3)
    assert evidence.status == "oracle_timeout"
    assert bare(again(studio, row, evidence, {})) == bare(evidence)


def test_record_of_a_mismatch_whose_state_cannot_be_read_gives_the_same_evidence(
    studio: Benchmark, tmp_path: Path
) -> None:
    row = studio.row("kiln_status")
    pack = other_pack(tmp_path, replace("backend.py", STATE, f"{STATE}    raise RuntimeError\n"))
    evidence = play_live(studio, row, {0: words("No.")}, pack=pack)
    assert (evidence.status, evidence.state_known) == ("candidate_mismatch", False)
    assert bare(again(studio, row, evidence, {0: words("No.")})) == bare(evidence)


def test_record_of_a_candidate_on_its_own_way_gives_the_same_evidence(studio: Benchmark) -> None:
    row = studio.row("kiln_status")
    script = script_of(row)
    detour: Answers = {
        0: calls(wire_call("get_firing", {"firing_id": "F-10"})),
        1: as_expected(script.turns[0]),
        2: as_expected(script.turns[1]),
    }
    evidence = play_live(studio, row, detour, scoring=LIVE)
    assert evidence.status == "completed"
    assert bare(again(studio, row, evidence, detour, LIVE)) == bare(evidence)


@pytest.mark.parametrize(("judge", "told"), [(True, ["passed"]), (False, [])])
def test_record_tells_verdicts_only_where_they_are_asked_for(studio: Benchmark, judge: bool, told: list[str]) -> None:
    evidence = play_live(studio, studio.row("kiln_status"))
    ended = asyncio.run(RecordedAnswers(evidence, ()).end(judge=judge))
    assert [one.status for one in ended.assertions] == told
    assert ended.states == (evidence.final_state,)


def test_record_with_fewer_answers_than_calls_is_refused(studio: Benchmark) -> None:
    row = studio.row("kiln_and_firing")
    evidence = play_live(studio, row)
    (turn, *others) = evidence.turns
    lost = dataclasses.replace(turn.executions[1], status="not_executed", result=None)
    forged = dataclasses.replace(
        evidence, turns=(dataclasses.replace(turn, executions=(turn.executions[0], lost)), *others)
    )
    (problem,) = refused(lambda: again(studio, row, forged, {}))
    assert str(problem) == (
        f"eval_tool_trace_cache_invalid: {row.task_id}: 1 calls of a reply were answered where 2 could be made\n"
        "  fix: restore the file from a copy; a record is never mended"
    )


def test_record_whose_verdict_was_changed_does_not_give_the_same_evidence(studio: Benchmark) -> None:
    row = studio.row("kiln_status")
    answers: Answers = {0: calls(wire_call("get_kiln", {"kiln_id": "K-2"}))}
    evidence = play_live(studio, row, answers)
    forged = dataclasses.replace(evidence, status="completed")
    assert again(studio, row, forged, answers).status == "candidate_mismatch"


REFUSED = "\n  fix: restore the file from a copy; a record is never mended"


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            {"status": "business_rejection"},
            "a call of `get_kiln` is business_rejection by the record, and completed by its result",
        ),
        ({"result": "[]"}, "the result of a call of `get_kiln` is no object in canonical JSON"),
        ({"result": "{"}, "the result of a call of `get_kiln` is no object in canonical JSON"),
        ({"commit": "committed"}, "`commit` of a call of `get_kiln`, which cannot change anything, is committed"),
    ],
)
def test_record_of_a_call_that_contradicts_its_answer_or_its_tool_is_refused(
    studio: Benchmark, edit: dict[str, str], told: str
) -> None:
    row = studio.row("kiln_status")
    evidence = play_live(studio, row)
    (turn, *others) = evidence.turns
    (made,) = turn.executions
    forged = dataclasses.replace(made, **edit)  # type: ignore[arg-type]
    changed = dataclasses.replace(evidence, turns=(dataclasses.replace(turn, executions=(forged,)), *others))
    (problem,) = refused(lambda: again(studio, row, changed, {}))
    assert str(problem) == f"eval_tool_trace_cache_invalid: {row.task_id}: {told}{REFUSED}"
