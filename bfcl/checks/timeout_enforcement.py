"""Check T1: is a tool that never returns stopped at its deadline, and does the next episode work? Rule: pack.md §11.

The tool is ours, on the path that pack tools take: the answer is the same for every pack, and is found once a process.
"""

from __future__ import annotations

import atexit
import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bfcl.checks.findings import Findings, Subject
from bfcl.errors import BfclError
from bfcl.files import storage, temporary_directory
from bfcl.oracle.aside import Crew, Later
from bfcl.oracle.protocol import Episode, EpisodeResult, OracleSpec, PlannedCall
from bfcl.oracle.worker import LocalOracle
from bfcl.records.verdict import Finding

DEADLINES_S: Final = (0.2, 2.0)
"""Deadlines tried until one is kept: a busy machine may let an honest episode miss the first."""

BACKEND: Final = """\
import signal
import time


def list_tools():
    return ["wait", "answer"]


def reset(*, ctx, fixtures=None):
    pass


def call_tool(name, arguments, *, ctx):
    if name == "wait":
        for polite in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            signal.signal(polite, signal.SIG_IGN)
        while True:
            time.sleep(3600)
    return {"answered": True}


def get_state():
    return {}
"""
"""An oracle with a tool that never returns and is deaf to every signal that can be refused, and one that answers."""

_ANSWER: Final = '{"answered":true}'
_LIMIT_S: Final = 10.0


def check(_subject: Subject) -> Findings:
    """What the built-in tools showed; the pack has no part in it. Raises: OracleError if no interpreter comes up."""
    try:
        return found(_begun().result())
    except BfclError:
        _begun.cache_clear()  # whatever kept it from starting may be gone the next time
        raise


def begin() -> None:
    """Start looking, if this process has not yet: the worker comes up while other checks run."""
    _begun()


@functools.cache
def _begun() -> Later[str | None]:
    look = Crew().begin(_trouble)
    # A process that ends early waits for it: its worker has a directory to remove.
    atexit.register(look.wait)
    return look


def _trouble() -> str | None:
    told = None
    for deadline_s in DEADLINES_S:
        told = trouble(deadline_s)
        if told is None:
            break
    return told


def trouble(deadline_s: float, backend: str = BACKEND) -> str | None:
    """What goes wrong when `wait` is called under a deadline and `answer` after it; None where nothing does.

    Raises: OracleError if no interpreter comes up; StageError `storage_failed` without room for the built-in pack.
    """
    with storage(Path(tempfile.gettempdir())), temporary_directory("timeouts") as directory:
        root = Path(directory).resolve()
        (root / "backend.py").write_text(backend, encoding="utf-8")
        (root / "assertions.py").write_text("", encoding="utf-8")
        with LocalOracle(_spec(root, deadline_s), jobs=1) as oracle:
            return told_of(deadline_s, oracle.run([_calling("wait"), _calling("answer")]))


def _spec(root: Path, deadline_s: float) -> OracleSpec:
    return OracleSpec(
        view=str(root),
        backend=str(root / "backend.py"),
        assertions=str(root / "assertions.py"),
        fixtures=None,
        clock="2026-01-01T00:00:00+00:00",
        tool_timeout_s=deadline_s,
        assertion_timeout_s=_LIMIT_S,
        import_timeout_s=_LIMIT_S,
        reset_timeout_s=_LIMIT_S,
        episode_timeout_s=_LIMIT_S,
    )


def _calling(tool: str) -> Episode:
    return Episode(task_id=f"timeout__{tool}", seed=0, calls=(PlannedCall(tool=tool, arguments={}),))


def told_of(deadline_s: float, results: Sequence[EpisodeResult]) -> str | None:
    """The trouble that the episodes of `wait` and `answer`, in this order, show."""
    stuck, following = results
    if stuck.breakdown is None or stuck.breakdown.code != "tool_timeout":
        ended = "it ended by itself" if stuck.breakdown is None else stuck.breakdown.code
        return f"a tool that never returns was not stopped at its deadline of {deadline_s:g} s: {ended}"
    if following.breakdown is not None:
        return f"the episode after a stopped one broke: {following.breakdown.code}: {following.breakdown.message}"
    if following.results != (_ANSWER,):
        return f"the episode after a stopped one answered {', '.join(following.results) or 'nothing'}"
    return None


def found(trouble: str | None) -> Findings:
    """The check's findings for what was seen."""
    if trouble is None:
        return Findings([], [])
    message = f"{trouble}; expected `tool_timeout`, and an answer from the next episode"
    fix = "run on a machine where processes can be killed; see the isolation level in the documentation"
    return Findings([Finding(code="timeout_not_enforced", message=message, fix=fix)], [])
