"""How does a command end: which status, and what on stderr? The one place that maps errors. Rule: authoring.md §2.

0   done, the verdict is good
2   ran to the end, the verdict is not good enough; the command's document is on stdout
1   no verdict: a refusal, also of the command line. Nothing on stdout; on stderr one JSON object, or every `Problem`
    as text where stderr is a terminal or `--format text` is given. Also a reader that left early (`bfcl ... | head`)
    and an output that takes no more; then what came before is on stdout
130 interrupted

Anything else is our bug and stays a traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, TypeVar

import click

from bfcl.canonical import Json, readable_json
from bfcl.cli.streams import OutputError
from bfcl.errors import BfclError, Problem, StageError
from bfcl.errors import visible as visible
from bfcl.files import abandon

REFUSED: Final = 1
BELOW: Final = 2
"""The status of a command that ran to the end and found its subject not good enough."""
INTERRUPTED: Final = 130

Format: TypeAlias = Literal["auto", "json", "text"]
_F = TypeVar("_F", bound=Callable[..., object])


@dataclass(slots=True)
class Manner:
    """How this command line is answered; the command sets it, `run` reads it when something is refused."""

    format: Format = "auto"
    status_of: Callable[[BfclError], int] | None = None
    """Of commands with statuses of their own."""


def print_problems(problems: Sequence[Problem]) -> None:
    """One block a problem on stderr. Rule: generation.md §1."""
    for problem in problems:
        click.echo(visible(str(problem)), err=True)


def print_json(value: Json) -> None:
    """A value as a readable JSON document on stdout."""
    click.echo(readable_json(value), nl=False)


_FURTHER: Final[Mapping[str, tuple[Format, str]]] = {
    # A page is made for people, yet whether they also read stderr is another matter.
    "html": ("auto", "a page"),
    "github": ("text", "workflow commands"),
    # A refusal has no place in a SARIF log: it is told as any other command tells it.
    "sarif": ("json", "SARIF 2.1.0"),
}
"""Further forms of a document: how a refusal is told where one is asked for, and what help says of it."""


def format_option(*more: str, auto: str = "text on a terminal, JSON elsewhere") -> Callable[[_F], _F]:
    """`--format auto|json|text`, parameter `format_`, with `more` of the forms that only some commands know.

    `auto` says in the help what the command prints where nobody asks for a form.
    """
    told = "".join(f" {name}: {_FURTHER[name][1]}." for name in more)
    return click.option(
        "--format",
        "format_",
        type=click.Choice(["auto", "json", "text", *more]),
        default="auto",
        callback=_remember,
        # First, so that a refusal of another option is told as asked for, too.
        is_eager=True,
        help=f"auto: {auto}.{told}",
    )


def json_option(command: _F) -> _F:
    """`--json`, parameter `json_`, for commands that had it before `--format`: the same as `--format json`."""

    def remember(context: click.Context, _: click.Parameter, value: bool) -> bool:
        manner = context.find_object(Manner)
        if manner is not None and value:
            manner.format = "json"
        return value

    return click.option("--json", "json_", is_flag=True, callback=remember, help="The same as --format json.")(command)


def _remember(context: click.Context, _: click.Parameter, value: str) -> str:
    manner = context.find_object(Manner)
    if manner is not None:
        known: Mapping[str, Format] = {"auto": "auto", "json": "json", "text": "text"}
        manner.format = known[value] if value in known else _FURTHER[value][0]
    return value


def as_json(format_: str) -> bool:
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
        status = _status(command, arguments, manner, terminal)
        # Here, where it can be told: the interpreter would end in a status of its own.
        sys.stderr.flush()
        return status
    except BrokenPipeError as error:
        for stream in (sys.stdout, sys.stderr):
            abandon(stream)
        unread = OutputError(1, error.strerror or str(error))
        return _ends_in(StageError([_unwritable(unread)]), manner)
    except OutputError as error:
        abandon(sys.stdout)
        refusal = StageError([_unwritable(error)])
        _refuse(type(refusal).__name__, refusal.problems, manner, terminal)
        return _ends_in(refusal, manner)


def _ends_in(error: BfclError, manner: Manner) -> int:
    return error.exit_code if manner.status_of is None else manner.status_of(error)


def _status(command: click.Command, arguments: Sequence[str], manner: Manner, terminal: bool) -> int:
    try:
        status = command.main(list(arguments), prog_name="bfcl", standalone_mode=False, obj=manner)
        sys.stdout.flush()
    except BfclError as error:
        _refuse(type(error).__name__, error.problems, manner, terminal)
        return _ends_in(error, manner)
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
    except SystemExit:
        # How click, and nothing else here, ends where the reader of a stream is gone.
        raise BrokenPipeError("nobody reads it any more") from None
    except FileNotFoundError:
        if _stands_somewhere():
            raise
        _refuse("ConfigError", (_NOWHERE,), manner, terminal)
        return REFUSED
    except UnicodeEncodeError:
        # Bytes of the command line that are no UTF-8 arrive as lone surrogates. Where one may not stand in a text, it
        # stops here; a path may hold them.
        broken = next((argument for argument in arguments if not _is_utf8(argument)), None)
        if broken is None:
            raise
        message = f"the argument {broken!a} is no UTF-8"
        _refuse("UsageError", (Problem(code="usage_error", message=message, fix="type it as UTF-8"),), manner, terminal)
        return REFUSED
    # click hands back the status of `--help` and its like, else what the subcommand returned: its status or nothing.
    return status if isinstance(status, int) else 0


_NOWHERE: Final = Problem(
    code="working_directory_missing",
    message="the current directory does not exist any more",
    fix="change to a directory that is there, then run the same command again",
)


def _stands_somewhere() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unwritable(error: OutputError) -> Problem:
    fix = "free space, or send the output elsewhere; then run the same command again"
    return Problem(code="storage_failed", subject=error.stream, message=f"cannot write: {error.reason}", fix=fix)


def _help(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if isinstance(context, click.Context) else "bfcl"
    return f"run `{path} --help`"


def _told_as_text(manner: Manner, terminal: bool) -> bool:
    return manner.format == "text" or (manner.format == "auto" and terminal)


def _refuse(error_type: str, problems: Sequence[Problem], manner: Manner, terminal: bool) -> None:
    """Tell a refusal. Where stderr takes nothing, the status has to say it alone."""
    try:
        if _told_as_text(manner, terminal):
            print_problems(problems)
        else:
            click.echo(readable_json(error_document(error_type, problems)), nl=False, err=True)
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)
