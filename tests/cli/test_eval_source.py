"""The options that say where a benchmark and its pack lie now."""

from __future__ import annotations

from pathlib import Path

import click
from click.testing import CliRunner

from bfcl.cli.eval_source import pack_option, run_dir_option


@click.command
@run_dir_option
@pack_option()
def reads(run_dir: Path | None, pack: Path | None) -> None:
    click.echo(f"{run_dir!r} {pack!r}")


@click.command
@pack_option(runs=True)
def runs(pack: Path | None) -> None:
    click.echo(repr(pack))


def told(command: click.Command, *arguments: str) -> str:
    ended = CliRunner().invoke(command, arguments)
    assert ended.exit_code == 0, ended.output
    return " ".join(ended.output.split())


def test_options_give_paths_as_they_are_named_or_nothing() -> None:
    assert told(reads) == "None None"
    assert told(reads, "--run-dir", "moved/run", "--pack", "../pack") == f"{Path('moved/run')!r} {Path('../pack')!r}"
    assert told(runs, "--pack", "absent") == repr(Path("absent"))


def test_help_says_whether_code_of_the_pack_runs() -> None:
    where = "The directory of the oracle's pack, where it does not lie where it lay then."
    assert f"{where} Its files are read; none of its code runs." in told(reads, "--help")
    assert f"{where} Its code runs, in the pack's worker." in told(runs, "--help")
    assert "The published run that was evaluated on, where it does not lie where it lay then." in told(reads, "--help")
