"""How does a run that did not end go on? By what lies in its output directory, never by what should. Rule: §11."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Final

from bfcl.errors import BfclError
from bfcl.evaluate.artifacts.names import ARTIFACTS, CACHES
from bfcl.evaluate.run.directory import report_file
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.pack.layout import shown

AGAIN: Final = "run the same command again"
"""What other rooms advise, which know nothing of records."""


def way_on(settings: EvalSettings, envelope: Envelope) -> str:
    """What to do once the hindrance is gone, as the end of a sentence."""
    if _is_reported(settings):
        return AGAIN
    elsewhere = f"name another `outputs.output_dir` in {shown(settings.path)}"
    if _has_records(settings):
        return f"{elsewhere}, and {_going_on(settings, envelope)}"
    if _has_any(settings):
        return f"{elsewhere}, and run again"
    return AGAIN


def _going_on(settings: EvalSettings, envelope: Envelope) -> str:
    """How to go on from the record in the output directory, in the words of the command that was run."""
    directory, config = settings.outputs.output_dir, shown(envelope.path)
    line = f"`bfcl eval --config {shlex.quote(config)} --resume-from {shlex.quote(shown(directory))}`"
    if envelope.command == "bfcl eval":
        return f"go on with {line}"
    again = f"`doit eval config={shlex.quote(config)}`"
    if envelope.path == envelope.eval_config_path:
        return f"go on with {line}; for `doit eval`, name it by `resume_from:` in an envelope around {config}"
    return f"write `resume_from: {directory}` in {config}, and go on with {again}"


def interrupted(settings: EvalSettings, envelope: Envelope) -> str:
    """What an interrupt leaves, and how to go on, in one line."""
    directory = settings.outputs.output_dir
    if envelope.dry_run:
        left = "the dry run asked nobody and wrote nothing"
    elif _is_reported(settings):
        left = f"the result in {directory} is as it was"
    elif _has_records(settings):
        left = f"what was answered is kept in {directory}"
    else:
        left = "no answer is on record"
    return f"interrupted: {left}; {AGAIN if envelope.dry_run else way_on(settings, envelope)}"


def with_way_on(error: BfclError, settings: EvalSettings, envelope: Envelope) -> BfclError:
    """The refusal with advice that this very directory would not refuse; itself where its advice holds."""
    way = way_on(settings, envelope)
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
