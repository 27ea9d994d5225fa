"""How does a validation get its oracle: in a private copy of the pack's view, and only when a check asks?

A validation that has evidence for everything starts no process.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType

from bfcl.config.model import RunConfig
from bfcl.oracle.private import private_oracle
from bfcl.oracle.protocol import Description, Episode, EpisodeResult, Replayed
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.model import Pack


class LazyOracle:
    """A pack's oracle that comes up with the first question. A context manager; implements `protocol.Oracle`."""

    def __init__(self, pack: Pack, config: RunConfig, *, jobs: int) -> None:
        self._pack = pack
        self._config = config
        self._jobs = jobs
        self._running: LocalOracle | None = None
        self._saw_pages = False
        self._started = ExitStack()

    def __enter__(self) -> LazyOracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._saw_pages, self._running = self.saw_pages, None
        self._started.close()

    def describe(self) -> Description:
        return self._oracle().describe()

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        return self._oracle().run(episodes)

    def replay(self, episodes: Sequence[Episode]) -> list[Replayed]:
        return self._oracle().replay(episodes)

    def suspects(self) -> tuple[str, ...]:
        return self._oracle().suspects()

    @property
    def saw_pages(self) -> bool:
        """Whether pack code looked at a page for people, such as a README, in anything it was asked."""
        return self._saw_pages or (self._running is not None and self._running.saw_pages)

    def _oracle(self) -> LocalOracle:
        """Raises: DriftError `pack_drift` where a file of the view changed since the pack was loaded."""
        if self._running is None:
            oracle = private_oracle(self._pack, self._config, jobs=self._jobs)
            self._running = self._started.enter_context(oracle)
        return self._running
