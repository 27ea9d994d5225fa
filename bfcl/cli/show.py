"""How does a command end: which status, and which words on stderr? The one place that maps errors.

0   done
1   a refusal: every `Problem` on stderr, no traceback; also a reader that went away early (`bfcl ... | head`)
2   the command line itself is wrong (click)
130 interrupted

Anything else is our bug and stays a traceback.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Final

import click

from bfcl.canonical import Json, readable_json
from bfcl.errors import BfclError, Problem

REFUSED: Final = 1
INTERRUPTED: Final = 130

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


def run(command: click.Command, arguments: Sequence[str]) -> int:
    """Run a command line and return the process status."""
    try:
        return _status(command, arguments)
    except BrokenPipeError:
        # The interpreter flushes both streams once more at exit and would complain there.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        return REFUSED


def _status(command: click.Command, arguments: Sequence[str]) -> int:
    try:
        status = command.main(list(arguments), prog_name="bfcl", standalone_mode=False)
        sys.stdout.flush()
    except BfclError as error:
        print_problems(error.problems)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    # click hands back the status of `--help` and its like, else what the subcommand returned: nothing.
    return status if isinstance(status, int) else 0
