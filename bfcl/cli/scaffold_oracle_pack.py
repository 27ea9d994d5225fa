"""`bfcl scaffold-oracle-pack`: how does a new pack begin?"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from bfcl.authoring.scaffold.order import StarterOrder, Transport, read_order
from bfcl.authoring.scaffold.place import place_new
from bfcl.authoring.scaffold.starter import starter_files
from bfcl.authoring.scaffold.wording import SHIPPED, words_for
from bfcl.cli.show import Format, format_option, print_json
from bfcl.pack.layout import shown


@click.command
@click.option("--domain", required=True, help="What the pack is about; becomes its id: `Order Desk` -> order_desk.")
@click.option("--target", required=True, type=click.Path(path_type=Path), help="The directory to create.")
@click.option("--transport", type=click.Choice(["python", "endpoint"]), default="python", show_default=True)
@click.option("--language", default="en", show_default=True, help="Language tag of the conversations.")
@click.option("--version", default="0.1.0", show_default=True, help="Version of the pack.")
@click.option("--include-held-out", is_flag=True, help="Add a held-out policy and a row it reserves.")
@format_option(auto="the path as text, also where it is read by a script")
def scaffold_oracle_pack(
    domain: str,
    target: Path,
    transport: Transport,
    language: str,
    version: str,
    include_held_out: bool,
    format_: Format,
) -> None:
    """Write a small pack that is Gold at once.

    Prints the new directory's absolute path; with `--format json` a document that holds it. The directory must not
    exist, its parents are made. Conversations are written in de, en, es, fr, ja, vi and zh; other languages get English
    texts to translate, and a warning.

    With `--transport endpoint` the oracle is a service, and the pack is below Gold until that is connected.

    \b
    Example:
      bfcl scaffold-oracle-pack --domain "Order Desk" --target packs/order_desk
      doit validate pack=packs/order_desk
    """
    order = read_order(
        domain=domain, transport=transport, language=language, version=version, held_out=include_held_out
    )
    # Not `Path.name`: `packs/x/..` has none of its own.
    name = os.path.basename(os.path.abspath(target))  # noqa: PTH100, PTH119
    files = starter_files(order, name)
    place = place_new(target, files)
    warnings = _warnings(order)
    if format_ == "json":
        print_json({"status": "created", "pack": str(place), "files": list(files), "warnings": warnings})
        return
    for warning in warnings:
        click.echo(f"warning: {warning['code']}: {warning['message']}", err=True)
    click.echo(place)
    if sys.stdout.isatty():
        # Beside the path and not in it: scripts take stdout for the path.
        click.echo(f"next: doit validate pack={shown(place)}", err=True)


def _warnings(order: StarterOrder) -> list[dict[str, str]]:
    if words_for(order.language).fitting:
        return []
    message = (
        f"no texts for `{order.language}` come with this release, only for {', '.join(SHIPPED)}; "
        "the conversations are English until you translate them"
    )
    return [{"code": "language_not_translated", "message": message}]
