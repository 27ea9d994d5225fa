"""What do script, evidence and score of one task hold? The types that the parts of an evaluation pass to each other.

Rule: evaluation.md §6-§10. Everything here is a value: no clock, no path, no provider bytes but what a reply said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from bfcl.canonical import Json
from bfcl.digest import Digest
from bfcl.modelio.exchange import CallStatus, ChatResponse

# --- the script: a pure projection of a published row (§6) ----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldCall:
    """One expected call. `index` counts the row's expected calls from 0."""

    index: int
    tool: str
    arguments: Mapping[str, Json]
    recorded_result: str
    """Text of the tool message in the row: canonical JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptTurn:
    """One assistant turn: a call group, or words where `calls` is empty."""

    index: int
    calls: tuple[GoldCall, ...]
    text: str | None
    """The recorded wording of a text turn."""
    user_after: str | None
    """The scripted user message that this turn releases."""
    terminal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What one task plays. `seed_messages` are leading system messages and the first user message."""

    task_id: str
    template_id: str
    seed_messages: tuple[Mapping[str, Json], ...]
    tools: tuple[Mapping[str, Json], ...]
    """Model-facing, as `tools` of the row; `parameters` is in each one's `function`."""
    turns: tuple[ScriptTurn, ...]
    call_order: Literal["strict", "any", "prefix"]
    call_order_prefix: int | None
    required_tools: tuple[str, ...]
    script_hash: Digest

    @property
    def gold_calls(self) -> tuple[GoldCall, ...]:
        """Every expected call in order."""
        return tuple(call for turn in self.turns for call in turn.calls)


# --- evidence: what happened (§6, §7) ------------------------------------------------------------------------------

EpisodeStatus = Literal[
    "completed",
    "candidate_mismatch",
    "malformed_response",
    "unusable_tool_call_ids",
    "confirmation_not_earned",
    "candidate_call_failed",
    "max_turns_exceeded",
    "episode_timeout",
    "oracle_reset_failed",
    "oracle_call_failed",
    "oracle_timeout",
    "oracle_result_malformed",
    "oracle_state_failed",
    "oracle_session_failed",
    "unknown_commit_state",
    "dependency_resolution_failed",
    "assertion_infrastructure_failed",
]
Attribution = Literal["success", "candidate", "infrastructure"]
CANDIDATE_STATUSES: Final = frozenset(
    {"candidate_mismatch", "malformed_response", "unusable_tool_call_ids", "confirmation_not_earned"}
)


def attribution(status: EpisodeStatus) -> Attribution:
    """Who ended an episode so. Rule: §9."""
    if status == "completed":
        return "success"
    return "candidate" if status in CANDIDATE_STATUSES else "infrastructure"


CommitState = Literal["committed", "not_committed", "unknown", "not_started", "not_applicable"]
ExecutionStatus = Literal[
    "completed", "business_rejection", "malformed_result", "tool_error", "timeout", "not_executed"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What became of one call that the candidate made. Executable episodes only; parallel to the reply's calls."""

    call_index: int
    """Position in the reply."""
    status: ExecutionStatus
    reason: str | None
    """`tool_execution.<reason>` where it was not executed."""
    tool: str
    arguments: Mapping[str, Json] | None
    """As handed to the oracle; None where nothing was."""
    result: str | None
    """Canonical JSON of the live result."""
    commit: CommitState
    detail: str | None
    """Prose; outside every hash."""


ResolutionStatus = Literal[
    "resolved",
    "producer_missing",
    "producer_ambiguous",
    "result_unavailable",
    "result_path_missing",
    "result_type_mismatch",
    "consumer_schema_invalid",
]
"""As §7 lists them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """One `from_result` argument of a gold call."""

    gold_index: int
    parameter: str
    producer_index: int
    path: tuple[str | int, ...]
    status: ResolutionStatus
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMatch:
    """A candidate call held against the gold call it was paired with, by the one comparison kernel (§8)."""

    call_index: int
    """Position in the reply."""
    gold_index: int | None
    """Index of the gold call it claims; None for a leftover."""
    name_matches: bool
    arguments_match: bool
    schema_reasons: tuple[str, ...]
    """Failure codes of the schema step on this call's own tool, sorted; `undeclared_tool`, `invalid_arguments` or
    `invalid_call_type` where it has none to satisfy."""
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        return self.gold_index is not None and self.name_matches and self.arguments_match


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEvidence:
    """One turn that was asked. `turn_index` is the script's: a live continuation may ask one more than once."""

    turn_index: int
    request_hash: Digest
    call_status: CallStatus
    response: ChatResponse | None
    gold: tuple[GoldCall, ...]
    """What was expected, dependent arguments filled from live results in an executable episode."""
    matches: tuple[CallMatch, ...]
    """Parallel to the reply's calls; empty on a text turn without calls or where there is no reply."""
    ordered: bool
    """Whether the call-order policy holds so far."""
    text_ok: bool | None
    """On a text turn: answered in words and nothing else, so false where no usable reply came. None on a call turn."""
    advanced: bool
    executions: tuple[Execution, ...] = ()
    resolutions: tuple[Resolution, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionEvidence:
    name: str
    category: str
    """As the pack declares it: `state`, `final_answer`, `path` or another."""
    verdict: Literal["passed", "failed", "not_applicable", "infrastructure_error"]
    detail: str | None
    """Prose; outside every hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeEvidence:
    """One task driven once. Executable fields stay empty in trace mode."""

    candidate_alias: str
    task_id: str
    mode: Literal["trace", "executable"]
    trial: int
    status: EpisodeStatus
    turns: tuple[TurnEvidence, ...]
    assertions: tuple[AssertionEvidence, ...] | None = None
    """None where they were not run: trace mode, or cut short."""
    final_state: str | None = None
    """Canonical JSON."""
    state_known: bool = True
    """False where a final state was needed and could not be read."""
    declared_assertions: tuple[str, ...] = ()
    unresolved: tuple[Resolution, ...] = ()
    """Dependent arguments of the turn that was never asked because one of them did not resolve."""
    detail: str | None = None


# --- scores (§9, §10) ----------------------------------------------------------------------------------------------

Scope = Literal["trace", "trace_and_executable"]
"""What a run scores; with the oracle every gate of a trace is scored too."""

GateName = Literal[
    "tool_selection",
    "arguments",
    "schema_valid",
    "call_grouping",
    "call_ordering",
    "text_turn",
    "trace_completion",
    "oracle_execution",
    "dependency_resolution",
    "commit_state_known",
    "assertions",
    "executable_completion",
]
GATES: Final[tuple[GateName, ...]] = get_args(GateName)
"""In the order in which every score lists them."""
TRACE_GATES: Final = GATES[:7]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    name: GateName
    outcome: Literal["passed", "failed", "not_applicable"]
    reason_code: str
    failure_class: Literal["none", "candidate", "infrastructure", "evidence"]
    """Other than `none` exactly when failed."""
    turn_index: int | None
    """The turn to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRecord:
    layer: Literal["episode", "gate"]
    code: str
    attribution: Literal["candidate", "infrastructure", "evidence"]
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A metric's numerator and denominator; `reason` names why it does not apply, exactly when the denominator is 0."""

    numerator: int
    denominator: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScore:
    """The verdict on one episode. `counts` maps a metric's name (§10) to this task's part of it."""

    candidate_alias: str
    task_id: str
    mode: Literal["trace", "executable"]
    trial: int
    episode_status: EpisodeStatus
    gates: tuple[Gate, ...]
    task_success: bool
    non_candidate_stop: bool
    failures: tuple[FailureRecord, ...]
    counts: Mapping[str, Count]
    score_hash: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One candidate's metrics over the plan's tasks, in plan order."""

    alias: str
    canonical_id: str
    scope: Scope
    task_count: int
    successful_tasks: int
    non_candidate_stops: int
    metrics: Mapping[str, Count]
    aggregate_hash: Digest
