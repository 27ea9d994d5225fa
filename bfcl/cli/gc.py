"""`bfcl gc`: remove stored results that nothing names any more."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from bfcl.canonical import Json
from bfcl.cli.place import project_root
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.errors import ConfigError, Problem, raise_all
from bfcl.graph.gc import Amount, Collection, collect, sweep
from bfcl.graph.invocation import invocation
from bfcl.graph.known_runs import KnownRuns, configurations, known_runs
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
    known: KnownRuns


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
    of a run that configs/*.yaml or packs/*/validate.yaml name, or of one given with --run. Publications and their files
    are never touched. Without --config what every configuration ever built last needed stays, those edited since
    included; with it the store does not grow for ever. Refused while another command builds, and where such a
    configuration cannot be read: what its run needs is unknown.

    \b
    Example:
      bfcl gc --dry-run
      bfcl gc --config configs/mine.yaml
    """
    project = project_root(Path.cwd())
    known = known_runs(project)
    keep = _checked(project, known, configs, runs)
    # Before anything is removed: whoever reads it can still stop.
    for path in known.runless:
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
    done = _Done(dry_run=dry_run, collection=collection, known=known)
    if as_json(format_):
        print_json(_document(done))
    else:
        _sheet(done).print()


def _checked(project: Path, known: KnownRuns, configs: Sequence[Path], runs: Sequence[Path]) -> frozenset[str] | None:
    """The names of the pointers to keep, None for all.

    Raises: ConfigError with everything that would leave unknown what has to stay: a guess could remove the wrong thing.
    """
    problems: list[Problem] = []
    digests: set[str] = set()
    given = [path for each in configs for path in _files(each)]
    for path in given:
        seen = invocation(project, Path.cwd(), {"config": str(path)})
        if seen.trouble is None:
            digests.add(seen.ck)
        else:
            problems += seen.trouble.problems
    told = {os.path.realpath(path) for path in given}
    problems += [_unreadable(path) for path in known.unreadable if os.path.realpath(path) not in told]
    problems += [_no_run(path) for path in runs if not _is_run(RunTree(path))]
    raise_all(ConfigError, problems)
    return frozenset(digests) if configs else None


def _unreadable(path: Path) -> Problem:
    return Problem(
        code="build_roots_unreadable",
        subject=shown(path),
        message="cannot be read as a configuration, so nobody knows where its run lies and which stored results that "
        "names; nothing was removed",
        fix=f"mend it, or move it out of `{shown(path.parent)}` and name its run, if it has one, with `--run`",
    )


def _no_run(path: Path) -> Problem:
    return Problem(
        code="run_not_found",
        subject=shown(path),
        message="`--run` names no run directory: neither run_manifest.json nor stage_cache/ is there; nothing was "
        "removed",
        fix="name the directory that holds run_manifest.json, or leave `--run` out",
    )


def _is_run(run: RunTree) -> bool:
    return os.path.lexists(run.manifest) or os.path.lexists(run.stage_cache)


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
            "configuration_names": {ck: _name(done, ck) for ck in found.forgotten},
        },
        "freed_bytes": found.freed_bytes,
        "unread_configurations": [shown(path) for path in done.known.runless],
    }


def _name(done: _Done, ck: str) -> str | None:
    """What people call a forgotten configuration: its file, or the experiment of one that was edited since."""
    if ck in done.known.digests:
        return shown(done.known.digests[ck])
    experiment = done.collection.experiments.get(ck)
    return None if experiment is None else f"earlier settings of experiment {experiment}"


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
        sheet.line(f"  configurations {verb}:")
        for ck in found.forgotten:
            sheet.line(f"    {ck}  {_name(done, ck) or 'unknown: it never finished a run'}")
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
