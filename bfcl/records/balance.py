"""What did stage 11 decide about one task? Rule: generation.md §3, stage 11."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from bfcl.canonical import Json
from bfcl.records.ids import TaskId

BalanceDrop: TypeAlias = Literal["semantic_duplicate", "max_turns_exceeded", "max_tool_calls_exceeded", "balance_quota"]
"""Why a survivor of stage 10 is not published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancedTask:
    """A row of `balanced_tasks`: fields carry that table's column names."""

    task_id: TaskId
    contract_version: str
    selected: bool
    is_duplicate: bool
    """Another row represents it, whether or not duplicates are removed."""
    duplicate_cluster_id: str | None
    representative_task_id: TaskId
    drop_reason: BalanceDrop | None
    """None exactly for selected rows."""
    balance_dimension: str | None
    """What is full where the row would go; None unless the reason is `balance_quota`."""
    selection_rank: int | None
    """Place in the publication, from 0; None unless selected."""
    curator_cluster_id: str | None
    curator_is_duplicate: bool
    curator_predecessor_id: TaskId | None
    curator_similarity_score: float | None
    text_hash: str
    capability_signature: str
    language: str
    edge_signatures: tuple[str, ...]
    intent: str
    category: str
    required_tools: tuple[str, ...]
    """Sorted, as the next."""
    tools_present: tuple[str, ...]
    difficulty: str
    turn_class: str
    tool_call_count: str
    """`0`, `1`, `2` or `3+`."""
    turn_policy: str
    num_turns: int
    """User turns."""
    num_tool_calls: int
    coverage_locked: bool
    """Nothing else could have been selected for its coverage bucket, so it had to be."""
    representative_rank: tuple[Json, ...]
    """Least won its cluster."""
