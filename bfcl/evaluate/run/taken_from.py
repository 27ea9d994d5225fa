"""From which run were the answers of a reported directory taken over, whoever runs the command again? Rule: §11.

A run may end between its report and its manifest. What it was going on from then stands in its resolved configuration
alone, and whoever lets it end has no reason to name that once more: nothing is asked, and nothing taken over.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from pathlib import Path

from bfcl.errors import EvalError, Problem
from bfcl.evaluate.artifacts.names import ARTIFACT_INVALID, MANIFEST
from bfcl.evaluate.artifacts.reading import read_document
from bfcl.evaluate.run.directory import Before
from bfcl.evaluate.run.earlier import Earlier, earlier_runs, is_output_directory
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.settings.resolved import FILE as RESOLVED_CONFIG
from bfcl.evaluate.settings.resolved import RESUME_FROM
from bfcl.pack.layout import shown


def as_recorded(
    envelope: Envelope, settings: EvalSettings, before: Before, earlier: Earlier
) -> tuple[Path | None, Earlier]:
    """What to call `resume_from`, and the runs behind it: by the directory's own word where its answers are all there.

    `earlier` are those that the envelope names. Raises: EvalError `eval_artifact_invalid` where a manifest is to be
    written and what it has to name is gone, or where what the directory says of itself cannot be read.
    """
    directory = settings.outputs.output_dir
    document = read_document(directory / RESOLVED_CONFIG) if before.concluded else None
    paths = None if document is None else document.get("resolved_paths")
    if not isinstance(paths, Mapping) or RESUME_FROM not in paths:
        return envelope.resume_from, earlier
    told = paths[RESUME_FROM]
    recorded = Path(told) if isinstance(told, str) else None
    if before.manifest is not None or not settings.outputs.write_eval_manifest:
        return recorded, earlier
    if recorded is not None and not is_output_directory(recorded):
        raise EvalError(_gone(directory, recorded))
    return recorded, earlier_runs(dataclasses.replace(envelope, resume_from=recorded), settings)


def _gone(directory: Path, recorded: Path) -> Problem:
    return Problem(
        code=ARTIFACT_INVALID,
        path=shown(directory / RESOLVED_CONFIG),
        field=RESUME_FROM,
        message=f"says that answers were taken over from {shown(recorded)}, which is gone; expected it, as {MANIFEST} "
        "is not written yet and has to name its records",
        fix=f"bring {shown(recorded)} back, or evaluate into another `outputs.output_dir` with "
        f"`--resume-from {shlex.quote(shown(directory))}` (`resume_from`): what was answered is not asked again",
    )
