"""Runs of `python -m MODULE` that need no new interpreter: forked from one that has imported what they are going to.

A run over a small project spends most of its time on starting python and importing, which shows nothing after the first
time. A fork has its own process, directory, environment, arguments, streams and end. What it shares with its siblings,
and new interpreters would not, are imported modules and the seed of `hash`. So what a test shows of the interpreter
(its environment, a seed, what it imports, signals) takes a new one, and so do the runs whose results others are
compared with. `BFCL_FORKS=0` has every run take a new one.

    forked([sys.executable, "-m", "doit", "generate"], directory, environment, timeout=120)
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PREPARED = {
    "doit": ("doit.doit_cmd", "jsonschema", "pyarrow.compute", "pyarrow.json"),
    "bfcl": ("bfcl.cli.main", "bfcl.cli.eval", "jsonschema", "pyarrow.json", "pyarrow.parquet", "anyio", "httpcore"),
}
"""What an interpreter imports before runs of a module are forked from it, besides the pipeline for doit."""
WANTED = os.environ.get("BFCL_FORKS") != "0"
_LONGEST = 1 << 20


class Server:
    """An interpreter that forks runs of a module, one at a time."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self.busy = threading.Lock()
        self._link, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), module, str(theirs.fileno())],
            env=environment,
            pass_fds=[theirs.fileno()],
            # Of the same kind as those of a run, which decides how python writes into them.
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        theirs.close()
        self._process.wait()
        atexit.register(self.close)

    def run(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """One run. Raises subprocess.TimeoutExpired, after it has been killed."""
        command = json.dumps({"arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment)})
        pipes = [os.pipe() for _ in range(2)]
        socket.send_fds(self._link, [command.encode() + b"\n"], [end for _, end in pipes])
        for _, end in pipes:
            os.close(end)
        pid = self._number()
        told, in_time = _read([end for end, _ in pipes], time.monotonic() + timeout)
        if not in_time:
            os.kill(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(self._number())
        if not in_time:
            raise subprocess.TimeoutExpired(list(arguments), timeout, *told)
        return subprocess.CompletedProcess(list(arguments), status, *(text.decode("utf-8") for text in told))

    def _number(self) -> int:
        """What the interpreter tells next."""
        data = b""
        while not data.endswith(b"\n"):
            more = self._link.recv(_LONGEST)
            assert more, self._process.communicate()[1].decode()
            data += more
        return int(data)

    def close(self) -> None:
        """End it; it has to have come to its own end."""
        self._link.close()
        self._process.communicate()


_servers: dict[str, Server] = {}


def forked(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str] | None:
    """Run it, output captured as text; None where that takes a new interpreter.

    Which is what another program takes, and a run beside that of another thread. Raises: subprocess.TimeoutExpired.
    """
    python, option, module, *arguments = command
    if not WANTED or (python, option) != (sys.executable, "-m") or module not in PREPARED:
        return None
    if module not in _servers:
        plain = {name: value for name, value in environment.items() if name != "TMPDIR"}
        _servers[module] = Server(module, plain)
    server = _servers[module]
    if not server.busy.acquire(blocking=False):
        return None
    try:
        return server.run(arguments, cwd, environment, timeout)
    finally:
        server.busy.release()


def _read(ends: Sequence[int], until: float) -> tuple[list[bytes], bool]:
    """What is written into pipes until nobody has them open any more; closes them. False where that took too long."""
    told = {end: bytearray() for end in ends}
    with selectors.DefaultSelector() as selector:
        for end in ends:
            selector.register(end, selectors.EVENT_READ)
        while selector.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                data = os.read(key.fd, 1 << 16)
                told[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
        in_time = not selector.get_map()
    for end in ends:
        os.close(end)
    return [bytes(data) for data in told.values()], in_time


# --- the other side -----------------------------------------------------------------------------------------------


def serve(link: socket.socket) -> dict[str, Any]:
    """Fork until the other side closes the link; comes back in every fork, with what is to be run there.

    Raises: SystemExit in the interpreter itself.
    """
    while True:
        data, ends, _, _ = socket.recv_fds(link, _LONGEST, 2)
        if not data:
            raise SystemExit
        while not data.endswith(b"\n"):
            data += link.recv(_LONGEST)
        pid = os.fork()
        if pid == 0:
            link.close()
            for number, end in enumerate(ends, 1):
                os.dup2(end, number)
                os.close(end)
            return dict(json.loads(data))
        for end in ends:
            os.close(end)
        link.sendall(f"{pid}\n".encode())
        link.sendall(f"{os.waitpid(pid, 0)[1]}\n".encode())


def main(module: str, link: int) -> None:
    """Serve, and in a fork be `python -m module`."""
    # Nobody's child: some tests count those of their own process.
    if os.fork():
        os._exit(0)
    # An interrupt of the tests is theirs to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What it is until `python -m` has found its module; doit calls itself so.
    sys.argv = ["-m"]
    for name in PREPARED[module]:
        importlib.import_module(name)
    if module == "doit":
        _import_pipeline()
    gc.collect()
    gc.freeze()
    asked = serve(socket.socket(fileno=link))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.path[0] = asked["cwd"]
    sys.argv += asked["arguments"]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _import_pipeline() -> None:
    """What the tasks of a project name, and what they import themselves."""
    for target in importlib.import_module("bfcl.graph.late").TARGETS.values():
        importlib.import_module(target.partition(":")[0])
    # It looks at the project when it is imported, so every fork has to.
    importlib.import_module("bfcl.graph.tasks")
    del sys.modules["bfcl.graph.tasks"]


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
