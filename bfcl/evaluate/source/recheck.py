"""Is everything still as it was verified, right before somebody is asked? Rule: evaluation.md §3, gate 16.

Times and sizes of files prove nothing: whoever swaps bytes can set both. So every check hashes every byte anew. That is
too dear for each task of a large benchmark, hence `Watch`: before each task it looks at what the system notes of every
file and directory, and checks where anything moved. A change that leaves no note is found all the same: each task earns
a fixed number of bytes, and as soon as the tasks since the last check have earned the whole source, the next one is
preceded by a full check, and no result may count before `settle` has checked it a last time. So every task lies
between two full checks, and a small source is checked before each. What runs meanwhile is not at stake: rows are held
in memory, and the oracle runs from a private copy whose bytes were held to the pack's digests when they were copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bfcl.digest import Digest, sha256_file
from bfcl.errors import EvalError, PackError, Problem, raise_all
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.source.gates import Place, SourceGate, refusal, retold
from bfcl.evaluate.source.plan import Plan, check_plan
from bfcl.evaluate.source.verified import CheckedOracle, VerifiedSource
from bfcl.pack.fingerprint import read_tree

CHANGED: Final = "eval_source_changed_during_eval"

BYTES_PER_TASK: Final = 1 << 20
"""What a task may cost: well below a millisecond of hashing, where all of a turn may cost five."""
_BYTES_PER_ID: Final = 3 << 10
"""What deriving the plan costs for one id and candidate, in bytes hashed in the same time."""

_AGAIN: Final = "restore the file and start the evaluation again, once nobody writes there"


def recheck(settings: EvalSettings, verified: VerifiedSource, plan: Plan) -> None:
    """Hash every file anew and derive the plan anew.

    Raises: EvalError `eval_source_changed_during_eval` with every file that is not as it was verified,
    `eval_contamination_task_set_inconsistent` or `eval_contamination_plan_drift`.
    """
    raise_all(EvalError, list(_changes(settings, verified)))
    check_plan(settings, verified, plan)


class Watch:
    """Repeats `recheck` as tasks begin, within a budget (see above). Used from one thread at a time."""

    def __init__(
        self, settings: EvalSettings, verified: VerifiedSource, plan: Plan, *, bytes_per_task: int = BYTES_PER_TASK
    ) -> None:
        self._settings, self._verified, self._plan = settings, verified, plan
        self._per_task = bytes_per_task
        self.cost = _cost(settings, verified)
        """About how many bytes one check hashes."""
        self._earned = self.cost
        self._noted: Sequence[Sequence[int] | None] = ()
        self._places = _places(settings, verified)
        self.checks = 0
        """How often everything was hashed."""

    def before_task(self) -> None:
        """Check the source if it is due. Raises as `recheck`."""
        if self.begin_task():
            self.settle()

    def begin_task(self) -> bool:
        """Count in the task that begins now; whether it is to be preceded by a check."""
        self._earned += self._per_task
        return self._earned >= self.cost or self._notes() != self._noted

    def settle(self) -> None:
        """Check the source now: before the first request, and before any result counts. Raises as `recheck`."""
        noted = self._notes()
        recheck(self._settings, self._verified, self._plan)
        self.checks += 1
        self._earned, self._noted = 0, noted

    def _notes(self) -> Sequence[Sequence[int] | None]:
        """What the system notes of each place when its bytes, its name or what lies in it change."""
        return [_note(place) for place in self._places]


def _places(settings: EvalSettings, verified: VerifiedSource) -> Sequence[Path]:
    """The files of the source and the directories of its pack: a new file shows in the one that it lies in."""
    paths = {verified.run_dir / name for name in verified.files} | {settings.scoring.contract}
    if verified.oracle is not None:
        pack = verified.oracle.pack
        paths |= {pack.root, *pack.paths.values()}
        paths |= {above for path in pack.paths.values() for above in path.parents if above.is_relative_to(pack.root)}
    return sorted(paths)


def _note(place: Path) -> Sequence[int] | None:
    try:
        seen = place.lstat()
    except OSError:
        return None
    return seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def _cost(settings: EvalSettings, verified: VerifiedSource) -> int:
    """About how many bytes a check hashes. What has gone meanwhile is for the check to tell."""
    paths = [verified.run_dir / name for name in verified.files]
    paths += verified.pack.paths.values() if verified.pack is not None else ()
    size = sum(path.stat().st_size for path in paths if path.is_file())
    return size + _BYTES_PER_ID * len(verified.task_ids) * len(settings.candidates)


def _changes(settings: EvalSettings, verified: VerifiedSource) -> Iterator[Problem]:
    for name, wanted in verified.files.items():
        yield from _change(verified.run_dir / name, name, wanted)
    scoring = settings.scoring
    yield from _change(scoring.contract, "the scoring contract", scoring.contract_hash, linked=True)
    if verified.oracle is not None:
        yield from _pack_changes(verified.oracle)


def _change(path: Path, name: str, wanted: Digest, *, linked: bool = False) -> Iterator[Problem]:
    """`linked` allows a link: those files are named by the configuration and may lie anywhere."""
    try:
        regular = path.is_file() and (linked or not path.is_symlink())
        seen = sha256_file(path) if regular else None
    except OSError:
        seen = None
    if seen != wanted:
        told = "is gone or no regular file" if seen is None else f"has {seen}"
        message = f"{name} {told}; it was verified with {wanted}"
        yield refusal(SourceGate.RECHECK, CHANGED, message, place=Place(file=path), fix=_AGAIN)


def _pack_changes(oracle: CheckedOracle) -> Iterator[Problem]:
    pack = oracle.pack
    try:
        now = read_tree(pack.root, {role: file.path for role, file in pack.files.items()}).digests
    except PackError as error:
        yield from retold(SourceGate.RECHECK, CHANGED, error.problems, file=pack.root)
        return
    for logical in sorted({*pack.entries, *now}, key=str.encode):
        was, seen = pack.entries.get(logical), now.get(logical)
        if was != seen:
            told = "is gone" if seen is None else f"has {seen}"
            message = f"{logical} of the pack {told}; it was {f'verified with {was}' if was else 'not there'}"
            path = pack.paths.get(logical, pack.root / logical.removeprefix("tree/"))
            yield refusal(SourceGate.RECHECK, CHANGED, message, place=Place(file=path), fix=_AGAIN)
