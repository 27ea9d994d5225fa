"""Who answers the calls of one episode once they may be made: an oracle's session, or a record of one? Rule: §7."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from bfcl.evaluate.drive.session import Happened, Session, reset_broke
from bfcl.evaluate.drive.task_spec import TaskSpec
from bfcl.oracle.protocol import Episode, EpisodeResult, PlannedCall


class Answers(Protocol):
    """The answers to one episode, used once: `reset`, then `make` reply by reply, then `end`."""

    async def reset(self, *, last: bool) -> str | None:
        """Make ready; why that cannot be done, or None. `last`: no call is expected to come."""
        ...

    async def make(self, calls: Sequence[PlannedCall], *, last: bool) -> tuple[Happened, ...]:
        """What became of the calls of one reply, up to the first that stops the episode. `calls` may be empty.

        `last`: no further ones are expected, though they may come.
        Raises: SessionBroken where the session cannot go on.
        """
        ...

    async def end(self, *, judge: bool) -> EpisodeResult:
        """The final state, and what the task's assertions say of it where it is to be judged. Raises: SessionBroken."""
        ...


class Desk(Protocol):
    """What a session asks; `OracleDesk` is one."""

    async def run(self, episode: Episode) -> EpisodeResult:
        """Raises: EvalError `eval_oracle_session_failed` where no episode can run at all."""
        ...


class SessionAnswers:
    """Asks the oracle that a desk serves. Implements `Answers`; holds no process.

    Every method raises: EvalError `eval_oracle_session_failed`.
    """

    def __init__(self, desk: Desk, spec: TaskSpec) -> None:
        self._desk = desk
        self._spec = spec
        self._declared = tuple(one.name for one in spec.assertions)
        self._session = Session(task_id=spec.task_id, seed=spec.seed, mutating=spec.mutating)
        self._ended: EpisodeResult | None = None
        """How the session ends if it goes no further, where that was asked along with its last calls."""

    async def reset(self, *, last: bool) -> str | None:
        """See `Answers.reset`: the oracle is reset once, to see that it can be."""
        return reset_broke(await self._run((), last=last))

    async def make(self, calls: Sequence[PlannedCall], *, last: bool) -> tuple[Happened, ...]:
        """See `Answers.make`."""
        if not calls:
            return ()
        result = await self._run(calls, last=last)
        reached = len(self._session.calls) + len(calls)
        self._session, happened = self._session.taken(calls, result)
        if len(self._session.calls) < reached:
            # Calls behind the one that stopped the episode were made there, and count for nothing.
            self._ended = None
        return happened

    async def _run(self, calls: Sequence[PlannedCall], *, last: bool) -> EpisodeResult:
        self._ended = None
        if not last:
            return await self._desk.run(self._session.turn(calls))
        spec = self._spec
        result = await self._desk.run(self._session.last_turn(calls, self._declared, spec.task, spec.withheld))
        turn, self._ended = self._session.parted(calls, result)
        return turn

    async def end(self, *, judge: bool) -> EpisodeResult:
        """See `Answers.end`."""
        if self._ended is not None:
            return self._ended if judge else replace(self._ended, assertions=())
        asked = self._declared if judge else ()
        result = await self._desk.run(self._session.ending(asked, self._spec.task, self._spec.withheld))
        self._session.check(result)
        return result
