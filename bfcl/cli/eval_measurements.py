"""`bfcl extract-bfcl-eval-measurements`: what did a candidate cost, and how often did it succeed?"""

from __future__ import annotations

from pathlib import Path

import click

from bfcl.cli.page_place import allowed_output
from bfcl.cli.show import Format, as_json, format_option, print_json, visible
from bfcl.evaluate.after.measurements import measurements, write_measurements
from bfcl.pack.layout import shown


@click.command("extract-bfcl-eval-measurements")
@click.option("--run-id", required=True, help="Names the files: eval_measurements_<run id>.json and .md.")
@click.option(
    "--evaluation-dir",
    required=True,
    type=click.Path(path_type=Path),
    help="Output directory of a finished evaluation of one candidate.",
)
@click.option(
    "--output-dir",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    callback=allowed_output,
    help="Directory to write to.",
)
@format_option()
def extract_bfcl_eval_measurements(*, run_id: str, evaluation_dir: Path, output_dir: Path, format_: Format) -> None:
    """Derive success, tokens and latency of a finished evaluation.

    Tokens are those that the provider told, latency is that of the attempt that answered, by nearest rank. Nothing is
    estimated: a call without usage is refused, and so is a report that its own task results contradict.

    \b
    Example:
      bfcl extract-bfcl-eval-measurements --run-id small-1 --evaluation-dir results/small --output-dir results
    """
    document = measurements(run_id, evaluation_dir)
    data, page = write_measurements(document, output_dir)
    if as_json(format_):
        print_json(document)
    else:
        for path in (data, page):
            click.echo(visible(shown(path)))
