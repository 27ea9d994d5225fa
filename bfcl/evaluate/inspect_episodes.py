"""How is an episode played and scored while Inspect asks the model? As in an evaluation. Rule: evaluation.md §6-§9."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext

from bfcl.errors import BfclError
from bfcl.evaluate.drive.asking import Seat
from bfcl.evaluate.drive.desk import OracleDesk, session_failed
from bfcl.evaluate.drive.task_spec import published_specs
from bfcl.evaluate.drive.tasks import Tasks
from bfcl.evaluate.inspect_exchange import InspectChat
from bfcl.evaluate.records import EpisodeEvidence, Script, TaskScore
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.settings.model import Candidate, EvalSettings
from bfcl.evaluate.source.recheck import Watch
from bfcl.evaluate.source.verified import CheckedOracle, VerifiedSource
from bfcl.modelio.chat_live import Completing
from bfcl.oracle.private import private_oracle


class InspectEpisodes:
    """One candidate's episodes."""

    def __init__(
        self,
        settings: EvalSettings,
        candidate: Candidate,
        verified: VerifiedSource,
        watch: Watch,
        scripts: Mapping[str, Script],
    ) -> None:
        self._settings = settings
        self._candidate = candidate
        self._watch = watch
        self._one_at_a_time = threading.Lock()
        oracle = verified.oracle if settings.executable else None
        self._desk = None if oracle is None else _SharedDesk(oracle)
        self._tasks = Tasks(
            settings=settings,
            scripts=scripts,
            rows={row.task_id: row for row in verified.rows},
            specs=None if oracle is None else published_specs(oracle.pack, verified.manifest, verified.rows),
        )

    async def play(self, task_id: str, trial: int, chat: Completing) -> EpisodeEvidence:
        """Raises: EvalError where the whole evaluation has to stop."""
        await asyncio.to_thread(self._check)
        seat = Seat(candidate=self._candidate, client=chat, trial=trial)
        with self._desk.lent() if self._desk is not None else nullcontext() as desk:
            return await self._tasks.play(task_id, seat, self._tasks.results(task_id, desk))

    def _check(self) -> None:
        """The source, if that is due. In a thread, so that the samples in flight are listened to meanwhile."""
        # No lock of asyncio's: that is bound to one event loop, and Inspect may run a task again in another.
        with self._one_at_a_time:
            self._watch.before_task()

    def chat(self) -> InspectChat:
        """The client of one episode."""
        return InspectChat(self._candidate, self._settings.limits)

    def score(self, task_id: str, evidence: EpisodeEvidence) -> TaskScore:
        """By the same function as in an evaluation."""
        return score_episode(self._tasks.scripts[task_id], evidence, self._settings.scoring)


class _SharedDesk:
    """One oracle for the samples in flight; it ends with the last of them, as Inspect tells nobody when a task does."""

    def __init__(self, oracle: CheckedOracle) -> None:
        self._oracle = oracle
        self._stack = ExitStack()
        self._desk: OracleDesk | None = None
        self._users = 0

    @contextmanager
    def lent(self) -> Iterator[OracleDesk]:
        """The desk while a sample is played. Nothing here awaits, so that no two samples open one each."""
        desk = self._desk or self._open()
        self._users += 1
        try:
            yield desk
        finally:
            self._users -= 1
            if not self._users:
                self._desk = None
                self._stack.close()

    def _open(self) -> OracleDesk:
        try:
            oracle = self._stack.enter_context(private_oracle(self._oracle.pack, self._oracle.config, jobs=2))
        except BfclError as error:
            raise session_failed(error) from None
        self._desk = OracleDesk(oracle)
        self._stack.callback(self._desk.close)
        return self._desk
