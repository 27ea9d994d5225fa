"""In which status does a command about evaluations end? Rule: evaluation.md §14."""

from __future__ import annotations

from typing import Any

import click

from bfcl.errors import BfclError, EvalError, Problem
from bfcl.evaluate.settings.envelope import INVALID
from bfcl.evaluate.statuses import exit_status_of


class EvalCommand(click.Command):
    """A command whose refusals end in the published statuses, those of its command line included."""

    # Signatures are click's.

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Raises: EvalError `eval_cli_invalid` for what click would tell in a way of its own."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            fix = f"run `bfcl {info_name} --help`"
            raise _ended(EvalError(Problem(code=INVALID, message=error.format_message(), fix=fix))) from None

    def invoke(self, ctx: click.Context) -> object:
        """Raises: BfclError that knows its status."""
        try:
            return super().invoke(ctx)
        except BfclError as error:
            _ended(error)
            raise


def _ended(error: BfclError) -> BfclError:
    error.exit_code = exit_status_of(error)
    return error
