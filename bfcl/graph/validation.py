"""What does `doit validate` do: load the pack, run its checks, say what is wrong. Rule: pack.md §13, authoring.md §4.

It takes no lock and writes nothing that a build reads: what it leaves lies below `build/validate/`.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Sequence

from bfcl.errors import PackError
from bfcl.files import write_atomic
from bfcl.graph.late import late
from bfcl.graph.opening import Opening
from bfcl.graph.validation_evidence import ValidationEvidence
from bfcl.graph.validation_parts import Parts
from bfcl.graph.validation_run import run_checks
from bfcl.graph.verdicts import at_setting, listing, reuse_line, verdict_line
from bfcl.pack.layout import shown
from bfcl.pack.load import load_pack
from bfcl.pack.own_config import OwnPack, load_own


def validate(opening: Opening) -> bool:
    """Run every check, write the report, print all findings. Returns whether the pack is gold.

    Raises: ConfigError, PackError with every problem; DriftError `pack_drift`; StageError `storage_failed`.
    """
    variables = opening.variables
    if variables is None:
        raise AssertionError("the config task has not run")
    loaded, pack = _subject(opening)
    place = opening.invocation.tree.validation(pack.manifest.pack_id)
    evidence = ValidationEvidence(place.evidence, Parts(pack, loaded.config), fresh=variables.rebuild)
    try:
        verdict, report = run_checks(loaded, pack, jobs=variables.jobs, reuse=evidence)
    finally:
        evidence.save()
    write_atomic(place.report, report)
    summary = verdict_line("validate", verdict, shown(place.report))
    _say(listing(loaded, pack, verdict, [reuse_line(verdict, evidence.asked), summary]))
    return verdict.gold_eligible


def _subject(opening: Opening) -> OwnPack:
    """The pack that `pack=` names under its own configuration, or the one of the configuration."""
    invocation = opening.invocation
    if invocation.named_pack is not None:
        return load_own(invocation.named_pack, project=invocation.project)
    loaded = late("check_configuration")(opening)
    try:
        return OwnPack(loaded, load_pack(loaded.config, project=invocation.project))
    except PackError as error:
        raise PackError([at_setting(loaded, problem) for problem in error.problems]) from None


def _say(lines: Sequence[str]) -> None:
    """To the real standard output, since doit captures the one that actions see."""
    stream = sys.__stdout__
    if stream is None:
        return
    if isinstance(stream, io.TextIOWrapper):
        # A pack may speak any language, whatever the terminal can show.
        stream.reconfigure(errors="backslashreplace")
    stream.write("".join(f"{line}\n" for line in lines))
    stream.flush()


def clean_validations(opening: Opening, dryrun: bool) -> None:
    """Remove every report and finding of earlier validations."""
    place = opening.invocation.tree.validations
    if place.is_dir():
        _say([f"{'would remove' if dryrun else 'removed'} {place}"])
        if not dryrun:
            shutil.rmtree(place, ignore_errors=True)
