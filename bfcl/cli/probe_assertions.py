"""`bfcl probe-assertions`: which wrong conversations do a pack's assertions let pass?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from bfcl.authoring.probing.judging import VERDICTS, counted, score
from bfcl.authoring.probing.probe import DEFAULT_LIMIT, Probed, probe
from bfcl.authoring.probing.report import Report, Slip, document, slips, template_score, weigh
from bfcl.authoring.workbench import workbench
from bfcl.checks.report import as_problem
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import BELOW, Format, as_json, format_option, print_json
from bfcl.pack.layout import shown
from bfcl.records.verdict import Finding

_JOBS: Final = 4
"""Worlds of the oracle: every mutant is played once, so two of the four share the work."""
_KIND: Final = 16
_NAMED: Final = 4
_SLIPS: Final = 8
"""Groups of surviving mutants shown of one template; the document has them all."""


@click.command("probe-assertions")
@click.argument("pack", type=click.Path(path_type=Path))
@click.option("--template", "templates", multiple=True, metavar="ID", help="Probe this template; may be repeated.")
@click.option("--min-score", type=click.FloatRange(0, 1), help="Status 2 where a template scores below this.")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=DEFAULT_LIMIT,
    show_default=True,
    help="Mutants of one kind a template.",
)
@format_option()
def probe_assertions(
    *, pack: Path, templates: tuple[str, ...], min_score: float | None, limit: int, format_: Format
) -> int:
    """Find assertions that no wrong trace makes fail.

    The first task of each template is played as expected and then wrongly: a call left out, repeated, moved or given
    another argument, a further call, another answer, a state that was never changed. A template's score is the share of
    those its assertions notice. Status 2 where an assertion notices none in any template that names it
    (`weak_assertion`), where a template cannot be probed, or where one scores below --min-score.

    \b
    Example:
      bfcl probe-assertions packs/my_pack
      bfcl probe-assertions packs/my_pack --template renew_card --min-score 0.8
    """
    with workbench(pack, jobs=_JOBS) as bench:
        report = weigh(probe(bench, templates, limit=limit), min_score=min_score)
    if as_json(format_):
        print_json(document(report))
    else:
        _sheet(report, shown(pack.resolve())).print()
    return 0 if report.good else BELOW


def _sheet(report: Report, root: str) -> Sheet:
    sheet = Sheet()
    width = max((len(one.template.template_id) for one in report.probing.probed), default=0)
    for one in report.probing.probed:
        if not one.faults:
            _template(sheet, one, width, low=one.template.template_id in report.low)
    _findings(sheet, "not probed", report.faults, root, "red")
    _findings(sheet, "the oracle broke", report.broken, root, "yellow")
    _findings(sheet, "break where they should fail", report.fragile, root, "yellow")
    _findings(sheet, "never fail", report.weak, root, "bold red")
    sheet.line()
    for line in _conclusion(report):
        sheet.line((line, "bold"))
    return sheet


def _template(sheet: Sheet, probed: Probed, width: int, *, low: bool) -> None:
    template = probed.template
    reached, counts = template_score(probed), counted(probed.judged)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    style = "bold red" if low else "green" if reached in (None, 1.0) else "bold"
    sheet.line((f"{template.template_id:<{width}}  {_shown_score(reached)}", style), f"  {told or 'no mutant'}")
    found = slips(probed)
    for slip in found[:_SLIPS]:
        sheet.line(f"  {slip.kind:<{_KIND}}", _what(slip))
        sheet.line(" " * (_KIND + 2), ("look at ", "dim"), slip.look_at(_NAMED))
        skipped = slip.ran("not_applicable")
        if skipped:
            sheet.line(" " * (_KIND + 2), ("does not apply ", "dim"), ", ".join(skipped))
    if len(found) > _SLIPS:
        sheet.line(f"  and {len(found) - _SLIPS} more: see --format json")
    if found:
        sheet.line("  ", ("passed by ", "dim"), ", ".join(template.success_assertions))


def _what(slip: Slip) -> str:
    first, more = slip.judged[0].mutant.what, len(slip.judged) - 1
    return first + (f" (and {more} more)" if more else "")


def _shown_score(reached: float | None) -> str:
    return "  - " if reached is None else f"{reached:.2f}"


def _findings(sheet: Sheet, title: str, findings: Sequence[Finding], root: str, style: str) -> None:
    if not findings:
        return
    sheet.heading(title)
    for finding in findings:
        first, *rest = str(as_problem(finding, root=root)).split("\n")
        sheet.line((first, style))
        for line in rest:
            sheet.line(line)


def _conclusion(report: Report) -> Iterator[str]:
    counts = counted([one for each in report.probing.probed for one in each.judged])
    total = score(counts)
    caught = f"{counts['killed']} of {counts['killed'] + counts['survived']} mutants noticed"
    weak = f"{len(report.weak)} weak of {len(report.standings)} assertions"
    yield f"{caught}, score {_shown_score(total).strip()}, {weak}"
    if report.low:
        yield f"below {report.min_score:g}: {', '.join(report.low)}"
