"""`bfcl eval-compare`: does one candidate do better than another, and on which tasks?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click

from bfcl.canonical import Json, readable_json
from bfcl.cli.eval_command import EvalCommand
from bfcl.cli.eval_source import pack_option, run_dir_option
from bfcl.cli.page_place import allowed_output, build_tree, own_reports, refuse_output_place
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import Format, as_json, format_option, print_json, visible
from bfcl.digest import sha256_hex
from bfcl.evaluate.after.compare import compare
from bfcl.evaluate.after.comparison_page import comparison_page, difference_text, p_text, stops_text
from bfcl.evaluate.after.recorded_settings import Whereabouts
from bfcl.evaluate.after.sides import Side, side_of
from bfcl.evaluate.after.write_once import ELSEWHERE, write_once
from bfcl.evaluate.score.intervals import SEED
from bfcl.pack.layout import shown


def _allowed(context: click.Context, option: click.Parameter, out: Path | None) -> Path | None:
    """As `allowed_output`, of the project's own place too. Raises: click.UsageError."""
    if out is None:
        refuse_output_place(own_reports(), build_tree(), named="build/report of the project")
    return allowed_output(context, option, out)


@click.command("eval-compare", cls=EvalCommand)
@click.argument("first", metavar="DIR[:ALIAS]")
@click.argument("second", metavar="DIR[:ALIAS]")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    callback=_allowed,
    help="Directory for eval_comparison.json and .md (default: one in build/report of the project, named after the two "
    "and what the comparison says).",
)
@click.option("--seed", type=int, default=SEED, show_default=True, help="Of the bootstrap.")
@run_dir_option
@pack_option()
@format_option()
def eval_compare(
    *, first: str, second: str, out: Path | None, seed: int, run_dir: Path | None, pack: Path | None, format_: Format
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
    sides = side_of(first), side_of(second)
    document = compare(*sides, Whereabouts(run_dir=run_dir, pack=pack), seed=seed)
    contents = {
        "eval_comparison.json": readable_json(document),
        "eval_comparison.md": comparison_page(document).encode(),
    }
    target = _own_place(sides, contents.values()) if out is None else out
    write_once({target / name: data for name, data in contents.items()}, fix=ELSEWHERE)
    page = shown(target / "eval_comparison.md")
    if as_json(format_):
        print_json(document)
        click.echo(visible(f"written {page}"), err=True)
    else:
        _sheet(document, page).print()


def _own_place(sides: Sequence[Side], contents: Iterable[bytes]) -> Path:
    """A directory that no other comparison has: its name is of what it holds."""
    digest = sha256_hex(b"\0".join(contents))[:12]
    return own_reports() / f"compare-{'-'.join(side.measured.alias for side in sides)}-{digest}"


def _sheet(document: Mapping[str, Json], page: str) -> Sheet:
    sheet = Sheet()
    for name in ("first", "second"):
        side = document[name]
        assert isinstance(side, Mapping)
        sheet.line(f"{name:<8}{side['alias']}  success rate {side['success_rate']}, {side['canonical_id']}")
    sheet.line(f"stops   {stops_text(document)}")
    table, difference = document.get("table"), document.get("difference")
    if isinstance(table, Mapping) and isinstance(difference, Mapping):
        counts = ", ".join(f"{name} {count}" for name, count in table.items())
        sheet.line(f"tasks   {document['paired_tasks']} paired: {counts}")
        word = "differ" if document["significant"] else "cannot be told apart"
        sheet.line(f"they    {word}: exact McNemar p = {p_text(document['mcnemar_exact_p'])}")
        sheet.line(f"difference of the rates, first less second: {difference_text(document)}")
    sheet.line(f"written {page}")
    return sheet
