"""Do the records hold exactly the calls and episodes that the scores are made of? Rule: evaluation.md §11.

Compared by sums of digests, so that a run of any length needs no more memory for it than a short one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.digest import sha256_json
from bfcl.errors import EvalError
from bfcl.evaluate.artifacts.reading import unusable
from bfcl.evaluate.drive.tool_trace_cache import EpisodeRequest, digest_of
from bfcl.evaluate.records import EpisodeEvidence
from bfcl.evaluate.run.records import Records

_MODULUS: Final = 1 << 256


class Total(NamedTuple):
    """What tells two heaps of things apart."""

    digests: int
    """The sum of their digests, as long as one."""
    number: int


class DigestSum:
    """The sum and number of some things, in any order."""

    def __init__(self) -> None:
        self._sum = 0
        self._count = 0

    def add(self, thing: Json) -> None:
        """Count one thing in."""
        self._sum = (self._sum + int(sha256_json(thing).removeprefix("sha256:"), 16)) % _MODULUS
        self._count += 1

    @property
    def total(self) -> Total:
        """Of all that was counted in."""
        return Total(self._sum, self._count)


class Used:
    """What the episodes of a run were made of."""

    def __init__(self) -> None:
        self.calls = DigestSum()
        self.episodes = DigestSum()

    def add(self, evidence: EpisodeEvidence, request: EpisodeRequest | None) -> None:
        """Count an episode in, with every call that it made."""
        for turn in evidence.turns:
            response = None if turn.response is None else turn.response.response_hash
            self.calls.add([turn.request_hash, turn.call_status, response])
        if request is not None:
            self.episodes.add(digest_of(request, evidence))

    def check(self, records: Records) -> None:
        """Hold the records against it.

        Raises: EvalError `eval_artifact_invalid` where a record holds a call or episode that no score is made of, or
        lacks one; and of a damaged record.
        """
        if records.calls is not None:
            found = DigestSum()
            for ending in records.calls.endings():
                found.add(ending)
            if found.total != self.calls.total:
                raise EvalError(
                    unusable(records.calls.path, "holds other calls than those that the scores are made of")
                )
        if records.episodes is not None:
            found = DigestSum()
            for digest in records.episodes.digests():
                found.add(digest)
            if found.total != self.episodes.total:
                raise EvalError(unusable(records.episodes.path, "holds other episodes than the scores are made of"))
