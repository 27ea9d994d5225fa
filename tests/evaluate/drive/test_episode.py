"""How episodes go: what advances, what ends them and as what, and what a candidate gets to see on the way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bfcl.canonical import Json, canonical_text
from bfcl.errors import EvalError
from bfcl.evaluate.drive.results import Closing, Released, usable_call_ids
from bfcl.evaluate.records import (
    AssertionEvidence,
    CallMatch,
    EpisodeEvidence,
    EpisodeStatus,
    Execution,
    GoldCall,
    Resolution,
    Script,
    ScriptTurn,
)
from bfcl.modelio.exchange import CallStatus, ChatResponse
from tests.evaluate.driven import (
    LIMITS,
    SCORING,
    Answer,
    Answering,
    Message,
    answering,
    as_expected,
    calls,
    candidate,
    one_group,
    play,
    script,
    wire_call,
    words,
)

READ = [wire_call("read_valve", {"valve": valve}, call_id=valve) for valve in ("V-1", "V-0")]
SWAPPED = [READ[1], READ[0]]


def told(evidence: EpisodeEvidence) -> list[tuple[int, bool]]:
    """Turn asked, and whether it advanced."""
    return [(turn.turn_index, turn.advanced) for turn in evidence.turns]


# --- the gold path ------------------------------------------------------------------------------------------------


def test_episode_of_gold_replies_completes_and_shows_what_was_earned_step_by_step() -> None:
    of = script()
    client = answering(of)
    evidence = play(of, client)
    assert evidence.status == "completed"
    assert told(evidence) == [(0, True), (1, True), (2, True), (3, True)]
    assert [turn.text_ok for turn in evidence.turns] == [None, True, None, True]
    assert [[match.gold_index for match in turn.matches] for turn in evidence.turns] == [[0, 1], [], [2], []]
    assert [turn.gold for turn in evidence.turns] == [turn.calls for turn in of.turns]
    assert [turn.request_hash for turn in evidence.turns] == [request.request_hash for request in client.requests]
    assert (evidence.candidate_alias, evidence.task_id, evidence.mode, evidence.trial) == (
        "small",
        of.task_id,
        "trace",
        0,
    )
    assert (evidence.assertions, evidence.final_state, evidence.unresolved) == (None, None, ())
    roles = [[message["role"] for message in prompt] for prompt in client.prompts()]
    assert roles == [
        ["system", "user"],
        ["system", "user", "assistant", "tool", "tool"],
        ["system", "user", "assistant", "tool", "tool", "assistant", "user"],
        ["system", "user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool"],
    ]
    assert [message["tool_call_id"] for message in client.prompts()[-1] if message["role"] == "tool"] == [
        *("own-0", "own-1", "own-2")
    ]


def test_episode_hands_results_back_in_the_candidates_order() -> None:
    of = replace(script(), call_order="any")
    client = answering(of, {0: calls(*SWAPPED)})
    assert play(of, client).status == "completed"
    results = [message for message in client.prompts()[1] if message["role"] == "tool"]
    assert [(one["tool_call_id"], json.loads(str(one["content"]))["valve"]) for one in results] == [
        ("V-0", "V-0"),
        ("V-1", "V-1"),
    ]


def test_episode_ignores_what_is_said_beside_calls() -> None:
    of = script()
    client = answering(of, {0: calls(*READ, content="Reading both.")})
    assert play(of, client).status == "completed"
    assert client.prompts()[1][2]["content"] == "Reading both."


def test_episode_sends_reasoning_back_where_the_configuration_says_so() -> None:
    of = script()
    client = answering(of, {0: {**calls(*READ), "reasoning": "Two valves."}})
    assert play(of, client, asked=candidate(echo_reasoning="reasoning")).status == "completed"
    assert [message.get("reasoning") for message in client.prompts()[3]] == [None, None, "Two valves.", *[None] * 6]
    quiet = answering(of, {0: {**calls(*READ), "reasoning": "Two valves."}})
    play(of, quiet)
    assert "reasoning" not in canonical_text(quiet.prompts()[3])


def test_no_prompt_holds_a_gold_argument_before_its_call_was_made() -> None:
    of = replace(script(), turns=tuple(map(marked, script().turns)))
    client = Answering(lambda request: as_expected(of.turns[request.turn_index]))
    assert play(of, client).status == "completed"
    for asked, prompt in enumerate(client.prompts()):
        unearned = [call.arguments["valve"] for turn in of.turns[asked:] for call in turn.calls]
        assert not [value for value in unearned if str(value) in canonical_text(prompt)]


def marked(turn: ScriptTurn) -> ScriptTurn:
    """The turn with arguments and results that stand nowhere else."""
    named = [replace(call, arguments={**call.arguments, "valve": f"secret-{call.index}"}) for call in turn.calls]
    return replace(turn, calls=tuple(replace(call, recorded_result=f'"result-{call.index}"') for call in named))


# --- signatures of one departure ----------------------------------------------------------------------------------

Seen = tuple[int | None, bool, bool, tuple[str, ...]]
"""Gold call claimed, name matched, arguments matched, reasons of the schema step."""


def seen(evidence: EpisodeEvidence, turn: int = 0) -> list[Seen]:
    return [
        (match.gold_index, match.name_matches, match.arguments_match, match.schema_reasons)
        for match in evidence.turns[turn].matches
    ]


FIRST: Seen = (0, True, True, ())
SECOND: Seen = (1, True, True, ())
OTHER: Seen = (None, False, False, ())


@pytest.mark.parametrize(
    ("reply", "matches", "ordered"),
    [
        pytest.param(calls(READ[0], wire_call("list_alarms", {})), [FIRST, OTHER], True, id="another declared tool"),
        pytest.param(
            calls(READ[0], wire_call("melt", {})),
            [FIRST, (None, False, False, ("undeclared_tool",))],
            True,
            id="an undeclared tool",
        ),
        pytest.param(
            calls(READ[0], wire_call("read_valve", {"valve": "V-9"})),
            [FIRST, (1, True, False, ())],
            True,
            id="a wrong value",
        ),
        pytest.param(
            calls(READ[0], wire_call("read_valve", {"valve": 0})),
            [FIRST, (1, True, False, ("argument_type_mismatch",))],
            True,
            id="a value the schema forbids",
        ),
        pytest.param(
            calls(READ[0], wire_call("read_valve", '{"valve":')),
            [FIRST, (1, True, False, ("invalid_arguments",))],
            True,
            id="arguments that are no JSON",
        ),
        pytest.param(calls(*SWAPPED), [SECOND, FIRST], False, id="a permuted group"),
        pytest.param(calls(*READ, wire_call("list_alarms", {})), [FIRST, SECOND, OTHER], True, id="one call too many"),
        pytest.param(calls(READ[0]), [FIRST], True, id="one call too few"),
        pytest.param(words("Let me see."), [], True, id="words instead of calls"),
        pytest.param(calls(*READ, finish="length"), [FIRST, SECOND], True, id="a truncated finish"),
        pytest.param(calls(*READ, finish="Content-Filter"), [FIRST, SECOND], True, id="a filtered finish"),
    ],
)
def test_departure_on_a_call_turn_ends_the_episode_and_is_told_apart(
    reply: Message, matches: list[Seen], ordered: bool
) -> None:
    of = one_group()
    client = answering(of, {0: reply})
    evidence = play(of, client)
    assert (evidence.status, told(evidence)) == ("candidate_mismatch", [(0, False)])
    assert seen(evidence) == matches
    assert (evidence.turns[0].ordered, evidence.turns[0].text_ok) == (ordered, None)
    assert len(client.requests) == 1


@pytest.mark.parametrize(
    ("reply", "matches", "text_ok"),
    [
        pytest.param(calls(wire_call("list_alarms", {})), [OTHER], False, id="calls on a text turn"),
        pytest.param(calls(wire_call("list_alarms", {}), content="Done."), [OTHER], False, id="words beside calls"),
        pytest.param(words(" \n"), [], False, id="blank text"),
        pytest.param(words(None), [], False, id="no text"),
        pytest.param(words([{"type": "text", "text": ""}]), [], False, id="structure without text"),
        pytest.param(words("Done", finish="max_tokens"), [], True, id="a truncated finish"),
    ],
)
def test_departure_on_a_text_turn_ends_the_episode_and_is_told_apart(
    reply: Message, matches: list[Seen], text_ok: bool
) -> None:
    of = one_group()
    evidence = play(of, answering(of, {1: reply}))
    assert (evidence.status, told(evidence)) == ("candidate_mismatch", [(0, True), (1, False)])
    assert (seen(evidence, 1), evidence.turns[1].text_ok) == (matches, text_ok)


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        ("timeout", "candidate_call_failed"),
        ("transport_error", "candidate_call_failed"),
        ("retry_exhausted", "candidate_call_failed"),
        ("provider_rejected", "candidate_call_failed"),
        ("malformed_response", "malformed_response"),
    ],
)
@pytest.mark.parametrize(("turn", "text_ok"), [(0, None), (1, False)])
def test_call_without_a_usable_reply_ends_the_episode_unanswered(
    ended: CallStatus, status: EpisodeStatus, turn: int, text_ok: bool | None
) -> None:
    of = one_group()
    evidence = play(of, answering(of, {turn: ended}))
    assert (evidence.status, len(evidence.turns)) == (status, turn + 1)
    last = evidence.turns[-1]
    assert (last.call_status, last.response, last.matches, last.advanced) == (ended, None, (), False)
    assert (last.ordered, last.text_ok, last.gold) == (True, text_ok, of.turns[turn].calls)


@pytest.mark.parametrize("ids", [("x", "x"), ("x", None), ("", "x")])
def test_unusable_call_ids_end_a_trace_episode_that_would_go_on(ids: tuple[str | None, ...]) -> None:
    of = one_group()
    reply = calls(*({**call, "id": one} for call, one in zip(READ, ids, strict=True)))
    evidence = play(of, answering(of, {0: reply}))
    assert (evidence.status, told(evidence)) == ("unusable_tool_call_ids", [(0, False)])
    assert seen(evidence) == [FIRST, SECOND]


def test_unusable_call_ids_of_a_mismatch_are_a_mismatch_in_a_trace_episode() -> None:
    of = one_group()
    reply = calls(*({**call, "id": "x"} for call in SWAPPED))
    assert play(of, answering(of, {0: reply})).status == "candidate_mismatch"


def test_group_spread_over_two_turns_does_not_advance() -> None:
    of = one_group()
    client = answering(of, {0: calls(READ[0])})
    assert (play(of, client).status, len(client.requests)) == ("candidate_mismatch", 1)


def test_two_groups_in_one_turn_do_not_advance() -> None:
    of = script()
    last = wire_call("set_valve", {"bar": 1, "valve": "V-1"}, call_id="set")
    evidence = play(of, answering(of, {0: calls(*READ, last)}))
    assert (evidence.status, seen(evidence)) == ("candidate_mismatch", [FIRST, SECOND, OTHER])


def test_candidate_that_calls_straight_through_never_gets_the_users_answer() -> None:
    of = script()
    client = answering(of, {1: as_expected(of.turns[2])})
    evidence = play(of, client)
    assert (evidence.status, told(evidence)) == ("candidate_mismatch", [(0, True), (1, False)])
    assert "Yes." not in canonical_text(client.prompts())


@pytest.mark.parametrize("flag", ["respect_call_order", "respect_call_group"])
def test_relaxed_gates_do_not_make_a_turn_advance(flag: str) -> None:
    relaxed = replace(SCORING, **{flag: False})  # type: ignore[arg-type]
    of = one_group()
    reply = calls(*SWAPPED) if flag == "respect_call_order" else calls(*READ, wire_call("list_alarms", {}))
    assert play(of, answering(of, {0: reply}), scoring=relaxed).status == "candidate_mismatch"


@pytest.mark.parametrize(
    ("content", "advances"),
    [("Set V-1 to 1?", True), ([{"text": "Set V-1 "}, {"text": "to 1?"}], True), ("Shall I?", False)],
)
def test_verbatim_demands_the_recorded_words_of_turns_before_the_last(content: Json, advances: bool) -> None:
    verbatim = replace(SCORING, intermediate_text_matching="verbatim")
    of = script()
    replies: dict[int, Answer] = {1: words(content), 3: words("Ready.")}
    evidence = play(of, answering(of, replies), scoring=verbatim)
    assert (evidence.status == "completed", evidence.turns[1].text_ok) == (advances, advances)
    assert play(of, answering(of, replies)).status == "completed"


def test_prefix_order_is_held_over_the_conversation() -> None:
    of = replace(script(), call_order="prefix", call_order_prefix=2, required_tools=("read_valve", "set_valve"))
    assert play(of, answering(of)).status == "completed"
    turned = replace(of, required_tools=("set_valve", "read_valve"))
    evidence = play(turned, answering(turned))
    assert (evidence.status, evidence.turns[0].ordered, seen(evidence)) == (
        "candidate_mismatch",
        False,
        [FIRST, SECOND],
    )
    alone = replace(of, required_tools=("read_valve", "list_alarms", "set_valve"))
    late = play(alone, answering(alone))
    assert (late.status, told(late)) == ("candidate_mismatch", [(0, True), (1, True), (2, False)])


# --- limits -------------------------------------------------------------------------------------------------------


def test_episode_ends_before_the_turn_that_max_turns_forbids() -> None:
    of = script()
    client = answering(of)
    evidence = play(of, client, limits=replace(LIMITS, max_turns=2))
    assert (evidence.status, len(client.requests)) == ("max_turns_exceeded", 2)
    assert told(evidence) == [(0, True), (1, True)]


def test_episode_ends_before_the_turn_that_begins_too_late() -> None:
    of = script()
    client = answering(of)
    evidence = play(of, client, ticks=[100.0, 100.0, 159.9, 160.0])
    assert (evidence.status, told(evidence)) == ("episode_timeout", [(0, True), (1, True)])
    assert client.deadlines == [160.0, 160.0]


# --- executable episodes ------------------------------------------------------------------------------------------


class Live:
    """Results that come from running: each call answers with its own name and arguments."""

    def __init__(self, **edits: Any) -> None:
        self.opened: EpisodeStatus | None = edits.get("opened")
        self.stops: dict[int, EpisodeStatus] = edits.get("stops", {})
        self.unresolved: dict[int, Resolution] = edits.get("unresolved", {})
        self.fakes: dict[int, str] = edits.get("fakes", {})
        self.released: list[tuple[int, bool]] = []
        self.closed: list[EpisodeStatus] = []

    async def open(self, script: Script) -> EpisodeStatus | None:
        return self.opened

    def gold(self, turn: ScriptTurn) -> tuple[tuple[GoldCall, ...], tuple[Resolution, ...]]:
        return turn.calls, tuple(one for index, one in self.unresolved.items() if index == turn.index)

    async def release(
        self, turn: ScriptTurn, response: ChatResponse, matches: Sequence[CallMatch], *, advancing: bool
    ) -> Released:
        self.released.append((turn.index, advancing))
        runs = usable_call_ids(response.tool_calls) and not response.incomplete
        executions = tuple(
            Execution(
                call_index=call.index,
                status="completed" if runs else "not_executed",
                reason=None if runs else "tool_execution.unusable_call_id",
                tool=call.function_name,
                arguments=call.parsed_arguments,
                result=canonical_text({call.function_name: call.parsed_arguments}) if runs else None,
                commit="not_applicable",
                detail=None,
            )
            for call in response.tool_calls
        )
        texts = [self.fakes.get(turn.index, execution.result or "") for execution in executions]
        return Released(
            texts=tuple(texts),
            executions=executions,
            status=self.stops.get(turn.index),
            detail="it stopped" if turn.index in self.stops else None,
        )

    async def close(self, status: EpisodeStatus) -> Closing:
        self.closed.append(status)
        verdict = AssertionEvidence(name="assert_set", category="state", verdict="passed", detail=None)
        return Closing(
            status=status, assertions=(verdict,), final_state='{"V-1":1}', declared_assertions=("assert_set",)
        )


def run(of: Script, client: Answering, results: Live, **policy: Any) -> EpisodeEvidence:
    return play(of, client, results=results, mode="executable", scoring=replace(SCORING, **policy))


def test_executable_episode_hands_back_live_results_and_closes_with_its_status() -> None:
    of = script()
    client, results = answering(of), Live()
    evidence = run(of, client, results)
    assert (evidence.status, evidence.mode, results.closed) == ("completed", "executable", ["completed"])
    assert results.released == [(0, True), (2, True)]
    assert [message["content"] for message in client.prompts()[-1] if message["role"] == "tool"] == [
        '{"read_valve":{"valve":"V-1"}}',
        '{"read_valve":{"valve":"V-0"}}',
        '{"set_valve":{"bar":1,"valve":"V-1"}}',
    ]
    assert [len(turn.executions) for turn in evidence.turns] == [2, 0, 1, 0]
    assert (evidence.final_state, evidence.declared_assertions) == ('{"V-1":1}', ("assert_set",))
    assert [one.verdict for one in evidence.assertions or ()] == ["passed"]


def test_executable_episode_runs_the_calls_of_a_turn_that_does_not_advance() -> None:
    of = script()
    client, results = answering(of, {1: calls(wire_call("list_alarms", {}))}), Live()
    evidence = run(of, client, results)
    assert (evidence.status, results.released) == ("candidate_mismatch", [(0, True), (1, False)])
    assert [one.result for one in evidence.turns[1].executions] == ['{"list_alarms":{}}']
    assert len(client.requests) == 2


def test_executable_episode_takes_unusable_ids_ahead_of_a_mismatch() -> None:
    of = script()
    client = answering(of, {0: calls(*({**call, "id": "x"} for call in SWAPPED))})
    results = Live()
    evidence = run(of, client, results)
    assert (evidence.status, results.released) == ("unusable_tool_call_ids", [(0, False)])
    assert [one.reason for one in evidence.turns[0].executions] == ["tool_execution.unusable_call_id"] * 2


@pytest.mark.parametrize("reply", [calls(*READ), calls(*SWAPPED)], ids=["match", "mismatch"])
def test_what_breaks_while_calls_run_outranks_whether_they_match(reply: Message) -> None:
    of = script()
    results = Live(stops={0: "oracle_timeout"})
    evidence = run(of, answering(of, {0: reply}), results)
    assert (evidence.status, evidence.detail, told(evidence)) == ("oracle_timeout", "it stopped", [(0, False)])
    assert results.closed == ["oracle_timeout"]


def test_episode_whose_results_cannot_be_opened_asks_nothing() -> None:
    of = script()
    client, results = answering(of), Live(opened="oracle_reset_failed")
    evidence = run(of, client, results)
    assert (evidence.status, evidence.turns, client.requests) == ("oracle_reset_failed", (), [])
    assert results.closed == ["oracle_reset_failed"]


LOST = Resolution(
    gold_index=2, parameter="bar", producer_index=0, path=("bar",), status="result_path_missing", value=None
)


def test_dependent_argument_that_does_not_resolve_ends_the_episode_before_its_turn() -> None:
    of = script()
    client = answering(of)
    evidence = run(of, client, Live(unresolved={2: LOST}))
    assert (evidence.status, evidence.unresolved) == ("dependency_resolution_failed", (LOST,))
    assert (told(evidence), len(client.requests)) == ([(0, True), (1, True)], 2)


def test_dependent_arguments_that_resolve_stand_with_their_turn() -> None:
    of = script()
    resolved = replace(LOST, status="resolved", value=1)
    evidence = run(of, answering(of), Live(unresolved={2: resolved}))
    assert (evidence.status, evidence.unresolved) == ("completed", ())
    assert [turn.resolutions for turn in evidence.turns] == [(), (), (resolved,), ()]


def test_result_that_was_not_earned_ends_the_run() -> None:
    of = script()
    client = answering(of)
    with pytest.raises(EvalError) as caught:
        run(of, client, Live(fakes={0: '{"bar":7}'}))
    assert [str(problem) for problem in caught.value.problems] == [
        f"eval_conversation_answer_key_leak: {of.task_id}: message {index} is not a tool result as it was earned\n"
        "  fix: discard this run and report it: a candidate was about to see what it had not earned"
        for index in (3, 4)
    ]
    assert len(client.requests) == 1


# --- a candidate that finds its own way ---------------------------------------------------------------------------


def by_turn(*replies: Answer) -> Answering:
    """A candidate that gives these replies one after the other."""
    return Answering(lambda request: replies[request.turn_index])


def test_live_continuation_of_gold_replies_asks_the_same_as_gold() -> None:
    of = script()
    gold, live = answering(of), answering(of)
    assert run(of, gold, Live()) == run(of, live, Live(), executable_continuation="live")
    assert gold.prompts() == live.prompts()


def test_live_continuation_lets_another_way_come_to_its_end() -> None:
    of = script()
    look = calls(wire_call("list_alarms", {}, call_id="look"))
    client = by_turn(look, calls(READ[0]), calls(READ[1]), words("Sure?"), as_expected(of.turns[2]), words("Done."))
    results = Live()
    evidence = run(of, client, results, executable_continuation="live")
    assert (evidence.status, results.closed) == ("completed", ["completed"])
    assert told(evidence) == [(0, False), (0, False), (0, False), (0, False), (2, True), (3, True)]
    assert [message["role"] for message in client.prompts()[-1][2:]] == [
        *("assistant", "tool"),
        *("assistant", "tool"),
        *("assistant", "tool"),
        *("assistant", "user"),
        *("assistant", "tool"),
    ]
    assert client.prompts()[-1][9] == {"role": "user", "content": "Yes."}
    assert client.prompts()[1][3] == {"role": "tool", "tool_call_id": "look", "content": '{"list_alarms":{}}'}


def test_live_continuation_goes_on_where_a_dependent_argument_does_not_resolve() -> None:
    of = script()
    evidence = run(of, answering(of), Live(unresolved={2: LOST}), executable_continuation="live")
    assert (evidence.status, evidence.turns[2].resolutions) == ("completed", (LOST,))


def test_live_continuation_ends_with_unusable_ids_breakage_and_too_many_turns() -> None:
    of = script()
    live = {"executable_continuation": "live"}
    twice = calls(*({**call, "id": "x"} for call in READ))
    assert run(of, answering(of, {0: twice}), Live(), **live).status == "unusable_tool_call_ids"
    assert run(of, answering(of), Live(stops={0: "oracle_call_failed"}), **live).status == "oracle_call_failed"
    endless = Answering(lambda _: calls(wire_call("list_alarms", {})))
    evidence = run(of, endless, Live(), **live)
    assert (evidence.status, len(endless.requests)) == ("max_turns_exceeded", LIMITS.max_turns)


def test_trace_episode_keeps_to_gold_whatever_the_executable_policy() -> None:
    of = script()
    policy = replace(SCORING, executable_continuation="live")
    evidence = play(of, answering(of, {0: calls(READ[0])}), scoring=policy)
    assert evidence.status == "candidate_mismatch"


def test_every_trial_has_requests_of_its_own() -> None:
    of = script()
    first, again = answering(of), answering(of)
    play(of, first)
    evidence = play(of, again, trial=2)
    assert evidence.trial == 2
    assert not {one.request_hash for one in first.requests} & {one.request_hash for one in again.requests}
