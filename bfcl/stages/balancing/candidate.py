"""What does balancing know of a survivor of stage 10, and whom is it held to be like? Rule: generation.md §3.8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_hex
from bfcl.records.ids import TaskId, TemplateId

TurnClass: TypeAlias = Literal["single_turn", "multi_turn"]
ToolCallBucket: TypeAlias = Literal["0", "1", "2", "3+"]
CoverageBucket: TypeAlias = tuple[str, str, tuple[str, ...]]
"""Language, turn policy, sorted edge signatures."""

TOOL_CALL_BUCKETS: Final[tuple[ToolCallBucket, ...]] = ("0", "1", "2", "3+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One survivor of stage 10. Text fields are never empty: `survivor.gather` refuses what lacks one."""

    task_id: TaskId
    template_id: TemplateId
    language: str
    source: Literal["template", "model"]
    """Who worded it."""
    intent: str
    category: str
    difficulty: str
    turn_policy: str
    edge_signatures: tuple[str, ...]
    """Sorted, distinct."""
    required_tools: tuple[str, ...]
    """Sorted."""
    tools_present: tuple[str, ...]
    """Sorted."""
    num_turns: int
    """User turns."""
    num_tool_calls: int
    text_hash: str
    """Of the masked user turns, 64 hex digits: rows that share it read the same."""
    capability_signature: str
    """64 hex digits: rows that share it exercise the same tools in the same way."""
    execution_case: str
    """64 hex digits: rows that share it do the same thing with the same values."""
    judge_error: bool
    advisory_failures: int
    failed_checks: int
    """Surface checks that failed or broke."""

    @property
    def turn_class(self) -> TurnClass:
        return "multi_turn" if self.num_turns > 1 else "single_turn"

    @property
    def tool_call_bucket(self) -> ToolCallBucket:
        return TOOL_CALL_BUCKETS[min(self.num_tool_calls, 3)]

    @property
    def coverage_bucket(self) -> CoverageBucket:
        return (self.language, self.turn_policy, self.edge_signatures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What finder and partition decided about one candidate, as `balanced_tasks` keeps it."""

    is_duplicate: bool
    """Not the representative of its group."""
    duplicate_cluster_id: str | None
    """None for a row that stands alone."""
    representative_task_id: TaskId
    """Its own id for a representative and for a row that stands alone."""
    curator_cluster_id: str | None
    """The linked component the finder's answer puts it in, not yet split by bucket and capability; None if alone."""
    curator_is_duplicate: bool
    curator_predecessor_id: TaskId | None
    """The most alike row before it in its partition, linked or not; None for the first of a partition."""
    curator_similarity_score: float | None
    """Cosine similarity to that predecessor; None without one."""
    representative_rank: tuple[Json, ...]
    """Least wins its group; the table holds it as JSON text."""


def lot(seed: int, task_id: TaskId) -> str:
    """Where a task falls in the seeded order: SHA-256 hex of `{"seed", "task_id"}`. Rule: generation.md §3.8.4, .8."""
    return sha256_hex(canonical_json({"seed": seed, "task_id": task_id}))
