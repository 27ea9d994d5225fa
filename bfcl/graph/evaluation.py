"""What does `doit eval` depend on, when is it up to date, and how does it end? Rule: evaluation.md §1, §14."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from bfcl.errors import BfclError, EvalError, Problem, closest, meant, raise_all
from bfcl.evaluate.artifacts.committed import verify_committed
from bfcl.evaluate.artifacts.names import MANIFEST, REPORT
from bfcl.evaluate.settings.envelope import CHOICES, INVALID, Envelope, load_envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.statuses import exit_status_of
from bfcl.graph.eval_files import EvalFiles
from bfcl.graph.eval_run import rate_lines, run_envelope
from bfcl.graph.invocation import named_by_manifest
from bfcl.graph.opening import Opening
from bfcl.graph.say import say
from bfcl.graph.variables import KNOWN
from bfcl.oracle.stopping import stop_in_order
from bfcl.stages.artifacts import PUBLISHED_FILE, RAW_FILE

VARIABLES: Final = ("config",)
"""What `doit eval` takes."""

_NAMED: Final = 5
"""How many configurations a fix lists."""
_EXAMPLE: Final = "configs/eval.cli.yaml"
_TEMPLATE: Final = "configs/eval.default.yaml"
"""Does not run as it is."""


def eval_files(config: Path) -> EvalFiles:
    """Of an envelope or a scoring configuration. What is wrong with either is told when the task runs."""
    try:
        envelope = load_envelope(config)
        settings = load_settings(envelope.eval_config_path)
    except BfclError:
        return EvalFiles([], [])
    files = [*_files(envelope, settings)]
    committed = settings.outputs.write_eval_manifest and settings.public
    targets = [settings.outputs.output_dir / MANIFEST] if committed else []
    return EvalFiles([str(path) for path in dict.fromkeys(files) if path.is_file()], [str(path) for path in targets])


def eval_is_current(targets: Sequence[str]) -> bool:
    """Whether the manifest is there and its files are as it says; no evaluation without one is ever up to date."""
    try:
        for target in targets:
            verify_committed(Path(target).parent)
    except EvalError:
        return False
    return bool(targets)


def eval_current_lines(targets: Sequence[str]) -> list[str]:
    """What is told where nothing is to be done: what came out, where it lies, the report's path last."""
    report = Path(targets[0]).parent / REPORT
    told = ["up to date: nothing changed since this evaluation was finished, and nobody was asked"]
    return [*told, *rate_lines(json.loads(report.read_bytes())), str(report)]


def run_eval(opening: Opening) -> None:
    """Evaluate, and leave in `opening.last_line` what a failure ends in.

    Raises: BfclError, EvalError with the codes of an evaluation.
    """
    try:
        _check_variables(opening)
        stop_in_order()
        envelope = dataclasses.replace(load_envelope(opening.invocation.config_path), command="doit eval")
        run_envelope(envelope, say)
    except BfclError as error:
        opening.last_line = failure_line(error)
        raise


def failure_line(error: BfclError) -> str:
    """doit has statuses of its own, so that ours is told in words."""
    return f"eval failed: code={error.problems[0].code} exit_status={exit_status_of(error)}"


def _check_variables(opening: Opening) -> None:
    given = opening.invocation.given
    problems = [_not_taken(name) for name in sorted(set(given) - set(VARIABLES))]
    # A misspelt name is one fault, not an unknown variable and an absent one.
    if "config" not in given and not any(_is_misspelt(name) for name in given):
        problems.insert(0, _unnamed(opening.invocation.project))
    raise_all(EvalError, problems)


def _is_misspelt(name: str) -> bool:
    return name not in (*KNOWN, *CHOICES) and closest(name, VARIABLES) is not None


def _not_taken(name: str) -> Problem:
    """Of a variable of builds, a choice of the envelope, or a word that nobody knows."""
    code, fix = "unsupported_config_feature", f"leave `{name}=` out"
    if name in CHOICES:
        message = "`doit eval` does not take this variable: it is a key of the envelope"
        fix = f"write `{name}:` in the envelope that `config=` names, one with `eval_config_path:`"
        if name == "resume_from":
            fix += "; or run `bfcl eval --config FILE --resume-from DIR`"
    elif name in KNOWN:
        code = "byob_stage_unsupported" if name == "skip_until" else code
        message = "`doit eval` does not take this variable: it has no stages"
    else:
        message = "`doit eval` knows no such variable"
        fix = meant("config") if _is_misspelt(name) else f"{fix}; it takes `config=` alone"
    return Problem(code=code, subject=name, message=message, fix=fix)


def _unnamed(project: Path) -> Problem:
    """What a build takes by itself is no configuration of an evaluation, and there may be several of those."""
    found = [f"configs/{path.name}" for path in sorted((project / "configs").glob("eval*.yaml")) if path.is_file()]
    named = [one for one in found if one != _TEMPLATE] or [_EXAMPLE]
    more = f", or with one of {len(named) - _NAMED} others in configs/" if len(named) > _NAMED else ""
    return Problem(
        code=INVALID,
        field="config",
        message="`doit eval` was not told what to evaluate; expected `config=` and an envelope or a scoring "
        "configuration",
        fix=f"run {' or '.join(f'`doit eval config={one}`' for one in named[:_NAMED])}{more}",
    )


def _files(envelope: Envelope, settings: EvalSettings) -> Iterator[Path]:
    source = settings.source
    yield from (envelope.path, settings.path, settings.scoring.contract, source.manifest)
    yield from (source.manifest.parent / name for name in (PUBLISHED_FILE, RAW_FILE))
    if settings.needs_oracle and settings.oracle is not None:
        yield from _pack_files(settings.oracle.pack_manifest)


def _pack_files(manifest: Path) -> Iterator[Path]:
    """Regular files below the manifest's directory, then those elsewhere that it names."""
    root = manifest.parent
    yield from sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    yield from sorted(path for path in named_by_manifest(manifest, root) if path is not None)
