"""What two replays say of a task."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import canonical_text
from bfcl.oracle.protocol import Breakdown, EpisodeResult, PlannedCall, Replayed
from bfcl.records.task import SlotDelivery
from bfcl.records.trace import Call, Trace
from bfcl.records.verdict import AssertionOutcome, ReplayVerdict, SchemaFailure, SchemaVerdict
from bfcl.stages.executable_replay import episode, judge, replay, task_view
from bfcl.stages.expected_trace import derive_chunk
from bfcl.stages.schema_validation import validate
from tests.packs import ALL_POLICIES, Edit
from tests.packs import replace as replace_text
from tests.stages.studio import studio
from tests.stages.worlds import oracle

STUDIO = studio()
TASK = replace(STUDIO.tasks("start_confirmed")[0], success_assertions=("assert_a", "assert_b"))
TRACE = Trace(
    task_id=TASK.task_id,
    template_id=TASK.template_id,
    turn_policy=TASK.turn_policy,
    derived=True,
    drop_reason=None,
    calls=tuple(
        Call(turn_index=turn, call_group=turn, position_in_group=0, function_name=name, arguments={"n": turn})
        for turn, name in enumerate(("look", "act"))
    ),
)
VALID = SchemaVerdict(task_id=TASK.task_id, template_id=TASK.template_id, valid=True, reject_reason=None, failures=())
PASSED = (AssertionOutcome(name="assert_a", status="passed"), AssertionOutcome(name="assert_b", status="passed"))
STATE = {"s": 1}
SUSPECTS = tuple(f"backend.py:{line}: reads the wall clock" for line in range(1, 8))


def _result(
    results: Any = ({"n": 1}, {"n": 2}), state: Any = STATE, assertions: Any = PASSED, breakdown: Any = None
) -> EpisodeResult:
    return EpisodeResult(
        results=tuple(canonical_text(one) for one in results),
        arguments=tuple(canonical_text(call.arguments) for call in TRACE.calls[: len(results)]),
        states=() if state is None else (canonical_text(state),),
        assertions=tuple(assertions),
        breakdown=breakdown,
    )


def _judge(a: EpisodeResult, b: EpisodeResult | None = None, suspects: tuple[str, ...] = ()) -> ReplayVerdict:
    verdict = judge(TASK, TRACE, VALID, Replayed(a, a if b is None else b), suspects)
    assert verdict.valid is (verdict.reason is None)
    return verdict


def _said(
    a: EpisodeResult, b: EpisodeResult | None = None, suspects: tuple[str, ...] = ()
) -> tuple[str | None, str | None]:
    verdict = _judge(a, b, suspects)
    return verdict.reason, verdict.detail


def test_judge_passes_what_is_whole_equal_and_asserted() -> None:
    verdict = _judge(_result())
    assert (verdict.valid, verdict.reason, verdict.detail) == (True, None, None)
    assert [one.to_json() for one in verdict.tool_results] == [
        {
            "turn_index": 0,
            "call_group": 0,
            "position_in_group": 0,
            "tool": "look",
            "arguments": {"n": 0},
            "result": {"n": 1},
        },
        {
            "turn_index": 1,
            "call_group": 1,
            "position_in_group": 0,
            "tool": "act",
            "arguments": {"n": 1},
            "result": {"n": 2},
        },
    ]
    assert verdict.assertions == PASSED


def test_judge_names_the_first_result_that_diverges_and_keeps_the_agreed_ones() -> None:
    verdict = _judge(_result(), _result(({"n": 1}, {"n": [1, {"at": "x"}]})), SUSPECTS)
    assert (verdict.reason, verdict.detail) == (
        "nondeterministic_replay",
        'results diverged at results[1].n: 2 in world A, [1,{"at":"x"}] in world B; suspect lines: '
        + "; ".join(SUSPECTS[:5])
        + "; and 2 more",
    )
    assert [one.tool for one in verdict.tool_results] == ["look"]


def test_judge_names_a_diverging_state() -> None:
    assert _said(_result(), _result(state={"s": 1, "t": True}), SUSPECTS[:1]) == (
        "nondeterministic_replay",
        (
            "state diverged at state.t: nothing in world A, true in world B; "
            "suspect lines: backend.py:1: reads the wall clock"
        ),
    )


def test_judge_names_a_diverging_assertion() -> None:
    other = (PASSED[0], AssertionOutcome(name="assert_b", status="failed", detail="no"))
    verdict = _judge(_result(), _result(assertions=other))
    assert (verdict.reason, verdict.detail) == (
        "nondeterministic_replay",
        'assertions diverged at assertions.assert_b.detail: null in world A, "no" in world B',
    )
    assert verdict.assertions == PASSED[:1]


def test_judge_quotes_keys_that_are_no_names() -> None:
    assert _said(_result(({"x y": 1}, {"n": 2})), _result(({"x y": 2}, {"n": 2})))[1] == (
        'results diverged at results[0]["x y"]: 1 in world A, 2 in world B'
    )


def test_judge_counts_only_suspects_it_does_not_show() -> None:
    detail = _said(_result(), _result(state={}), SUSPECTS[:5])[1]
    assert str(detail).endswith("; suspect lines: " + "; ".join(SUSPECTS[:5]))


def test_judge_suspects_nothing_where_both_worlds_break_alike() -> None:
    assert _said(_broken(), None, SUSPECTS)[1] == "tool_raised: ValueError: no (call 1 act)"


def test_judge_compares_by_json_type() -> None:
    assert _said(_result(({"n": 1}, {"n": 2})), _result(({"n": 1.0}, {"n": 2}))) == (
        "nondeterministic_replay",
        "results diverged at results[0].n: 1 in world A, 1.0 in world B",
    )


def _broken(code: str = "tool_raised", **fields: Any) -> EpisodeResult:
    breakdown = Breakdown(**{"code": code, "message": "ValueError: no", "phase": "call", "call_index": 1, **fields})
    return _result(({"n": 1},), None, (), breakdown)


def test_judge_names_a_breakdown_with_its_call_and_place() -> None:
    verdict = _judge(_broken(where="backend.py:12"))
    assert (verdict.reason, verdict.detail) == (
        "executable_replay_failed",
        "tool_raised: ValueError: no (call 1 act at backend.py:12)",
    )
    assert [one.tool for one in verdict.tool_results] == ["look"]


def test_judge_names_the_phase_of_a_breakdown_outside_calls() -> None:
    broken = _broken("reset_timeout", phase="reset", call_index=None, message="reset took longer than 5 s")
    assert _said(broken) == ("executable_replay_failed", "reset_timeout: reset took longer than 5 s (reset)")


def test_judge_says_in_which_world_alone_an_episode_broke() -> None:
    assert _said(_result(), _broken(), SUSPECTS[:1]) == (
        "executable_replay_failed",
        "tool_raised: ValueError: no (call 1 act) (in world B only); suspect lines: backend.py:1: reads the wall clock",
    )
    assert _said(_broken(), _result())[1] == "tool_raised: ValueError: no (call 1 act) (in world A only)"


def test_judge_prefers_a_divergence_before_the_break() -> None:
    assert _said(_result(({"n": 7}, {"n": 2})), _broken()) == (
        "nondeterministic_replay",
        "results diverged at results[0].n: 7 in world A, 1 in world B",
    )


def test_judge_refuses_an_episode_that_stopped_short_without_a_breakdown() -> None:
    assert _said(_result(({"n": 1},))) == ("executable_replay_failed", "world A answered 1 of 2 calls")
    assert _said(_result(state=None)) == ("executable_replay_failed", "world A read no state")


def _outcomes(*statuses: str, detail: str | None = "kiln is cold") -> tuple[AssertionOutcome, ...]:
    return tuple(
        AssertionOutcome(name=f"assert_{letter}", status=status, detail=detail)  # type: ignore[arg-type]
        for letter, status in zip("ab", statuses, strict=False)
    )


@pytest.mark.parametrize(
    ("outcomes", "reason", "detail"),
    [
        (_outcomes("passed", "failed"), "assertion_failed", "assert_b: kiln is cold"),
        (
            _outcomes("failed", "failed", detail=None),
            "assertion_failed",
            "assert_a: failed without a message; assert_b: failed without a message",
        ),
        (_outcomes("passed", "not_applicable"), "assertion_failed", "assertion_not_applicable: assert_b: kiln is cold"),
        (_outcomes("not_applicable", "passed", detail=None), "assertion_failed", "assertion_not_applicable: assert_a"),
        (
            _outcomes("not_applicable", "failed"),
            "assertion_failed",
            "assert_b: kiln is cold; assertion_not_applicable: assert_a: kiln is cold",
        ),
        (
            _outcomes("error", "failed"),
            "executable_replay_failed",
            "assertion_infrastructure_error: assert_a: kiln is cold",
        ),
        (_outcomes("passed"), "executable_replay_failed", "assertion_infrastructure_error: assert_b: gave no outcome"),
    ],
)
def test_judge_wants_every_assertion_to_pass(outcomes: Any, reason: str, detail: str) -> None:
    assert _said(_result(assertions=outcomes)) == (reason, detail)


def test_judge_carries_earlier_reasons() -> None:
    dropped = replace(TRACE, derived=False, drop_reason="dependent_call_binding_failed: null_value", calls=())
    verdict = judge(TASK, dropped, VALID, None, ())
    assert (verdict.valid, verdict.reason, verdict.detail) == (
        False,
        "trace_not_derived",
        "dependent_call_binding_failed: null_value",
    )
    failures = tuple(
        SchemaFailure(code=code, message="") for code in ("unknown_tool", "unknown_argument", "unknown_tool")
    )
    invalid = replace(VALID, valid=False, reject_reason="expected_trace_schema_mismatch", failures=failures)
    verdict = judge(TASK, TRACE, invalid, None, ())
    assert (verdict.valid, verdict.reason, verdict.detail) == (
        False,
        "expected_trace_schema_mismatch",
        "unknown_tool, unknown_argument",
    )
    assert (verdict.tool_results, verdict.assertions) == ((), ())


def test_judge_without_a_replay_of_a_valid_trace_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="a valid trace was not replayed"):
        judge(TASK, TRACE, VALID, None, ())


def test_task_view_shows_exactly_the_fields_of_the_contract_as_json() -> None:
    delivery = SlotDelivery(entry_index=1, values={"cone": 6}, aliases={"other": 6})
    view = task_view(replace(TASK, slot_updates=(delivery,)), "en")
    assert json.loads(canonical_text(view)) == view
    assert " ".join(view) == (
        "task_id template_id intent category difficulty turn_policy language call_order required_tools "
        "tools_present success_assertions edge_signatures mutates seed slots slots_initial slot_updates fixture_refs"
    )
    assert view["slot_updates"] == [{"entry_index": 1, "values": {"cone": 6}, "aliases": {"other": 6}}]


def test_episode_plays_the_expected_calls_with_the_tasks_seed_and_assertions() -> None:
    played = episode(TASK, TRACE, "en")
    assert (played.task_id, played.seed, played.assertions) == (TASK.task_id, TASK.seed, ("assert_a", "assert_b"))
    assert played.calls == (
        PlannedCall(tool="look", arguments={"n": 0}, turn_index=0),
        PlannedCall(tool="act", arguments={"n": 1}, turn_index=1),
    )
    assert played.task == task_view(TASK, "en")
    assert played.observe == "final"


# --- on the real oracle -------------------------------------------------------------------------------------------


def _replayed(root: Path, *edits: Edit) -> dict[str, list[ReplayVerdict]]:
    verdicts: dict[str, list[ReplayVerdict]] = {}
    with oracle(root, *edits) as worlds:
        for template_id in ALL_POLICIES:
            template, outline = STUDIO.templates[template_id], STUDIO.outline(template_id)
            tasks = STUDIO.tasks(template_id, limit=3)
            traces = derive_chunk(template, outline, tasks, STUDIO.tools, worlds)
            schemas = validate(template, outline, tasks, traces, STUDIO.tools, "confirm")
            verdicts[template_id] = replay(tasks, traces, schemas, worlds, "en")
            assert [verdict.task_id for verdict in verdicts[template_id]] == [task.task_id for task in tasks]
    return verdicts


def test_replay_passes_every_task_of_the_good_pack(tmp_path: Path) -> None:
    for verdicts in _replayed(tmp_path / "pack").values():
        assert [(verdict.valid, verdict.detail) for verdict in verdicts] == [(True, None)] * len(verdicts)


def test_replay_drops_tasks_whose_results_hold_the_wall_clock(tmp_path: Path) -> None:
    clock = replace_text("backend.py", "import copy\n", "import copy\nimport time\n")
    leak = replace_text(
        "backend.py",
        "def call_tool(name, arguments, *, ctx):",
        "def call_tool(name, arguments, *, ctx):\n"
        "    answer = _answer(name, arguments, ctx=ctx)\n"
        "    return {**answer, 'stamp': time.time()}\n\n\n"
        "def _answer(name, arguments, *, ctx):",
    )
    verdicts = _replayed(tmp_path / "pack", clock, leak)
    for template_id in ALL_POLICIES:
        for verdict in verdicts[template_id]:
            if STUDIO.outline(template_id).num_tool_calls:
                assert verdict.reason == "nondeterministic_replay"
                assert str(verdict.detail).startswith("results diverged at results[0].stamp: ")
                assert "; suspect lines: backend.py:" in str(verdict.detail)
                assert str(tmp_path) not in str(verdict.detail)
            else:
                assert verdict.valid


def test_replay_asks_the_oracle_for_nothing_where_no_trace_is_valid(tmp_path: Path) -> None:
    invalid = replace(VALID, valid=False, reject_reason="expected_trace_schema_mismatch")
    with oracle(tmp_path / "pack") as worlds:
        verdicts = replay([TASK], [TRACE], [invalid], worlds, "en")
    assert [verdict.reason for verdict in verdicts] == ["expected_trace_schema_mismatch"]
