"""How does a pack's oracle come up in a process that shares no disk with the store? Its view travels as bytes.

A worker lays a view out once, in a private directory, and keeps the oracle running for the groups that follow. It ends
when nothing asked for it in a while, when another view is asked for, or with the process. Rule: generation.md §9.5.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, Final

from bfcl.digest import Fingerprint, blake3_json
from bfcl.files import storage, temporary_directory
from bfcl.graph.store import Entry
from bfcl.oracle.protocol import Description, Episode, EpisodeResult, OracleSpec, Replayed
from bfcl.oracle.worker import LocalOracle

IDLE_S: Final = 30.0
"""After which an oracle that nothing asks ends: a cluster outlives the runs that use it."""
_EXIT_PRIORITY: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedView:
    """A view as it travels. `files` maps a path relative to the view's directory to its content."""

    files: Mapping[str, bytes]
    spec: OracleSpec
    """Its places are relative to that directory."""
    digest: Fingerprint
    """Of everything above: who has this view need not lay it out again."""


def ship_view(entry: Entry, spec: OracleSpec) -> ShippedView:
    """The view stored as `entry`, of which `spec` tells how to start its worlds there."""
    portable = _placed(spec, lambda place: Path(place).relative_to(entry.path).as_posix())
    return ShippedView(
        files={name: entry.file(name).read_bytes() for name in entry.files},
        spec=portable,
        digest=blake3_json({"files": entry.files, "spec": asdict(portable)}),
    )


def _placed(spec: OracleSpec, at: Callable[[str], str]) -> OracleSpec:
    """The spec with its paths, all of which lie in the view's directory, put elsewhere."""
    return replace(spec, view=at(spec.view), backend=at(spec.backend), assertions=at(spec.assertions))


class Oracles:
    """The running oracles of this process, lent to its threads. `width` tells how many worlds one may run at a time."""

    def __init__(self, width: Callable[[], int], *, idle_s: float = IDLE_S) -> None:
        self._width = width
        self._idle_s = idle_s
        self._standing: dict[str, _Standing] = {}
        self._guard = threading.Lock()
        self._at_exit: object = None
        self.isolation: dict[str, Any] | None = None
        """The level its worlds reached, None where none has run."""

    @contextmanager
    def lent(self, view: ShippedView) -> Iterator[LocalOracle]:
        """The oracle of a view, started or found running; threads share it. Raises StageError `storage_failed`."""
        with self._guard:
            standing = self._take(view)
        try:
            yield standing.oracle
            self.isolation = dict(standing.oracle.isolation())
        finally:
            with self._guard:
                self._give_back(standing)

    def close(self) -> None:
        """End every oracle, those at work too: who waits for one gets an OracleError."""
        with self._guard:
            while self._standing:
                _, standing = self._standing.popitem()
                standing.oracle.stop()
                standing.close()

    def _take(self, view: ShippedView) -> _Standing:
        for other in [one for one in self._standing.values() if one.digest != view.digest and not one.users]:
            self._end(other)
        standing = self._standing.get(view.digest)
        if standing is None:
            if self._at_exit is None:
                # Not `atexit`: the process of a worker under a nanny ends without it.
                self._at_exit = Finalize(None, self.close, exitpriority=_EXIT_PRIORITY)
            standing = self._standing[view.digest] = _Standing(view, self._width())
        standing.users += 1
        standing.keep()
        return standing

    def _give_back(self, standing: _Standing) -> None:
        standing.users -= 1
        if standing.users == 0 and self._standing.get(standing.digest) is standing:
            if len(self._standing) > 1:
                self._end(standing)
            else:
                standing.end_later(self._idle_s, self._end_idle)

    def _end_idle(self, standing: _Standing) -> None:
        with self._guard:
            if standing.users == 0 and self._standing.get(standing.digest) is standing:
                self._end(standing)

    def _end(self, standing: _Standing) -> None:
        del self._standing[standing.digest]
        standing.close()


class _Standing:
    """One oracle with the directory its view is laid out in."""

    def __init__(self, view: ShippedView, jobs: int) -> None:
        self.digest = view.digest
        self.users = 0
        self._timer: threading.Timer | None = None
        self._directory = temporary_directory("view")
        # Worlds compare paths as the kernel tells them.
        place = Path(self._directory.name).resolve()
        with storage(place):
            for name, data in view.files.items():
                target = place / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        self.oracle = LocalOracle(_placed(view.spec, lambda name: str(place / name)), jobs=jobs)

    def keep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end_later(self, seconds: float, end: Callable[[_Standing], None]) -> None:
        self._timer = threading.Timer(seconds, end, (self,))
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        self.keep()
        self.oracle.close()
        self._directory.cleanup()


class LentOracle:
    """A view's oracle, borrowed for each question: nothing is laid out or started before one. An `Oracle`."""

    def __init__(self, view: ShippedView, oracles: Oracles) -> None:
        self._view = view
        self._oracles = oracles

    def describe(self) -> Description:
        with self._oracles.lent(self._view) as oracle:
            return oracle.describe()

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        with self._oracles.lent(self._view) as oracle:
            return oracle.run(episodes)

    def replay(self, episodes: Sequence[Episode]) -> list[Replayed]:
        with self._oracles.lent(self._view) as oracle:
            return oracle.replay(episodes)

    def suspects(self) -> tuple[str, ...]:
        with self._oracles.lent(self._view) as oracle:
            return oracle.suspects()
