"""What of this machine enters keys and manifests: versions and, for information only, the revision of the sources."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_file, sha256_json
from bfcl.graph.sources import PACKAGE, package_files

CORE: Final = ("blake3", "click", "doit", "httpx", "jsonschema", "pyarrow", "pyyaml", "rich", "time-machine")
"""The distributions a build runs on."""


class Revision(NamedTuple):
    """The git commit of the package's own checkout, None outside one."""

    sha: str | None
    dirty: bool | None


def python_minor() -> str:
    """`3.11`: another minor version recomputes replays."""
    return ".".join(platform.python_version_tuple()[:2])


@functools.cache
def system() -> str:
    """Kernel, its release, machine and C library, as `platform.platform` words them.

    That one asks a program for the processor, which then runs with whatever stands in our environment.
    """
    told = os.uname()
    return "-".join(filter(None, (told.sysname, told.release, told.machine, "with", "".join(platform.libc_ver()))))


@functools.cache
def pyarrow_version() -> str:
    """Read without importing it."""
    return version("pyarrow")


def pipeline_version() -> str:
    """The version of this distribution, `0+source` where it runs uninstalled."""
    try:
        return version("bfcl-build")
    except PackageNotFoundError:
        return "0+source"


@functools.cache
def source_hash() -> Digest:
    """SHA-256 over the package's sources: canonical JSON of relative path to file digest."""
    return sha256_json({path.relative_to(PACKAGE).as_posix(): sha256_file(path) for path in package_files()})


def dependency_lock_hash() -> Digest:
    """SHA-256 of canonical JSON of core distribution name to installed version."""
    installed: dict[str, Json] = {}
    for name in CORE:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = None
    return sha256_json(installed)


def revision() -> Revision:
    """The checkout the package runs from; a package installed inside some other repository has none."""
    sha = _git("rev-parse", "HEAD")
    top = _git("rev-parse", "--show-toplevel")
    if sha is None or top is None or top != str(PACKAGE.parent):
        return Revision(None, None)
    status = _git("status", "--porcelain", "--untracked-files=no")
    return Revision(sha, None if status is None else bool(status))


def _git(*arguments: str) -> str | None:
    command = ["git", "-C", str(PACKAGE.parent), *arguments]
    # Nothing else: git starts what its configuration names, and the environment may hold a credential.
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "XDG_CONFIG_HOME") if name in os.environ}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10, env=environment)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
