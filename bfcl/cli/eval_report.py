"""`bfcl eval-report`: how did candidates do, as one page for a browser?"""

from __future__ import annotations

from pathlib import Path

import click

from bfcl.canonical import canonical_json
from bfcl.cli.eval_command import EvalCommand
from bfcl.cli.eval_source import pack_option, run_dir_option
from bfcl.cli.page_place import page_option, write_page
from bfcl.cli.show import Format, format_option, print_json
from bfcl.digest import sha256_hex
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.page.data import PageData
from bfcl.evaluate.page.gather import gather
from bfcl.evaluate.page.page import eval_page
from bfcl.release.document.libraries import require_libraries


@click.command("eval-report", cls=EvalCommand)
@click.argument("directories", metavar="DIR...", type=click.Path(path_type=Path), nargs=-1, required=True)
@page_option("in build/report of the project, named after the first DIR and the evaluations' ids")
@run_dir_option
@pack_option()
@format_option(auto="the page's path, to a terminal and to a script alike")
def eval_report(
    *, directories: tuple[Path, ...], output: Path | None, run_dir: Path | None, pack: Path | None, format_: Format
) -> None:
    """Make one HTML page of finished evaluations.

    Everything is made again of the records first: nobody is asked, and no code of a pack runs. The page holds
    everything it shows and loads nothing: what the numbers are of, success with intervals, gates, kinds of task,
    candidates compared in pairs, repeats, tokens and latency, and every failed task with its conversation and its calls
    argument by argument. Of several DIRs, candidates are compared where they were measured alike. The path of the page
    goes to stdout.

    \b
    Example:
      bfcl eval-report results/eval
      bfcl eval-report results/small results/large --output both.html
    """
    require_libraries()
    data = gather(directories, Whereabouts(run_dir=run_dir, pack=pack))
    page = eval_page(data)
    place = write_page(page.html, output, _page_name(directories[0], data))
    if format_ == "json":
        print_json(
            {
                "schema_version": "1.0",
                "page": place,
                "eval_run_ids": list(_ids(data)),
                "candidates": [one.label for one in data.labelled()],
                "size_bytes": len(page.html),
                "failures": page.failures,
                "failures_shown": page.shown,
            }
        )
    else:
        click.echo(place)


def _page_name(first: Path, data: PageData) -> str:
    """The same wherever the evaluations lie, and no other one's."""
    return f"eval-{first.resolve().name}-{sha256_hex(canonical_json(_ids(data)))[:12]}.html"


def _ids(data: PageData) -> list[str]:
    return [evaluation.finished.eval_run_id for evaluation in data.evaluations]
