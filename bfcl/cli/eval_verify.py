"""`bfcl eval-verify`: does a finished evaluation hold?"""

from __future__ import annotations

from pathlib import Path

import click

from bfcl.cli.eval_command import EvalCommand
from bfcl.cli.eval_source import pack_option, run_dir_option
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.after.verify import UNCHECKED, Verified, verify_evaluation
from bfcl.pack.layout import shown


@click.command("eval-verify", cls=EvalCommand)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@run_dir_option
@pack_option()
@format_option()
def eval_verify(*, directory: Path, run_dir: Path | None, pack: Path | None, format_: Format) -> None:
    """Make every score, aggregate and report of an evaluation again and compare.

    Everything is made of the records of what was asked and answered: nobody is asked, and no code of a pack runs. The
    benchmark is read where it lay, or where --run-dir and --pack say. A refusal names the first difference in each file
    that does not hold; status 7.

    \b
    Example:
      bfcl eval-verify results/eval
    """
    verified = verify_evaluation(directory, Whereabouts(run_dir=run_dir, pack=pack))
    if as_json(format_):
        print_json(verified.to_json())
    else:
        _sheet(verified, shown(directory)).print()


def _sheet(verified: Verified, directory: str) -> Sheet:
    sheet = Sheet()
    sheet.line(("verified", "bold green"), f" {directory}")
    sheet.line(f"  run       {verified.eval_run_id}, scope {verified.scope}")
    sheet.line(f"  calls     {verified.calls} replayed from the record")
    if verified.episodes:
        sheet.line(f"  episodes  {verified.episodes} driven again over the recorded answers of the oracle")
    for one in verified.candidates:
        sheet.line(f"  scores    {one.alias}: {one.successful_tasks} of {one.tasks} tasks, {one.aggregate_hash}")
    for file, digest in verified.files.items():
        sheet.line(f"  file      {file}, {digest}")
    sheet.heading("not checked")
    for line in UNCHECKED:
        sheet.line(f"  {line}")
    return sheet
