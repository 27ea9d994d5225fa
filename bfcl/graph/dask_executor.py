"""Who computes shards beyond this machine? The workers of an existing Dask cluster. Rule: generation.md §9.5.

The cluster is borrowed for one stage at a time: a client is opened, every worker is compared with this program, groups
of shards are kept in flight, and nothing is left behind. Dask itself runs the groups of a lost worker elsewhere.
"""

from __future__ import annotations

import logging
import pickle
import secrets
import socket
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from bfcl.digest import blake3_of
from bfcl.errors import BfclError, ConfigError, Problem, StageError, install
from bfcl.graph.executor import Compute, Done, Job, grouped
from bfcl.graph.remote_shards import LIBRARIES, Answer, Program, compute_group, program, take_order
from bfcl.graph.say import warn
from bfcl.graph.variables import SCHEMES, shown_url

Client: TypeAlias = Any
Future: TypeAlias = Any
"""Dask's types are not all there."""

CONNECT_S: Final = 5.0
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

_NOISY: Final = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
_LAST_PORT: Final = 65535
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
        self, address: str, reached: Callable[[Mapping[str, Any]], None], *, patience_s: float = PATIENCE_S
    ) -> None:
        self._address = address
        self._reached = reached
        self._patience_s = patience_s

    def run(self, jobs: Iterator[Job], compute: Compute) -> Iterator[Done]:
        """Raises: ConfigError `extra_not_installed`; StageError `executor_unreachable`, `executor_mismatch`,
        `executor_lost`; whatever refusal a worker met.
        """
        order = pickle.dumps(compute)
        with connected(self._address) as client:
            threads = _checked(client, self._address)
            groups = grouped(jobs, max(LEAST_TASKS, TASKS_A_THREAD * max(threads, default=1)))
            yield from _Stage(client, self._address, order, self._patience_s).run(groups, self._reached)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at `address`, closed at the end with all it asked for.

    Raises: ConfigError `extra_not_installed`; StageError `executor_unreachable`.
    """
    dask = _dask()
    with _quiet():
        try:
            _knock(address)
            _require_certificates(dask, address)
            with warnings.catch_warnings():
                # Versions of libraries that differ are not told twice: what counts is compared below.
                warnings.simplefilter("ignore")
                client = dask.Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise _unreachable(address, str(error)) from error
        try:
            yield client
        finally:
            with warnings.catch_warnings(), suppress(OSError):
                warnings.simplefilter("ignore")
                client.close(timeout=CONNECT_S)


@contextmanager
def _quiet() -> Iterator[None]:
    """What matters is told as a refusal; what dask logs of it would stand beside that."""
    with ExitStack() as restored:
        for logger in map(logging.getLogger, _NOISY):
            restored.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL + 1)
        yield


def check_cluster(address: str) -> None:
    """Refuse a cluster that could not compute shards, before a run has done anything.

    Raises: ConfigError `extra_not_installed`; StageError `executor_unreachable`, `executor_mismatch`.
    """
    with connected(address) as client:
        _checked(client, address)


def weakest(levels: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The level that every world of a run reached at least, of the levels of each place they ran in.

    A part that one place is without is false or None, a number is the smallest.
    """
    told = list(levels)
    names = sorted({name for level in told for name in level})
    return {name: min((level.get(name) for level in told), key=lambda value: value or 0) for name in names}


# --- the cluster --------------------------------------------------------------------------------------------------


def _dask() -> Any:
    """The library, which few installations have and few runs of those need. Raises: ConfigError."""
    try:
        import distributed
    except ImportError as error:
        raise ConfigError(_not_installed(error)) from error
    return distributed


def _knock(address: str) -> None:
    """Whether anything listens there. A client that finds nothing would leave its thread behind, and so would one
    that does not know the way.

    Raises OSError, ValueError.
    """
    scheme, _, place = address.rpartition("://")
    if scheme not in SCHEMES:
        raise ValueError(f"`{scheme}://` is no protocol that is spoken here")
    host, colon, port = place.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _LAST_PORT:
        raise ValueError("names no port")
    socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()


def _require_certificates(dask: Any, address: str) -> None:
    """Raises: ValueError where the address asks for TLS and dask's settings hold nothing for it; OSError where what
    they name cannot be read."""
    encrypted = address.startswith(("tls://", "wss://"))
    if encrypted and dask.Security().get_connection_args("client").get("ssl_context") is None:
        raise ValueError("asks for certificates, and dask's own settings (`distributed.comm.tls`) name none")


def _checked(client: Client, address: str) -> list[int]:
    """The threads of each worker, once all of them and the scheduler are known to load this program."""
    expected = program()
    try:
        told = client.run(program, on_error="return")
        problems = [*_scheduler_problems(client, address), *_mismatches(told, expected)]
        if problems:
            raise StageError(problems)
        return list(client.nthreads().values())
    except OSError as error:
        raise _unreachable(address, str(error)) from error


def _scheduler_problems(client: Client, address: str) -> Iterator[Problem]:
    """The scheduler computes nothing, but tasks pass through it and name our functions."""
    try:
        client.run_on_scheduler(program)
    except ImportError as error:
        yield _mismatch(f"scheduler {_shown(address)}", f"cannot load bfcl: {error}", program())
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

    def __init__(self, client: Client, address: str, order: bytes, patience_s: float) -> None:
        self._client = client
        self._address = address
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
            with suppress(OSError, CancelledError):
                self._client.cancel(list(running))

    def _fill(self, running: dict[Future, list[Job]], groups: Iterator[list[Job]]) -> None:
        wanted = IN_FLIGHT * max(1, self._workers())
        while len(running) < wanted and (group := next(groups, None)) is not None:
            self._submit(running, group)

    def _submit(self, running: dict[Future, list[Job]], group: list[Job]) -> None:
        self._number += 1
        future = self._client.submit(
            compute_group,
            program(),
            self._digest,
            pickle.dumps(group),
            key=f"{self._name}-{self._number}",
            pure=False,
        )
        running[future] = group

    def _hand_over(self, workers: list[str] | None) -> None:
        """Give the order to these workers, or to all. One that is lost meanwhile needs none."""
        try:
            self._client.run(take_order, program(), self._digest, self._order, workers=workers, on_error="ignore")
        except OSError as error:
            raise self._lost() from error

    def _some_done(self, running: dict[Future, list[Job]]) -> list[Future]:
        """Waits until something is done."""
        while True:
            try:
                with self._client.as_current():
                    _dask().wait(list(running), timeout=_TURN_S, return_when="FIRST_COMPLETED")
            except TimeoutError:
                self._refuse_to_wait_alone()
            except CancelledError as error:
                raise self._lost() from error
            done = [future for future in running if future.done()]
            if done:
                return done

    def _answer(self, future: Future, running: dict[Future, list[Job]]) -> Answer:
        try:
            answer: Answer = future.result()
        except CancelledError as error:
            raise self._lost() from error
        except _dask().KilledWorker as error:
            _checked(self._client, self._address)
            raise StageError(self._killing(running[future])) from error
        except Exception:
            # A bug of ours, if not a worker of another program that came after the others were asked.
            _checked(self._client, self._address)
            raise
        problems = _mismatches({answer["worker"]: answer["program"]}, program())
        if problems:
            raise StageError(problems)
        if answer["refusal"] is not None:
            raise _told_by(answer["worker"], answer["refusal"])
        return answer

    def _workers(self) -> int:
        try:
            return len(self._client.nthreads())
        except OSError as error:
            raise self._lost() from error

    def _refuse_to_wait_alone(self) -> None:
        """Raises: StageError `executor_unreachable` where the cluster has been without a worker for too long."""
        now = time.monotonic()
        if self._workers():
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
            warn(f"{named_cluster(self._address)} has no worker; waiting {self._patience_s:.0f} s for one to join")
        elif now - self._alone_since >= self._patience_s:
            raise _unreachable(self._address, f"no worker for {self._patience_s:.0f} s", "start workers for it")

    def _lost(self) -> StageError:
        return _unreachable(self._address, "the connection was lost; finished shards are kept")

    def _killing(self, group: list[Job]) -> Problem:
        labels = sorted({job.chunk.label for job in group})
        return Problem(
            code="executor_lost",
            subject=named_cluster(self._address),
            message=f"worker after worker was lost while it computed {_listed(labels)}; finished shards are kept",
            fix="look for the reason in the logs of the workers, their memory limit first; then run again, or without "
            "`executor=`",
        )


# --- refusals -----------------------------------------------------------------------------------------------------


def _not_installed(error: ImportError) -> Problem:
    return Problem(
        code="extra_not_installed",
        subject="executor",
        message=f"`executor=dask:` needs the extra `distributed`: {error}",
        fix=f"`{install('distributed')}`, or leave `executor=` out",
    )


def _told_by(worker: str, refusal: BfclError) -> BfclError:
    """A refusal that a worker met, naming it: it may be alone in what it lacks."""
    return type(refusal)(replace(one, message=f"{one.message} (on worker {worker})") for one in refusal.problems)


def _unreachable(address: str, reason: str, fix: str = "start a scheduler there or mend the address") -> StageError:
    return StageError(
        Problem(
            code="executor_unreachable",
            subject=named_cluster(address),
            message=reason.replace(address, _shown(address)),
            fix=f"{fix}, or leave `executor=` out to compute on this machine",
        )
    )


def named_cluster(address: str) -> str:
    """A cluster as people are told of it, without what may be a password."""
    return f"dask:{_shown(address)}"


def _shown(address: str) -> str:
    """Without what may be a password: dask takes none, people may try."""
    return shown_url(address) if "//" in address else shown_url(f"//{address}").removeprefix("//")


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
