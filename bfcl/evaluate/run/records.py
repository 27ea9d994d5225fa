"""Which records does a run keep, and which of other runs' may it take answers from? Rule: evaluation.md §11."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bfcl.digest import Digest, sha256_file
from bfcl.evaluate.artifacts.names import CANDIDATE_CACHE, TOOL_TRACE_CACHE
from bfcl.evaluate.artifacts.result import Imported
from bfcl.evaluate.drive.tool_trace_cache import ToolTraceCache
from bfcl.evaluate.run.directory import recorded_files
from bfcl.evaluate.run.earlier import NO_EARLIER, Earlier, EarlierCalls, EarlierEpisodes
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.modelio.candidate_cache import CandidateCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """None for a record that is not kept, or not there to be taken from."""

    calls: CandidateCache | None
    episodes: ToolTraceCache | None
    earlier_calls: EarlierCalls | None
    earlier_episodes: EarlierEpisodes | None
    imported: Imported | None

    def withdraw(self) -> None:
        """Take away what a run that is refused leaves where it concluded nothing: episodes that were only begun.

        Whoever mends what refused it can then run the same command again.
        """
        if self.episodes is not None and not self.episodes and not self.calls:
            self.episodes.path.unlink(missing_ok=True)


def open_records(settings: EvalSettings, earlier: Earlier = NO_EARLIER) -> Records:
    """Open and verify them. Raises: EvalError of damaged records."""
    directory = settings.outputs.output_dir
    kept = recorded_files(settings)
    calls = CandidateCache(directory / CANDIDATE_CACHE) if "candidate_io_cache" in kept else None
    episodes = ToolTraceCache(directory / TOOL_TRACE_CACHE) if "tool_trace_cache" in kept else None
    if not earlier.directories:
        return Records(calls=calls, episodes=episodes, earlier_calls=None, earlier_episodes=None, imported=None)
    # Hashed before they are read: what is read may then be more, never other.
    imported = _imported(earlier.directories)
    played = [
        ToolTraceCache(one / TOOL_TRACE_CACHE, imported=True) for one in earlier.directories if settings.executable
    ]
    return Records(
        calls=calls,
        episodes=episodes,
        earlier_calls=earlier.calls(),
        earlier_episodes=EarlierEpisodes(played) if played else None,
        imported=imported,
    )


def _imported(directories: Sequence[Path]) -> Imported | None:
    """What the manifest says of them, nested as one went on from the other."""
    told = None
    for one in reversed(directories):
        told = Imported(
            candidate_io_cache=_hash(one / CANDIDATE_CACHE),
            tool_trace_cache=_hash(one / TOOL_TRACE_CACHE),
            further=told,
        )
    return told


def _hash(path: Path) -> Digest | None:
    return sha256_file(path) if path.is_file() else None
