"""What did the calls of a recorded episode come to? The live results with a record in the oracle's place.

Everything that is decided about calls, confirmations, dependent arguments and endings is decided again by the code that
decided it first; only what the oracle itself answered is taken from the record. Rule: evaluation.md §16.4.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from bfcl.canonical import canonical_text
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.drive.live import LiveResults
from bfcl.evaluate.drive.session import Happened, SessionBroken, answered
from bfcl.evaluate.drive.task_spec import TaskSpec
from bfcl.evaluate.records import EpisodeEvidence, Execution
from bfcl.evaluate.settings.model import Scoring
from bfcl.oracle.protocol import EpisodeResult, PlannedCall
from bfcl.records.verdict import AssertionOutcome

CACHE_INVALID: Final = "eval_tool_trace_cache_invalid"


def recalled_results(evidence: EpisodeEvidence, spec: TaskSpec, scoring: Scoring) -> LiveResults:
    """The results of one recorded episode."""
    return LiveResults(RecordedAnswers(evidence, spec.mutating), spec, scoring)


class RecordedAnswers:
    """Answers as the oracle did, by the record of one episode. Implements `Answers`."""

    def __init__(self, evidence: EpisodeEvidence, mutating: Collection[str]) -> None:
        """`mutating` names tools of which it is told whether a call changed anything."""
        self._evidence, self._mutating = evidence, mutating
        self._replies = iter([turn.executions for turn in evidence.turns if turn.executions])

    async def reset(self, *, last: bool) -> str | None:  # noqa: ARG002 the protocol has it
        """See `Answers.reset`."""
        return self._why if self._evidence.status == "oracle_reset_failed" else None

    async def make(self, calls: Sequence[PlannedCall], *, last: bool) -> tuple[Happened, ...]:  # noqa: ARG002 as above
        """What the record says of the calls of a reply. Raises: SessionBroken where it broke there.

        Raises also: EvalError `eval_tool_trace_cache_invalid` where the record answers more of them or fewer.
        """
        executions = next(self._replies, ())
        told = [one for one in executions if one.status != "not_executed"]
        broken = self._evidence.status == "oracle_session_failed"
        if broken and calls and told and told[-1].status == "tool_error":
            # No other episode that ends so has a call that broke.
            raise SessionBroken(told[-1].detail or "")
        happened = tuple(self._happened(told))
        if len(happened) != len(calls) and (not happened or happened[-1].stops is None or len(happened) > len(calls)):
            raise self._refused(f"{len(happened)} calls of a reply were answered where {len(calls)} could be made")
        for call, one in zip(calls, told, strict=False):
            self._check(call, one)
        return happened

    def _check(self, call: PlannedCall, told: Execution) -> None:
        """Hold what is said of a call to its answer and its tool. Raises: EvalError."""
        if told.result is not None and not _is_object(told.result):
            raise self._refused(f"the result of a call of `{call.tool}` is no object in canonical JSON")
        status = told.status if told.result is None else answered(told.result)[0]
        if told.status != status:
            raise self._refused(f"a call of `{call.tool}` is {told.status} by the record, and {status} by its result")
        if (told.commit == "not_applicable") is (call.tool in self._mutating):
            may = "may" if call.tool in self._mutating else "cannot"
            raise self._refused(f"`commit` of a call of `{call.tool}`, which {may} change anything, is {told.commit}")

    def _refused(self, message: str) -> EvalError:
        fix = "restore the file from a copy; a record is never mended"
        return EvalError(Problem(code=CACHE_INVALID, subject=self._evidence.task_id, message=message, fix=fix))

    async def end(self, *, judge: bool) -> EpisodeResult:
        """See `Answers.end`. A state that could not be read is none."""
        evidence = self._evidence
        if evidence.final_state is None:
            if evidence.status == "oracle_session_failed":
                raise SessionBroken(self._why)
            return EpisodeResult(results=(), arguments=(), states=(), assertions=())
        verdicts = (evidence.assertions or ()) if judge else ()
        outcomes = tuple(
            AssertionOutcome(
                name=one.name,
                status="error" if one.verdict == "infrastructure_error" else one.verdict,
                detail=one.detail,
            )
            for one in verdicts
        )
        return EpisodeResult(results=(), arguments=(), states=(evidence.final_state,), assertions=outcomes)

    @property
    def _why(self) -> str:
        return self._evidence.detail or ""

    def _happened(self, told: Sequence[Execution]) -> Iterator[Happened]:
        for one in told:
            yield Happened(
                status=one.status,
                result=one.result,
                commit=one.commit,
                state_after=self._evidence.final_state,
                detail=one.detail,
            )


def _is_object(text: str) -> bool:
    try:
        value = json.loads(text)
        return isinstance(value, dict) and canonical_text(value) == text
    except ValueError:
        return False
