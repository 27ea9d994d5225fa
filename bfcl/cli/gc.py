"""`bfcl gc`: remove stored results that nothing names any more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bfcl.canonical import Json
from bfcl.cli.place import project_root
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.errors import ConfigError, Problem
from bfcl.graph.gc import Amount, Collection, collect, sweep
from bfcl.graph.invocation import invocation
from bfcl.graph.known_runs import configurations, known_runs
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.graph.store import Store
from bfcl.graph.writer import build_lock
from bfcl.pack.layout import shown

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """What was found out, and whether it was done as well."""

    dry_run: bool
    collection: Collection
    unreadable: tuple[Path, ...]
    """Configurations whose run directory nobody could ask for."""


@click.command
@click.option("--dry-run", is_flag=True, help="Remove nothing, say what would go.")
@click.option(
    "--config",
    "configs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Keep what this configuration needs, and forget all configurations that are not given. A directory stands "
    "for its *.yaml files. May be given again.",
)
@click.option(
    "--run",
    "runs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A run directory outside the project whose manifest names results, too. May be given again.",
)
@format_option()
def gc(dry_run: bool, configs: tuple[Path, ...], runs: tuple[Path, ...], format_: Format) -> None:
    """Remove stored results that nothing names any more.

    A result stays while a pointer in build/refs names it, or the manifest or a checkpoint of a run below build/runs/,
    of a run that a configuration in configs/ names, or of one given with --run. Publications and their files are never
    touched. Without --config what every configuration ever built last needed stays, those edited since included; with
    it the store does not grow for ever. Refused while another command builds.

    \b
    Example:
      bfcl gc --dry-run
      bfcl gc --config configs/mine.yaml
    """
    project = project_root(Path.cwd())
    keep = frozenset(_digests(project, configs)) if configs else None
    known = known_runs(project)
    # Before anything is removed: whoever reads it can still stop.
    for path in known.unreadable:
        click.echo(f"{shown(path)} names no run: what a publication of it may name was not looked for", err=True)
    tree = BuildTree(project)
    naming = [*known.runs, *map(RunTree, runs)]
    if tree.root.is_dir():
        lock = build_lock(tree)
        # Even to look: under a running build results come and go.
        lock.acquire()
        try:
            collection = collect(tree, naming, keep)
            if not dry_run:
                sweep(Store(tree), collection)
        finally:
            lock.release()
    else:
        collection = collect(tree, naming, keep)
    done = _Done(dry_run=dry_run, collection=collection, unreadable=known.unreadable)
    if as_json(format_):
        print_json(_document(done))
    else:
        _sheet(done).print()


def _digests(project: Path, configs: Sequence[Path]) -> Iterator[str]:
    """The names of these configurations' pointers. Raises: ConfigError, since a guess could forget the wrong one."""
    problems: list[Problem] = []
    for path in (path for given in configs for path in _files(given)):
        seen = invocation(project, Path.cwd(), {"config": str(path)})
        if seen.trouble is None:
            yield seen.ck
        else:
            problems += seen.trouble.problems
    if problems:
        raise ConfigError(problems)


def _files(given: Path) -> list[Path]:
    if not given.is_dir():
        return [given]
    found = configurations(given)
    if not found:
        raise click.UsageError(f"--config {given}: the directory holds no *.yaml file")
    return found


def _document(done: _Done) -> Json:
    found = done.collection
    return {
        "schema_version": "1.0",
        "dry_run": done.dry_run,
        "kept": _amount(found.kept),
        "removed": {
            **_amount(_total(found)),
            "stages": {stage: _amount(amount) for stage, amount in found.removed.items()},
            "leftovers_bytes": found.leftovers_bytes,
            "configurations": found.forgotten,
        },
        "freed_bytes": found.freed_bytes,
        "unread_configurations": [shown(path) for path in done.unreadable],
    }


def _amount(amount: Amount) -> dict[str, Json]:
    return {"results": amount.results, "size_bytes": amount.size_bytes}


def _total(found: Collection) -> Amount:
    amounts = found.removed.values()
    return Amount(
        results=sum(amount.results for amount in amounts), size_bytes=sum(amount.size_bytes for amount in amounts)
    )


def _sheet(done: _Done) -> Sheet:
    found, sheet = done.collection, Sheet()
    width = max((len(stage) for stage in found.removed), default=0)
    for stage, amount in found.removed.items():
        sheet.line(f"  {stage:<{width}}  {amount.results:>7,}  {_readable(amount.size_bytes):>10}")
    if found.leftovers_bytes:
        sheet.line(f"  left by killed runs: {_readable(found.leftovers_bytes)}")
    if found.forgotten:
        verb = "would be forgotten" if done.dry_run else "forgotten"
        sheet.line(f"  configurations {verb}: {', '.join(found.forgotten)}")
    verb = "would remove" if done.dry_run else "removed"
    total = _total(found)
    sheet.line(
        f"{verb} {_results(total.results)} ({_readable(found.freed_bytes)}), "
        f"kept {_results(found.kept.results)} ({_readable(found.kept.size_bytes)})"
    )
    return sheet


def _results(count: int) -> str:
    return "1 result" if count == 1 else f"{count:,} results"


def _readable(size_bytes: int) -> str:
    """Bytes in the largest unit that leaves at least one of it."""
    size, unit = float(size_bytes), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size_bytes:,} bytes" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"
