"""What did the calls of a recorded episode come to? The live source of results with the record in the oracle's place.

Everything that is decided about calls, confirmations, dependent arguments and endings is decided again by the code that
decided it first; only what the oracle itself answered is taken from the record. Rule: evaluation.md §16.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

from bfcl.errors import EvalError, Problem
from bfcl.evaluate.drive.desk import OracleDesk
from bfcl.evaluate.drive.live import LiveResults
from bfcl.evaluate.drive.session import Happened, SessionBroken
from bfcl.evaluate.drive.task_spec import TaskSpec
from bfcl.evaluate.records import EpisodeEvidence, Execution
from bfcl.evaluate.settings.model import Scoring
from bfcl.oracle.protocol import Breakdown, Episode, EpisodeResult, PlannedCall
from bfcl.records.verdict import AssertionOutcome

CACHE_INVALID: Final = "eval_tool_trace_cache_invalid"


class _Recorded:
    """Stands at the desk: answers the opening and the ending of an episode as they were recorded."""

    def __init__(self, evidence: EpisodeEvidence) -> None:
        self._evidence = evidence
        self._opened = False

    async def run(self, episode: Episode) -> EpisodeResult:
        if not self._opened:
            self._opened = True
            failed = self._evidence.status == "oracle_reset_failed"
            return _result(broken=_reset_broke(self._evidence.detail) if failed else None)
        return self._ending(asked=bool(episode.assertions))

    def _ending(self, *, asked: bool) -> EpisodeResult:
        evidence = self._evidence
        if evidence.final_state is None:
            # A session that broke at its end is told by a reset that fails, a state that could not be read by none.
            broken = evidence.status == "oracle_session_failed"
            return _result(broken=_reset_broke(evidence.detail) if broken else None)
        verdicts = evidence.assertions or () if asked else ()
        outcomes = tuple(
            AssertionOutcome(
                name=one.name,
                status="error" if one.verdict == "infrastructure_error" else one.verdict,
                detail=one.detail,
            )
            for one in verdicts
        )
        return _result(states=(evidence.final_state,), assertions=outcomes)


class RecalledResults(LiveResults):
    """The results of one recorded episode. Implements `Results`."""

    def __init__(self, evidence: EpisodeEvidence, spec: TaskSpec, scoring: Scoring) -> None:
        # The record is asked what a desk is asked, and nothing else of one.
        super().__init__(cast("OracleDesk", _Recorded(evidence)), spec, scoring)
        self._evidence = evidence
        self._turns = iter([turn.executions for turn in evidence.turns if turn.executions])

    async def _make(self, made: Sequence[PlannedCall]) -> tuple[Happened, ...]:
        """What the record says of the calls that are made. Raises: SessionBroken where it broke there."""
        executions = next(self._turns, ())
        answered = [one for one in executions if one.status != "not_executed"]
        broken = self._evidence.status == "oracle_session_failed"
        if broken and made and answered and answered[-1].status == "tool_error":
            # No other episode that ends so has a call that broke.
            raise SessionBroken(answered[-1].detail or "")
        happened = tuple(self._happened(answered))
        if len(happened) != len(made) and (not happened or happened[-1].stops is None or len(happened) > len(made)):
            message = f"{len(happened)} calls of a reply were answered where {len(made)} could be made"
            fix = "restore the file from a copy; a record is never mended"
            raise EvalError(Problem(code=CACHE_INVALID, subject=self._evidence.task_id, message=message, fix=fix))
        return happened

    def _happened(self, answered: Sequence[Execution]) -> Iterator[Happened]:
        for one in answered:
            yield Happened(
                status=one.status,
                result=one.result,
                commit=one.commit,
                state_after=self._evidence.final_state,
                detail=one.detail,
            )


def _reset_broke(detail: str | None) -> Breakdown:
    return Breakdown(code="reset_raised", message=detail or "", phase="reset")


def _result(
    *,
    states: tuple[str, ...] = (),
    assertions: tuple[AssertionOutcome, ...] = (),
    broken: Breakdown | None = None,
) -> EpisodeResult:
    return EpisodeResult(results=(), arguments=(), states=states, assertions=assertions, breakdown=broken)
