"""Is a candidate the model that had a hand in the benchmark? Strongest evidence first. Rule: evaluation.md §4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.evaluate.settings.model import Candidate
from bfcl.evaluate.source.exposures import Exposure, Role

Answer = Literal["match", "different", "unknown"]
Evidence = Literal["weights_digest", "canonical_id", "served_model", "sources", "revision", "name", "names"]

MANIFEST_SCHEME: Final = "bfcl-weight-manifest-v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer for one candidate and one exposure."""

    alias: str
    canonical_id: str
    role: Role
    exposed_model: str
    """Canonical id of the model that the benchmark was exposed to."""
    answer: Answer
    evidence: Evidence
    """What decided: `names` that none is shared or one side has none, `name` that one is shared and nothing else said,
    `sources` that those of a shared name conflict."""
    task_count: int
    task_ids_hash: Digest
    """Of the tasks that the exposure covers."""

    def to_json(self) -> dict[str, Json]:
        """The verdict as identities and reports hold it."""
        return {
            "candidate_alias": self.alias,
            "candidate_canonical_id": self.canonical_id,
            "role": self.role,
            "exposed_model": self.exposed_model,
            "verdict": self.answer,
            "evidence": self.evidence,
            "task_count": self.task_count,
            "task_ids_hash": self.task_ids_hash,
        }


def judge(candidate: Candidate, exposure: Exposure) -> Verdict:
    """Hold one candidate against one exposure."""
    answer, evidence = _answer(candidate, exposure)
    return Verdict(
        alias=candidate.alias,
        canonical_id=candidate.canonical_id,
        role=exposure.role,
        exposed_model=exposure.canonical_id,
        answer=answer,
        evidence=evidence,
        task_count=len(exposure.task_ids),
        task_ids_hash=exposure.task_ids_hash,
    )


def _answer(candidate: Candidate, exposure: Exposure) -> tuple[Answer, Evidence]:
    identity = candidate.identity
    weights = _digests(identity.weights_digest, exposure.weights_digest)
    if weights is not None:
        return weights, "weights_digest"
    if _equal(candidate.canonical_id, exposure.canonical_id):
        return "match", "canonical_id"
    # A manifest says of a role which model answered, and not under which of its names: that is the one served.
    if _equal(candidate.model, exposure.model) and not _conflict(candidate.provider, exposure.provider):
        return "match", "served_model"
    ours, theirs = {normalised(candidate.model), normalised(identity.model)} - {""}, {normalised(exposure.model)} - {""}
    if not ours & theirs:
        return ("different" if ours and theirs else "unknown"), "names"
    if _conflict(identity.source, exposure.source):
        return "unknown", "sources"
    if identity.revision is not None and exposure.revision is not None:
        return ("match" if _equal(identity.revision, exposure.revision) else "different"), "revision"
    return "unknown", "name"


def normalised(name: str) -> str:
    """What is left of a model's name: its last path segment, case-folded, letters and digits only."""
    return "".join(one for one in name.rstrip("/").rpartition("/")[2].casefold() if one.isalnum())


def _digests(ours: str | None, theirs: str | None) -> Answer | None:
    """What two weight digests say, None where they cannot be compared.

    A manifest of files also covers their names, so that equal weights may well have two of them.
    """
    if ours is None or theirs is None:
        return None
    one, other = _parts(ours), _parts(theirs)
    if one[1] == other[1]:
        return "match"
    comparable = one[0] == other[0] != MANIFEST_SCHEME and len(one[1]) == len(other[1])
    return "different" if comparable else None


def _parts(digest: str) -> tuple[str, str]:
    scheme, _, body = digest.strip().casefold().rpartition(":")
    return scheme, body


def _equal(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _conflict(one: str | None, other: str | None) -> bool:
    """Whether both are known and not the same."""
    return bool(one) and bool(other) and not _equal(one or "", other or "")
