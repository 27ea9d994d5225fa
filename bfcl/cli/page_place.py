"""Where may a page not be written?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

from bfcl.evaluate.artifacts.names import MANIFEST as EVALUATION
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.pack.layout import shown
from bfcl.pack.own_config import MANIFEST

_RESULT: Final = re.compile("[0-9a-f]{64}")
_STORED: Final = frozenset({"refs", "log", "validate"})
"""What the build keeps in `build/` beside its results."""


def refuse_page_place(output: Path, tree: BuildTree) -> None:
    """Raises: click.UsageError where a page would change what is hashed, or lie in what is removed as the build's own:
    any run directory, any pack, any finished evaluation, the store."""
    place = output.resolve()
    build = tree.root.resolve()
    for folder in place.parents:
        run = RunTree(folder)
        if run.manifest.is_file() or run.stage_cache.is_dir():
            raise click.UsageError(f"--output lies inside the run directory {shown(folder)}, where only a run writes")
        if (folder / MANIFEST).is_file():
            raise click.UsageError(f"--output lies inside the pack {shown(folder)}, which the page would change")
        if (folder / EVALUATION).is_file():
            raise click.UsageError(f"--output lies inside the evaluation {shown(folder)}, where only a run writes")
        if folder.parent == build and (folder.name in _STORED or _RESULT.fullmatch(folder.name)):
            raise click.UsageError(f"--output lies inside {shown(folder)}, where only the build writes")
