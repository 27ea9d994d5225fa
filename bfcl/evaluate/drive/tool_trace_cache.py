"""Which episodes did a run play against the oracle, and what came of each? Rule: evaluation.md §11.

`tool_trace_cache.jsonl` has two records of an episode: its request, written before the oracle is reset, and its
completion. A request that nothing completes is what a crash leaves, and such a file counts for nothing but for what
another run may take over. No single call is ever remembered: an episode is played whole or taken whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json
from bfcl.errors import EvalError, raise_all
from bfcl.evaluate.drive.evidence_json import UnreadableEvidenceError, evidence_text, read_evidence
from bfcl.evaluate.records import EpisodeEvidence, attribution
from bfcl.modelio.append_log import AppendLog
from bfcl.modelio.group_commit import GroupCommit
from bfcl.modelio.log_form import LogForm, LogRecord, UnfitError, Unit

FILE: Final = "tool_trace_cache.jsonl"
SCHEMA_VERSION: Final = "1.0"
FORM: Final = LogForm(
    schema_version=SCHEMA_VERSION,
    # Episodes overlap: each record stands alone, and its key says what it belongs to.
    begins=frozenset({"request", "completion"}),
    ends=frozenset({"request", "completion"}),
    invalid_code="eval_tool_trace_cache_invalid",
    conflict_code="eval_tool_trace_cache_conflict",
)


@dataclass(frozen=True, kw_only=True)
class EpisodeRequest:
    """What an episode depends on. Two with one key are the same episode; no path and no time is in it."""

    candidate_alias: str
    canonical_model_identity: str
    task_id: str
    trial: int
    plan_identity: Digest
    eval_config_hash: Digest
    scoring_policy_hash: Digest
    source_verification_identity: Digest
    oracle_fingerprint: Digest
    script_hash: Digest
    task_spec_hash: Digest

    def to_json(self) -> dict[str, Json]:
        """The record's payload."""
        return {"schema_version": SCHEMA_VERSION, **dataclasses.asdict(self)}

    @cached_property
    def key(self) -> Digest:
        """Of `to_json`."""
        return sha256_json(self.to_json())


class RecordedEpisode(NamedTuple):
    """An episode as recorded."""

    request: EpisodeRequest
    evidence: EpisodeEvidence


class ToolTraceCache:
    """The episodes of one file."""

    def __init__(self, path: Path, *, imported: bool = False) -> None:
        """Read and verify the file, which may be absent.

        Of an `imported` file only episodes count that the candidate's own doing ended, what a crash left is passed
        over, and nothing is appended.
        Raises: EvalError `eval_tool_trace_cache_invalid`, `eval_tool_trace_cache_conflict`, each problem with its line.
        """
        self.path = path
        self._imported = imported
        self._log = AppendLog(path, FORM, _read, cut_short_passes=imported)
        self._commit = GroupCommit(self._log)
        names = self._log.places()
        requests = [key for kind, key in names if kind == "request"]
        completed = {key for kind, key in names if kind == "completion"}
        problems = [
            self._log.problem("completion", key, "completes an episode that no request began")
            for key in sorted(completed.difference(requests))
        ]
        if not imported:
            problems += [
                self._log.problem("request", key, "was never completed: a crash cut that episode off")
                for key in requests
                if key not in completed
            ]
        raise_all(EvalError, problems)

    def __len__(self) -> int:
        """How many episodes are recorded whole, however they ended."""
        return sum(kind == "completion" for kind, _ in self._log.places())

    def find(self, request: EpisodeRequest) -> EpisodeEvidence | None:
        """What came of the episode; None where it is to be played.

        Raises: EvalError `eval_tool_trace_cache_invalid` where the file changed.
        """
        found = self._log.find("completion", request.key)
        if not isinstance(found, EpisodeEvidence):
            return None
        if self._imported and attribution(found.status) == "infrastructure":
            return None
        return found

    async def begin(self, request: EpisodeRequest) -> None:
        """Record, before its oracle is reset, that an episode is played; on return that has reached the disk.

        Raises: as `AppendLog.append`.
        """
        await self._commit.append((LogRecord(record_type="request", key=request.key, payload=request.to_json()),))

    async def complete(self, request: EpisodeRequest, evidence: EpisodeEvidence) -> None:
        """Record what came of it. Raises: as `AppendLog.append`."""
        await self._commit.append((_completion(request, evidence),))

    async def put(self, request: EpisodeRequest, evidence: EpisodeEvidence) -> None:
        """Take over an episode that another run played. Raises: as `AppendLog.append`."""
        await self.begin(request)
        await self.complete(request, evidence)

    def digests(self) -> Iterator[Digest]:
        """`digest_of` every episode recorded whole, as its bytes are now. Raises: as `find`."""
        for kind, key in list(self._log.places()):
            digests = self._log.digests(kind, key)
            if kind == "completion":
                yield from digests

    def episodes(self) -> Iterator[RecordedEpisode]:
        """Every episode recorded whole, in the order in which they were begun. Raises: as `find`."""
        for kind, key in list(self._log.places()):
            request = self._log.find("request", key) if kind == "request" else None
            evidence = None if request is None else self._log.find("completion", key)
            if isinstance(request, EpisodeRequest) and isinstance(evidence, EpisodeEvidence):
                yield RecordedEpisode(request, evidence)


def digest_of(request: EpisodeRequest, evidence: EpisodeEvidence) -> Digest:
    """The `record_hash` under which an episode is recorded whole: of its key and of all of its evidence."""
    return FORM.digest(_completion(request, evidence))


def _completion(request: EpisodeRequest, evidence: EpisodeEvidence) -> LogRecord:
    text = evidence_text(evidence)
    return LogRecord(record_type="completion", key=request.key, payload=None, spelled=text)


def _read(unit: Unit) -> EpisodeRequest | EpisodeEvidence:
    """What a record says. Raises: UnfitError."""
    (record,) = unit
    if record.record_type == "request":
        return _request(record)
    try:
        return read_evidence(record.payload)
    except UnreadableEvidenceError as unreadable:
        raise UnfitError(f"the episode cannot be read: {unreadable}") from None


def _request(record: LogRecord) -> EpisodeRequest:
    names = {field.name for field in dataclasses.fields(EpisodeRequest)}
    payload = record.payload
    if not isinstance(payload, Mapping) or payload.keys() != {*names, "schema_version"}:
        raise UnfitError("the request has other fields than one")
    values = {name: payload[name] for name in names}
    wanted = {name: int if name == "trial" else str for name in names}
    if any(type(values[name]) is not wanted[name] for name in names):
        raise UnfitError("the request has fields of other types than one")
    request = EpisodeRequest(**values)  # type: ignore[arg-type]
    if payload["schema_version"] != SCHEMA_VERSION or request.key != record.key:
        raise UnfitError("`key` is not that of the request")
    return request
