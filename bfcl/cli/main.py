"""Which subcommands exist, and where each one lives. `bfcl --help` imports none of them."""

from __future__ import annotations

import importlib
import importlib.metadata
import io
import sys
from collections.abc import Mapping
from typing import Final, NamedTuple

import click

from bfcl.cli.show import run
from bfcl.errors import did_you_mean

DISTRIBUTION: Final = "bfcl-build"


class Entry(NamedTuple):
    """Where a subcommand lives (`module:attribute`) and what the list says of it: the first line of its own help."""

    target: str
    summary: str


COMMANDS: Final[Mapping[str, Entry]] = {
    "init": Entry("bfcl.cli.init:init", "Write a new project: a starter pack, its configuration, a dodo.py."),
    "trace": Entry("bfcl.cli.trace:trace", "Follow one task through every stage, to where it was dropped and why."),
    "build-report": Entry("bfcl.cli.build_report:build_report", "Say what the last doit run computed and reused."),
    "verify": Entry("bfcl.cli.verify:verify", "Hash a published run again and compare it with its manifest."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    # Signatures are click's.

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], COMMANDS)
            ctx.fail(f"no such command `{args[0]}`" + (f"; {hint}" if hint else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if not asked or ctx.resilient_parsing:
        return
    try:
        version = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        version = "(source tree, not installed)"
    click.echo(f"{DISTRIBUTION} {version}")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """Build verified function-calling benchmarks from executable oracle packs.

    Benchmarks are built with doit (`doit list`, `doit generate`); these commands start a project and explain what was
    built.

    \b
    Example:
      bfcl init my_project
      cd my_project && doit generate
    """


def main() -> None:
    """The console script."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A pack may speak any language, whatever the terminal can show.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(run(cli, sys.argv[1:]))
