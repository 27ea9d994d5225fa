"""How does a command end: which status, and what on stderr? The one place that maps errors. Rule: authoring.md §2.

0   done, the verdict is good
2   ran to the end, the verdict is not good enough; the command's document is on stdout
1   no verdict: a refusal, also of the command line. Nothing on stdout; on stderr one JSON object, or every `Problem`
    as text where stderr is a terminal or `--format text` is given. Also a reader that left early (`bfcl ... | head`)
130 interrupted

Anything else is our bug and stays a traceback.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar

import click

from bfcl.canonical import Json, readable_json
from bfcl.errors import BfclError, Problem

REFUSED: Final = 1
BELOW: Final = 2
"""The status of a command that ran to the end and found its subject not good enough."""
INTERRUPTED: Final = 130

Format: TypeAlias = Literal["auto", "json", "text"]
_F = TypeVar("_F", bound=Callable[..., object])


@dataclass(slots=True)
class Manner:
    """How this command line wants to be answered; `format_option` sets it, `run` reads it when something is refused."""

    format: Format = "auto"


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """The text with control characters spelt out, so that no pack can steer a terminal. Keeps tabs and line feeds."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def print_problems(problems: Sequence[Problem]) -> None:
    """One block a problem on stderr. Rule: generation.md §1."""
    for problem in problems:
        click.echo(visible(str(problem)), err=True)


def print_json(value: Json) -> None:
    """A value as a readable JSON document on stdout."""
    click.echo(readable_json(value), nl=False)


def format_option(command: _F) -> _F:
    """`--format auto|json|text`, parameter `format_`: auto is text on a terminal and JSON elsewhere."""

    def remember(context: click.Context, _: click.Parameter, value: Format) -> Format:
        manner = context.find_object(Manner)
        if manner is not None:
            manner.format = value
        return value

    option = click.option(
        "--format",
        "format_",
        type=click.Choice(["auto", "json", "text"]),
        default="auto",
        callback=remember,
        is_eager=True,
        help="auto: text on a terminal, JSON elsewhere.",
    )
    return option(command)


def as_json(format_: Format) -> bool:
    """Whether stdout is to carry the JSON document rather than text."""
    return format_ == "json" or (format_ == "auto" and not sys.stdout.isatty())


def error_document(error_type: str, problems: Sequence[Problem]) -> Json:
    """The one JSON object of a refusal; keys that do not apply are null. Rule: pack.md §13, authoring.md §2."""
    first = problems[0]
    return {
        "schema_version": "1.0",
        "status": "error",
        "error_type": error_type,
        "code": first.code,
        "reason": first.message if first.subject is None else f"{first.subject}: {first.message}",
        "recovery": first.fix,
        "file": first.path,
        "line": first.line,
        "problems": [
            {
                "code": problem.code,
                "reason": problem.message if problem.subject is None else f"{problem.subject}: {problem.message}",
                "recovery": problem.fix,
                "file": problem.path,
                "line": problem.line,
                "column": problem.column,
                "field": problem.field,
            }
            for problem in problems
        ],
    }


def run(command: click.Command, arguments: Sequence[str], *, terminal: bool | None = None) -> int:
    """Run a command line and return the process status.

    `terminal` says whether a person reads stderr (found out where it is not given): then refusals are told as text.
    """
    manner = Manner()
    if terminal is None:
        terminal = sys.stderr.isatty()
    try:
        return _status(command, arguments, manner, terminal)
    except BrokenPipeError:
        # The interpreter flushes both streams once more at exit and would complain there.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        return REFUSED


def _status(command: click.Command, arguments: Sequence[str], manner: Manner, terminal: bool) -> int:
    try:
        status = command.main(list(arguments), prog_name="bfcl", standalone_mode=False, obj=manner)
        sys.stdout.flush()
    except BfclError as error:
        _refuse(type(error).__name__, error.problems, manner, terminal)
        return error.exit_code
    except click.ClickException as error:
        if _told_as_text(manner, terminal):
            error.show()
        else:
            problem = Problem(code="usage_error", message=error.format_message(), fix=_help(error))
            _refuse("UsageError", (problem,), manner, terminal)
        # click's own 2 would read as a verdict.
        return REFUSED
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    # click hands back the status of `--help` and its like, else what the subcommand returned: its status or nothing.
    return status if isinstance(status, int) else 0


def _help(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if isinstance(context, click.Context) else "bfcl"
    return f"run `{path} --help`"


def _told_as_text(manner: Manner, terminal: bool) -> bool:
    return manner.format == "text" or (manner.format == "auto" and terminal)


def _refuse(error_type: str, problems: Sequence[Problem], manner: Manner, terminal: bool) -> None:
    if _told_as_text(manner, terminal):
        print_problems(problems)
    else:
        click.echo(readable_json(error_document(error_type, problems)), nl=False, err=True)
