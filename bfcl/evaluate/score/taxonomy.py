"""Which words may a score say? Every status, reason code and fatal code, in one table that reports cite by its hash.

Rule: evaluation.md §9, §10, §14.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, get_args

from bfcl.canonical import Json
from bfcl.digest import Digest, sha256_json
from bfcl.evaluate.records import GATES, TRACE_GATES, EpisodeStatus, GateName, ResolutionStatus, attribution
from bfcl.evaluate.statuses import STATUSES

Mode = Literal["trace", "executable"]

INCOMPLETE_FINISH: Final = "trace_completion.incomplete_finish_reason"
ORACLE_EXECUTION_PASSED: Final = "executable.oracle_execution_passed"
CALL_NOT_EXECUTED: Final = "executable.call_not_executed"
DEPENDENCIES_RESOLVED: Final = "executable.dependencies_resolved"
COMMIT_STATE_KNOWN: Final = "executable.commit_state_known"
COMMIT_STATE_UNKNOWN: Final = "executable.commit_state_unknown"
ASSERTIONS_PASSED: Final = "executable.assertions_passed"
ASSERTION_FAILED: Final = "executable.assertion_failed"
ASSERTION_INFRASTRUCTURE_ERROR: Final = "executable.assertion_infrastructure_error"
ASSERTION_STATE_UNAVAILABLE: Final = "executable.assertion_state_unavailable"
EPISODE_COMPLETED: Final = "executable.episode_completed"
EPISODE_INCOMPLETE: Final = "executable.episode_incomplete"

_UNRESOLVED: Final = tuple(status for status in get_args(ResolutionStatus) if status != "resolved")
_BROKEN: Final = ("malformed_result", "tool_error", "timeout")
_ALWAYS_APPLICABLE: Final = frozenset({"tool_selection", "trace_completion", "executable_completion"})


def matched(gate: GateName) -> str:
    """The code of a trace gate that passed."""
    return f"{gate}.matched"


def mismatch(gate: GateName) -> str:
    """The code of a trace gate that failed."""
    return f"{gate}.mismatch"


def not_applicable(gate: GateName, mode: Mode) -> str:
    """The code of a gate that does not apply; executable scores say so in their own namespace."""
    return f"executable.{gate}.not_applicable" if mode == "executable" else f"{gate}.not_applicable"


def oracle_broke(status: str) -> str:
    """The code of a call that the oracle could not carry out."""
    return f"executable.oracle_{status}"


def unresolved(status: str) -> str:
    """The code of a dependent argument that did not resolve."""
    return f"executable.dependency.{status}"


def episode_code(status: EpisodeStatus) -> str:
    """The failure code of an episode that did not complete."""
    return f"episode.{status}"


def _trace_codes(gate: GateName) -> tuple[str, ...]:
    either = (matched(gate), mismatch(gate))
    if gate == "trace_completion":
        return (*either, INCOMPLETE_FINISH)
    return either


def _gate_codes(gate: GateName) -> tuple[str, ...]:
    own: Mapping[GateName, tuple[str, ...]] = {
        "oracle_execution": (ORACLE_EXECUTION_PASSED, CALL_NOT_EXECUTED, *map(oracle_broke, _BROKEN)),
        "dependency_resolution": (DEPENDENCIES_RESOLVED, *map(unresolved, _UNRESOLVED)),
        "commit_state_known": (COMMIT_STATE_KNOWN, COMMIT_STATE_UNKNOWN),
        "assertions": (
            ASSERTIONS_PASSED,
            ASSERTION_FAILED,
            ASSERTION_INFRASTRUCTURE_ERROR,
            ASSERTION_STATE_UNAVAILABLE,
        ),
        "executable_completion": (EPISODE_COMPLETED, EPISODE_INCOMPLETE),
    }
    codes = _trace_codes(gate) if gate in TRACE_GATES else own[gate]
    if gate in _ALWAYS_APPLICABLE:
        return codes
    modes: tuple[Mode, ...] = ("trace", "executable") if gate in TRACE_GATES else ("executable",)
    return (*codes, *(not_applicable(gate, mode) for mode in modes))


GATE_REASONS: Final[Mapping[GateName, tuple[str, ...]]] = MappingProxyType({gate: _gate_codes(gate) for gate in GATES})
"""Every code that a gate may give."""

ALL_ASSERTIONS_NOT_APPLICABLE: Final = "metric.all_assertions_not_applicable"
ASSERTION_EVIDENCE_INCOMPLETE: Final = "metric.assertion_evidence_incomplete"
GATE_NOT_APPLICABLE: Final = "metric.gate_not_applicable"
NO_APPLICABLE_TASK: Final = "metric.no_applicable_task"
NO_ATTEMPTED_CALL: Final = "metric.no_attempted_call"
NO_DECLARED_ASSERTION: Final = "metric.no_declared_assertion"
NO_EVALUATED_TURN: Final = "metric.no_evaluated_turn"
NO_EXPECTED_CALL: Final = "metric.no_expected_call"
NO_FINAL_ANSWER_ASSERTION: Final = "metric.no_final_answer_assertion"
NO_STATE_ASSERTION: Final = "metric.no_state_assertion"
NO_TEXT_MILESTONE: Final = "metric.no_text_milestone"
PATH_EVIDENCE_INCOMPLETE: Final = "metric.path_evidence_incomplete"

METRIC_REASONS: Final = (
    ALL_ASSERTIONS_NOT_APPLICABLE,
    ASSERTION_EVIDENCE_INCOMPLETE,
    GATE_NOT_APPLICABLE,
    NO_APPLICABLE_TASK,
    NO_ATTEMPTED_CALL,
    NO_DECLARED_ASSERTION,
    NO_EVALUATED_TURN,
    NO_EXPECTED_CALL,
    NO_FINAL_ANSWER_ASSERTION,
    NO_STATE_ASSERTION,
    NO_TEXT_MILESTONE,
    PATH_EVIDENCE_INCOMPLETE,
)
"""Why a metric has no value."""

TRACE_METRICS: Final = (*(f"{gate}_pass_rate" for gate in TRACE_GATES), "task_success_rate")
EXECUTABLE_METRICS: Final = (
    "schema_valid_rate",
    "call_group_accuracy",
    "call_order_accuracy",
    "required_call_subset_accuracy",
    "tool_name_accuracy",
    "argument_accuracy",
    "milestone_accuracy",
    "turn_success_rate",
    "tool_execution_success_rate",
    "assertion_success_rate",
    "state_match_rate",
    "final_answer_success_rate",
    "path_success_rate",
    "task_success_rate",
)
METRICS: Final[Mapping[Mode, tuple[str, ...]]] = MappingProxyType(
    {"trace": TRACE_METRICS, "executable": EXECUTABLE_METRICS}
)
"""The metrics of each kind of score in report order. One report holds one kind."""


def taxonomy() -> dict[str, Json]:
    """The whole registry as JSON; lists keep the order in which scores and reports tell things."""
    statuses: tuple[EpisodeStatus, ...] = get_args(EpisodeStatus)
    return {
        "attributions": ["success", "candidate", "infrastructure"],
        "failure_classes": ["none", "candidate", "infrastructure", "evidence"],
        "failure_layers": ["episode", "gate"],
        "episode_statuses": {status: attribution(status) for status in statuses},
        "episode_codes": [episode_code(status) for status in statuses if status != "completed"],
        "gate_reasons": {gate: list(codes) for gate, codes in GATE_REASONS.items()},
        "gates": list(GATES),
        "metric_reasons": METRIC_REASONS,
        "metrics": {mode: list(names) for mode, names in METRICS.items()},
        "fatal_codes": dict(STATUSES),
    }


def error_taxonomy_hash() -> Digest:
    """Content hash of the registry, which report and manifest cite."""
    return sha256_json(taxonomy())
