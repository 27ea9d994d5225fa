"""What `doit clean` takes away: pointers, the results they name, their readable copies; a publication if asked.

Rule: generation.md §9.5.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from bfcl.errors import BfclError
from bfcl.files import storage
from bfcl.graph.layout import RunTree
from bfcl.graph.opening import Opening
from bfcl.graph.pointers import read_pointer
from bfcl.graph.publish import PAYLOADS, withdraw
from bfcl.graph.refusal import print_problems
from bfcl.graph.views import Views
from bfcl.graph.writer import build_lock, run_lock
from bfcl.stages import STAGES
from bfcl.stages.artifacts import MANIFEST_FILE, NORMALISED, NORMALISED_UNDER_POLICY, REPORT_FILE


def clean_pointed(opening: Opening, stages: Iterable[str], dryrun: bool) -> None:
    """Remove each stage's pointer, the entries it names and its files in `stage_cache/`."""

    def clean() -> None:
        for stage in stages:
            _clean_stage(opening, stage, dryrun)

    if dryrun:
        clean()
    else:
        _locked(opening, clean)


def clean_publication(opening: Opening, dryrun: bool) -> None:
    """Remove the published files, manifest first."""
    run = opening.invocation.run
    if run is None:
        return
    for name in (MANIFEST_FILE, *PAYLOADS):
        _say(run.root / name, dryrun)
    if not dryrun:
        _locked(opening, lambda: _withdraw(run))


def _withdraw(run: RunTree) -> None:
    withdraw(run.root)
    with storage(run.commit_record):
        run.commit_record.unlink(missing_ok=True)


def _locked(opening: Opening, action: Callable[[], None]) -> None:
    """Run `action` under the locks of build and run; a refusal is printed and ends doit with status 1."""
    run = opening.invocation.run
    locks = [build_lock(opening.invocation.tree)]
    if run is not None and run.root.is_dir():
        locks.append(run_lock(run))
    try:
        with ExitStack() as held:
            for lock in locks:
                lock.acquire()
                held.callback(lock.release)
            action()
    except BfclError as error:
        print_problems(error, opening.invocation.given)
        sys.exit(1)


def _clean_stage(opening: Opening, stage: str, dryrun: bool) -> None:
    path = opening.invocation.tree.pointer(opening.invocation.ck, stage)
    artifacts = _artifacts(stage)
    for fp in _pointed(path):
        _say(opening.invocation.tree.entry(fp), dryrun)
        if not dryrun:
            opening.store.remove(fp)
    if path.exists():
        _say(path, dryrun)
        if not dryrun:
            path.unlink()
    run = opening.invocation.run
    if run is None:
        return
    names = [name for name in artifacts if (run.stage_cache / name).exists()]
    for name in names:
        _say(run.stage_cache / name, dryrun)
    if names and not dryrun:
        Views(run.stage_cache).remove(names)


def _pointed(path: Path) -> list[str]:
    try:
        pointer = read_pointer(path)
    except BfclError:
        return []
    return [pointer.fp, *(shard.fp for shard in pointer.shards)] if pointer is not None else []


def _artifacts(stage: str) -> list[str]:
    if stage == "prepare":
        return [*NORMALISED, *NORMALISED_UNDER_POLICY, REPORT_FILE]
    return [name for one in STAGES if one.name == stage for name in (*one.writes, *one.under_policy)]


def _say(path: Path, dryrun: bool) -> None:
    if path.exists():
        sys.stdout.write(f"{'would remove' if dryrun else 'removing'} {path}\n")
