"""Who computes shards beyond this machine? The workers of an existing Dask cluster. Rule: generation.md §9.5.

The cluster is borrowed for one stage at a time: a client is opened, every worker is compared with this program, groups
of shards are kept in flight, and nothing is left behind. Dask itself runs the groups of a lost worker elsewhere.
"""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any, Final

from bfcl.digest import blake3_of
from bfcl.errors import BfclError, Problem, StageError
from bfcl.graph.dask_cluster import (
    ANSWER_S,
    Cluster,
    Future,
    connected,
    dask_library,
    named_cluster,
    shown,
    unreachable,
)
from bfcl.graph.executor import Compute, Done, Job, grouped
from bfcl.graph.remote_shards import LIBRARIES, Answer, Program, compute_group, program, take_order
from bfcl.graph.say import warn

PATIENCE_S: Final = 60.0
"""How long the cluster may be without any worker: one that grows on demand needs a moment."""
LEAST_TASKS: Final = 64
"""Tasks of a group: half a second of replays against a few milliseconds on the way, and enough groups to share out."""
TASKS_A_THREAD: Final = 16
"""A worker with many threads gets larger groups: they run in as many worlds."""
IN_FLIGHT: Final = 2
"""Groups a worker has at a time: one is judged or on its way while the oracle runs the other."""
_TURN_S: Final = 1.0
_NAMED: Final = 3

_FACTS: Final = {
    "package": "package digest {}",
    "python": "Python {}",
    "fork": "fork: {}",
    "system": "system {}",
    "machine": "machine {}",
    **{name: f"{name} {{}}" for name in LIBRARIES},
}


class DaskExecutor:
    """Groups of jobs on the workers of the cluster at `address`. `reached` is told each isolation level they report.

    What it runs must be picklable and importable there. A run holds a bounded number of groups, however many there are.
    """

    def __init__(
        self,
        address: str,
        reached: Callable[[Mapping[str, Any]], None],
        *,
        patience_s: float = PATIENCE_S,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._address = address
        self._reached = reached
        self._patience_s = patience_s
        self._answer_s = answer_s

    def run(self, jobs: Iterator[Job], compute: Compute) -> Iterator[Done]:
        """Raises: ConfigError `extra_not_installed`; StageError `executor_unreachable`, `executor_mismatch`,
        `executor_lost`; whatever refusal a worker met.
        """
        order = pickle.dumps(compute)
        with connected(self._address) as client:
            cluster = Cluster(client, self._address, self._answer_s)
            threads = _checked(cluster)
            groups = grouped(jobs, max(LEAST_TASKS, TASKS_A_THREAD * max(threads, default=1)))
            yield from _Stage(cluster, order, self._patience_s).run(groups, self._reached)


def check_cluster(address: str) -> None:
    """Refuse a cluster that could not compute shards, before a run has done anything.

    Raises: ConfigError `extra_not_installed`; StageError `executor_unreachable`, `executor_mismatch`.
    """
    with connected(address) as client:
        _checked(Cluster(client, address))


# --- the cluster --------------------------------------------------------------------------------------------------


def _checked(cluster: Cluster) -> list[int]:
    """The threads of each worker, once all of them and the scheduler are known to load this program."""
    told = cluster.on_workers(program, on_error="return")
    problems = [*_scheduler_problems(cluster), *_mismatches(told, program())]
    if problems:
        raise StageError(problems)
    return cluster.threads()


def _scheduler_problems(cluster: Cluster) -> Iterator[Problem]:
    """The scheduler computes nothing, but tasks pass through it and name our functions."""
    try:
        cluster.on_scheduler(program)
    except ImportError as error:
        yield _mismatch(f"scheduler {shown(cluster.address)}", f"cannot load bfcl: {error}", program())
    except ValueError:
        # One that was told to unpickle nothing does not need to.
        return


def _mismatches(told: Mapping[str, Any], expected: Program) -> list[Problem]:
    """One problem for all workers that say the same, first seen first."""
    unlike: dict[str, list[str]] = {}
    for worker, answer in sorted(told.items()):
        if isinstance(answer, OSError) or answer == expected:
            # A worker that is going away answers nothing; what it would have said no longer matters.
            continue
        unlike.setdefault(_seen(answer, expected), []).append(worker)
    return [_mismatch(_listed(workers), seen, expected) for seen, workers in unlike.items()]


def _seen(answer: object, expected: Program) -> str:
    if not isinstance(answer, Mapping):
        return f"cannot load bfcl: {answer}"
    return "runs " + ", ".join(
        text.format(answer.get(name, "unknown")) for name, text in _FACTS.items() if answer.get(name) != expected[name]
    )


class _Stage:
    """The groups of one stage on their way."""

    def __init__(self, cluster: Cluster, order: bytes, patience_s: float) -> None:
        self._cluster = cluster
        self._patience_s = patience_s
        self._name = f"bfcl-{secrets.token_hex(8)}"
        self._number = 0
        self._alone_since: float | None = None
        self._order = order
        self._digest = blake3_of(order)
        # Not as dask's own data: groups would then crowd where the data are.
        self._hand_over(None)

    def run(self, groups: Iterator[list[Job]], reached: Callable[[Mapping[str, Any]], None]) -> Iterator[Done]:
        running: dict[Future, list[Job]] = {}
        try:
            while True:
                self._fill(running, groups)
                if not running:
                    return
                for future in self._some_done(running):
                    answer = self._answer(future, running)
                    group = running.pop(future)
                    if answer["lacks_order"]:
                        self._hand_over([answer["worker"]])
                        self._submit(running, group)
                        continue
                    if answer["isolation"] is not None:
                        reached(answer["isolation"])
                    yield list(zip(group, answer["rows"] or [], strict=True))
        finally:
            self._cluster.withdraw(list(running))

    def _fill(self, running: dict[Future, list[Job]], groups: Iterator[list[Job]]) -> None:
        wanted = IN_FLIGHT * max(1, len(self._cluster.threads()))
        while len(running) < wanted and (group := next(groups, None)) is not None:
            self._submit(running, group)

    def _submit(self, running: dict[Future, list[Job]], group: list[Job]) -> None:
        self._number += 1
        key = f"{self._name}-{self._number}"
        future = self._cluster.submit(key, compute_group, program(), self._digest, pickle.dumps(group))
        running[future] = group

    def _hand_over(self, workers: list[str] | None) -> None:
        """Give the order to these workers, or to all. One that is lost meanwhile needs none."""
        self._cluster.on_workers(take_order, program(), self._digest, self._order, workers=workers, on_error="ignore")

    def _some_done(self, running: dict[Future, list[Job]]) -> list[Future]:
        """Waits until something is done."""
        while not (done := self._cluster.some_done(list(running), _TURN_S)):
            self._refuse_to_wait_alone()
        return done

    def _result(self, future: Future) -> Answer:
        """What a group came to. It may be computed once more meanwhile, where its worker was lost at the end."""
        while True:
            try:
                answer: Answer = future.result(timeout=self._cluster.answer_s)
            except TimeoutError:
                if future.status == "error":
                    raise
                self._refuse_to_wait_alone()
            else:
                return answer

    def _answer(self, future: Future, running: dict[Future, list[Job]]) -> Answer:
        try:
            answer = self._result(future)
        except StageError:
            raise
        except CancelledError as error:
            raise self._cluster.lost() from error
        except dask_library().KilledWorker as error:
            _checked(self._cluster)
            raise StageError(self._killing(running[future])) from error
        except Exception:
            # A bug of ours, if not a worker of another program that came after the others were asked.
            _checked(self._cluster)
            raise
        problems = _mismatches({answer["worker"]: answer["program"]}, program())
        if problems:
            raise StageError(problems)
        if answer["refusal"] is not None:
            raise _told_by(answer["worker"], answer["refusal"])
        return answer

    def _refuse_to_wait_alone(self) -> None:
        """Raises: StageError `executor_unreachable` where the cluster has been without a worker for too long."""
        now = time.monotonic()
        address, patience_s = self._cluster.address, self._patience_s
        if self._cluster.threads():
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
            warn(f"{named_cluster(address)} has no worker; waiting {patience_s:.0f} s for one to join")
        elif now - self._alone_since >= patience_s:
            raise unreachable(address, f"no worker for {patience_s:.0f} s", "start workers for it")

    def _killing(self, group: list[Job]) -> Problem:
        labels = sorted({job.chunk.label for job in group})
        return Problem(
            code="executor_lost",
            subject=named_cluster(self._cluster.address),
            message=f"worker after worker was lost while it computed {_listed(labels)}; finished shards are kept",
            fix="look for the reason in the logs of the workers, their memory limit first; then run again, or without "
            "`executor=`",
        )


# --- refusals -----------------------------------------------------------------------------------------------------


def _told_by(worker: str, refusal: BfclError) -> BfclError:
    """A refusal that a worker met, naming it: it may be alone in what it lacks."""
    return type(refusal)(replace(one, message=f"{one.message} (on worker {worker})") for one in refusal.problems)


def _mismatch(subject: str, seen: str, expected: Program) -> Problem:
    told = ", ".join(text.format(expected[name]) for name, text in _FACTS.items())
    return Problem(
        code="executor_mismatch",
        subject=subject,
        message=f"{seen}; expected {told}",
        fix="install on the cluster what this command runs, and start its processes anew",
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
