"""What does `doit eval` depend on, when is it up to date, and how does it end? Rule: evaluation.md §1, §14."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bfcl.errors import BfclError, EvalError, Problem, raise_all
from bfcl.evaluate.artifacts.committed import verify_committed
from bfcl.evaluate.artifacts.names import MANIFEST
from bfcl.evaluate.settings.envelope import Envelope, load_envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.statuses import exit_status_of
from bfcl.graph.eval_files import EvalFiles
from bfcl.graph.eval_run import run_envelope
from bfcl.graph.invocation import named_by_manifest
from bfcl.graph.opening import Opening
from bfcl.graph.say import say
from bfcl.oracle.stopping import stop_in_order
from bfcl.stages.artifacts import PUBLISHED_FILE, RAW_FILE

VARIABLES: Final = ("config",)
"""What `doit eval` takes."""


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


def run_eval(opening: Opening) -> None:
    """Evaluate, and leave in `opening.last_line` what a failure ends in.

    Raises: BfclError, EvalError with the codes of an evaluation.
    """
    try:
        _check_variables(opening.invocation.given)
        stop_in_order()
        envelope = load_envelope(opening.invocation.config_path)
        lines = run_envelope(envelope)
    except BfclError as error:
        opening.last_line = failure_line(error)
        raise
    say(lines)


def failure_line(error: BfclError) -> str:
    """doit has statuses of its own, so that ours is told in words."""
    return f"eval failed: code={error.problems[0].code} exit_status={exit_status_of(error)}"


def _check_variables(given: Mapping[str, str]) -> None:
    problems = []
    for name in sorted(set(given) - set(VARIABLES)):
        code = "byob_stage_unsupported" if name == "skip_until" else "unsupported_config_feature"
        message = "`doit eval` does not take this variable: it has no stages"
        problems.append(Problem(code=code, subject=name, message=message, fix=f"leave `{name}=` out"))
    raise_all(EvalError, problems)


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
