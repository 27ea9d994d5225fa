"""What does pack code reach for outside its own episode? An audit hook that refuses and remembers. Rule: ruling 7.

Refused: network sockets and name look-ups, new processes, signals to others, writes outside the private directory.
Clock, environment and entropy are not refused: they differ between the two worlds and so show as a divergence.
Runs in the world beside pack code: standard library only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from bfcl.oracle.pages import EVENTS, PageWatch

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LOCAL_FAMILIES = (1, -1)  # AF_UNIX, and -1 for a socket made from a descriptor: event loops need both
_HARMLESS = ("/dev/null",)
_fspath, _fsdecode, _getcwd, _getpid = os.fspath, os.fsdecode, os.getcwd, os.getpid
_join, _normpath = os.path.join, os.path.normpath


class AmbientAccess(BaseException):
    """Pack code reached outside its episode. Not an Exception: `except Exception` must not hide it."""


class Guard:
    """The hook and what it saw. `place` names the pack line of a frame; `writable` is the private directory."""

    def __init__(self, writable: str, place: Callable[[FrameType | None], str | None], pages: PageWatch) -> None:
        self.violations: list[tuple[str, str | None]] = []
        """`(what, file:line)` in order. Kept aside, so that swallowing the exception hides nothing."""
        self.trusted = True
        """While the world itself forks, kills and cleans up."""
        self._writable = writable
        self._place = place
        self._pages = pages

    def install(self) -> None:
        """From here on every audited event of this process and its forks passes through. Cannot be undone."""
        watched = EVENTS | _CHECKS.keys()

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            # One look-up for most: copying a state alone brings thousands of events, one for each `id`.
            if event not in watched:
                return
            if event in EVENTS:
                # Also while the world works: a thread of the pack may run beside it.
                self._pages.saw(event, arguments)
            check = _CHECKS.get(event)
            if check is None or self.trusted:
                return
            what = check(self, arguments)
            if what is not None:
                where = self._place(sys._getframe(1))
                self.violations.append((what, where))
                raise AmbientAccess(what)

        sys.addaudithook(hook)

    def inside(self, path: Any) -> bool:
        """Whether a path lies in the private directory (an open descriptor counts: opening it was judged before)."""
        if path is None or isinstance(path, int):
            return True
        text = _fsdecode(_fspath(path))
        text = _normpath(text if text.startswith("/") else _join(_getcwd(), text))
        return text == self._writable or text.startswith(self._writable + "/") or text in _HARMLESS


def _show(path: Any) -> str:
    return _fsdecode(_fspath(path))


def _open(guard: Guard, arguments: tuple[Any, ...]) -> str | None:
    path, _, flags = arguments
    if not isinstance(flags, int) or not flags & _WRITING or guard.inside(path):
        return None
    return f"opens `{_show(path)}` for writing"


def _changes(*positions: int) -> Callable[[Guard, tuple[Any, ...]], str | None]:
    def check(guard: Guard, arguments: tuple[Any, ...]) -> str | None:
        for position in positions:
            if position < len(arguments) and not guard.inside(arguments[position]):
                return f"changes `{_show(arguments[position])}`"
        return None

    return check


def _database(guard: Guard, arguments: tuple[Any, ...]) -> str | None:
    name = _show(arguments[0])
    if name in ("", ":memory:") or name.startswith("file::memory:"):
        return None
    if name.startswith("file:"):
        path, _, options = name[5:].partition("?")
        if "mode=ro" in options or "mode=memory" in options or "immutable=1" in options:
            return None
        name = path
    return None if guard.inside(name) else f"opens the database `{name}` for writing"


def _socket(_: Guard, arguments: tuple[Any, ...]) -> str | None:
    return None if arguments[1] in _LOCAL_FAMILIES else "creates a network socket"


def _connects(_: Guard, arguments: tuple[Any, ...]) -> str | None:
    return f"connects a socket to `{arguments[1]}`"


def _looks_up(_: Guard, arguments: tuple[Any, ...]) -> str | None:
    return f"looks up the network name `{arguments[0]}`" if arguments else "looks up the name of this machine"


def _starts(_: Guard, arguments: tuple[Any, ...]) -> str | None:
    program = arguments[0] if arguments else None
    return (
        f"starts a process `{_show(program)}`" if isinstance(program, (str, bytes, os.PathLike)) else "starts a process"
    )


def _forks(_: Guard, __: tuple[Any, ...]) -> str | None:
    return "forks a process"


def _signals(_: Guard, arguments: tuple[Any, ...]) -> str | None:
    return None if arguments[0] == _getpid() else f"sends signal {arguments[1]} to another process"


def _logs(_: Guard, __: tuple[Any, ...]) -> str | None:
    return "writes to the system log"


_CHECKS: dict[str, Callable[[Guard, tuple[Any, ...]], str | None]] = {
    "open": _open,
    "os.remove": _changes(0),
    "os.rename": _changes(0, 1),
    "os.rmdir": _changes(0),
    "os.mkdir": _changes(0),
    "os.chmod": _changes(0),
    "os.chown": _changes(0),
    "os.lchown": _changes(0),
    "os.link": _changes(0, 1),
    "os.symlink": _changes(1),
    "os.truncate": _changes(0),
    "os.utime": _changes(0),
    "os.setxattr": _changes(0),
    "os.removexattr": _changes(0),
    "sqlite3.connect": _database,
    "socket.__new__": _socket,
    "socket.connect": _connects,
    "socket.bind": _connects,
    "socket.sendto": _connects,
    "socket.sendmsg": _connects,
    "socket.getaddrinfo": _looks_up,
    "socket.gethostbyname": _looks_up,
    "socket.gethostbyaddr": _looks_up,
    "socket.getnameinfo": _looks_up,
    "socket.gethostname": _looks_up,
    "subprocess.Popen": _starts,
    "os.system": _starts,
    "os.exec": _starts,
    "os.posix_spawn": _starts,
    "os.spawn": _starts,
    "os.fork": _forks,
    "os.forkpty": _forks,
    "pty.spawn": _starts,
    "os.kill": _signals,
    "os.killpg": _signals,
    "syslog.syslog": _logs,
    "syslog.openlog": _logs,
}
