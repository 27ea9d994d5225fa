"""Projects that nobody has built, for the modules that read one when doit loads."""

from __future__ import annotations

from pathlib import Path

from bfcl.graph.invocation import Invocation, invocation
from tests.packs import Edit, write_config, write_pack


def write_project(root: Path, *edits: Edit, **config: object) -> Path:
    """`packs/studio` and `configs/tiny.yaml` below `root`, output in `build/runs`."""
    pack = write_pack(root / "packs" / "studio", *edits)
    write_config(root / "configs" / "tiny.yaml", pack, output_dir=str(root / "build" / "runs"), **config)
    return root


def invoked(project: Path, **given: str) -> Invocation:
    """A command line given in the project's directory."""
    return invocation(project, project, given)
