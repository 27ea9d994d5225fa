"""How does a run that did not end go on? By what lies in its output directory, never by what should. Rule: §11."""

from __future__ import annotations

import dataclasses
from typing import Final

from bfcl.errors import BfclError
from bfcl.evaluate.artifacts.names import ARTIFACTS, CACHES
from bfcl.evaluate.run.directory import report_file
from bfcl.evaluate.settings.model import EvalSettings

AGAIN: Final = "run the same command again"
"""What other rooms advise, which know nothing of records."""


def way_on(settings: EvalSettings) -> str:
    """What to do once the hindrance is gone, as the end of a sentence."""
    if _is_reported(settings):
        return AGAIN
    if _has_records(settings):
        return (
            f"name another `outputs.output_dir`, and go on with `bfcl eval --resume-from {settings.outputs.output_dir}`"
        )
    if _has_any(settings):
        return "name another `outputs.output_dir`, and run again"
    return AGAIN


def interrupted(settings: EvalSettings, *, dry_run: bool) -> str:
    """What an interrupt leaves, and how to go on, in one line."""
    directory = settings.outputs.output_dir
    if dry_run:
        left = "the dry run asked nobody and wrote nothing"
    elif _is_reported(settings):
        left = f"the result in {directory} is as it was"
    elif _has_records(settings):
        left = f"what was answered is kept in {directory}"
    else:
        left = "no answer is on record"
    return f"interrupted: {left}; {AGAIN if dry_run else way_on(settings)}"


def with_way_on(error: BfclError, settings: EvalSettings) -> BfclError:
    """The refusal with advice that this very directory would not refuse; itself where its advice holds."""
    way = way_on(settings)
    problems = [
        problem if problem.fix is None else dataclasses.replace(problem, fix=problem.fix.replace(AGAIN, way))
        for problem in error.problems
    ]
    return error if tuple(problems) == error.problems else type(error)(problems)


def _is_reported(settings: EvalSettings) -> bool:
    return (settings.outputs.output_dir / report_file(settings)).is_file()


def _has_records(settings: EvalSettings) -> bool:
    return any((settings.outputs.output_dir / ARTIFACTS[name]).is_file() for name in CACHES)


def _has_any(settings: EvalSettings) -> bool:
    return any((settings.outputs.output_dir / file).exists() for file in ARTIFACTS.values())
