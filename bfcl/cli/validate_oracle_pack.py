"""`bfcl validate-oracle-pack`: is this pack Gold? Rule: pack.md §13, authoring.md §4."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import click

from bfcl.cli.place import project_root
from bfcl.cli.show import BELOW, Format, as_json, format_option, visible
from bfcl.config.load import LoadedConfig, load_config_from_here
from bfcl.config.paths import is_within
from bfcl.errors import ConfigError, DriftError, Problem
from bfcl.files import Lock, write_atomic
from bfcl.graph.layout import RunTree
from bfcl.graph.validation_run import run_checks
from bfcl.graph.variables import usable_cores
from bfcl.graph.verdicts import listing, verdict_line
from bfcl.pack.layout import shown
from bfcl.pack.load import load_configured
from bfcl.pack.model import Pack


@click.command
@click.option(
    "--config",
    "path",
    required=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The run configuration that names the pack, such as its validate.yaml.",
)
@click.option(
    "--output-dir",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write the report below DIR; without it nothing is left on disk.",
)
@format_option()
def validate_oracle_pack(path: Path, output_dir: Path | None, format_: Format) -> int:
    """Run every check on a pack and print its report.

    Status 0: the pack is Gold. Status 2: it is not; the report says why. Status 1: there is no verdict, because the
    configuration or the pack cannot be read or the command line is wrong. JSON output is the report, byte for byte;
    text lists what was found. Everything is computed afresh.

    \b
    Example:
      bfcl validate-oracle-pack --config packs/my_pack/validate.yaml
    """
    loaded, pack = _load(path)
    with _place_for(output_dir, loaded, pack) as run:
        verdict, report = run_checks(loaded, pack, jobs=usable_cores())
        if run is not None:
            write_atomic(run.report, report)
    if as_json(format_):
        click.echo(report, nl=False)
    else:
        summary = verdict_line("validate", verdict, None if run is None else shown(run.report))
        for line in listing(loaded, pack, verdict, [summary]):
            click.echo(visible(line))
    return 0 if verdict.gold_eligible else BELOW


def _load(path: Path) -> tuple[LoadedConfig, Pack]:
    """The configuration and its pack, as in the project the file lies in; problems are told from here.

    Raises: ConfigError, PackError with every problem.
    """
    project = project_root(path.absolute().parent)
    loaded = load_config_from_here(path, project=project, command="prepare")
    return loaded, load_configured(loaded)


@contextlib.contextmanager
def _place_for(output_dir: Path | None, loaded: LoadedConfig, pack: Pack) -> Iterator[RunTree | None]:
    """The run tree the report goes to, held for this process alone; None where none is asked for.

    Raises: ConfigError `output_inside_pack`, `output_holds_release`; DriftError `run_locked`.
    """
    if output_dir is None:
        yield None
        return
    name = loaded.config.expt_name
    run = RunTree(Path(os.path.realpath(output_dir / name)))
    if is_within(run.root, pack.root) or is_within(Path(os.path.realpath(output_dir)), pack.root):
        raise ConfigError(
            Problem(
                code="output_inside_pack",
                subject="--output-dir",
                message=f"{shown(run.root)} lies inside the pack {shown(pack.root)}, whose files it would change",
                fix="name a directory beside the pack",
            )
        )
    lock = Lock(run.lock, f"another BFCL process is writing experiment '{name}'")
    lock.acquire()
    try:
        if run.manifest.exists():
            raise DriftError(
                Problem(
                    code="output_holds_release",
                    subject="--output-dir",
                    message=f"{shown(run.root)} holds a published run, whose manifest vouches for another report",
                    fix="name another directory, or leave `--output-dir` out",
                )
            )
        yield run
    finally:
        lock.release()
