"""`bfcl eval-compare`: does one candidate do better than another, and on which tasks?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from bfcl.canonical import Json, readable_json
from bfcl.cli.eval_command import EvalCommand
from bfcl.cli.eval_source import pack_option, run_dir_option
from bfcl.cli.page_place import allowed_output
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.evaluate.after.compare import compare
from bfcl.evaluate.after.comparison_page import comparison_page, difference_text, p_text
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.after.sides import side_of
from bfcl.evaluate.after.write_once import ELSEWHERE, write_once
from bfcl.evaluate.score.intervals import SEED
from bfcl.pack.layout import shown


@click.command("eval-compare", cls=EvalCommand)
@click.argument("first", metavar="DIR[:ALIAS]")
@click.argument("second", metavar="DIR[:ALIAS]")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    callback=allowed_output,
    help="Directory for eval_comparison.json and .md (default: the current one).",
)
@click.option("--seed", type=int, default=SEED, show_default=True, help="Of the bootstrap.")
@run_dir_option
@pack_option()
@format_option()
def eval_compare(
    *, first: str, second: str, out: Path, seed: int, run_dir: Path | None, pack: Path | None, format_: Format
) -> None:
    """Compare two candidates that were measured alike, task by task.

    Refused unless benchmark, scoring policy, task ids, limits and scope agree. Writes eval_comparison.json and .md:
    the 2x2 table, McNemar's exact p, the difference with a bootstrap interval clustered by template, a test for every
    kind of task (Holm), and the tasks that flipped each way. Another comparison that is there is refused, not replaced.

    \b
    Example:
      bfcl eval-compare results/small results/large
      bfcl eval-compare results/both:small results/both:large --out results/comparison
    """
    document = compare(side_of(first), side_of(second), Whereabouts(run_dir=run_dir, pack=pack), seed=seed)
    page, data = out / "eval_comparison.md", out / "eval_comparison.json"
    write_once({data: readable_json(document), page: comparison_page(document).encode()}, fix=ELSEWHERE)
    if as_json(format_):
        print_json(document)
    else:
        _sheet(document, shown(page)).print()


def _sheet(document: Mapping[str, Json], page: str) -> Sheet:
    sheet = Sheet()
    for name in ("first", "second"):
        side = document[name]
        assert isinstance(side, Mapping)
        sheet.line(f"{name:<8}{side['alias']}  success rate {side['success_rate']}, {side['canonical_id']}")
    table, difference = document.get("table"), document.get("difference")
    if isinstance(table, Mapping) and isinstance(difference, Mapping):
        counts = ", ".join(f"{name} {count}" for name, count in table.items())
        sheet.line(f"tasks   {document['paired_tasks']} paired: {counts}")
        word = "differ" if document["significant"] else "cannot be told apart"
        sheet.line(f"they    {word}: exact McNemar p = {p_text(document['mcnemar_exact_p'])}")
        sheet.line(f"difference of the rates, first less second: {difference_text(document)}")
    sheet.line(f"written {page}")
    return sheet
