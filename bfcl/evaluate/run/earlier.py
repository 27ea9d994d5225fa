"""Which earlier runs are answers taken over from? The one named, and those that it was itself going on from. Rule: §11.

Answers are copied when they are needed, since a record may hold no call that no score is made of. A run that was
killed therefore lacks some of those that it was to take over, and whoever goes on from it reads on where it read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.digest import Digest
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.artifacts.names import ARTIFACTS, CANDIDATE_CACHE, HELD_OUT_FILE, REPORT
from bfcl.evaluate.artifacts.reading import read_document
from bfcl.evaluate.drive.tool_trace_cache import EpisodeRequest, ToolTraceCache
from bfcl.evaluate.records import EpisodeEvidence
from bfcl.evaluate.settings.envelope import INVALID as CLI_INVALID
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.settings.resolved import FILE as RESOLVED_CONFIG
from bfcl.evaluate.settings.resolved import RESUME_FROM
from bfcl.evaluate.source.reports import recorded_refusal
from bfcl.modelio.candidate_cache import IMPORTED, CandidateCache
from bfcl.modelio.exchange import ChatOutcome, ChatRequest
from bfcl.modelio.recorded_chat import Exchange
from bfcl.pack.layout import shown

GONE: Final = "resumed_directory_gone"
NAME_ANOTHER: Final = "name the directory of the run to go on with, or leave `resume_from` out"
"""The fix where the one that is named is of no use."""


class Earlier(NamedTuple):
    """Directories to take answers from, the one named first, each next one what the one before was going on from."""

    directories: tuple[Path, ...]
    gone: Path | None
    """One that the last of them was going on from and that is no output directory any more."""

    def calls(self) -> EarlierCalls | None:
        """Their records of calls, None where there is no such run. Raises: EvalError of a damaged record."""
        records = [CandidateCache(one / CANDIDATE_CACHE, imported=True) for one in self.directories]
        return EarlierCalls(records) if records else None

    def warnings(self) -> tuple[Problem, ...]:
        """What may have to be paid for again."""
        if self.gone is None:
            return ()
        message = f"was going on from {shown(self.gone)}, which is gone; what it had not taken over is asked again"
        fix = f"stop, and bring back {shown(self.gone)} first, where its answers were paid for"
        return (Problem(code=GONE, path=shown(self.directories[-1]), message=message, fix=fix),)


NO_EARLIER: Final = Earlier((), None)


def earlier_runs(envelope: Envelope, settings: EvalSettings) -> Earlier:
    """Follow `resume_from`; nothing is written.

    Raises: EvalError `eval_cli_invalid` where it names no output directory, `eval_artifact_invalid` where what a
    directory says of itself cannot be read.
    """
    if envelope.resume_from is None:
        return NO_EARLIER
    _check(envelope, envelope.resume_from, settings.outputs.output_dir)
    own = os.path.realpath(settings.outputs.output_dir)
    found: dict[str, Path] = {}
    named: Path | None = envelope.resume_from
    while named is not None and os.path.realpath(named) not in {own, *found}:
        if not is_output_directory(named):
            return Earlier(tuple(found.values()), named)
        found[os.path.realpath(named)] = named
        named = _went_on_from(named)
    return Earlier(tuple(found.values()), None)


def is_output_directory(directory: Path) -> bool:
    """Whether an evaluation wrote into it, were it only its configuration."""
    return any((directory / name).is_file() for name in (RESOLVED_CONFIG, *ARTIFACTS.values()))


class EarlierCalls:
    """The calls of several runs. The first that knows one answers."""

    def __init__(self, records: Sequence[CandidateCache]) -> None:
        self._records = records

    def find(self, request: ChatRequest) -> ChatOutcome | None:
        """See `CandidateCache.find`."""
        found = self.exchange(request.request_hash)
        return None if found is None else found.outcome

    def exchange(self, request_hash: Digest) -> Exchange | None:
        """See `CandidateCache.exchange`."""
        found = (one.exchange(request_hash) for one in self._records)
        return next((one for one in found if one is not None), None)

    def answers(self) -> Iterator[Exchange]:
        """Every call that can be taken over, record by record; one that several hold comes as often."""
        for record in self._records:
            yield from (one for one in record.exchanges() if one.outcome.status in IMPORTED)


class EarlierEpisodes:
    """The episodes of several runs. The first that knows one answers."""

    def __init__(self, records: Sequence[ToolTraceCache]) -> None:
        self._records = records

    def find(self, request: EpisodeRequest) -> EpisodeEvidence | None:
        """See `ToolTraceCache.find`."""
        found = (one.find(request) for one in self._records)
        return next((one for one in found if one is not None), None)


def _went_on_from(directory: Path) -> Path | None:
    """What a run that did not end was to take answers from. One that ended has all of them."""
    if any((directory / name).exists() for name in (REPORT, HELD_OUT_FILE)):
        return None
    document = read_document(directory / RESOLVED_CONFIG)
    paths = None if document is None else document.get("resolved_paths")
    named = paths.get(RESUME_FROM) if isinstance(paths, Mapping) else None
    return Path(named) if isinstance(named, str) and "\0" not in named else None


def _check(envelope: Envelope, earlier: Path, directory: Path) -> None:
    message = None
    fix = NAME_ANOTHER
    if os.path.realpath(earlier) == os.path.realpath(directory):
        message = f"is the output directory itself, {shown(directory)}; expected another than `outputs.output_dir`"
        fix = "give `outputs.output_dir` another value: what an earlier run left stays as it is"
    elif not is_output_directory(earlier):
        message = f"holds neither {RESOLVED_CONFIG} nor {CANDIDATE_CACHE}; expected an output directory"
    elif (refusal := recorded_refusal(earlier)) is not None and not (earlier / CANDIDATE_CACHE).is_file():
        message = f"names {shown(earlier)}, which has no answer on record: {refusal}"
    if message is not None:
        path = shown(envelope.path)
        raise EvalError(
            Problem(code=CLI_INVALID, path=path, field=RESUME_FROM, message=f"{RESUME_FROM} {message}", fix=fix)
        )
