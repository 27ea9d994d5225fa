"""What a sceptic tries first: every single mistake fails the gates it must and no other, in traces and on the oracle.

Candidates of one name per mistake, all in one run of each benchmark. Rule: evaluation.md §6-§9, §15.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.records import Script, ScriptTurn
from bfcl.evaluate.scripted.behaviours import departed
from bfcl.evaluate.scripted.said import Made, gold_play
from bfcl.evaluate.scripted.server import Conduct
from bfcl.evaluate.settings.model import Mode
from tests.evaluate.scripted.served import served
from tests.system.evaluation import EXECUTABLE, TRACE, Bench, Edits, Evaluation, Log

TOOL, ARGUMENTS, SCHEMA = "tool_selection", "arguments", "schema_valid"
GROUP, ORDER, TEXT, END = "call_grouping", "call_ordering", "text_turn", "trace_completion"
RAN, JUDGED, DONE = "oracle_execution", "assertions", "executable_completion"
TRACE_GATES: Final = frozenset({TOOL, ARGUMENTS, SCHEMA, GROUP, ORDER, TEXT, END})

ON_A_CALL_TURN: Final[Mapping[str, frozenset[str]]] = {
    "scripted-silent": frozenset({TOOL, ARGUMENTS, GROUP, END}),
    "scripted-wrong-tool": frozenset({TOOL, ARGUMENTS, END}),
    "scripted-undeclared-tool": frozenset({TOOL, ARGUMENTS, SCHEMA, END}),
    "scripted-wrong-value": frozenset({ARGUMENTS, END}),
    "scripted-number-as-text": frozenset({ARGUMENTS, SCHEMA, END}),
    "scripted-omitted-required-default": frozenset({ARGUMENTS, SCHEMA, END}),
    "scripted-extra-call": frozenset({TOOL, GROUP, END}),
    "scripted-missing-call": frozenset({TOOL, ARGUMENTS, GROUP, END}),
    "scripted-split-group": frozenset({TOOL, ARGUMENTS, GROUP, END}),
    "scripted-permuted": frozenset({ORDER, END}),
    "scripted-duplicate-ids": frozenset({END}),
    "scripted-missing-ids": frozenset({END}),
    "scripted-truncated": frozenset({END}),
    "scripted-invalid-json": frozenset({ARGUMENTS, SCHEMA, END}),
    "scripted-arguments-object": frozenset({ARGUMENTS, SCHEMA, END}),
    "scripted-garbage": frozenset({TOOL, ARGUMENTS, GROUP, END}),
    "scripted-unavailable": frozenset({TOOL, ARGUMENTS, GROUP, END}),
}
"""Gates of a trace that fail where the mistake is made on the only call group of a row."""
ON_A_TEXT_TURN: Final[Mapping[str, frozenset[str]]] = {
    "scripted-silent": frozenset({TEXT, END}),
    "scripted-call-on-text-turn": frozenset({TOOL, TEXT, END}),
    "scripted-early-confirmation": frozenset({TOOL, TEXT, END}),
    "scripted-blank-text": frozenset({TEXT, END}),
    "scripted-truncated": frozenset({END}),
    "scripted-garbage": frozenset({TEXT, END}),
    "scripted-unavailable": frozenset({TEXT, END}),
}
NEVER_RUN: Final = frozenset(
    {
        "scripted-undeclared-tool",
        "scripted-number-as-text",
        "scripted-omitted-required-default",
        "scripted-duplicate-ids",
        "scripted-missing-ids",
        "scripted-truncated",
        "scripted-invalid-json",
        "scripted-arguments-object",
    }
)
"""Mistakes whose call does not reach the oracle, whatever tool it names."""
RIGHT: Final = ("scripted-gold", "scripted-rate-limited", "scripted-explicit-default", "scripted-unconstrained-value")
NO_REPLY: Final = ("scripted-garbage", "scripted-unavailable")
MISTAKES: Final = tuple(sorted({*ON_A_CALL_TURN, *ON_A_TEXT_TURN}))
STATUS: Final[Mapping[str, str]] = {
    "scripted-garbage": "malformed_response",
    "scripted-unavailable": "candidate_call_failed",
    "scripted-duplicate-ids": "unusable_tool_call_ids",
    "scripted-missing-ids": "unusable_tool_call_ids",
}
"""How an episode ends; every other mistake is a mismatch, or a confirmation that was not earned."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A finished run, and the requests that the server was sent for it."""

    bench: Bench
    models: tuple[str, ...]
    modes: tuple[Mode, ...]
    measured: Evaluation
    bodies: Sequence[Mapping[str, Json]]

    def made(self, model: str) -> Iterator[tuple[str, Script, int | None]]:
        """Task, script and the turn at which the model makes its mistake: None where it makes none."""
        for task_id, script in self.bench.scripts.items():
            yield task_id, script, 0 if model in NO_REPLY else _departure(model, script)


def _departure(model: str, script: Script) -> int | None:
    play = departed(model, script.task_id, script)
    if play is None or model in RIGHT or (model == "scripted-permuted" and script.call_order == "any"):
        return None
    right = gold_play(script)
    return next(place for place, said in enumerate(play) if said != right[place])


def _signature(model: str, script: Script, turn: int) -> frozenset[str]:
    table = ON_A_CALL_TURN if script.turns[turn].calls else ON_A_TEXT_TURN
    ahead = any(later.calls for later in script.turns[turn + 1 :])
    return table[model] | ({TOOL, ARGUMENTS} if ahead else frozenset())


def _run(bench: Bench, directory: Path, models: Sequence[str], modes: tuple[Mode, ...]) -> Run:
    log = Log()
    with served(bench.candidate, conduct=Conduct(retry_after_s=0, record=log)) as serving:
        edits: Edits = {("limits", "max_retries"): 4}
        measured = bench.evaluation(directory, serving.base_url, models, modes, edits)
        if "scripted-unavailable" in models:
            # It fails at a turn of every task.
            measured.measure_nothing()
        else:
            measured.succeed()
    return Run(bench=bench, models=tuple(models), modes=modes, measured=measured, bodies=log.bodies)


@pytest.fixture(scope="module")
def tiny_run(tiny: Bench, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Every candidate, on the oracle."""
    return _run(tiny, tmp_path_factory.mktemp("run"), [*RIGHT, *MISTAKES], EXECUTABLE)


@pytest.fixture(scope="module")
def banking_trace(banking: Bench, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """More candidates, by their traces."""
    return _run(banking, tmp_path_factory.mktemp("run"), BANKING_MODELS, TRACE)


@pytest.fixture(scope="module")
def banking_run(banking: Bench, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Some candidates, on the oracle."""
    models = ("scripted-gold", "scripted-explicit-default", "scripted-wrong-value")
    return _run(banking, tmp_path_factory.mktemp("run"), models, EXECUTABLE)


BANKING_MODELS: Final = (
    "scripted-gold",
    "scripted-explicit-default",
    "scripted-unconstrained-value",
    "scripted-wrong-value",
    "scripted-permuted",
    "scripted-blank-text",
)
"""Every mistake is made on the small packs; these are made where parallel groups, chains and corrections are."""
KILN_MODELS: Final = (
    "scripted-gold",
    "scripted-explicit-default",
    "scripted-unconstrained-value",
    "scripted-number-as-text",
    "scripted-omitted-required-default",
    "scripted-permuted",
    "scripted-split-group",
)


@pytest.fixture(scope="module")
def kilns_run(kilns: Bench, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Candidates whose mistake the bundled packs leave no room for, on the oracle."""
    return _run(kilns, tmp_path_factory.mktemp("run"), KILN_MODELS, EXECUTABLE)


@pytest.fixture(scope="module", params=["tiny_run", "banking_trace", "banking_run", "kilns_run"])
def run(request: pytest.FixtureRequest) -> Run:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Run)
    return found


# --- scores ---------------------------------------------------------------------------------------------------------


def test_gold_scores_one_by_every_metric(run: Run) -> None:
    (told,) = [one for one in run.measured.report()["candidates"] if one["alias"] == "scripted-gold"]
    size = len(run.bench.rows)
    assert (told["task_count"], told["successful_tasks"], told["non_candidate_stops"]) == (size, size, 0)
    values = {name: metric["value"] for name, metric in told["metrics"].items()}
    assert values["task_success_rate"] == 1.0
    assert {name for name, value in values.items() if value not in (1.0, None)} == set()


def test_candidates_that_are_right_in_another_way_lose_no_task(run: Run) -> None:
    found = {
        one["alias"]: (one["successful_tasks"], one["task_count"])
        for one in run.measured.report()["candidates"]
        if one["alias"] in RIGHT
    }
    size = len(run.bench.rows)
    assert found == {model: (size, size) for model in RIGHT if model in run.models}


def test_each_mistake_fails_the_gates_of_a_trace_that_it_must_and_no_other(run: Run) -> None:
    gates = run.measured.failed_gates()
    seen, expected = {}, {}
    for model in run.models:
        for task_id, script, turn in run.made(model):
            seen[model, task_id] = gates[model, task_id] & TRACE_GATES
            expected[model, task_id] = frozenset() if turn is None else _signature(model, script, turn)
    assert seen == expected


def test_each_mistake_ends_its_episode_as_the_candidates_or_the_endpoints(run: Run) -> None:
    wrong = {}
    rows = {(row["candidate_alias"], row["task_id"]): row for row in run.measured.results()}
    for model in run.models:
        for task_id, _, turn in run.made(model):
            row = rows[model, task_id]
            allowed = {STATUS.get(model, "candidate_mismatch")}
            if run.modes == EXECUTABLE:
                allowed |= {"confirmation_not_earned"} if model not in STATUS else set()
            if turn is None:
                allowed = {"completed"}
            unreachable = turn is not None and model == "scripted-unavailable"
            if row["episode_status"] not in allowed or row["non_candidate_stop"] != unreachable:
                wrong[model, task_id] = row["episode_status"]
    assert wrong == {}


def test_only_an_endpoint_that_cannot_be_had_is_infrastructure(run: Run) -> None:
    """A verdict of assertions apart, which is of the state that there was: every record then says infrastructure."""
    found: dict[str, set[tuple[str, str]]] = {}
    for (model, _), records in run.measured.failures().items():
        for record in records:
            if record.attribution != "candidate" or model == "scripted-unavailable":
                found.setdefault(model, set()).add((record.subject, record.attribution))
    trace = {TOOL, ARGUMENTS, GROUP, TEXT, END, "episode"}
    expected = {(gate, "infrastructure") for gate in trace}
    if run.modes == EXECUTABLE:
        expected |= {(DONE, "infrastructure"), (JUDGED, "candidate")}
    assert found == ({"scripted-unavailable": expected} if "scripted-unavailable" in run.models else {})


def test_failure_codes_are_those_of_the_records(run: Run) -> None:
    rows = run.measured.results()
    assert [row["failure_codes"] for row in rows] == [[one["code"] for one in row["failure_records"]] for row in rows]
    assert {row["task_success"] for row in rows if row["failure_codes"]} <= {False}
    assert {row["task_success"] for row in rows if not row["failure_codes"]} == {True}


# --- on the oracle --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tiny_run", "banking_run", "kilns_run"])
def test_each_mistake_fails_the_gates_of_execution_that_it_must(name: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(name)
    gates = run.measured.failed_gates()
    seen, expected = {}, {}
    for model in run.models:
        for task_id, script, turn in run.made(model):
            seen[model, task_id] = gates[model, task_id] - TRACE_GATES - {JUDGED}
            expected[model, task_id] = set() if turn is None else {DONE, *_not_run(model, script, turn)}
    assert seen == expected


def _not_run(model: str, script: Script, turn: int) -> set[str]:
    """The gate of execution, where a call of the mistaken turn must not run."""
    play = departed(model, script.task_id, script)
    if model in NO_REPLY or play is None or not play[turn].calls:
        return set()
    unconfirmed = any(
        value is True
        for call in play[turn].calls
        if isinstance(call.arguments, str) and model not in NEVER_RUN
        for value in json.loads(call.arguments).values()
    )
    return {RAN} if model in NEVER_RUN or unconfirmed else set()


COPY, BORROW, BOTH, OUTSIDE = "check_one_copy", "borrow_with_confirmation", "compare_two_copies", "request_outside"
JUDGED_SO: Final[Mapping[str, tuple[str, ...]]] = {
    # Templates whose assertions fail: what a mistake left undone, or did where nothing was to be done.
    "scripted-silent": (COPY, BORROW, BOTH),
    "scripted-wrong-tool": (COPY, BORROW, BOTH),
    "scripted-undeclared-tool": (COPY, BORROW, BOTH),
    "scripted-wrong-value": (COPY, BORROW, BOTH),
    "scripted-extra-call": (COPY, BORROW, BOTH),
    "scripted-missing-call": (COPY, BORROW, BOTH),
    "scripted-split-group": (BOTH,),
    "scripted-permuted": (),
    "scripted-call-on-text-turn": (COPY, BORROW, BOTH, OUTSIDE),
    "scripted-blank-text": (BORROW,),
    "scripted-early-confirmation": (BORROW,),
    "scripted-duplicate-ids": (BOTH,),
    "scripted-missing-ids": (COPY, BORROW, BOTH),
    "scripted-truncated": (COPY, BORROW, BOTH),
    "scripted-invalid-json": (COPY, BORROW, BOTH),
    "scripted-arguments-object": (COPY, BORROW, BOTH),
    "scripted-garbage": (COPY, BORROW, BOTH),
    "scripted-unavailable": (COPY, BORROW, BOTH),
    "scripted-number-as-text": (),
    "scripted-omitted-required-default": (),
}


def test_assertions_judge_what_was_done_also_after_the_candidate_stopped(tiny_run: Run) -> None:
    found: dict[str, set[str]] = {model: set() for model in MISTAKES}
    for (model, task_id), gates in tiny_run.measured.failed_gates().items():
        if JUDGED in gates:
            found[model] |= {name for name in (COPY, BORROW, BOTH, OUTSIDE) if f"__{name}" in task_id}
    assert found == {model: set(templates) for model, templates in JUDGED_SO.items()}


def test_traces_fail_alike_with_and_without_the_oracle(banking_trace: Run, banking_run: Run) -> None:
    with_oracle = banking_run.measured.failed_gates()
    without = banking_trace.measured.failed_gates()
    assert {key: gates & TRACE_GATES for key, gates in with_oracle.items()} == {
        key: without[key] for key in with_oracle
    }
    scopes = [one.measured.report()["eval_scope"] for one in (banking_trace, banking_run)]
    assert scopes == ["trace", "trace_and_executable"]


def test_order_policies_judge_one_permutation_by_their_own_rules(kilns_run: Run) -> None:
    gates = kilns_run.measured.failed_gates()
    permuted = {
        script.call_order: gates["scripted-permuted", task_id] & TRACE_GATES
        for task_id, script in kilns_run.bench.scripts.items()
        if any(len(turn.calls) > 1 for turn in script.turns)
    }
    assert permuted == {"any": frozenset(), "strict": {ORDER, END}, "prefix": {ORDER, END}}


def test_runs_have_a_task_for_every_mistake(
    tiny_run: Run, banking_trace: Run, banking_run: Run, kilns_run: Run
) -> None:
    """So that no expectation above holds of nothing."""
    tried = {
        model
        for run in (tiny_run, banking_trace, banking_run, kilns_run)
        for model in run.models
        if any(turn is not None for _, _, turn in run.made(model))
    }
    assert tried == set(MISTAKES)
    scripts = kilns_run.bench.scripts.values()
    still_right = {model for model in RIGHT if any(departed(model, one.task_id, one) is not None for one in scripts)}
    assert still_right == {"scripted-explicit-default", "scripted-unconstrained-value"}


# --- what is sent ---------------------------------------------------------------------------------------------------


def test_requests_hold_nothing_that_is_not_earned(run: Run) -> None:
    """A request is the seed, what the candidate itself said, and what that released: told anew here from the rows."""
    allowed = {
        (model, conversation)
        for model in run.models
        for script in run.bench.scripts.values()
        for conversation in _may_be_sent(model, script)
    }
    sent = {(body["model"], _told(body["messages"])) for body in run.bodies}
    assert sent - allowed == set()
    # Every first turn is asked, and a model that is right is asked every turn.
    assert {one for one in allowed if one[0] in {"scripted-gold", "scripted-silent"}} <= sent


def test_requests_hold_no_field_but_the_protocols(run: Run) -> None:
    fields = {"model", "messages", "tools", "tool_choice", "temperature", "max_tokens"}
    assert {frozenset(body) for body in run.bodies} == {frozenset(fields)}
    offered = {canonical_text(script.tools) for script in run.bench.scripts.values()}
    assert {canonical_text(body["tools"]) for body in run.bodies} == offered


def _may_be_sent(model: str, script: Script) -> Iterator[str]:
    """Every conversation that a model can have earned: it goes on past a turn only if that turn was right.

    The candidate's own words are left out: rows that begin alike are answered in the words of one of them.
    """
    departure = 0 if model in NO_REPLY else _departure(model, script)
    play = departed(model, script.task_id, script) or gold_play(script)
    marks: list[Any] = [[one["role"], one["content"], []] for one in script.seed_messages]
    yield canonical_text(marks)
    for turn in script.turns[:-1]:
        if departure is not None and turn.index >= departure:
            return
        said = play[turn.index]
        marks.append(["assistant", said.content is None, [[call.name, call.arguments] for call in said.calls]])
        marks += [["tool", _result(turn, call), []] for call in said.calls]
        if turn.user_after is not None:
            marks.append(["user", turn.user_after, []])
        yield canonical_text(marks)


def _result(turn: ScriptTurn, said: Made) -> str:
    """What the expected call gave that a call stands for: the one of its tool whose arguments it repeats."""
    made = json.loads(str(said.arguments)).items()
    (gold,) = [one for one in turn.calls if one.tool == said.name and one.arguments.items() <= made]
    return gold.recorded_result


def _told(messages: Any) -> str:
    marks = [
        [
            message["role"],
            message.get("content") is None if message["role"] == "assistant" else message["content"],
            [[call["function"]["name"], call["function"]["arguments"]] for call in message.get("tool_calls") or ()],
        ]
        for message in messages
    ]
    return canonical_text(marks)
