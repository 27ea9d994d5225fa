"""Where does the benchmark of a finished evaluation lie now? The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., object])


def run_dir_option(command: _F) -> _F:
    """`--run-dir`, for a benchmark that was moved."""
    return click.option(
        "--run-dir",
        type=click.Path(path_type=Path),
        help="The published run that was evaluated on, where it does not lie where it lay then.",
    )(command)


def pack_option(*, runs: bool = False) -> Callable[[_F], _F]:
    """`--pack`, for a pack that was moved. `runs` says whether the command runs code of the pack."""
    use = "Its code runs, in the pack's worker." if runs else "Its files are read; none of its code runs."
    return click.option(
        "--pack",
        type=click.Path(path_type=Path),
        help=f"The directory of the oracle's pack, where it does not lie where it lay then. {use}",
    )
