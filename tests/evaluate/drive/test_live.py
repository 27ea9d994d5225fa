"""What becomes of a candidate's calls on a live oracle: every row of the table, by the real worker."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bfcl.evaluate.drive.answers import SessionAnswers
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.desk import OracleDesk, open_desk
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.drive.live import LiveResults
from bfcl.evaluate.records import EpisodeEvidence
from bfcl.exports.row import ExportRow
from bfcl.oracle.protocol import Episode, EpisodeResult
from tests.evaluate.drive.benchmark import Benchmark, other_pack, play_live, script_of, told
from tests.evaluate.driven import LIMITS, SCORING, Message, answering, as_expected, calls, candidate, wire_call, words
from tests.packs import replace

REASON = "tool_execution."
KILN = '    return {"kiln": copy.deepcopy(_STATE["kilns"][kiln_id])}'
STARTED = '    return {"status": "started", "firing_id": firing_id}'
STATE = "def get_state():\n"
READ = "def assert_kiln_read(*, state, trace, task, ctx):\n"
FINE = ("completed", None, "not_applicable")


def not_made(reason: str, commit: str = "not_applicable") -> tuple[str, str, str]:
    return ("not_executed", REASON + reason, commit)


def both(row: ExportRow, *edits: dict[str, Any], finish: str = "tool_calls") -> Message:
    """The two calls that the first turn expects, each with an edit of its wire form."""
    turn = script_of(row).turns[0]
    wire = [
        {**wire_call(call.tool, call.arguments, call_id=f"own-{call.index}"), **edit}
        for call, edit in zip(turn.calls, edits, strict=True)
    ]
    return calls(*wire, finish=finish)


def named(name: str, arguments: Any) -> dict[str, Any]:
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"function": {"name": name, "arguments": raw}}


def start(row: ExportRow, **edits: Any) -> Message:
    """The confirmed call that the second turn of `start_confirmed` expects, with other arguments."""
    arguments = {**script_of(row).turns[1].calls[0].arguments, **edits}
    return calls(wire_call("start_firing", {name: one for name, one in arguments.items() if one is not None}))


# --- the table, row by row ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ({"type": "tool"}, "invalid_call_shape"),
        (named("get_kiln", "no json"), "invalid_arguments"),
        (named("melt", {}), "undeclared_tool"),
        (named("get_kiln", {"kiln_id": 7}), "schema_invalid"),
    ],
)
def test_call_that_no_tool_can_be_given_is_not_made_and_later_ones_are(
    studio: Benchmark, edit: dict[str, Any], reason: str
) -> None:
    row = studio.row("kiln_and_firing")
    found = play_live(studio, row, {0: both(row, edit, {})})
    assert (found.status, told(found)) == ("candidate_mismatch", [not_made(reason), FINE])
    assert found.turns[0].executions[0].arguments is None


def test_schema_is_held_against_calls_though_no_gate_scores_it(studio: Benchmark) -> None:
    row = studio.row("kiln_and_firing")
    scoring = dataclasses.replace(SCORING, argument_matching="canonical_only")
    found = play_live(studio, row, {0: both(row, named("get_kiln", {"kiln_id": 7}), {})}, scoring=scoring)
    assert told(found) == [not_made("schema_invalid"), FINE]


def test_nothing_is_made_of_an_incomplete_reply(studio: Benchmark) -> None:
    row = studio.row("kiln_and_firing")
    found = play_live(studio, row, {0: both(row, {}, named("melt", {}), finish="length")})
    assert told(found) == [not_made("incomplete_response"), not_made("undeclared_tool")]
    assert found.status == "candidate_mismatch"


@pytest.mark.parametrize(
    ("name", "reasons"),
    [("own-0", ("unusable_call_id", "unusable_call_id")), (None, ("unusable_call_id", "invalid_call_shape"))],
)
def test_nothing_is_made_of_a_reply_whose_ids_are_unusable(
    studio: Benchmark, name: str | None, reasons: Sequence[str]
) -> None:
    row = studio.row("kiln_and_firing")
    found = play_live(studio, row, {0: both(row, {}, {"id": name})})
    assert (found.status, told(found)) == ("unusable_tool_call_ids", [not_made(reason) for reason in reasons])


def test_confirmation_claimed_before_the_user_gave_it_is_not_earned(studio: Benchmark) -> None:
    row = studio.row("start_confirmed")
    found = play_live(studio, row, {0: start(row)})
    assert (found.status, told(found)) == (
        "confirmation_not_earned",
        [not_made("confirmation_not_earned", "not_started")],
    )
    assert found.detail == "call 0 `start_firing` claims a confirmation that the user has not given for it"
    # The pack was not asked, so the session is whole: the final state is that of the reset.
    assert json.loads(found.final_state or "")["next_firing"] == 14
    assert [one.verdict for one in found.assertions or ()] == ["failed", "failed"]


def test_confirmation_is_not_earned_by_another_batch_than_the_one_agreed_to(studio: Benchmark) -> None:
    row = studio.row("start_confirmed")
    found = play_live(studio, row, {1: start(row, cone=9)})
    assert (found.status, told(found)) == (
        "confirmation_not_earned",
        [not_made("confirmation_not_earned", "not_started")],
    )


def test_calls_before_an_unearned_confirmation_are_made_and_those_after_it_are_not(studio: Benchmark) -> None:
    row = studio.row("start_confirmed")
    look = wire_call("get_kiln", {"kiln_id": "K-1"}, call_id="a")
    act = start(row)["tool_calls"]
    assert isinstance(act, list)
    found = play_live(studio, row, {0: calls(look, *act, {**look, "id": "b"})})
    assert told(found) == [FINE, not_made("confirmation_not_earned", "not_started"), not_made("prior_call_failed")]


def test_action_without_its_confirmation_is_made_where_it_matches_nothing(studio: Benchmark) -> None:
    row = studio.row("start_confirmed")
    found = play_live(studio, row, {1: start(row, confirm=False)})
    assert (found.status, told(found)) == ("candidate_mismatch", [("completed", None, "not_committed")])
    assert found.turns[1].executions[0].result is not None
    assert json.loads(found.turns[1].executions[0].result)["status"] == "awaiting_confirmation"


def test_object_and_refusal_with_a_code_are_successful_exchanges(studio: Benchmark) -> None:
    refused = play_live(studio, studio.row("kiln_unknown"))
    assert (refused.status, told(refused)) == ("completed", [("business_rejection", None, "not_applicable")])
    acted = play_live(studio, studio.row("start_confirmed"))
    assert (acted.status, told(acted)) == ("completed", [("completed", None, "committed")])
    assert [(one.name, one.category, one.verdict) for one in acted.assertions or ()] == [
        ("assert_started_as_asked", "result", "passed"),
        ("assert_kiln_busy", "state", "passed"),
    ]


def test_result_that_is_no_object_stops_the_episode(studio: Benchmark, tmp_path: Path) -> None:
    row = studio.row("kiln_and_firing")
    found = play_live(studio, row, pack=other_pack(tmp_path, replace("backend.py", KILN, "    return [1]")))
    assert (found.status, told(found)) == (
        "oracle_result_malformed",
        [("malformed_result", None, "not_applicable"), not_made("prior_call_failed")],
    )
    assert found.detail == "non_object_result: call 0 `get_kiln` returned list, expected a JSON object"
    assert (found.assertions, found.state_known) == (None, True)
    assert found.declared_assertions == ("assert_kiln_read", "assert_firing_read")


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        ('    raise RuntimeError("out of clay")', "tool_raised: RuntimeError: out of clay at backend.py:46"),
        (
            '    return {"kiln": {kiln_id}}',
            "non_serializable_result: call 0 `get_kiln`: $.kiln: is a set, which JSON does not have",
        ),
        ('    return {"error": {"code": " "}}', "the error has no `code`, expected non-empty text"),
    ],
)
def test_call_that_breaks_stops_the_episode(studio: Benchmark, tmp_path: Path, line: str, detail: str) -> None:
    row = studio.row("kiln_and_firing")
    found = play_live(studio, row, pack=other_pack(tmp_path, replace("backend.py", KILN, line)))
    assert (found.status, found.detail) == ("oracle_call_failed", detail)
    assert told(found) == [("tool_error", None, "not_applicable"), not_made("prior_call_failed")]
    assert (found.assertions, found.state_known) == (None, True)
    assert json.loads(found.final_state or "")["next_firing"] == 14


def test_mutating_call_that_breaks_is_known_by_the_state_it_left(studio: Benchmark, tmp_path: Path) -> None:
    row = studio.row("start_confirmed")
    pack = other_pack(tmp_path, replace("backend.py", STARTED, '    raise RuntimeError("late")'))
    found = play_live(studio, row, pack=pack)
    assert (found.status, told(found)) == ("oracle_call_failed", [("tool_error", None, "committed")])
    assert json.loads(found.final_state or "")["next_firing"] == 15


@pytest.mark.parametrize("ending", [STARTED, "    return [1]", "    raise RuntimeError"])
def test_mutating_call_whose_state_cannot_be_read_outranks_how_it_ended(
    studio: Benchmark, tmp_path: Path, ending: str
) -> None:
    row = studio.row("start_confirmed")
    unreadable = replace("backend.py", STATE, f'{STATE}    assert _STATE["next_firing"] == 14\n')
    edits = [unreadable, *([] if ending is STARTED else [replace("backend.py", STARTED, ending)])]
    found = play_live(studio, row, pack=other_pack(tmp_path, *edits))
    assert (found.status, [commit for _, _, commit in told(found)]) == ("unknown_commit_state", ["unknown"])
    assert (found.assertions, found.final_state, found.state_known) == (None, None, False)


@pytest.mark.parametrize(
    ("template", "line", "status", "commit"),
    [
        ("kiln_status", KILN, "oracle_timeout", "not_applicable"),
        ("start_confirmed", STARTED, "unknown_commit_state", "unknown"),
    ],
)
def test_call_that_hangs_stops_the_episode(
    studio: Benchmark, tmp_path: Path, template: str, line: str, status: str, commit: str
) -> None:
    pack = other_pack(tmp_path, replace("backend.py", line, "    while True: pass"))
    found = play_live(studio, studio.row(template), pack=pack, tool_s=0.3)
    assert (found.status, told(found)) == (status, [("timeout", None, commit)])
    assert (found.detail or "").startswith("tool_timeout: call 0 ")
    assert (found.assertions, found.state_known) == (None, False)


def test_calls_of_a_turn_that_does_not_advance_are_made_and_kept(studio: Benchmark) -> None:
    row = studio.row("kiln_status")
    found = play_live(studio, row, {0: calls(wire_call("get_kiln", {"kiln_id": "K-2"}))})
    assert (found.status, told(found)) == ("candidate_mismatch", [FINE])
    assert "K-2" in (found.turns[0].executions[0].result or "")
    assert [one.verdict for one in found.assertions or ()] == ["failed"]


# --- before and after the calls -----------------------------------------------------------------------------------


def test_oracle_that_cannot_be_reset_ends_the_episode_before_a_request(studio: Benchmark, tmp_path: Path) -> None:
    reset = "def reset(*, ctx, fixtures=None):\n"
    pack = other_pack(tmp_path, replace("backend.py", reset, f'{reset}    raise RuntimeError("cold")\n'))
    found = play_live(studio, studio.row("kiln_status"), pack=pack)
    assert (found.status, found.turns) == ("oracle_reset_failed", ())
    assert found.detail == "reset_raised: RuntimeError: cold at backend.py:13"
    assert (found.assertions, found.state_known, found.declared_assertions) == (None, False, ("assert_kiln_read",))


def test_state_that_cannot_be_read_fails_only_an_episode_that_was_completed(studio: Benchmark, tmp_path: Path) -> None:
    pack = other_pack(tmp_path, replace("backend.py", STATE, f'{STATE}    raise RuntimeError("fog")\n'))
    row = studio.row("kiln_status")
    whole = play_live(studio, row, pack=pack)
    assert (whole.status, whole.state_known, whole.assertions) == ("oracle_state_failed", False, None)
    assert whole.detail == "state_raised: RuntimeError: fog at backend.py:20"
    assert play_live(studio, row, {0: words("No.")}, pack=pack).status == "candidate_mismatch"


def test_assertion_that_is_no_verdict_fails_only_an_episode_that_was_completed(
    studio: Benchmark, tmp_path: Path
) -> None:
    line = "def assert_kiln_read(*, state, trace, task, ctx):\n"
    pack = other_pack(tmp_path, replace("assertions.py", line, f'{line}    raise KeyError("kiln")\n'))
    row = studio.row("kiln_and_firing")
    whole = play_live(studio, row, pack=pack)
    assert whole.status == "assertion_infrastructure_failed"
    assert [(one.name, one.verdict) for one in whole.assertions or ()] == [("assert_kiln_read", "infrastructure_error")]
    assert (whole.detail or "").startswith("assert_kiln_read: assertions.py:")
    stopped = play_live(studio, row, {0: words("No.")}, pack=pack)
    assert (stopped.status, len(stopped.assertions or ())) == ("candidate_mismatch", 1)


def test_assertion_that_hangs_is_no_verdict(studio: Benchmark, tmp_path: Path) -> None:
    line = "def assert_firing_read(*, state, trace, task, ctx):\n"
    pack = other_pack(tmp_path, replace("assertions.py", line, f"{line}    while True: pass\n"))
    found = play_live(studio, studio.row("kiln_and_firing"), pack=pack, assertion_s=0.3)
    assert (found.status, [one.verdict for one in found.assertions or ()]) == (
        "assertion_infrastructure_failed",
        ["passed", "infrastructure_error"],
    )


def test_oracle_that_answers_otherwise_when_it_is_asked_again_breaks_the_session(
    studio: Benchmark, tmp_path: Path
) -> None:
    edits = (
        replace("backend.py", KILN, KILN.replace("}", ', "at": time.monotonic_ns()}', 1)),
        replace("backend.py", "import copy\n", "import copy\nimport time\n"),
    )
    pack = other_pack(tmp_path, *edits)
    late = play_live(studio, studio.row("last_firing"), pack=pack)
    assert (late.status, late.detail) == (
        "oracle_session_failed",
        "call 0 `get_kiln` answers differently when it is repeated",
    )
    assert told(late) == [FINE, ("tool_error", None, "not_applicable")]
    assert (late.state_known, late.assertions) == (False, None)
    broken = replace("assertions.py", READ, f"{READ}    import os; os._exit(1)\n")
    ending = play_live(studio, studio.row("kiln_status"), pack=other_pack(tmp_path, *edits, broken))
    assert (ending.status, ending.detail) == ("oracle_session_failed", late.detail)


def test_ending_that_was_asked_with_the_last_calls_judges_the_answers_the_candidate_was_given(
    studio: Benchmark, tmp_path: Path
) -> None:
    edits = (
        replace("backend.py", KILN, KILN.replace("}", ', "at": time.monotonic_ns()}', 1)),
        replace("backend.py", "import copy\n", "import copy\nimport time\n"),
        replace("assertions.py", READ, f'{READ}    assert False, trace[0]["result"]["at"]\n'),
    )
    found = play_live(studio, studio.row("kiln_status"), pack=other_pack(tmp_path, *edits))
    (execution,) = found.turns[0].executions
    (judged,) = found.assertions or ()
    assert (found.status, judged.verdict) == ("completed", "failed")
    assert judged.detail == str(json.loads(execution.result or "")["at"])


class Counting:
    """A desk that keeps what it was asked."""

    def __init__(self, desk: OracleDesk) -> None:
        self._desk = desk
        self.asked: list[Episode] = []

    async def run(self, episode: Episode) -> EpisodeResult:
        self.asked.append(episode)
        return await self._desk.run(episode)


@pytest.mark.parametrize(
    ("template", "instead", "continuation", "expected"),
    [
        ("kiln_status", {}, "gold", ["session", "ending"]),
        ("start_confirmed", {}, "gold", ["session", "ending"]),
        ("last_firing", {}, "gold", ["session", "session", "ending"]),
        # A reply that ends the episode is its last; calls that come after all have an ending of their own.
        ("last_firing", {0: "other"}, "gold", ["session", "ending"]),
        ("last_firing", {0: "other"}, "live", ["session", "session", "session", "final"]),
        ("kiln_status", {1: "other"}, "gold", ["session", "ending", "ending"]),
        ("kiln_status", {0: "melt"}, "gold", ["session", "final"]),
    ],
)
def test_ending_is_asked_along_with_the_last_calls_that_are_expected(
    studio: Benchmark, template: str, instead: dict[int, str], continuation: Any, expected: list[str]
) -> None:
    row = studio.row(template)
    script, spec = script_of(row), studio.spec(row)
    replies = {
        "other": calls(wire_call("get_kiln", {"kiln_id": "K-2"})),
        "melt": calls(wire_call("melt", {})),
    }
    scoring = dataclasses.replace(SCORING, executable_continuation=continuation)
    client = answering(script, {turn: replies[name] for turn, name in instead.items()})
    asking = Asking(candidate=candidate(), client=client, mode="executable", clock=lambda: 0.0)

    async def play() -> Counting:
        async with open_desk(studio.pack, studio.limited()) as desk:
            counting = Counting(desk)
            await drive(script, asking, LiveResults(SessionAnswers(counting, spec), spec, scoring), scoring, LIMITS)
            return counting

    assert [one.observe for one in asyncio.run(play()).asked] == expected


# --- dependent arguments ------------------------------------------------------------------------------------------


def other_firing(tmp_path: Path) -> Any:
    """The studio where the last firing of every kiln is another than the rows recorded."""
    line = KILN.replace("return {", "return _other({")[:-1] + "})"
    other = '\n\ndef _other(answer):\n    answer["kiln"]["recent_firings"] = ["F-10"]\n    return answer\n'
    return other_pack(tmp_path, replace("backend.py", KILN, line + other))


def test_gold_takes_its_dependent_argument_from_the_live_result(studio: Benchmark, tmp_path: Path) -> None:
    row, pack = studio.row("last_firing"), other_firing(tmp_path)
    recorded = script_of(row).turns[1].calls[0].arguments
    assert recorded == {"firing_id": "F-11"}
    stale = play_live(studio, row, pack=pack)
    assert (stale.status, stale.turns[1].gold[0].arguments) == ("candidate_mismatch", {"firing_id": "F-10"})
    (found,) = stale.turns[1].resolutions
    assert (found.gold_index, found.parameter, found.producer_index, found.status, found.value) == (
        1,
        "firing_id",
        0,
        "resolved",
        "F-10",
    )
    fresh = play_live(studio, row, {1: calls(wire_call("get_firing", {"firing_id": "F-10"}))}, pack=pack)
    assert (fresh.status, [one.verdict for one in fresh.assertions or ()]) == ("completed", ["passed"])


def test_dependent_argument_that_no_live_result_gives_ends_the_episode(studio: Benchmark, tmp_path: Path) -> None:
    pack = other_pack(tmp_path, replace("backend.py", KILN, '    return {"kiln": {"recent_firings": []}}'))
    found = play_live(studio, studio.row("last_firing"), pack=pack)
    assert (found.status, len(found.turns)) == ("dependency_resolution_failed", 1)
    assert [one.status for one in found.unresolved] == ["result_path_missing"]
    assert (found.assertions, found.state_known) == (None, True)


# --- the candidate's own way --------------------------------------------------------------------------------------

LIVE = dataclasses.replace(SCORING, executable_continuation="live")


def test_candidate_that_finds_its_own_way_is_judged_by_what_it_did(studio: Benchmark) -> None:
    row = studio.row("kiln_status")
    script = script_of(row)
    detour = {
        0: calls(wire_call("get_firing", {"firing_id": "F-10"})),
        1: as_expected(script.turns[0]),
        2: as_expected(script.turns[1]),
    }
    assert play_live(studio, row, detour).status == "candidate_mismatch"
    found = play_live(studio, row, detour, scoring=LIVE)
    assert (found.status, told(found)) == ("completed", [FINE, FINE])
    assert [one.verdict for one in found.assertions or ()] == ["passed"]


def test_candidate_on_its_own_way_acts_once_on_what_the_user_agreed_to(studio: Benchmark) -> None:
    row = studio.row("start_confirmed")
    script = script_of(row)
    pending = start(row, confirm=False)
    way = {0: as_expected(script.turns[0]), 1: pending, 2: start(row), 3: start(row)}
    found = play_live(studio, row, way, scoring=LIVE)
    assert told(found) == [
        ("completed", None, "not_committed"),
        ("completed", None, "committed"),
        not_made("confirmation_not_earned", "not_started"),
    ]
    assert found.status == "confirmation_not_earned"


def test_candidate_on_its_own_way_may_not_confirm_what_the_user_was_not_asked(studio: Benchmark) -> None:
    row = studio.row("start_confirmed")
    script = script_of(row)
    way = {0: as_expected(script.turns[0]), 1: start(row, confirm=False), 2: start(row, cone=9)}
    found = play_live(studio, row, way, scoring=LIVE)
    assert told(found) == [
        ("completed", None, "not_committed"),
        not_made("confirmation_not_earned", "not_started"),
    ]
    assert found.status == "confirmation_not_earned"


# --- many at once -------------------------------------------------------------------------------------------------


def test_hundred_sessions_share_a_desk_and_none_sees_another(studio: Benchmark) -> None:
    rows = [row for _ in range(10) for row in studio.rows[:10]]
    specs = studio.specs()

    async def one(desk: Any, row: ExportRow) -> EpisodeEvidence:
        script = script_of(row)
        asking = Asking(candidate=candidate(), client=answering(script), mode="executable")
        results = LiveResults(SessionAnswers(desk, specs.of(row)), specs.of(row), SCORING)
        return await drive(script, asking, results, SCORING, LIMITS)

    async def every() -> list[EpisodeEvidence]:
        async with open_desk(studio.pack, studio.config, jobs=4) as desk:
            return await asyncio.gather(*(one(desk, row) for row in rows))

    found = asyncio.run(every())
    assert {evidence.status for evidence in found} == {"completed"}
    assert found[10:] == found[:10] * 9
    assert {"backend", "assertions"}.isdisjoint(sys.modules)


def test_bundled_pack_is_completed_by_its_own_gold(tiny: Benchmark) -> None:
    found = [play_live(tiny, row) for row in tiny.rows]
    assert {evidence.status for evidence in found} == {"completed"}
    assert all(one.verdict == "passed" for evidence in found for one in evidence.assertions or ())
    assert all(evidence.assertions for evidence in found)
