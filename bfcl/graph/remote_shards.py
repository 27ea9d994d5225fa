"""What does a worker of a cluster do? It computes groups of shards from plain data, and says what program it is.

Loaded on both sides. Workers are not trusted to be the same program: what they answer says which one they are, in
builtin types, so that another version of this module still understands it.
"""

from __future__ import annotations

import os
import pickle
import platform
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NamedTuple, TypedDict

from bfcl.errors import BfclError
from bfcl.graph.compute import COMPUTE, Rows, StageContext
from bfcl.graph.executor import Compute, Job
from bfcl.graph.host import python_minor
from bfcl.graph.shipped_view import LentOracle, Oracles, ShippedView
from bfcl.graph.sources import package_digest
from bfcl.graph.variables import usable_cores

Program = Mapping[str, str]
"""What two processes must have in common to compute the same bytes: fact to value, for people to read."""

LIBRARIES: Final = ("jsonschema", "time-machine")
"""The distributions whose version may show in a shard's rows: schema verdicts, and the clock of a world."""

ORDERS_KEPT: Final = 8
"""Of the newest runs. One that was dropped too soon is sent again."""


def _program() -> dict[str, str]:
    return {
        "package": package_digest(),
        "python": python_minor(),
        "fork": "yes" if hasattr(os, "fork") else "no",
        "system": platform.system(),
        "machine": platform.machine(),
        **{name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


# Taken as the code is loaded: a worker that has been up since before an edit is still the program from before it.
_LOADED: Final = _program()


def program() -> dict[str, str]:
    """The program that runs in this process."""
    return dict(_LOADED)


class Answer(TypedDict):
    """What a worker answers: rows, a refusal, or neither where it cannot begin.

    It cannot where `program` is not what was expected, or where it lacks the order.
    """

    worker: str
    program: dict[str, str]
    rows: list[list[bytes]] | None
    """Per job of the group, its lines."""
    refusal: BfclError | None
    lacks_order: bool
    isolation: dict[str, Any] | None
    """The level its worlds reached, None where it has run none."""


class _Place(NamedTuple):
    name: str
    width: int


def _place() -> _Place:
    """Which worker this is and how many threads it offers."""
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:
        return _Place("this process", usable_cores())
    return _Place(worker.address, worker.state.nthreads)


ORACLES: Final = Oracles(lambda: _place().width)
"""Those of this process: the threads of a worker share them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteStage:
    """A stage's work as it travels, once a run: what its shards share, with the oracle's view in place of the oracle.

    Called on the worker with a group of jobs, it returns their rows.
    """

    stage: str
    shared: Mapping[str, Any]
    """The fields of `StageContext` that travel."""
    view: ShippedView

    def __call__(self, jobs: Sequence[Job]) -> Rows:
        return COMPUTE[self.stage](jobs, StageContext(**self.shared, oracle=LentOracle(self.view, ORACLES)))


def remote_stage(stage: str, context: StageContext, view: ShippedView) -> RemoteStage:
    """The work of a stage under a context, made fit to travel."""
    stays = {"oracle", "elsewhere"}
    shared = {field.name: getattr(context, field.name) for field in fields(context) if field.name not in stays}
    return RemoteStage(stage=stage, shared=shared, view=view)


class _Orders:
    """What to do with groups, by digest, as handed to this process."""

    def __init__(self) -> None:
        self._kept: dict[str, Compute] = {}
        self._guard = threading.Lock()

    def take(self, digest: str, order: bytes) -> None:
        with self._guard:
            self._kept[digest] = pickle.loads(order)
            for old in list(self._kept)[:-ORDERS_KEPT]:
                del self._kept[old]

    def find(self, digest: str) -> Compute | None:
        return self._kept.get(digest)


_ORDERS: Final = _Orders()


def take_order(expected: Program, digest: str, order: bytes) -> None:
    """Keep a pickled `Compute` for the groups that will name its digest. Another program keeps nothing."""
    if program() == expected:
        _ORDERS.take(digest, order)


def compute_group(expected: Program, digest: str, jobs: bytes) -> Answer:
    """Compute a pickled list of jobs by the order of that digest, if this is the expected program.

    Nothing is unpickled otherwise.
    """
    compute = _ORDERS.find(digest)
    answer = Answer(
        worker=_place().name, program=program(), rows=None, refusal=None, lacks_order=compute is None, isolation=None
    )
    if answer["program"] != expected or compute is None:
        return answer
    try:
        answer["rows"] = compute(pickle.loads(jobs))
    except BfclError as error:
        answer["refusal"] = error
    answer["isolation"] = ORACLES.isolation
    return answer
