"""`bfcl preview`: what do a pack's templates become?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import click

from bfcl.authoring.conversation_lines import Who, conversation
from bfcl.authoring.preview import Previewed, Wanted, document
from bfcl.authoring.preview import preview as previewed_of
from bfcl.authoring.preview_page import page
from bfcl.authoring.workbench import workbench
from bfcl.canonical import canonical_text
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import BELOW, as_json, format_option, print_json, visible

_STYLES: Final[dict[Who, str]] = {
    "user": "bold blue",
    "assistant": "bold",
    "call": "cyan",
    "result": "dim",
    "guard": "red",
    "passed": "green",
    "failed": "red",
    "dropped": "red",
}
_LEAD: Final = 12


@click.command
@click.argument("pack", type=click.Path(path_type=Path))
@click.option("--template", "templates", multiple=True, metavar="ID", help="Show this template; may be repeated.")
@click.option("--all-policies", is_flag=True, help="Show one template of each turn policy.")
@click.option("--language", metavar="L", help="Render in this language instead of the one the pack would choose.")
@click.option("--n", "count", type=click.IntRange(1, 1000), default=3, show_default=True, help="Tasks a template.")
@format_option("html")
def preview(
    *,
    pack: Path,
    templates: tuple[str, ...],
    all_policies: bool,
    language: str | None,
    count: int,
    format_: Literal["auto", "text", "html", "json"],
) -> int:
    """Show conversations a pack's templates make, with their outcome.

    The first tasks of each template go through every stage up to the replay in two worlds; nothing is written and the
    pack need not be Gold. Status 2 where a task shown does not come through all of them.

    \b
    Example:
      bfcl preview packs/tiny_oracle_pack --n 1
      bfcl preview packs/tiny_oracle_pack --format html > preview.html
    """
    wanted = Wanted(templates=templates, language=language, count=count, one_per_policy=all_policies)
    with workbench(pack) as bench:
        found = previewed_of(bench, wanted)
        name = bench.pack.manifest.pack_id
    if format_ == "html":
        click.echo(page(f"{name}: preview", found), nl=False)
    elif as_json(format_):
        print_json(document(found))
    else:
        _sheet(found).print()
    return 0 if all(one.good for one in found) else BELOW


def _sheet(found: Sequence[Previewed]) -> Sheet:
    sheet = Sheet()
    for number, one in enumerate(found):
        if number:
            sheet.line()
        template = one.template
        about = f"  {template.turn_policy}, category {template.category}, {len(one.shown)} of {one.bindings} bindings"
        sheet.line((template.template_id, "bold underline"), about)
        for problem in one.problems:
            sheet.line((visible(str(problem)), "red"))
        for shown in one.shown:
            sheet.line()
            sheet.line((f"  {shown.task.task_id}", "bold"), f"  {canonical_text(shown.task.slots)}")
            for line in conversation(shown):
                sheet.hanging(f"    {line.who:<{_LEAD}}", line.text, style=_STYLES[line.who])
    return sheet
