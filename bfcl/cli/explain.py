"""`bfcl explain`: what a code means and what to do about it."""

from __future__ import annotations

from itertools import groupby
from typing import Final

import click

from bfcl.authoring.catalogue import Explanation, catalogue
from bfcl.authoring.catalogue import explain as explanations
from bfcl.canonical import Json
from bfcl.cli.show import Format, as_json, format_option, print_json, visible

_LABELS: Final = ("cause", "fix", "example")


@click.command
@click.argument("codes", nargs=-1, metavar="CODE...")
@click.option("--list", "list_all", is_flag=True, help="List every code instead.")
@format_option()
def explain(codes: tuple[str, ...], list_all: bool, format_: Format) -> None:
    """Explain a code: its cause, its fix, an example.

    CODE is what stands before the second colon of a message: `unknown_tool` in `task_templates.yaml:42:13: error
    unknown_tool: ...`. The texts are those of docs/codes.md.

    \b
    Example:
      bfcl explain unknown_tool
      bfcl explain --list
    """
    if list_all == bool(codes):
        raise click.UsageError("give codes to explain, or --list")
    found = list(catalogue().values()) if list_all else explanations(codes)
    if as_json(format_):
        print_json({"schema_version": "1.0", "codes": [_json(one) for one in found]})
    else:
        click.echo(visible(_listed(found) if list_all else _told(found)), nl=False)


def _json(one: Explanation) -> Json:
    return {"code": one.code, "kind": one.kind, "cause": one.cause, "fix": one.fix, "example": one.example}


def _told(found: list[Explanation]) -> str:
    blocks = []
    for one in found:
        lines = [f"{one.code} ({one.kind})"]
        lines += [f"  {label + ':':<9}{one.plain(getattr(one, label))}" for label in _LABELS]
        blocks.append("".join(f"{line}\n" for line in lines))
    return "\n".join(blocks)


def _listed(found: list[Explanation]) -> str:
    lines: list[str] = []
    for kind, group in groupby(found, key=lambda one: one.kind):
        lines += [*([""] if lines else []), kind]
        lines += [f"  {one.code}" for one in group]
    return "".join(f"{line}\n" for line in lines)
