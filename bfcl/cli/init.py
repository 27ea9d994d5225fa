"""`bfcl init`: how is a new project written without touching a file that is there?"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

from bfcl.cli.project import project_files
from bfcl.cli.show import Format, as_json, format_option, print_json
from bfcl.errors import ConfigError, Problem, raise_all
from bfcl.files import AlreadyThereError, create_files
from bfcl.pack.layout import shown

_FIX = "move it away, or choose another directory"


@click.command
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@format_option()
def init(directory: Path, format_: Format) -> None:
    """Write a new project: a starter pack, its configuration, a dodo.py.

    DIR is made where it does not exist. No file is ever overwritten: where one of the project's files is there already,
    every such file is named and nothing is written.

    \b
    Example:
      bfcl init ../my_project
      cd ../my_project && doit generate
    """
    files = project_files()
    raise_all(ConfigError, list(obstacles(directory, files)))
    write_new(directory, files)
    if as_json(format_):
        print_json({"schema_version": "1.0", "directory": shown(directory), "written": list(files)})
        return
    click.echo(f"wrote {len(files)} files below {shown(directory)}:")
    for name in files:
        click.echo(f"  {name}")
    there = "" if directory.samefile(Path.cwd()) else f"cd {shlex.quote(shown(directory))} && "
    click.echo(f"next: {there}doit generate")


def obstacles(directory: Path, files: Iterable[str]) -> Iterator[Problem]:
    """One problem for each file that is there, and for each non-directory where a directory must be."""
    walls: set[Path] = set()
    for name in files:
        path = directory / name
        wall = next((above for above in path.parents if os.path.lexists(above) and not above.is_dir()), None)
        if wall is not None and wall not in walls:
            walls.add(wall)
            yield _there(wall, "is there already and is no directory")
        elif wall is None and os.path.lexists(path):
            yield _there(path, "is there already; `bfcl init` overwrites nothing")


def _there(path: Path, message: str) -> Problem:
    return Problem(code="init_target_exists", path=shown(path), message=message, fix=_FIX)


def write_new(directory: Path, files: Mapping[str, bytes]) -> None:
    """Create every file or none.

    Raises: StageError `storage_failed`; ConfigError `init_target_exists` where a file appeared meanwhile.
    """
    try:
        create_files(directory, files)
    except AlreadyThereError as error:
        raise ConfigError(_there(error.path, "appeared while the project was written")) from None
