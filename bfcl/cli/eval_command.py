"""In which status does a command about evaluations end? Rule: evaluation.md §14."""

from __future__ import annotations

from typing import Any

import click

from bfcl.cli.show import Manner
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.settings.envelope import INVALID
from bfcl.evaluate.statuses import exit_status_of


class FixableError(click.UsageError):
    """A command line that is wrong in a way that has a remedy of its own, better than the list of options."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix


class EvalCommand(click.Command):
    """A command whose refusals end in the published statuses, those of its command line included."""

    # The signature is click's.
    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Raises: EvalError `eval_cli_invalid` for what click would tell in a way of its own."""
        manner = None if parent is None else parent.find_object(Manner)
        if manner is not None:
            self.set_manner(manner)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            fix = error.fix if isinstance(error, FixableError) else f"run `bfcl {info_name} --help`"
            raise EvalError(Problem(code=INVALID, message=error.format_message(), fix=fix)) from None

    def set_manner(self, manner: Manner) -> None:
        """Say how refusals end and are told, before the command line is read."""
        manner.status_of = exit_status_of
