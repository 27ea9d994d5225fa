"""How do many episodes at a time ask one oracle? They queue here, and whatever waits is run together.

The worlds of a pack are served by a thread of their own, so the event loop goes on talking to candidates meanwhile.
Rule: evaluation.md §5, §7.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple, Protocol

from bfcl.config.model import RunConfig
from bfcl.errors import BfclError, DriftError, EvalError, OracleError, PackError, Problem
from bfcl.oracle.aside import Crew, Later
from bfcl.oracle.private import private_oracle
from bfcl.oracle.protocol import Episode, EpisodeResult
from bfcl.pack.model import Pack

SESSION_FAILED = "eval_oracle_session_failed"


class Stoppable(Protocol):
    """What a desk asks of an oracle; `LocalOracle` is one."""

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        """As of `Oracle`."""
        ...

    def stop(self) -> None:
        """Make a `run` that another thread waits in raise at once."""
        ...


class _Batch(NamedTuple):
    """Episodes that ran together, and what became of them once they have."""

    ran: Later[list[EpisodeResult]]
    place: int
    """Of the one who asks."""


class _Waiting(NamedTuple):
    episode: Episode
    answer: asyncio.Future[_Batch]


class OracleDesk:
    """One oracle for all episodes of one event loop. Who is cancelled while waiting is passed over."""

    def __init__(self, oracle: Stoppable) -> None:
        """The oracle stays its owner's to close, once the desk is."""
        self._oracle = oracle
        self._crew = Crew()
        self._waiting: list[_Waiting] = []
        self._running: list[_Waiting] = []
        self._called = False
        self._closed = False

    async def run(self, episode: Episode) -> EpisodeResult:
        """What `Oracle.run` gives for one episode.

        Raises: EvalError `eval_oracle_session_failed` where no episode can run at all, or the desk is closed.
        """
        if self._closed:
            raise _closed()
        answer: asyncio.Future[_Batch] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(episode, answer))
        self._call()
        ran, place = await answer
        try:
            return ran.result()[place]
        except OracleError as error:
            raise session_failed(error) from None

    def close(self) -> None:
        """Stop what runs and refuse what waits. May be called again."""
        if self._closed:
            return
        self._closed = True
        self._oracle.stop()
        self._crew.close()
        for _, answer in (*self._running, *self._waiting):
            if not answer.done():
                answer.set_exception(_closed())
        self._waiting.clear()

    def _call(self) -> None:
        """See to the queue once the loop has let everybody come who is about to."""
        if not self._called and not self._running:
            self._called = True
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        self._called = False
        if self._closed:
            return
        batch, self._waiting = [one for one in self._waiting if not one.answer.done()], []
        if not batch:
            return
        self._running = batch
        episodes = [one.episode for one in batch]
        loop = asyncio.get_running_loop()
        ran = self._crew.begin(lambda: self._oracle.run(episodes))

        def ended() -> None:
            # A loop that was closed meanwhile has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._tell, ran)

        # The crew is one thread, which does this next, however the run ended.
        self._crew.begin(ended)

    def _tell(self, ran: Later[list[EpisodeResult]]) -> None:
        batch, self._running = self._running, []
        for place, (_, answer) in enumerate(batch):
            if not answer.done():
                answer.set_result(_Batch(ran, place))
        if self._waiting and not self._closed:
            self._call()


@contextlib.asynccontextmanager
async def open_desk(pack: Pack, config: RunConfig, *, jobs: int = 2) -> AsyncIterator[OracleDesk]:
    """The desk of a pack's oracle, imported from a private copy; `jobs` // 2 worlds share what waits.

    Raises: EvalError `eval_oracle_session_failed` where the pack cannot be laid out: it changed, or is a service.
    """
    with contextlib.ExitStack() as stack:
        try:
            oracle = stack.enter_context(private_oracle(pack, config, jobs=jobs))
        except (DriftError, PackError) as error:
            raise session_failed(error) from None
        desk = OracleDesk(oracle)
        stack.callback(desk.close)
        yield desk


def session_failed(error: BfclError) -> EvalError:
    """Why no oracle session can be had, as the run tells it."""
    return EvalError(
        Problem(
            code=SESSION_FAILED,
            message=f"{problem.code}: {problem.message}",
            path=problem.path,
            line=problem.line,
            fix=problem.fix or "mend the pack, generate the benchmark again, and evaluate that one",
        )
        for problem in error.problems
    )


def _closed() -> EvalError:
    fix = "start the evaluation again; `resume_from` takes over what is concluded"
    return EvalError(Problem(code=SESSION_FAILED, message="the oracle was closed while an episode waited", fix=fix))
