"""What lies in the output directory already, and under which run id does this run write? Rule: §3 gate 2, §11."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json
from bfcl.errors import EvalError, Problem, raise_all
from bfcl.evaluate.artifacts.names import (
    ARTIFACTS,
    CACHES,
    CONFLICT,
    HELD_OUT_FILE,
    MANIFEST,
    REPORT,
)
from bfcl.evaluate.artifacts.reading import read_document, unusable
from bfcl.evaluate.run.how import How
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.pack.layout import shown

RUNNER_INVALID: Final = "eval_runner_invalid"

_ELSEWHERE: Final = "name another `outputs.output_dir`; `{eval_config_hash}` in it keeps measurements apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The output directory as the run finds it."""

    eval_run_id: str
    concluded: bool
    """Every episode was concluded by an earlier run: what is recorded answers, nobody is asked again."""
    manifest: Mapping[str, Json] | None
    """That of the earlier run."""


def look(settings: EvalSettings, how: How) -> Before:
    """Gate 2. Nothing is written.

    Raises: EvalError `eval_cli_artifact_conflict` for the finished result of another configuration and for what a run
    left unfinished, `eval_runner_invalid` for an unusable id, for a report of another run, and for one of another
    configuration that no manifest makes a result; `eval_artifact_invalid` for a finished set that lacks a
    file or has one that cannot be read.
    """
    if how.eval_run_id is not None:
        _check_id(how.eval_run_id)
    directory = settings.outputs.output_dir
    manifest = read_document(directory / MANIFEST)
    report = read_document(directory / report_file(settings))
    if report is None:
        raise_all(EvalError, list(_other_inputs(settings, manifest)))
        _refuse_unfinished(settings, finished=manifest is not None)
        return Before(eval_run_id=how.eval_run_id or _new_id(how), concluded=False, manifest=None)
    raise_all(
        EvalError, [*_other_inputs(settings, manifest), *_other_report(settings, how.eval_run_id, report, manifest)]
    )
    _require_caches(settings)
    return Before(
        eval_run_id=str(report["eval_run_id"]),
        concluded=settings.outputs.cache_candidate_responses,
        manifest=manifest,
    )


def report_file(settings: EvalSettings) -> str:
    """The file whose presence says that every candidate was measured."""
    return REPORT if settings.public else HELD_OUT_FILE


def recorded_files(settings: EvalSettings) -> tuple[str, ...]:
    """Names in the manifest of the caches that this run keeps."""
    wanted = (
        settings.outputs.cache_candidate_responses,
        settings.outputs.cache_tool_results and settings.executable,
    )
    return tuple(name for name, kept in zip(CACHES, wanted, strict=True) if kept)


def _check_id(given: str) -> None:
    if given and given == given.strip() and given.isprintable():
        return
    message = f"the run id {given!r} is blank, padded or holds control characters; expected it as it is to be reused"
    fix = "give the id without blanks around it, or leave it out"
    raise EvalError(Problem(code=RUNNER_INVALID, subject="eval_run_id", message=message, fix=fix))


def _new_id(how: How) -> str:
    return f"bfcl-eval-{how.now():%Y%m%dT%H%M%SZ}-{how.fresh()}"


def _other_inputs(settings: EvalSettings, manifest: Mapping[str, Json] | None) -> Iterator[Problem]:
    """A finished result of another configuration, which is never written over."""
    if not _is_of(settings, manifest):
        path = settings.outputs.output_dir / MANIFEST
        yield Problem(
            code=CONFLICT, path=shown(path), message=f"is the result of {_other(settings, manifest)}", fix=_ELSEWHERE
        )


def _other_report(
    settings: EvalSettings, given: str | None, report: Mapping[str, Json], manifest: Mapping[str, Json] | None
) -> Iterator[Problem]:
    """A report of another run, or of another configuration where no manifest has told that already."""
    path = shown(settings.outputs.output_dir / report_file(settings))
    if not _is_of(settings, report) and _is_of(settings, manifest):
        yield Problem(code=RUNNER_INVALID, path=path, message=f"is of {_other(settings, report)}", fix=_ELSEWHERE)
    own = report.get("eval_run_id")
    if not isinstance(own, str) or (given is not None and given != own):
        message = f"is of the run {own}; expected {'a run id' if given is None else given}"
        fix = "leave the run id out, or name another directory"
        yield Problem(code=RUNNER_INVALID, path=path, message=message, fix=fix)


def _is_of(settings: EvalSettings, document: Mapping[str, Json] | None) -> bool:
    return document is None or document.get("eval_config_hash") == settings.eval_config_hash


def _other(settings: EvalSettings, document: Mapping[str, Json] | None) -> str:
    seen = None if document is None else document.get("eval_config_hash")
    return f"the configuration {seen}; this one is {settings.eval_config_hash}"


def _refuse_unfinished(settings: EvalSettings, *, finished: bool) -> None:
    directory = settings.outputs.output_dir
    if finished:
        raise EvalError(unusable(directory / REPORT, "is gone, and the manifest speaks of it"))
    left = [file for file in ARTIFACTS.values() if (directory / file).exists()]
    if left:
        message = f"holds {', '.join(left)} of a run that did not end; expected a new directory, as nothing is mended"
        fix = "name another `outputs.output_dir`, and this directory as `resume_from`: what was answered is taken over"
        raise EvalError(Problem(code=CONFLICT, path=shown(directory), message=message, fix=fix))


def _require_caches(settings: EvalSettings) -> None:
    """Of a reported set: what it was made of has to be there."""
    paths = [settings.outputs.output_dir / ARTIFACTS[name] for name in recorded_files(settings)]
    gone = [unusable(path, "is gone, and the report was made of it") for path in paths if not path.is_file()]
    if gone:
        raise EvalError(gone)
