"""Which records does a run keep, and which of another run's may it take answers from? Rule: evaluation.md §11."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bfcl.digest import Digest, sha256_file
from bfcl.errors import EvalError, Problem
from bfcl.evaluate.artifacts.names import ARTIFACTS, CANDIDATE_CACHE, TOOL_TRACE_CACHE
from bfcl.evaluate.artifacts.result import Imported
from bfcl.evaluate.drive.tool_trace_cache import ToolTraceCache
from bfcl.evaluate.run.directory import recorded_files
from bfcl.evaluate.settings.envelope import INVALID as CLI_INVALID
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.settings.resolved import FILE as RESOLVED_CONFIG
from bfcl.modelio.candidate_cache import CandidateCache
from bfcl.pack.layout import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """None for a record that is not kept, or not there to be taken from."""

    calls: CandidateCache | None
    episodes: ToolTraceCache | None
    earlier_calls: CandidateCache | None
    earlier_episodes: ToolTraceCache | None
    imported: Imported | None

    def withdraw(self) -> None:
        """Take away what a run that is refused leaves where it concluded nothing: episodes that were only begun.

        Whoever mends what refused it can then run the same command again.
        """
        if self.episodes is not None and not self.episodes and not self.calls:
            self.episodes.path.unlink(missing_ok=True)


def open_records(envelope: Envelope, settings: EvalSettings) -> Records:
    """Open and verify them.

    Raises: EvalError of damaged records, and `eval_cli_invalid` where `resume_from` is no output directory.
    """
    directory = settings.outputs.output_dir
    kept = recorded_files(settings)
    earlier = envelope.resume_from
    if earlier is not None:
        _check_earlier(envelope, earlier, directory)
    calls = earlier_calls = None
    episodes = earlier_episodes = None
    if "candidate_io_cache" in kept:
        calls = CandidateCache(directory / CANDIDATE_CACHE)
    if "tool_trace_cache" in kept:
        episodes = ToolTraceCache(directory / TOOL_TRACE_CACHE)
    imported = None
    if earlier is not None:
        # Hashed before it is read: what is read may then be more, never other.
        imported = Imported(
            candidate_io_cache=_hash(earlier / CANDIDATE_CACHE), tool_trace_cache=_hash(earlier / TOOL_TRACE_CACHE)
        )
        earlier_calls = CandidateCache(earlier / CANDIDATE_CACHE, imported=True)
        if settings.executable:
            earlier_episodes = ToolTraceCache(earlier / TOOL_TRACE_CACHE, imported=True)
    return Records(
        calls=calls,
        episodes=episodes,
        earlier_calls=earlier_calls,
        earlier_episodes=earlier_episodes,
        imported=imported,
    )


def _check_earlier(envelope: Envelope, earlier: Path, directory: Path) -> None:
    message = None
    if earlier.resolve() == directory.resolve():
        message = "is the output directory itself; expected that of an earlier run, which stays as it is"
    elif not any((earlier / name).is_file() for name in (RESOLVED_CONFIG, *ARTIFACTS.values())):
        message = f"holds neither {RESOLVED_CONFIG} nor {CANDIDATE_CACHE}; expected an output directory"
    if message is not None:
        fix = "name the directory of the run to go on with, or leave `resume_from` out"
        path = shown(envelope.path)
        raise EvalError(
            Problem(code=CLI_INVALID, path=path, field="resume_from", message=f"resume_from {message}", fix=fix)
        )


def _hash(path: Path) -> Digest | None:
    return sha256_file(path) if path.is_file() else None
