"""The `name=value` words a person may put behind a doit command. Rule: generation.md §1, §9.4."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bfcl.errors import ConfigError, Problem, did_you_mean, raise_all

KNOWN = ("config", "jobs", "rebuild", "replay")

_JOBS = re.compile("[1-9][0-9]{0,3}")

_FIX = "known variables: " + ", ".join(f"`{name}=`" for name in KNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """Checked variables. `jobs` is the number of worker processes that may run at once."""

    jobs: int
    rebuild: bool
    replay_full: bool


def check_variables(given: Mapping[str, str]) -> Variables:
    """Typed variables with defaults. Raises ConfigError naming every unknown or malformed one."""
    problems = [_unknown(name) for name in sorted(given) if name not in KNOWN]
    jobs = given.get("jobs")
    if jobs is not None and not _JOBS.fullmatch(jobs):
        problems.append(_malformed("jobs", jobs, "a whole number from 1 to 9999"))
    if given.get("rebuild") not in (None, "1"):
        problems.append(_malformed("rebuild", given["rebuild"], "1"))
    if given.get("replay") not in (None, "full"):
        problems.append(_malformed("replay", given["replay"], "full"))
    raise_all(ConfigError, problems)
    return Variables(
        jobs=int(jobs) if jobs else _usable_cores(),
        rebuild="rebuild" in given,
        replay_full="replay" in given,
    )


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _unknown(name: str) -> Problem:
    message = "no command of this release takes this variable"
    return Problem(
        code="unsupported_config_feature", subject=name, message=message, fix=did_you_mean(name, KNOWN) or _FIX
    )


def _malformed(name: str, seen: str, expected: str) -> Problem:
    return Problem(
        code="generation_config_invalid",
        subject=name,
        message=f"{name}={seen!r} given; expected {expected}",
        fix=f"write `{name}={'2' if name == 'jobs' else expected}` or leave it out",
    )
