"""What does `doit validate` do: load the pack, run its checks, say what is wrong. Rule: pack.md §13, authoring.md §4.

It takes no lock and writes nothing that a build reads: what it leaves lies below `build/validate/`.
"""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

from bfcl.errors import StageError
from bfcl.files import write_atomic
from bfcl.graph.late import late
from bfcl.graph.opening import Opening
from bfcl.graph.say import say
from bfcl.graph.validation_evidence import ValidationEvidence
from bfcl.graph.validation_parts import Parts
from bfcl.graph.validation_run import run_checks
from bfcl.graph.verdicts import listing, reuse_line, verdict_line
from bfcl.pack.layout import shown
from bfcl.pack.load import load_configured
from bfcl.pack.own_config import OwnPack, load_own


def validate(opening: Opening) -> bool:
    """Run every check, print all findings, write the report. Returns whether the pack is gold.

    Raises: ConfigError, PackError with every problem; DriftError `pack_drift`; StageError `storage_failed`, with all
    findings printed.
    """
    variables = opening.variables
    if variables is None:
        raise AssertionError("the config task has not run")
    loaded, pack = _subject(opening)
    place = opening.invocation.tree.validation(pack.manifest.pack_id)
    evidence = ValidationEvidence(place.evidence, Parts(pack, loaded.config), fresh=variables.rebuild)
    verdict, report = run_checks(loaded, pack, jobs=variables.jobs, evidence=evidence)
    trouble = _written(place.report, report)
    told = verdict_line("validate", verdict, shown(place.report) if trouble is None else None)
    say(listing(loaded, pack, verdict, [reuse_line(verdict, evidence.asked), told]))
    if trouble is not None:
        raise trouble
    return verdict.gold_eligible


def _written(path: Path, report: bytes) -> StageError | None:
    """Write the report, or say why it cannot be: what was found is worth telling all the same."""
    try:
        write_atomic(path, report)
    except StageError as error:
        return StageError([dataclasses.replace(problem, subject=shown(path)) for problem in error.problems])
    return None


def _subject(opening: Opening) -> OwnPack:
    """The pack that `pack=` names under its own configuration, or the one of the configuration."""
    invocation = opening.invocation
    if invocation.named_pack is not None:
        return load_own(invocation.named_pack, project=invocation.project)
    loaded = late("check_configuration")(opening)
    return OwnPack(loaded, load_configured(loaded))


def clean_validations(opening: Opening, dryrun: bool) -> None:
    """Remove every report and finding of earlier validations."""
    place = opening.invocation.tree.validations
    if place.is_dir():
        say([f"{'would remove' if dryrun else 'removed'} {place}"])
        if not dryrun:
            shutil.rmtree(place, ignore_errors=True)
