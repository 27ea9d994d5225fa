"""`bfcl call`: what does one tool call answer, and what does it change?"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from bfcl.authoring.calling import Answered, Asked, check_case_id, document, doubts, recorded_case
from bfcl.authoring.calling import call as answered_of
from bfcl.authoring.conversation_lines import call_text
from bfcl.authoring.workbench import workbench
from bfcl.authoring.yaml_text import yaml_text
from bfcl.canonical import Json, canonical_text
from bfcl.cli.sheet import Sheet
from bfcl.cli.show import BELOW, Format, as_json, format_option, print_json, visible
from bfcl.errors import BfclError, ConfigError, Problem
from bfcl.located import parse_json

_STYLES: Final = {"success": "green", "structured_error": "yellow", "awaiting_confirmation": "cyan"}


@click.command
@click.argument("pack", type=click.Path(path_type=Path))
@click.argument("tool")
@click.option("--args", "arguments", default="{}", metavar="JSON", help="The arguments, one JSON object.")
@click.option("--after", metavar="CASE", help="Continue the episode of this validation case.")
@click.option("--record", metavar="NAME", help="Print a validation case of this name that expects what was seen.")
@format_option(auto="text on a terminal, JSON elsewhere; with --record YAML")
def call(*, pack: Path, tool: str, arguments: str, after: str | None, record: str | None, format_: Format) -> int:
    """Call one tool of a pack in its worker and show what changed.

    The call runs as a probe does: in a fresh episode, isolated, with the pack's clock and deadlines. Status 2 where it
    broke instead of answering.

    With --record a case for validation_cases.yaml is printed instead: as YAML to add there, also to a script, and with
    --format json as one JSON object. What a check would say against it is told on stderr, as warnings.

    \b
    Example:
      bfcl call packs/my_pack get_record --args '{"record_id": "REC-001"}'
    """
    asked = Asked(tool=tool, arguments=_object(arguments), after=after)
    with workbench(pack, jobs=1) as bench:
        if record is not None:
            check_case_id(bench, record)
        answered = answered_of(bench, asked)
    if record is not None and answered.breakdown is None:
        case = recorded_case(answered, record)
        for doubt in doubts(answered):
            click.echo(visible(f"warning: {doubt}"), err=True)
        if format_ == "json":
            print_json(case)
        else:
            click.echo(yaml_text([case]), nl=False)
    elif as_json(format_):
        print_json(document(answered))
    else:
        _sheet(answered).print()
    return 0 if answered.breakdown is None else BELOW


def _object(text: str) -> dict[str, Json]:
    try:
        value = parse_json(text.encode(), path="--args", code="call_arguments_invalid").value
    except BfclError as error:
        raise ConfigError(error.problems) from None
    if not isinstance(value, dict):
        message = f"is {canonical_text(value)}; expected one JSON object"
        fix = """quote it for the shell, such as --args '{"id": "A-1"}'"""
        raise ConfigError(Problem(code="call_arguments_invalid", subject="--args", message=message, fix=fix))
    return value


def _sheet(answered: Answered) -> Sheet:
    sheet = Sheet()
    asked, broken = answered.asked, answered.breakdown
    sheet.line(
        (call_text(asked.tool, asked.arguments), "bold"), "" if asked.after is None else f"  after {asked.after}"
    )
    if not answered.in_catalog:
        hint = f" ({answered.hint})" if answered.hint else ""
        sheet.line("  warning   ", (f"`{asked.tool}` is not in tools.json{hint}", "yellow"))
    for failure in answered.schema_failures:
        place = "" if failure.pointer is None else f"`{failure.pointer}`: "
        sheet.line("  schema    ", (f"{place}{failure.message}", "yellow"))
    if broken is not None:
        where = "" if broken.where is None else f" ({broken.where})"
        sheet.line("  broke     ", (f"{broken.code}: {broken.message}{where}", "red"))
        return sheet
    word = answered.result_class or ""
    sheet.line("  class     ", (word, _STYLES.get(word, "")))
    sheet.line(f"  result    {canonical_text(answered.result)}")
    if not answered.changes:
        sheet.line("  state     unchanged")
    for change in answered.changes:
        sheet.line(f"  state     {change.path}: {change.left} -> {change.right}")
    return sheet
