"""Episodes to score: driven by the real driver, on recorded results or on an oracle that does as it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, cast

from bfcl.evaluate.drive.results import Closing, Released, usable_call_ids
from bfcl.evaluate.records import (
    AssertionEvidence,
    CallMatch,
    CommitState,
    EpisodeEvidence,
    EpisodeStatus,
    Execution,
    Gate,
    GateName,
    GoldCall,
    Resolution,
    Script,
    ScriptTurn,
    TaskScore,
)
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.settings.model import Limits, Scoring
from bfcl.modelio.exchange import ChatResponse, ToolCall
from tests.evaluate.driven import LIMITS, SCORING, Answer, answering, calls, one_group, play, wire_call, words

Verdict = Literal["passed", "failed", "not_applicable", "infrastructure_error"]

READ_1: Final = wire_call("read_valve", {"valve": "V-1"}, call_id="a")
READ_0: Final = wire_call("read_valve", {"valve": "V-0"}, call_id="b")
ANSWERS: Final[Mapping[str, Answer]] = {
    "declared_tool": calls(READ_1, wire_call("list_alarms", {}, call_id="b")),
    "undeclared_tool": calls(READ_1, wire_call("open_hatch", {}, call_id="b")),
    "wrong_value": calls(READ_1, wire_call("read_valve", {"valve": "V-9"}, call_id="b")),
    "forbidden_value": calls(READ_1, wire_call("read_valve", {"valve": 9}, call_id="b")),
    "unparseable": calls(READ_1, wire_call("read_valve", "{V-0", call_id="b")),
    "permuted": calls(READ_0, READ_1),
    "too_many": calls(READ_1, READ_0, wire_call("read_valve", {"valve": "V-9"}, call_id="c")),
    "too_few": calls(READ_1),
    "words": words("Nothing to do."),
    "blank": words("  "),
    "truncated": calls(READ_1, READ_0, finish="length"),
    "truncated_words": words("Do", finish="max_tokens"),
    "unreachable": "retry_exhausted",
    "malformed": "malformed_response",
    "same_ids": calls(READ_1, wire_call("read_valve", {"valve": "V-0"}, call_id="a")),
}
"""Replies that depart from the group of `one_group`."""


class Told:
    """Results of an oracle whose failures are written down: `broken` edits a turn's last execution."""

    def __init__(
        self,
        *,
        broken: Mapping[int, Mapping[str, Any]] | None = None,
        stops: Mapping[int, EpisodeStatus] | None = None,
        opening: EpisodeStatus | None = None,
        resolutions: Mapping[int, tuple[Resolution, ...]] | None = None,
        closing: Mapping[str, Any] | None = None,
    ) -> None:
        self._broken = broken or {}
        self._stops = stops or {}
        self._opening = opening
        self._resolutions = resolutions or {}
        self._closing = closing or {}

    async def open(self, script: Script) -> EpisodeStatus | None:
        return self._opening

    def gold(self, turn: ScriptTurn) -> tuple[tuple[GoldCall, ...], tuple[Resolution, ...]]:
        return turn.calls, self._resolutions.get(turn.index, ())

    async def release(
        self, turn: ScriptTurn, response: ChatResponse, matches: Sequence[CallMatch], *, advancing: bool
    ) -> Released:
        ran = [execution(call, match) for call, match in zip(response.tool_calls, matches, strict=True)]
        if response.incomplete or not usable_call_ids(response.tool_calls):
            ran = [refused(one, "unusable_call_id") for one in ran]
        # Only what reached the oracle can break in it.
        reached = ran[-1].status != "not_executed"
        if reached and turn.index in self._broken:
            ran[-1] = replace(ran[-1], **self._broken[turn.index])
        return Released(
            texts=tuple(one.result or "" for one in ran) if advancing else (),
            executions=tuple(ran),
            status=self._stops.get(turn.index) if reached else None,
        )

    async def close(self, status: EpisodeStatus) -> Closing:
        return replace(Closing(status=status), **self._closing)


def execution(call: ToolCall, match: CallMatch) -> Execution:
    """A call that the oracle carried out, or refused to for its shape; `set_valve` mutates."""
    ran = Execution(
        call_index=call.index,
        status="completed",
        reason=None,
        tool=call.function_name,
        arguments=call.parsed_arguments,
        result='{"status":"ok"}',
        commit="committed" if call.function_name == "set_valve" else "not_applicable",
        detail=None,
    )
    return refused(ran, "schema_invalid") if match.schema_reasons else ran


def refused(ran: Execution, reason: str) -> Execution:
    """The call as one that was not executed."""
    commit = ran.commit if ran.commit == "not_applicable" else "not_started"
    return replace(
        ran,
        status="not_executed",
        reason=f"tool_execution.{reason}",
        arguments=None,
        result=None,
        commit=cast("CommitState", commit),
    )


def resolution(status: Any = "resolved") -> Resolution:
    """An argument of the second gold call that comes from the first one's result."""
    return Resolution(gold_index=1, parameter="valve", producer_index=0, path=("valve",), status=status, value="V-0")


def assertions(*verdicts: Verdict | tuple[str, Verdict]) -> dict[str, Any]:
    """What closing says of assertions; each is a verdict, or a category and one. `state` unless it says otherwise."""
    told = [one if isinstance(one, tuple) else ("state", one) for one in verdicts]
    names = tuple(f"check_{place}" for place in range(len(told)))
    ran = tuple(
        AssertionEvidence(name=name, category=category, verdict=verdict, detail=None)
        for name, (category, verdict) in zip(names, told, strict=True)
    )
    return {"assertions": ran, "declared_assertions": names}


def traced(
    instead: Mapping[int, Answer] | None = None,
    *,
    of: Script | None = None,
    scoring: Scoring = SCORING,
    limits: Limits = LIMITS,
    **how: Any,
) -> EpisodeEvidence:
    """A trace episode of `one_group`, as expected but for the turns in `instead`."""
    played = of or one_group()
    return play(played, answering(played, instead), scoring=scoring, limits=limits, **how)


def executed(
    instead: Mapping[int, Answer] | None = None,
    told: Told | None = None,
    *,
    of: Script | None = None,
    scoring: Scoring = SCORING,
    limits: Limits = LIMITS,
    **how: Any,
) -> EpisodeEvidence:
    """An executable episode of `one_group`, on an oracle that works unless told otherwise."""
    return traced(instead, of=of, scoring=scoring, limits=limits, mode="executable", results=told or Told(), **how)


def scored(evidence: EpisodeEvidence, *, of: Script | None = None, scoring: Scoring = SCORING) -> TaskScore:
    """The score of an episode of `one_group` or another script."""
    return score_episode(of or one_group(), evidence, scoring)


def gate(score: TaskScore, name: GateName) -> Gate:
    return next(one for one in score.gates if one.name == name)


def failed(score: TaskScore) -> dict[str, str]:
    """Class of every failed gate by its name, in gate order."""
    return {one.name: one.failure_class for one in score.gates if one.outcome == "failed"}
