"""Which stored results does nobody name any more, and how do they go? Rule: generation.md §11.12.

A result is named by a pointer, by the manifest of a publication or by a checkpoint. Names are dropped before results,
and a result is renamed away before it is deleted: killed at any instant, nothing is left that names what is gone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bfcl.errors import DriftError, Problem, raise_all
from bfcl.files import storage
from bfcl.graph.checkpoint_files import directory as checkpoints
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.graph.pointers import read_pointer
from bfcl.graph.store import Store

_FP: Final = re.compile("[0-9a-f]{64}")
_NAMES: Final = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
UNKNOWN: Final = "unknown"
"""The stage of a result whose record does not say one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How many results, and the bytes of their files."""

    results: int = 0
    size_bytes: int = 0

    def and_one(self, size_bytes: int) -> Amount:
        return Amount(results=self.results + 1, size_bytes=self.size_bytes + size_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """What a collection removes and what it leaves."""

    kept: Amount
    removed: Mapping[str, Amount]
    """Stage to what goes of it, by stage name."""
    forgotten: tuple[str, ...]
    """Digests of configurations whose pointers go, sorted."""
    experiments: Mapping[str, str] = field(default_factory=dict)
    """Digest of those among them that published to the experiment (`expt_name`) they published."""
    leftovers_bytes: int
    """Of what killed processes left half written."""
    doomed: tuple[str, ...] = field(repr=False)
    """Addresses of the results that go, sorted."""

    @property
    def freed_bytes(self) -> int:
        return self.leftovers_bytes + sum(amount.size_bytes for amount in self.removed.values())


def collect(tree: BuildTree, runs: Iterable[RunTree], keep: frozenset[str] | None = None) -> Collection:
    """What `sweep` would remove; nothing is touched.

    `runs` are the run directories whose manifests and checkpoints name results; those below `build/runs/` need not be
    given. `keep` are the digests (`ck`) of the configurations whose pointers stay, None for all.
    Raises: DriftError `build_cache_tampered` for each pointer that cannot be believed, `build_roots_unreadable` for
    each manifest or checkpoint that cannot be read: what it names is unknown, so nothing may go.
    """
    configurations = [path for path in _inside(tree.root / "refs") if path.is_dir()]
    forgotten = [path for path in configurations if keep is not None and path.name not in keep]
    staying = [path for path in configurations if path not in forgotten]
    named = _named_by_pointers(staying) | _named_by_runs([*_runs_inside(tree), *runs])
    kept, removed, doomed = Amount(), dict[str, Amount](), []
    for path in _results(tree):
        size = _size(path)
        if path.name in named:
            kept = kept.and_one(size)
            continue
        doomed.append(path.name)
        stage = _stage(path)
        removed[stage] = removed.get(stage, Amount()).and_one(size)
    return Collection(
        kept=kept,
        removed=dict(sorted(removed.items())),
        forgotten=tuple(path.name for path in forgotten),
        experiments={path.name: name for path in forgotten if (name := _experiment(tree, path.name)) is not None},
        leftovers_bytes=sum(map(_size, tree.leftovers())) if tree.root.is_dir() else 0,
        doomed=tuple(doomed),
    )


def sweep(store: Store, collection: Collection) -> None:
    """Remove what `collect` found. The caller has held the build lock since before it was called.

    Raises: StageError `storage_failed`.
    """
    with storage(store.tree.root):
        # Names first: a pointer must never be left without what it names.
        for ck in collection.forgotten:
            shutil.rmtree(store.tree.root / "refs" / ck)
        for fp in collection.doomed:
            store.remove(fp)
        store.sweep()


def _named_by_pointers(configurations: Sequence[Path]) -> set[str]:
    named: set[str] = set()
    problems: list[Problem] = []
    for path in (path for directory in configurations for path in _inside(directory) if path.suffix == ".json"):
        try:
            pointer = read_pointer(path)
        except DriftError as error:
            problems += error.problems
            continue
        if pointer is not None:
            named.add(pointer.fp)
            named.update(shard.fp for shard in pointer.shards)
    raise_all(DriftError, problems)
    return named


def _named_by_runs(runs: Iterable[RunTree]) -> set[str]:
    """Every address in the manifests and checkpoints of these runs.

    Read without knowing their form, so that none is overlooked: what looks like an address counts as one.
    """
    named: set[str] = set()
    problems: list[Problem] = []
    for path in dict.fromkeys(path for run in runs for path in _naming_files(run)):
        if not os.path.lexists(path):
            continue
        try:
            data = path.read_bytes()
            json.loads(data)
        except (OSError, ValueError, RecursionError):
            problems.append(_unreadable(path))
            continue
        named.update(found.decode() for found in _NAMES.findall(data))
    raise_all(DriftError, problems)
    return named


def _naming_files(run: RunTree) -> Iterator[Path]:
    if _inside(run.root):
        yield run.manifest
    for directory in _inside(run.stage_cache) and _inside(checkpoints(run)):
        yield from (path for path in _inside(directory) if path.suffix == ".json")


def _unreadable(path: Path) -> Problem:
    return Problem(
        code="build_roots_unreadable",
        subject=str(path),
        message="cannot be read, so nobody knows which stored results it names; nothing was removed",
        fix="delete it if it is worth nothing, then run the same command again",
    )


def _runs_inside(tree: BuildTree) -> list[RunTree]:
    return [RunTree(path) for path in _inside(tree.root / "runs")]


def _inside(directory: Path) -> list[Path]:
    """What lies in a directory, sorted; nothing where there is none.

    Raises: DriftError `build_roots_unreadable` where that cannot be known: a link that leads nowhere, say of a disk
    that is not there today, or a directory of somebody else.
    """
    if not os.path.lexists(directory):
        return []
    try:
        return sorted(directory.iterdir())
    except NotADirectoryError:
        return []
    except OSError:
        raise DriftError(_unreadable(directory)) from None


def _results(tree: BuildTree) -> list[Path]:
    """Whatever has an address for its name, sorted."""
    if not tree.root.is_dir():
        return []
    return sorted(path for path in tree.root.iterdir() if _FP.fullmatch(path.name))


def _stage(path: Path) -> str:
    """The stage a result belongs to, as its record says; nothing depends on it."""
    try:
        stage = json.loads((path / "record.json").read_bytes())["key"]["stage"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return UNKNOWN
    return stage if isinstance(stage, str) else UNKNOWN


def _experiment(tree: BuildTree, ck: str) -> str | None:
    """The experiment that a configuration's last finished run made, as its record says; nothing depends on it."""
    try:
        pointer = json.loads(tree.pointer(ck, "final_output").read_bytes())
        name = json.loads((tree.entry(pointer["fp"]) / "record.json").read_bytes())["key"]["params"]["expt_name"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def _size(path: Path) -> int:
    """Bytes of all files below, links not followed."""
    if path.is_dir() and not path.is_symlink():
        return sum(map(_size, path.iterdir()))
    return path.lstat().st_size
