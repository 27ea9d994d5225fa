"""`bfcl check`: what a pack's files show without running its code."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

import click

from bfcl.authoring.catalogue import catalogue
from bfcl.authoring.diagnostics import as_json as json_form
from bfcl.authoring.diagnostics import github, sarif, text
from bfcl.authoring.diagnostics.diagnostic import Checked
from bfcl.authoring.static_check import static_check
from bfcl.authoring.watching import Stamp, stamps, told
from bfcl.cli.show import BELOW, as_json, format_option, print_json, visible
from bfcl.errors import BfclError

CheckFormat: TypeAlias = Literal["auto", "text", "json", "github", "sarif"]

_POLL_S: Final = 0.2
"""How often the files are looked at; an edit is checked when they kept still for one such look."""


@click.command
@click.argument("pack", type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Check again whenever a file is saved, until Ctrl-C.")
@format_option("github", "sarif")
def check(pack: Path, watch: bool, format_: CheckFormat) -> int | None:
    """Check a pack's files without running its code.

    Schemas, cross-references, language texts, budget, and what the syntax tree of backend.py and assertions.py tells.
    Whatever is found here, `bfcl validate-oracle-pack` finds too; what only running shows is left to it. The pack's
    validate.yaml is used where it has one.

    \b
    Exit status:
      0  no error; warnings do not count
      2  errors, also where the pack does not load: they are the document on stdout, in every format
      1  no pack to check (no manifest, it lies elsewhere), or an unusable command line: nothing on stdout
    \b
    Example:
      bfcl check packs/my_pack
      bfcl check packs/my_pack --watch
      bfcl check packs/my_pack --format sarif > check.sarif
    """
    if watch and format_ not in ("auto", "text"):
        raise click.UsageError("--watch prints text; leave out --format")
    before = stamps(pack) if watch else {}
    checked = static_check(pack)
    _print(checked, "text" if watch else format_)
    if not watch:
        return None if checked.clean else BELOW
    while True:
        before = _next_edit(pack, before)
        checked = _checked_again(pack, checked)


def _print(checked: Checked, format_: CheckFormat) -> None:
    if format_ == "sarif":
        print_json(sarif.document(checked, catalogue()))
    elif format_ == "github":
        click.echo(visible(github.document(checked)), nl=False)
    elif as_json(format_):
        print_json(json_form.document(checked))
    else:
        click.echo(visible(text.document(checked)), nl=False)


def _next_edit(pack: Path, before: Mapping[Path, Stamp]) -> Mapping[Path, Stamp]:
    """Waits until files changed and then kept still, so that half a save is not checked."""
    while True:
        time.sleep(_POLL_S)
        now = stamps(pack)
        if now == before:
            continue
        while True:
            time.sleep(_POLL_S)
            settled = stamps(pack)
            if settled == now:
                return settled
            now = settled


def _checked_again(pack: Path, before: Checked) -> Checked:
    """Checks and tells what changed; a pack that went away is told and waited for."""
    try:
        checked = static_check(pack)
    except BfclError as error:
        for problem in error.problems:
            click.echo(visible(str(problem)))
        return before
    click.echo(visible(told(before, checked)), nl=False)
    return checked
