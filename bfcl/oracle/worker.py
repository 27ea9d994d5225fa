"""The oracle of a Python pack: what the pipeline asks for, answered by the pack's two worlds. Rule: pack.md §7."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from bfcl.oracle import answers, suspects
from bfcl.oracle.packcode import MODULES
from bfcl.oracle.pool import Pool
from bfcl.oracle.protocol import Breakdown, Description, Episode, EpisodeResult, OracleSpec, Replayed
from bfcl.oracle.wire import Answer

_GRACE_S = 5.0


class LocalOracle:
    """A pack's two worlds, started when first needed. A context manager; implements `protocol.Oracle`.

    `jobs` is the number of worlds at work at a time: 1 runs A and then B, 2k runs k pairs that share the episodes.
    Results are the same for every `jobs`. Calls from several threads are served one after the other. `fork=False`
    starts an interpreter per episode, for platforms without fork: slower, and an episode stopped from outside ends with
    the same breakdown. `grace_s` is what a whole world may take beyond an episode's deadline before it is replaced.
    """

    def __init__(self, spec: OracleSpec, *, jobs: int = 2, fork: bool | None = None, grace_s: float = _GRACE_S) -> None:
        self._spec = spec
        self._rounds = (("a", "b"),) if jobs > 1 else (("a",), ("b",))
        forks = hasattr(os, "fork") if fork is None else fork
        self._pool = Pool(spec, pairs=max(1, jobs // 2), fork=forks, grace_s=grace_s)
        self._lock = threading.RLock()
        self._suspects: tuple[str, ...] | None = None
        self._took_ns: Counter[str] = Counter()

    def __enter__(self) -> LocalOracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def start_ahead(self) -> None:
        """Have the worlds import the pack while the caller does something else. Raises OracleError as `run` does."""
        with self._lock:
            self._pool.start_ahead(self._rounds[0])

    def describe(self) -> Description:
        """Import the pack in world A and report what it exports. Raises OracleError if no interpreter comes up."""
        with self._lock:
            answer = self._pool.serve({"a": [answers.DESCRIBE]}, needs_backend=False)["a"][0]
            told = self._pool.imports["a"]
            imports = {name: None if told[name] is None else Breakdown(**told[name] or {}) for name in MODULES}
        return answers.description_of(answer, imports)

    def run(self, episodes: Sequence[Episode]) -> list[EpisodeResult]:
        """One result per episode, input order, in world A. Raises OracleError if the backend does not import."""
        requests = [answers.request_of(episode) for episode in episodes]
        with self._lock:
            told = self._pool.serve({"a": requests}, needs_backend=True)["a"]
            words = self._pool.naming("a")
        return [answers.result_of(*pair, words) for pair in zip(episodes, told, strict=True)]

    def replay(self, episodes: Sequence[Episode]) -> list[Replayed]:
        """Each episode in both worlds, input order. Raises OracleError if the backend does not import in world A.

        Further runs tell of the pack, not of the worlds: one is enough for them, and each has half of them to make.
        """
        asked = {lane: [_asked(episode, lane) for episode in episodes] for lane in ("a", "b")}
        whole = [answers.request_of(episode) for episode in episodes]
        requests = {
            lane: [
                request if one is episode else answers.request_of(one)
                for one, episode, request in zip(ones, episodes, whole, strict=True)
            ]
            for lane, ones in asked.items()
        }
        told: dict[str, list[Answer]] = {}
        with self._lock:
            for lanes in self._rounds:
                told.update(self._pool.serve({lane: requests[lane] for lane in lanes}, needs_backend=True))
                for lane in lanes:
                    for episode, took_ns in zip(episodes, self._pool.took_ns[lane], strict=True):
                        self._took_ns[episode.task_id] += took_ns
            words = {name: self._pool.naming(name) for name in ("a", "b")}
        replayed = []
        for in_a, in_b, a, b in zip(asked["a"], asked["b"], told["a"], told["b"], strict=True):
            first = answers.result_of(in_a, a, words["a"])
            replayed.append(Replayed(first, first if a == b else answers.result_of(in_b, b, words["b"])))
        return replayed

    def count_anew(self) -> None:
        """Forget what earlier replays took: a check may have played the same tasks."""
        self._took_ns.clear()

    def take_seconds(self, task_ids: Iterable[str]) -> float:
        """What replaying these tasks took since this was last asked, in both worlds together."""
        # Without the lock of the calls: whoever asks must not wait for the replay that another thread has begun.
        return sum(self._took_ns.pop(task_id, 0) for task_id in task_ids) / 1e9

    def suspects(self) -> tuple[str, ...]:
        """Lines of the pack that may leak ambient state, `file:line: what`."""
        if self._suspects is None:
            self._suspects = suspects.scan(self._spec.view, (self._spec.backend, self._spec.assertions))
        return self._suspects

    def isolation(self) -> Mapping[str, Any]:
        """The level reached: `landlock` (ABI or None), `network_namespace`, `rlimits`. Starts a world if none ran."""
        if self._pool.level is None:
            self.describe()
        return dict(self._pool.level or {})

    @property
    def saw_pages(self) -> bool:
        """Whether pack code looked at a page for people, such as a README, in anything it was asked so far."""
        return self._pool.saw_pages

    def stop(self) -> None:
        """Interrupt calls that other threads are waiting in: they raise OracleError. Then `close`."""
        self._pool.stop()

    def close(self) -> None:
        """End every world and remove every temporary directory. The next call would start anew."""
        with self._lock:
            self._pool.close()


def _asked(episode: Episode, lane: str) -> Episode:
    """What a world is asked of an episode: further runs only where they are its own to make."""
    own = "b" if episode.seed % 2 else "a"
    return episode if lane == own or not episode.also else replace(episode, also=())
