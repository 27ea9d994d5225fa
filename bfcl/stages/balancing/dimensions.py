"""Along which dimensions is a selection counted, within which groups is reuse capped? Rule: generation.md §3.8.6.

A candidate always has an intent, a category and a difficulty: gathering candidates refuses templates without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TypeAlias

from bfcl.canonical import canonical_text
from bfcl.stages.balancing.candidate import TOOL_CALL_BUCKETS, Candidate

Reading: TypeAlias = Callable[[Candidate], str]

GroupName: TypeAlias = Literal["exact_surface", "intent", "execution_case"]

DIMENSIONS: Final[Mapping[str, Reading]] = {
    "intent": lambda candidate: candidate.intent,
    "category": lambda candidate: candidate.category,
    "required_tools": lambda candidate: canonical_text(candidate.required_tools),
    "tools_present": lambda candidate: canonical_text(candidate.tools_present),
    "difficulty": lambda candidate: candidate.difficulty,
    "turn_class": lambda candidate: candidate.turn_class,
    "tool_call_count": lambda candidate: candidate.tool_call_bucket,
    "turn_policy": lambda candidate: candidate.turn_policy,
}
"""Name to the bucket a candidate falls in; sets of tools read as canonical JSON of the sorted names."""

GROUPS: Final[Mapping[GroupName, Reading]] = {
    "exact_surface": lambda candidate: candidate.text_hash,
    "intent": lambda candidate: candidate.intent,
    "execution_case": lambda candidate: candidate.execution_case,
}
"""Name to the group a candidate falls in, where a cap on its rows can be declared."""


def intent_bucket(candidate: Candidate) -> str:
    """How an intent within its category is named, where `max_intent_share` is asked about."""
    return f"{candidate.category}/{candidate.intent}"


def counts(candidates: Iterable[Candidate], reading: Reading) -> dict[str, int]:
    """Bucket to number of candidates, in order of first appearance."""
    return dict(Counter(map(reading, candidates)))


def all_counts(candidates: Iterable[Candidate]) -> dict[str, dict[str, int]]:
    """`counts` along every dimension; a tool call bucket is there even where it is empty."""
    rows = tuple(candidates)
    found = {name: counts(rows, reading) for name, reading in DIMENSIONS.items()}
    found["tool_call_count"] = {bucket: found["tool_call_count"].get(bucket, 0) for bucket in TOOL_CALL_BUCKETS}
    return found
