"""`bfcl eval-failures`: why did tasks fail?"""

from __future__ import annotations

from pathlib import Path

import click

from bfcl.canonical import Json
from bfcl.cli.eval_command import EvalCommand
from bfcl.cli.eval_source import pack_option, run_dir_option
from bfcl.cli.page_place import build_tree, refuse_output_place
from bfcl.cli.show import Format, as_json, format_option, print_json, visible
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.after.write_failures import DIRECTORY, write_failures
from bfcl.pack.layout import shown


def _allowed(context: click.Context, _option: click.Parameter, out: Path | None) -> Path | None:
    """Everywhere but in what is hashed; `eval_failures` is no part of the evaluation that it lies in.

    Raises: click.UsageError.
    """
    directory: Path = context.params["directory"]
    own = directory / DIRECTORY
    place = own if out is None else out
    refuse_output_place(
        place,
        build_tree(),
        named="--out" if out is not None else f"{DIRECTORY} of DIR",
        evaluation=directory if place.resolve() == directory.resolve() / DIRECTORY else None,
    )
    return out


@click.command("eval-failures", cls=EvalCommand)
# Eager, so that it is known when --out is looked at.
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path), is_eager=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    callback=_allowed,
    help="Directory to write to (default: eval_failures in DIR).",
)
@run_dir_option
@pack_option(runs=True)
@format_option()
def eval_failures(
    *, directory: Path, out: Path | None, run_dir: Path | None, pack: Path | None, format_: Format
) -> None:
    """Write every failed task of an evaluation so that a person sees why.

    For each candidate a Markdown page and a JSON line a task: the conversation so far, expected and actual calls
    argument by argument, the first failing gate, assertion messages, who is answerable, how near a miss it was, and,
    where calls were executed, how the final state differs from the one that the expected calls leave (they are made
    once more in the pack's worker; where that cannot be, stderr says why). Nobody is asked, and no score rests on it.
    Another result that is there is refused, not replaced.

    \b
    Example:
      bfcl eval-failures results/eval
    """
    written = write_failures(directory, Whereabouts(run_dir=run_dir, pack=pack), output=out)
    refused = next((one.states_refused for one in written.values() if one.states_refused is not None), None)
    if refused is not None:
        told = str(refused).splitlines()[0]
        click.echo(visible(f"no final state is held to that of the expected calls: {told}"), err=True)
    if as_json(format_):
        files: dict[str, Json] = {
            alias: {"page": str(one.page), "lines": str(one.lines), "failures": one.failures}
            for alias, one in written.items()
        }
        print_json({"schema_version": "1.0", "candidates": files})
        return
    for alias, one in written.items():
        click.echo(visible(f"{alias}: {one.failures} failed, {shown(one.page)}"))
