"""How far can this kernel shut pack code in, and how far was it done? Probed, never required. Rule: ruling 7.

A ctypes shim over Landlock, namespaces, resource limits and process-control calls. It guards against honest mistakes
and casual peeking, not against an attacker: `docs` say what it does not promise. Linux only; elsewhere each probe
answers no. Runs in the world before pack code: standard library only.
"""

# pathlib and what it imports would make every fork dearer.
from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

ADDRESS_SPACE = 4 * 1024**3
"""Bytes of address space a world and each episode may map: a memory bomb ends in MemoryError."""
FILE_SIZE = 256 * 1024**2
OPEN_FILES = 1024

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 36, 38
_CLONE_NEWUTS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = 0x04000000, 0x08000000, 0x10000000, 0x40000000
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_FS_EXECUTE, _FS_WRITE, _FS_READ, _FS_READ_DIR = 1, 2, 4, 8
_FS_TRUNCATE, _FS_IOCTL = 1 << 14, 1 << 15
_FS_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_FS_RIGHTS_NEWEST = (1 << 16) - 1
_SCOPES = 0b11  # abstract sockets, signals to processes outside
_SYSTEM = (
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/etc/localtime",
    "/etc/ld.so.cache",
    "/dev/urandom",
    "/dev/random",
)

_LINUX = sys.platform == "linux"
_libc: Any = ctypes.CDLL(None, use_errno=True) if _LINUX else None


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Have the kernel signal this process when the thread that started it ends."""
    if _LINUX:
        _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def adopt_orphans() -> bool:
    """Become the parent of whatever double-forks below this process, so that it can be found and killed."""
    return _LINUX and _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def shut_in(*, readable: Iterable[str], writable: str, host_name: str) -> dict[str, Any]:
    """Apply what there is; forks inherit it. Returns the level reached.

    `{"landlock": ABI number or None, "network_namespace": bool, "rlimits": bool}`. `readable` are the pack's
    directories, beside the interpreter's own, the system's libraries and time zone data.
    """
    network = _LINUX and _leave_network(host_name)
    limited = _limit_resources()
    return {"landlock": _landlock(readable, writable), "network_namespace": network, "rlimits": limited}


def _leave_network(host_name: str) -> bool:
    """An empty network namespace and another host name, as root or through a user namespace of one's own."""
    wanted = _CLONE_NEWNET | _CLONE_NEWUTS | _CLONE_NEWIPC
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(wanted) != 0:
        if _libc.unshare(wanted | _CLONE_NEWUSER) != 0:
            return False
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with suppress(OSError):
                _write(f"/proc/self/{name}", text)
    encoded = host_name.encode()
    _libc.sethostname(encoded, len(encoded))
    return True


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _limit_resources() -> bool:
    try:
        import resource  # absent outside POSIX
    except ImportError:
        return False
    done = True
    for kind, wanted in (
        (resource.RLIMIT_AS, ADDRESS_SPACE),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
    ):
        _, hard = resource.getrlimit(kind)
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (OSError, ValueError):
            done = False
    return done


def _interpreter_paths() -> set[str]:
    paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path}
    paths.update(sysconfig.get_paths().values())
    return paths


def _landlock(readable: Iterable[str], writable: str) -> int | None:
    """Restrict this process and its forks. Returns the kernel's Landlock ABI, or None where there is none."""
    if not _LINUX:
        return None
    abi = _libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if abi < 1:
        return None
    rights = _FS_RIGHTS.get(abi, _FS_RIGHTS_NEWEST)
    attributes = struct.pack("<Q", rights) if abi < 4 else struct.pack("<QQ", rights, 0)
    if abi >= 6:
        attributes += struct.pack("<Q", _SCOPES)
    ruleset = _libc.syscall(_LANDLOCK_CREATE, attributes, len(attributes), 0)
    if ruleset < 0:
        return None
    try:
        reading = _FS_EXECUTE | _FS_READ | _FS_READ_DIR
        for path in {*readable, *_interpreter_paths(), *_SYSTEM}:
            _allow(ruleset, path, reading)
        _allow(ruleset, writable, rights)
        _allow(ruleset, "/dev/null", (_FS_READ | _FS_WRITE | _FS_TRUNCATE | _FS_IOCTL) & rights)
        if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or _libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) != 0:
            return None
    finally:
        os.close(ruleset)
    return int(abi)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Grant rights below a path; a path that is not there grants nothing."""
    if not path.startswith("/") or path == "/":
        return
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FS_EXECUTE | _FS_WRITE | _FS_READ | _FS_TRUNCATE | _FS_IOCTL
        rule = struct.pack("<Qi", rights, descriptor)
        _libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0)
    finally:
        os.close(descriptor)
