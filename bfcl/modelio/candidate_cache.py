"""Which calls of candidates are concluded already? The append-only record of one output directory.

Rule: evaluation.md §11, translation.md §13.6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json
from bfcl.modelio.append_log import AppendLog
from bfcl.modelio.exchange import ChatOutcome, ChatRequest
from bfcl.modelio.group_commit import GroupCommit
from bfcl.modelio.recorded_chat import FORM, Exchange, exchange_of, unit_of

FILE: Final = "candidate_io_cache.jsonl"
IMPORTED: Final = frozenset({"completed", "malformed_response"})
"""Outcomes that are the candidate's own: the only ones that another run's record vouches for."""


class Ending(NamedTuple):
    """What a recorded call came to, as it stands there."""

    request_hash: Digest
    status: Json
    response_hash: Digest | None


class CandidateCache:
    """The concluded calls of one file, whatever came of them, each written whole or not at all."""

    def __init__(self, path: Path, *, imported: bool = False) -> None:
        """Read and verify the file, which may be absent.

        Of an `imported` file only the candidate's own outcomes count, what a crash left unfinished at its end is passed
        over, and nothing is appended.
        Raises: EvalError `eval_candidate_cache_invalid`, `eval_candidate_cache_conflict`, each problem with its line.
        """
        self.path = path
        self._imported = imported
        self._log = AppendLog(path, FORM, exchange_of, cut_short_passes=imported)
        self._commit = GroupCommit(self._log)

    def __len__(self) -> int:
        """How many calls are recorded, of whatever outcome."""
        return len(self._log)

    def find(self, request: ChatRequest) -> ChatOutcome | None:
        """How the call ended, marked as replayed; None where it is to be asked.

        Raises: EvalError `eval_candidate_cache_invalid` where the file changed.
        """
        found = self.exchange(request.request_hash)
        return None if found is None else found.outcome

    def exchange(self, request_hash: Digest) -> Exchange | None:
        """The call recorded under a hash, with its request; None as for `find`. Raises: as `find`."""
        found = self._log.find("request", request_hash)
        if found is None or (self._imported and found.outcome.status not in IMPORTED):
            return None
        return found

    async def put(self, request: ChatRequest, outcome: ChatOutcome) -> None:
        """Record a concluded call; on return it has reached the disk.

        Raises: EvalError `eval_candidate_cache_conflict` where it is recorded otherwise, and as on reading; StageError
        `storage_failed`.
        """
        await self._commit.append(unit_of(request, outcome))

    def endings(self) -> Iterator[Ending]:
        """Of every recorded call, nothing of it made anew. Raises: as `find`."""
        for record_type, key in list(self._log.places()):
            payload = self._log.last(record_type, key).payload
            told = payload if isinstance(payload, Mapping) else {}
            response = told.get("response")
            yield Ending(Digest(key), told.get("status"), None if response is None else sha256_json(response))

    def exchanges(self) -> Iterator[Exchange]:
        """Every recorded call, in the order of the file. Raises: as `find`."""
        return self._log.units()
