"""`bfcl eval`: measure candidate models on a published benchmark."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Literal

import click

from bfcl.cli.eval_command import EvalCommand, FixableError
from bfcl.cli.show import Manner
from bfcl.errors import closest
from bfcl.evaluate.settings.envelope import OutputFormat, load_envelope
from bfcl.graph.eval_run import run_envelope
from bfcl.pack.layout import shown


class _Eval(EvalCommand):
    """Refusals are told in the form in which the outcome would be: for people, unless JSON is asked for."""

    def set_manner(self, manner: Manner) -> None:
        super().set_manner(manner)
        manner.format = "text"


def _remember(context: click.Context, _: click.Parameter, value: OutputFormat | None) -> OutputFormat | None:
    if value is not None:
        _tell(context, value)
    return value


def _tell(context: click.Context, form: OutputFormat) -> None:
    manner = context.find_object(Manner)
    if manner is not None:
        manner.format = "json" if form == "json" else "text"


def _there(_context: click.Context, _option: click.Parameter, value: Path | None) -> Path | None:
    """Raises: FixableError where `--resume-from` names no directory."""
    if value is None or value.is_dir():
        return value
    what = "is no directory" if value.exists() else "is not there"
    around = value.absolute().parent
    beside = sorted(one.name for one in around.iterdir() if one.is_dir()) if around.is_dir() else []
    guess = closest(value.name, beside)
    meant_one = "" if guess is None else f"did you mean `{shown(around / guess)}`? Else "
    raise FixableError(
        f"--resume-from: {shown(value)} {what}; expected the output directory of an earlier run",
        f"{meant_one}name the `outputs.output_dir` that the earlier run wrote to, or leave `--resume-from` out",
    )


@click.command("eval", cls=_Eval)
@click.option(
    "--config",
    "config",
    required=True,
    type=click.Path(path_type=Path),
    help="An envelope (configs/eval.cli.yaml), or a scoring configuration itself.",
)
@click.option("--dry-run", is_flag=True, help="Pass every gate and tell the cost; ask nobody, write nothing.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["human", "json"]),
    callback=_remember,
    is_eager=True,
    help="human: a line for each key; json: one object. Default: as the envelope says.",
)
@click.option("--eval-run-id", help="The run id to use, exactly as given. Default: a new one.")
@click.option(
    "--resume-from",
    type=click.Path(path_type=Path),
    callback=_there,
    help="Output directory of an earlier run whose answers are taken over.",
)
@click.option(
    "--max-infrastructure-stops",
    type=click.IntRange(min=1),
    help="Stop once so many tasks ended for reasons that are not the candidate's.",
)
@click.pass_context
def eval_(
    context: click.Context,
    config: Path,
    dry_run: bool,
    format_: Literal["human", "json"] | None,
    eval_run_id: str | None,
    resume_from: Path | None,
    max_infrastructure_stops: int | None,
) -> None:
    """Measure candidate models on a published benchmark.

    Nobody is asked before every gate is passed. Ctrl-C keeps what was answered; `--resume-from` goes on from there in a
    new output directory. Statuses: 0 done, 2 edit the configuration, 3 source or run, 4 contamination, 5 the
    candidate's endpoint, 6 the oracle, 7 files that do not hold or would be overwritten.

    \b
    Example:
      bfcl eval --config configs/eval.cli.yaml --dry-run
      bfcl eval --config configs/eval.cli.yaml
    """
    envelope = load_envelope(config)
    envelope = dataclasses.replace(
        envelope,
        dry_run=envelope.dry_run or dry_run,
        output_format=format_ or envelope.output_format,
        resume_from=envelope.resume_from if resume_from is None else resume_from.absolute(),
        max_infrastructure_stops=max_infrastructure_stops or envelope.max_infrastructure_stops,
    )
    _tell(context, envelope.output_format)
    run_envelope(envelope, lambda lines: click.echo("\n".join(lines)), eval_run_id=eval_run_id)
