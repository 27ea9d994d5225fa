"""How is a Dask cluster reached, and what is said where it is not? Rule: generation.md §9.5."""

from __future__ import annotations

import logging
import socket
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final, TypeAlias

from bfcl.errors import ConfigError, Problem, StageError, install
from bfcl.graph.variables import SCHEMES, shown_url

Client: TypeAlias = Any
Future: TypeAlias = Any
"""Dask's types are not all there."""

CONNECT_S: Final = 5.0
ANSWER_S: Final = 60.0
"""How long a scheduler or a worker may take to answer a question: both may be busy."""
_NOISY: Final = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")
_LAST_PORT: Final = 65535


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at `address`, closed at the end with all it asked for.

    Raises: ConfigError `extra_not_installed`; StageError `executor_unreachable`.
    """
    dask = dask_library()
    with _quiet():
        try:
            _knock(address)
            _require_certificates(dask, address)
            with warnings.catch_warnings():
                # Versions of libraries that differ are not told twice: whoever computes compares those that count.
                warnings.simplefilter("ignore")
                client = dask.Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise unreachable(address, str(error)) from error
        try:
            yield client
        finally:
            # What a scheduler that is gone would be told is not worth another refusal.
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


class Cluster:
    """Every call that waits for the scheduler or its workers. A cluster that is gone or stands still is a refusal: dask
    itself would wait for ever, or answer with an exception of its own."""

    def __init__(self, client: Client, address: str, answer_s: float = ANSWER_S) -> None:
        self.client = client
        self.address = address
        self.answer_s = answer_s

    def on_workers(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Mapping[str, Any]:
        """What the function returns on each worker."""
        with self._reaching():
            told: Mapping[str, Any] = self.client.run(function, *arguments, **options, callback_timeout=self.answer_s)
            return told

    def on_scheduler(self, function: Callable[[], Any]) -> None:
        """Call a function there. Raises what it raises."""
        with self._reaching():
            self.client.run_on_scheduler(function, callback_timeout=self.answer_s)

    def threads(self) -> list[int]:
        """Of each worker."""
        with self._reaching():
            return list(self.client.nthreads(callback_timeout=self.answer_s).values())

    def submit(self, key: str, function: Callable[..., Any], *arguments: Any) -> Future:
        """Have a worker call a function once."""
        with self._reaching():
            return self.client.submit(function, *arguments, key=key, pure=False)

    def some_done(self, futures: list[Future], timeout_s: float) -> list[Future]:
        """Those that are done, after a wait until one is or until the time is over."""
        with self._reaching():
            with suppress(TimeoutError), self.client.as_current():
                dask_library().wait(futures, timeout=timeout_s, return_when="FIRST_COMPLETED")
            return [future for future in futures if future.done()]

    def withdraw(self, futures: list[Future]) -> None:
        """Have none of these begun; a scheduler that is gone begins none."""
        with suppress(StageError), self._reaching():
            self.client.cancel(futures)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Raises: StageError `executor_unreachable`."""
        try:
            yield
        except TimeoutError as error:
            raise self.silent() from error
        except (OSError, CancelledError) as error:
            raise self.lost() from error
        except Exception as error:
            # What a client says that closed itself has many forms: another thread of dask's takes it apart meanwhile.
            if self.client.status != "running":
                raise self.lost() from error
            raise

    def silent(self) -> StageError:
        reason = f"no answer for {self.answer_s:.0f} s; finished shards are kept"
        return unreachable(self.address, reason, "start the scheduler and its workers anew")

    def lost(self) -> StageError:
        return unreachable(self.address, "the connection was lost; finished shards are kept")


# --- the way there ---------------------------------------------------------------------------------------------------


def dask_library() -> Any:
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


# --- refusals -----------------------------------------------------------------------------------------------------


def _not_installed(error: ImportError) -> Problem:
    return Problem(
        code="extra_not_installed",
        subject="executor",
        message=f"`executor=dask:` needs the extra `distributed`: {error}",
        fix=f"`{install('distributed')}`, or leave `executor=` out",
    )


def unreachable(address: str, reason: str, fix: str = "start a scheduler there or mend the address") -> StageError:
    return StageError(
        Problem(
            code="executor_unreachable",
            subject=named_cluster(address),
            message=reason.replace(address, shown(address)),
            fix=f"{fix}, or leave `executor=` out to compute on this machine",
        )
    )


def named_cluster(address: str) -> str:
    """A cluster as people are told of it, without what may be a password."""
    return f"dask:{shown(address)}"


def shown(address: str) -> str:
    """Without what may be a password: dask takes none, people may try."""
    return shown_url(address) if "//" in address else shown_url(f"//{address}").removeprefix("//")
