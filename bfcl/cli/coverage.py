"""`bfcl coverage`: what do a pack's probes, templates and bindings cover?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from bfcl.authoring.coverage import COUNTED, CollectionCover, Coverage, TemplateCover, ToolCover
from bfcl.authoring.coverage import coverage as covered_by
from bfcl.authoring.coverage_document import document
from bfcl.authoring.workbench import workbench
from bfcl.cli.grid import aligned
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import BELOW, Format, as_json, format_option, print_json
from bfcl.pack.own_config import load_own

_KEYS: Final = 6
"""Keys of rows that no slot binds, shown of one collection; the document has them all."""


@click.command
@click.argument("root", metavar="PACK", type=click.Path(path_type=Path))
@click.option("--static", is_flag=True, help="Do not run the probes; count them as what they declare.")
@click.option(
    "--tasks-per-category", "budget", type=click.IntRange(min=1), metavar="N", help="Budget to compare bindings with."
)
@format_option()
def coverage(*, root: Path, static: bool, budget: int | None, format_: Format) -> int:
    """Show what a pack's probes, templates and bindings cover.

    Tools by their probes, templates and assertions; turn policies by language; bindings of each template beside the
    budget of its category (from validate.yaml, or --tasks-per-category); fixture rows that no slot can bind. Status 2
    where something is missing that Gold needs: a success or a refusal of a tool, a template's assertions or bindings,
    budget for every template of a category. A budget that bindings cannot fill is shown and does not count.

    \b
    Example:
      bfcl coverage packs/my_pack
      bfcl coverage packs/my_pack --static --tasks-per-category 200
    """
    if static:
        own = load_own(root)
        found = covered_by(own.pack, own.loaded.config, None, own.pack.code["assertions"], budget=budget)
    else:
        with workbench(root) as bench:
            found = covered_by(bench.pack, bench.config, bench.oracle, bench.pack.code["assertions"], budget=budget)
    if as_json(format_):
        print_json(document(found))
    else:
        _sheet(found).print()
    return BELOW if found.missing else 0


def _sheet(found: Coverage) -> Sheet:
    sheet = Sheet()
    how = "probes as observed" if found.ran else "probes as declared"
    sheet.line((f"tools ({how})", "bold"))
    heads = ["  tool", "success", "negative", "pending", "templates", "assertions"]
    _table(sheet, heads, [_tool(one) for one in found.tools], 5)
    languages = list(dict.fromkeys(name for counts in found.policies.values() for name in counts))
    sheet.heading("templates by turn policy and language")
    rows = [[f"  {policy}", *(str(counts[name]) for name in languages)] for policy, counts in found.policies.items()]
    _table(sheet, ["  policy", *languages], rows, len(languages))
    sheet.heading("bindings and budget")
    for category in found.categories:
        short = f", {category.shortfall} short" if category.shortfall else ""
        templates = f"{category.templates} template{'' if category.templates == 1 else 's'}"
        about = f"  {templates}, budget {category.budget}, {_many(category.bindings)} bindings"
        sheet.line(("  " + category.category, "bold"), about, (short, "bold red"))
        members = [one for one in found.templates if one.category == category.category]
        _table(sheet, ["    template", "bindings", "tasks"], [_template(one) for one in members], 2)
    sheet.heading("fixtures")
    heads = ["  collection", "rows", "bound", "reserved", "templates"]
    _table(sheet, heads, [_collection(one) for one in found.collections], 4)
    for one in found.collections:
        if one.unbound and one.templates:
            sheet.line(f"  no slot binds {_listed(one.unbound)} of {one.name}")
    if found.missing:
        sheet.heading("missing")
        for problem in found.missing:
            first, *rest = str(problem).split("\n")
            sheet.line((first, "red"))
            for line in rest:
                sheet.line(line)
    return sheet


def _table(sheet: Sheet, heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int) -> None:
    for index, line in enumerate(aligned([heads, *rows], numbers=numbers)):
        sheet.line((line, "dim") if index == 0 else line)


def _tool(one: ToolCover) -> list[str]:
    sides = [_side(one, side) for side in ("success", "negative")]
    pending = _side(one, "pending") if one.gated else "-"
    return [f"  {one.name}", *sides, pending, str(len(one.templates)), str(len(one.assertions))]


def _side(one: ToolCover, side: str) -> str:
    """The count; where the probes showed other than they declare, both."""
    declared = one.declared[side]
    if one.observed is None or one.observed[side] == declared:
        return str(declared)
    return f"{one.observed[side]} ({declared} declared)"


def _template(one: TemplateCover) -> list[str]:
    bindings = "reserved" if one.reserved else "none" if one.bindings is None else _many(one.bindings)
    return [f"    {one.template_id}", bindings, str(one.tasks)]


def _collection(one: CollectionCover) -> list[str]:
    return [f"  {one.name}", str(one.rows), str(one.bound), str(one.reserved), str(len(one.templates))]


def _many(count: int) -> str:
    return f"{count}+" if count >= COUNTED else str(count)


def _listed(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _KEYS} more" if len(keys) > _KEYS else ""
    return ", ".join(keys[:_KEYS]) + more
