"""Which subcommands exist, and where each one lives. `bfcl --help` imports none of them."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from collections.abc import Mapping
from typing import Final, NamedTuple

import click

from bfcl.cli.show import run
from bfcl.cli.streams import open_streams
from bfcl.errors import did_you_mean
from bfcl.oracle.stopping import stop_in_order

DISTRIBUTION: Final = "bfcl-build"


class Entry(NamedTuple):
    """Where a subcommand lives (`module:attribute`) and what the list says of it: the first line of its own help."""

    target: str
    summary: str


SECTIONS: Final[Mapping[str, Mapping[str, Entry]]] = {
    "Start": {
        "init": Entry("bfcl.cli.init:init", "Write a new project: a starter pack, its configuration, a dodo.py."),
        "scaffold-oracle-pack": Entry(
            "bfcl.cli.scaffold_oracle_pack:scaffold_oracle_pack", "Write a small pack that is Gold at once."
        ),
        "new": Entry("bfcl.cli.new:new", "Write a template, case, assertion or tool that fits a pack."),
        "import": Entry("bfcl.cli.imports:imports", "Make tools.json or fixtures.json from what you already have."),
    },
    "Check a pack": {
        "check": Entry("bfcl.cli.check:check", "Check a pack's files without running its code."),
        "validate-oracle-pack": Entry(
            "bfcl.cli.validate_oracle_pack:validate_oracle_pack", "Run every check on a pack and print its report."
        ),
        "explain": Entry("bfcl.cli.explain:explain", "Explain a code: its cause, its fix, an example."),
        "schema": Entry("bfcl.cli.schema:schema", "List and export the JSON Schemas of every file people write."),
    },
    "Look at a pack": {
        "preview": Entry("bfcl.cli.preview:preview", "Show conversations a pack's templates make, with their outcome."),
        "call": Entry("bfcl.cli.call:call", "Call one tool of a pack in its worker and show what changed."),
        "coverage": Entry("bfcl.cli.coverage:coverage", "Show what a pack's probes, templates and bindings cover."),
        "probe-assertions": Entry(
            "bfcl.cli.probe_assertions:probe_assertions", "Find assertions that no wrong trace makes fail."
        ),
        "diff": Entry("bfcl.cli.diff:diff", "Compare two packs, file by file and item by item."),
    },
    "Source packages": {
        "scaffold-source-package": Entry(
            "bfcl.cli.scaffold_source_package:scaffold_source_package", "Write a backend skeleton from a tool catalog."
        ),
        "check-source-package": Entry(
            "bfcl.cli.check_source_package:check_source_package", "Check a source package without running it."
        ),
    },
    "Look at what was built": {
        "trace": Entry("bfcl.cli.trace:trace", "Follow one task through every stage, to where it was dropped and why."),
        "build-report": Entry("bfcl.cli.build_report:build_report", "Say what the last doit run computed and reused."),
        "gc": Entry("bfcl.cli.gc:gc", "Remove stored results that nothing names any more."),
        "report": Entry("bfcl.cli.report:report", "Make one HTML page of a published run."),
        "verify": Entry("bfcl.cli.verify:verify", "Hash a published run again and compare it with its manifest."),
    },
    "Evaluate models": {
        "eval": Entry("bfcl.cli.eval:eval_", "Measure candidate models on a published benchmark."),
        "serve-candidate": Entry(
            "bfcl.cli.serve_candidate:serve_candidate", "Serve scripted answers to a published run."
        ),
        "resolve-bfcl-model-identity": Entry(
            "bfcl.cli.resolve_identity:resolve_bfcl_model_identity", "Find the identity block of a candidate."
        ),
        "eval-verify": Entry(
            "bfcl.cli.eval_verify:eval_verify",
            "Make every score, aggregate and report of an evaluation again and compare.",
        ),
        "eval-report": Entry("bfcl.cli.eval_report:eval_report", "Make one HTML page of finished evaluations."),
        "eval-failures": Entry(
            "bfcl.cli.eval_failures:eval_failures",
            "Write every failed task of an evaluation so that a person sees why.",
        ),
        "eval-compare": Entry(
            "bfcl.cli.eval_compare:eval_compare", "Compare two candidates that were measured alike, task by task."
        ),
        "eval-leaderboard": Entry(
            "bfcl.cli.eval_leaderboard:eval_leaderboard", "Rank the candidates of finished evaluations by task success."
        ),
        "extract-bfcl-eval-measurements": Entry(
            "bfcl.cli.eval_measurements:extract_bfcl_eval_measurements",
            "Derive success, tokens and latency of a finished evaluation.",
        ),
    },
}
"""The subcommands, grouped as `--help` lists them."""

COMMANDS: Final[Mapping[str, Entry]] = {name: entry for section in SECTIONS.values() for name, entry in section.items()}


_OF_DOIT: Final = frozenset({"all", "clean", "generate", "list", "prepare", "validate"})


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
            # doit builds and validates; people look for both words here first.
            hint = f"run `doit {args[0]}`" if args[0] in _OF_DOIT else did_you_mean(args[0], COMMANDS)
            ctx.fail(f"no such command `{args[0]}`" + (f"; {hint}" if hint else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))
        for title, section in SECTIONS.items():
            with formatter.section(title):
                # One width for all sections, so that the summaries stand in one column.
                formatter.write_dl([(name.ljust(width), entry.summary) for name, entry in section.items()])


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

    Benchmarks are built with doit (`doit list`, `doit validate`, `doit generate`); these commands start a project, help
    to write packs and explain what was built.

    \b
    Example:
      bfcl init my_project
      cd my_project && doit generate
    """


def main() -> None:
    """The console script."""
    open_streams()
    stop_in_order()
    sys.exit(run(cli, sys.argv[1:]))
