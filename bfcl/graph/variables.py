"""The `name=value` words a person may put behind a doit command. Rule: generation.md §1, §9.4."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bfcl.config.credentials import shape_of
from bfcl.errors import ConfigError, Problem, did_you_mean, raise_all

KNOWN = ("cache", "config", "executor", "jobs", "pack", "rebuild", "replay", "skip_until")

VALIDATING = frozenset({"config", "validate"})
"""The tasks of `doit validate`: it stands alone, without a run and its store."""

_JOBS = re.compile("[1-9][0-9]{0,3}")
_EXECUTOR = re.compile(r"dask:(?P<address>\S+)")
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,15})?://.*")
SCHEMES = ("", "tcp", "tls", "ws", "wss")
"""Protocols that a scheduler may be spoken to by; none means `tcp`."""
_CACHE = re.compile(r"[a-z][a-z0-9+.-]*://\S+|/.*")
_LOCAL_SCHEMES = frozenset({"file", "local"})
_QUERY = re.compile("[?#].*", re.DOTALL)
_AMBIGUOUS = re.compile("[?#].*@", re.DOTALL)

RESUMABLE = frozenset({"config", "generate", "all"})
"""The tasks that `skip_until=` may be given to."""

_SECRETIVE = frozenset({"cache", "executor"})
"""Their values may hold a password, and one that is malformed may hold it anywhere."""

_EXAMPLES = {"jobs": "2", "executor": "dask:127.0.0.1:8786", "cache": "s3://bucket/bfcl"}

_NOT_FOR_VALIDATION = {
    "replay": "`rebuild=1` runs every check again",
    "skip_until": "leave it out: there is no run to resume",
    "executor": "leave it out: checks run on this machine",
    "cache": "leave it out: a verdict is never taken from a cache",
}
"""Known variables that mean nothing to it, and what to do instead."""

_FIX = "known variables: " + ", ".join(f"`{name}=`" for name in KNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """Checked variables. `jobs` is the number of worker processes that may run at once."""

    jobs: int
    rebuild: bool
    replay_full: bool
    skip_until: str | None = None
    """Name of the stage to begin with; whether it can be is for `graph/resume` to say."""
    dask_address: str | None = None
    """Scheduler of the cluster that computes shards; None computes them here."""
    cache: str | None = None
    """URL or absolute path of a build cache shared with others."""


def only_validates(tasks: Collection[str]) -> bool:
    """Whether a command line asks for the checks of `doit validate` and for nothing else."""
    return "validate" in tasks and VALIDATING.issuperset(tasks)


def check_variables(given: Mapping[str, str], tasks: Collection[str]) -> Variables:
    """Typed variables with defaults, for a command line that names `tasks`.

    Raises: ConfigError naming every variable that is unknown, malformed, or not for these tasks.
    """
    problems = [_unknown(name) for name in sorted(given) if name not in KNOWN]
    problems += _misplaced(given, tasks)
    jobs = given.get("jobs")
    if jobs is not None and not _JOBS.fullmatch(jobs):
        problems.append(_malformed("jobs", jobs, "a whole number from 1 to 9999"))
    if given.get("rebuild") not in (None, "1"):
        problems.append(_malformed("rebuild", given["rebuild"], "1"))
    if given.get("replay") not in (None, "full"):
        problems.append(_malformed("replay", given["replay"], "full"))
    executor = _EXECUTOR.fullmatch(given.get("executor", "dask:-"))
    if executor is None:
        problems.append(_malformed("executor", given["executor"], "dask:<address of a scheduler>"))
    elif "executor" in given:
        problems += _unspoken(executor["address"])
    if not _CACHE.fullmatch(given.get("cache", "/")):
        problems.append(_malformed("cache", given["cache"], "a URL, or the absolute path of a directory"))
    raise_all(ConfigError, problems)
    return Variables(
        jobs=int(jobs) if jobs else usable_cores(),
        # From the stage it names on, a resumed run recomputes as `rebuild=1` does; what lies before is never run.
        rebuild=not given.keys().isdisjoint(("rebuild", "skip_until")),
        replay_full="replay" in given,
        skip_until=given.get("skip_until"),
        dask_address=executor["address"] if executor is not None and "executor" in given else None,
        cache=given.get("cache"),
    )


def _unspoken(address: str) -> Iterator[Problem]:
    """Of an address with a protocol that no scheduler could be reached by from here."""
    if "://" not in address:
        return
    named = _SCHEME.fullmatch(address)
    scheme = named["scheme"] if named is not None else None
    if scheme not in SCHEMES:
        # What stands there instead of a protocol may be a password.
        seen = f"the protocol of {shape_of(address)}" if scheme is None else f"the protocol `{scheme}://`"
        supported = ", ".join(f"`{name}://`" for name in SCHEMES if name)
        yield Problem(
            code="generation_config_invalid",
            subject="executor",
            message=f"{seen} is not supported; expected HOST:PORT, alone or behind one of {supported}",
            fix=f"write `executor={_EXAMPLES['executor']}` or leave it out",
        )


def _misplaced(given: Mapping[str, str], tasks: Collection[str]) -> Iterator[Problem]:
    """Known variables that the tasks asked for would not honour."""
    others = sorted(set(tasks) - VALIDATING) or sorted(tasks)
    if "pack" in given and not only_validates(tasks):
        yield _refused(
            "pack",
            f"`doit {' '.join(others)}` does not take this variable; only `doit validate` does",
            "name a configuration with `config=`: it names the pack",
        )
    elif "pack" in given and "config" in given:
        yield _refused(
            "pack",
            "given together with `config=`, and a pack is checked under one configuration",
            "leave `config=` out to use the pack's own `validate.yaml`, or leave `pack=` out",
        )
    for name, fix in _NOT_FOR_VALIDATION.items():
        if name in given and only_validates(tasks):
            yield _refused(name, "`doit validate` does not take this variable", fix)
    if "skip_until" in given and not only_validates(tasks) and not RESUMABLE.issuperset(tasks):
        yield _refused(
            "skip_until",
            f"`doit {' '.join(others)}` does not take this variable; only `doit generate` and `doit all` do",
            "leave it out, or give it to the command whose run is to be resumed",
        )


def shown_url(url: str) -> str:
    """A URL fit to be read by others: nothing between `//` and the last `@`, no query, no fragment.

    Whoever writes a password by hand seldom encodes the `/` or `@` in it. Where an `@` comes after a `?` or `#`, either
    side of it may be the secret, and neither is shown. A path, without `//`, stays as it is.
    """
    before, slashes, after = url.partition("//")
    if not slashes:
        return url
    if _AMBIGUOUS.search(after):
        return f"{before}//..."
    return f"{before}//{_QUERY.sub('', after.rpartition('@')[2])}"


def local_directory(url: str) -> Path | None:
    """The directory of this machine that a `cache=` names, symlinks resolved; None for a cache elsewhere."""
    scheme, slashes, after = url.partition("://")
    if slashes and scheme not in _LOCAL_SCHEMES:
        return None
    return Path(os.path.realpath(after if slashes else url))


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _unknown(name: str) -> Problem:
    message = "no command of this release takes this variable"
    return _refused(name, message, did_you_mean(name, KNOWN) or _FIX)


def _refused(name: str, message: str, fix: str) -> Problem:
    return Problem(code="unsupported_config_feature", subject=name, message=message, fix=fix)


def _malformed(name: str, seen: str, expected: str) -> Problem:
    told = shape_of(seen) if name in _SECRETIVE else repr(seen)
    return Problem(
        code="generation_config_invalid",
        subject=name,
        message=f"{name}={told} given; expected {expected}",
        fix=f"write `{name}={_EXAMPLES.get(name, expected)}` or leave it out",
    )
