"""Where does a page go, and where may nothing be written that is made of finished results?"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from bfcl.cli.eval_command import FixableError
from bfcl.cli.place import project_root
from bfcl.evaluate.artifacts.names import MANIFEST as EVALUATION
from bfcl.files import write_atomic
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.pack.layout import shown
from bfcl.pack.own_config import MANIFEST

_F = TypeVar("_F", bound=Callable[..., object])

_RESULT: Final = re.compile("[0-9a-f]{64}")
_STORED: Final = frozenset({"refs", "log", "validate"})
"""What the build keeps in `build/` beside its results."""


def build_tree() -> BuildTree:
    """That of the project which the current directory is in."""
    return BuildTree(project_root(Path.cwd()))


def own_reports() -> Path:
    """Where pages of the project go that nobody named a place for."""
    return build_tree().root / "report"


def refuse_output_place(
    output: Path, tree: BuildTree, *, named: str = "--output", evaluation: Path | None = None
) -> None:
    """Raises: click.UsageError where a file or directory would change what is hashed, or lie in what is removed as the
    build's own: any run directory, any pack, any finished evaluation but `evaluation` itself, the store.

    `named` says in the message whose place this is.
    """
    place = output.resolve()
    build = tree.root.resolve()
    own = None if evaluation is None else evaluation.resolve()
    for folder in (place, *place.parents):
        run = RunTree(folder)
        if _is(run.manifest, Path.is_file) or _is(run.stage_cache, Path.is_dir):
            raise _misplaced(f"{named} lies inside the run directory {shown(folder)}, where only a run writes", named)
        if _is(folder / MANIFEST, Path.is_file):
            raise _misplaced(f"{named} lies inside the pack {shown(folder)}, whose fingerprint it would change", named)
        if folder != own and _is(folder / EVALUATION, Path.is_file):
            raise _misplaced(f"{named} lies inside the evaluation {shown(folder)}, where only a run writes", named)
        if folder.parent == build and (folder.name in _STORED or _RESULT.fullmatch(folder.name)):
            raise _misplaced(f"{named} lies inside {shown(folder)}, where only the build writes", named)


def _misplaced(message: str, named: str) -> FixableError:
    option = f"`{named}`" if named.startswith("--") else "`--out`"
    return FixableError(message, f"name a place with {option} that lies outside of it")


def _is(path: Path, kind: Callable[[Path], bool]) -> bool:
    try:
        return kind(path)
    except OSError:
        # What cannot be looked at cannot be written to either, and writing says so.
        return False


def allowed_output(_context: click.Context, option: click.Parameter, output: Path | None) -> Path | None:
    """The callback of an option that names a place to write to.

    Raises: click.UsageError, while the command line is read, so that it ends in the status of one.
    """
    if output is not None:
        refuse_output_place(output, build_tree(), named=option.opts[0])
    return output


def page_option(default: str) -> Callable[[_F], _F]:
    """`--output`, the file of a page; `default` says in the help where it goes otherwise."""
    return click.option(
        "--output",
        type=click.Path(path_type=Path, dir_okay=False),
        callback=allowed_output,
        help=f"File to write (default: {default}).",
    )


def write_page(html: bytes, output: Path | None, name: str) -> str:
    """Write a page to `output`, else as `name` to the project's `build/report`; returns its absolute path.

    Raises: StageError `storage_failed`.
    """
    target = own_reports() / name if output is None else output
    write_atomic(target, html)
    return os.path.abspath(target)  # noqa: PTH100 no link is followed: the path is the one that was asked for
