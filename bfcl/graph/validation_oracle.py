"""How does a validation get its oracle: in a private copy of the pack's view, and only when a check asks?

Two validations share nothing on disk, so they need no lock, and one that has evidence for everything starts no process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from bfcl.config.model import RunConfig
from bfcl.oracle.protocol import Description, Episode, EpisodeResult, Replayed
from bfcl.oracle.view import lay_view, oracle_spec
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.model import Pack


class LazyOracle:
    """A pack's oracle that comes up with the first question. A context manager; implements `protocol.Oracle`."""

    def __init__(self, pack: Pack, config: RunConfig, *, jobs: int) -> None:
        self._pack = pack
        self._config = config
        self._jobs = jobs
        self._running: LocalOracle | None = None
        self._started = ExitStack()

    def __enter__(self) -> LazyOracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._running = None
        self._started.close()

    def describe(self) -> Description:
        return self._oracle().describe()

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        return self._oracle().run(episodes)

    def replay(self, episodes: Sequence[Episode]) -> list[Replayed]:
        return self._oracle().replay(episodes)

    def suspects(self) -> tuple[str, ...]:
        return self._oracle().suspects()

    def _oracle(self) -> LocalOracle:
        """Raises: DriftError `pack_drift` where a file of the view changed since the pack was loaded."""
        if self._running is None:
            directory = self._started.enter_context(tempfile.TemporaryDirectory(prefix="bfcl-view-"))
            # The worker compares paths as the kernel tells them.
            place = Path(directory).resolve()
            lay_view(self._pack, place)
            spec = oracle_spec(self._pack, self._config, place)
            self._running = self._started.enter_context(LocalOracle(spec, jobs=self._jobs))
        return self._running
