"""The `name=value` words a person may put behind a doit command. Rule: generation.md §1, §9.4."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from bfcl.errors import ConfigError, Problem, did_you_mean, raise_all

KNOWN = ("config", "jobs", "pack", "rebuild", "replay")

VALIDATING = frozenset({"config", "validate"})
"""The tasks of `doit validate`: it stands alone, without a run and its store."""

_JOBS = re.compile("[1-9][0-9]{0,3}")

_FIX = "known variables: " + ", ".join(f"`{name}=`" for name in KNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """Checked variables. `jobs` is the number of worker processes that may run at once."""

    jobs: int
    rebuild: bool
    replay_full: bool


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
    raise_all(ConfigError, problems)
    return Variables(
        jobs=int(jobs) if jobs else usable_cores(),
        rebuild="rebuild" in given,
        replay_full="replay" in given,
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
    if "replay" in given and only_validates(tasks):
        yield _refused("replay", "`doit validate` does not take this variable", "`rebuild=1` runs every check again")


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _unknown(name: str) -> Problem:
    message = "no command of this release takes this variable"
    return _refused(name, message, did_you_mean(name, KNOWN) or _FIX)


def _refused(name: str, message: str, fix: str) -> Problem:
    return Problem(code="unsupported_config_feature", subject=name, message=message, fix=fix)


def _malformed(name: str, seen: str, expected: str) -> Problem:
    return Problem(
        code="generation_config_invalid",
        subject=name,
        message=f"{name}={seen!r} given; expected {expected}",
        fix=f"write `{name}={'2' if name == 'jobs' else expected}` or leave it out",
    )
