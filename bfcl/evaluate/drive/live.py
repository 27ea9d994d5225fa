"""What do a candidate's calls come to when they are really made? Rule: evaluation.md §7, §17.1.

Which calls may be made is decided here, in the order of the reply; `Answers` say what became of those that were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from bfcl.canonical import Json
from bfcl.evaluate.compare.kernel import INVALID_ARGUMENTS, INVALID_TYPE, UNDECLARED, Kernel
from bfcl.evaluate.drive.answers import Answers
from bfcl.evaluate.drive.dependencies import Paired, paired, resolve
from bfcl.evaluate.drive.judged import UNJUDGED, closing_of
from bfcl.evaluate.drive.results import Closing, Released, usable_call_ids
from bfcl.evaluate.drive.session import Happened, SessionBroken
from bfcl.evaluate.drive.task_spec import TaskSpec
from bfcl.evaluate.records import (
    CallMatch,
    CommitState,
    EpisodeStatus,
    Execution,
    GoldCall,
    Resolution,
    Script,
    ScriptTurn,
)
from bfcl.evaluate.settings.model import Scoring
from bfcl.modelio.exchange import ChatResponse, ToolCall
from bfcl.oracle.protocol import PlannedCall
from bfcl.stages.arguments import checker

INVALID_SHAPE: Final = "tool_execution.invalid_call_shape"
ARGUMENTS: Final = "tool_execution.invalid_arguments"
UNDECLARED_TOOL: Final = "tool_execution.undeclared_tool"
SCHEMA_INVALID: Final = "tool_execution.schema_invalid"
INCOMPLETE: Final = "tool_execution.incomplete_response"
UNUSABLE_ID: Final = "tool_execution.unusable_call_id"
NOT_EARNED: Final = "tool_execution.confirmation_not_earned"
PRIOR_FAILED: Final = "tool_execution.prior_call_failed"


class LiveResults:
    """The results of one executed episode. Implements `Results`."""

    def __init__(self, answers: Answers, spec: TaskSpec, scoring: Scoring) -> None:
        """`answers` are to that episode alone; `spec` is that of the row whose script is opened."""
        self._answers = answers
        self._spec = spec
        self._live = scoring.executable_continuation == "live"
        # Calls are well formed or not, whether or not that is scored: no policy sends a backend what is not.
        self._checked = scoring.argument_matching == "schema_then_canonical"
        self._shapes = replace(scoring, argument_matching="schema_then_canonical")
        self._kernel = Kernel(self._shapes, ())
        self._schemas: Mapping[str, Mapping[str, Json]] = {}
        self._last_calls = -1
        """Index of the last turn that expects calls."""
        self._lost = True
        """Whether there is no session: not yet, or no more."""
        self._claims: tuple[Paired, ...] = ()
        self._acted: set[int] = set()
        """Turns whose confirmation was made use of."""
        self._last: Happened | None = None
        """What stopped the episode, if a call did."""
        self._why: str | None = None

    async def open(self, script: Script) -> EpisodeStatus | None:
        """Make the oracle ready. Raises: EvalError `eval_oracle_session_failed`."""
        self._kernel = Kernel(self._shapes, script.tools)
        self._schemas = dict(_schemas(script))
        self._last_calls = max((turn.index for turn in script.turns if turn.calls), default=-1)
        self._why = await self._answers.reset(last=self._last_calls < 0)
        self._lost = self._why is not None
        return "oracle_reset_failed" if self._lost else None

    def gold(self, turn: ScriptTurn) -> tuple[tuple[GoldCall, ...], tuple[Resolution, ...]]:
        """The calls of a turn, arguments that depend on earlier results taken from the live ones."""
        calls: list[GoldCall] = []
        resolutions: list[Resolution] = []
        for call in turn.calls:
            links = self._spec.links.get(call.index)
            if links is None:
                calls.append(call)
                continue
            filled, found = resolve(call, links, self._claims, checker(self._schemas.get(call.tool, {})))
            calls.append(filled)
            resolutions += found
        return tuple(calls), tuple(resolutions)

    async def release(
        self, turn: ScriptTurn, response: ChatResponse, matches: Sequence[CallMatch], *, advancing: bool
    ) -> Released:
        """Make the calls that may be made. Raises: EvalError `eval_oracle_session_failed`."""
        calls = response.tool_calls
        reasons = self._reasons(response, matches)
        unearned = self._unearned(turn, response, reasons, matches, advancing=advancing)
        made = [
            PlannedCall(tool=call.function_name, arguments=call.parsed_arguments or {}, turn_index=turn.index)
            for call, reason in zip(calls[:unearned], reasons, strict=False)
            if reason is None
        ]
        try:
            happened = await self._answers.make(made, last=self._is_last(turn, unearned, advancing=advancing))
        except SessionBroken as broken:
            self._lost, self._why = True, str(broken)
            commit: CommitState = "not_started" if made[0].tool in self._spec.mutating else "not_applicable"
            lost = Happened(status="tool_error", result=None, commit=commit, state_after=None, detail=self._why)
            return replace(self._told(calls, reasons, (lost,), unearned), texts=(), status="oracle_session_failed")
        if any(self._spec.confirmations.asked_by(call.tool, call.arguments) for call in made):
            self._acted.add(turn.index)
        released = self._told(calls, reasons, happened, unearned)
        self._claims += paired(matches, released.executions)
        return released if advancing and released.status is None else replace(released, texts=())

    async def close(self, status: EpisodeStatus) -> Closing:
        """Read the final state and ask the assertions, as far as the episode still tells anything.

        Raises: EvalError `eval_oracle_session_failed`.
        """
        declared = tuple(one.name for one in self._spec.assertions)
        if self._lost:
            return Closing(status=status, state_known=False, declared_assertions=declared, detail=self._why)
        last = self._last
        if last is not None and (last.result is None or last.commit == "unknown"):
            # Nothing to run again: that call broke, and the state it left was read at once, if it could be.
            state = last.state_after
            return Closing(
                status=status, final_state=state, state_known=state is not None, declared_assertions=declared
            )
        try:
            result = await self._answers.end(judge=status not in UNJUDGED)
        except SessionBroken as broken:
            worse: EpisodeStatus = "oracle_session_failed" if status == "completed" else status
            return Closing(status=worse, state_known=False, declared_assertions=declared, detail=str(broken))
        return closing_of(status, self._spec.assertions, result)

    # --- one reply ---

    def _reasons(self, response: ChatResponse, matches: Sequence[CallMatch]) -> list[str | None]:
        """By call, why it may not be made whatever came before, or None."""
        every: str | None = None
        if response.incomplete:
            every = INCOMPLETE
        elif not usable_call_ids(response.tool_calls):
            every = UNUSABLE_ID
        return [
            _fault(call, match.schema_reasons if self._checked else self._kernel.schema_reasons(call)) or every
            for call, match in zip(response.tool_calls, matches, strict=True)
        ]

    def _unearned(
        self,
        turn: ScriptTurn,
        response: ChatResponse,
        reasons: Sequence[str | None],
        matches: Sequence[CallMatch],
        *,
        advancing: bool,
    ) -> int | None:
        """The first call that claims a confirmation the user has not given for it.

        On the gold path an answer covers the batch it was given for, and no other. A candidate that finds its own way
        has one batch in the turn that an answer covers, and in it the calls that the answer was given for.
        """
        covered = turn.index in self._spec.confirmations.turns
        if covered and advancing and not self._live:
            return None
        given = covered and self._live and turn.index not in self._acted
        for index, (call, reason) in enumerate(zip(response.tool_calls, reasons, strict=True)):
            if reason is not None or (given and matches[index].full):
                continue
            if self._spec.confirmations.asked_by(call.function_name, call.parsed_arguments or {}):
                return index
        return None

    def _is_last(self, turn: ScriptTurn, unearned: int | None, *, advancing: bool) -> bool:
        """Whether no call is to be expected after this reply: the script has none, or the episode ends here."""
        ends = unearned is not None or not (advancing or self._live)
        return ends or turn.index >= self._last_calls

    def _told(
        self,
        calls: Sequence[ToolCall],
        reasons: Sequence[str | None],
        happened: Sequence[Happened],
        unearned: int | None,
    ) -> Released:
        """The evidence of a reply; after the first call that stops the episode nothing is made."""
        left = iter(happened)
        executions: list[Execution] = []
        status: EpisodeStatus | None = None
        detail: str | None = None
        for index, (call, reason) in enumerate(zip(calls, reasons, strict=True)):
            if status is not None:
                executions.append(self._not_made(index, call, PRIOR_FAILED))
            elif reason is not None:
                executions.append(self._not_made(index, call, reason))
            elif index == unearned:
                status = "confirmation_not_earned"
                detail = f"call {index} `{call.function_name}` claims a confirmation that the user has not given for it"
                executions.append(self._not_made(index, call, NOT_EARNED))
            else:
                one = next(left)
                executions.append(self._made(index, call, one))
                if one.stops is not None:
                    status, detail, self._last = one.stops, one.detail, one
        texts = tuple(one.result for one in executions if one.result is not None)
        return Released(texts=texts, executions=tuple(executions), status=status, detail=detail)

    def _made(self, index: int, call: ToolCall, happened: Happened) -> Execution:
        return Execution(
            call_index=index,
            status=happened.status,
            reason=None,
            tool=call.function_name,
            arguments=call.parsed_arguments,
            result=happened.result,
            commit=happened.commit,
            detail=happened.detail,
        )

    def _not_made(self, index: int, call: ToolCall, reason: str) -> Execution:
        return Execution(
            call_index=index,
            status="not_executed",
            reason=reason,
            tool=call.function_name,
            arguments=None,
            result=None,
            commit="not_started" if call.function_name in self._spec.mutating else "not_applicable",
            detail=None,
        )


def _fault(call: ToolCall, reasons: Sequence[str]) -> str | None:
    """Why a call is none that a tool can be given, the first that applies."""
    if INVALID_TYPE in reasons or not call.id or not call.function_name:
        return INVALID_SHAPE
    if INVALID_ARGUMENTS in reasons:
        return ARGUMENTS
    if UNDECLARED in reasons:
        return UNDECLARED_TOOL
    return SCHEMA_INVALID if reasons else None


def _schemas(script: Script) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Name and parameters of each tool that the script offers."""
    for tool in script.tools:
        function = tool.get("function")
        if isinstance(function, Mapping):
            parameters = function.get("parameters")
            yield str(function.get("name")), parameters if isinstance(parameters, Mapping) else {}
