"""What the stages and the checks concluded: per row (schema, replay) and per pack (checks, tier)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from bfcl.canonical import Json
from bfcl.records.ids import TaskId, TemplateId, Tier


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFailure:
    """One reason an expected trace is not valid. `call_index` counts calls of the trace; None for the whole trace."""

    code: str
    message: str
    call_index: int | None = None
    pointer: str | None = None
    """JSON pointer into the arguments."""

    def to_json(self) -> dict[str, Json]:
        return {"code": self.code, "message": self.message, "call_index": self.call_index, "pointer": self.pointer}


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVerdict:
    """A row of `schema_validated_traces`."""

    task_id: TaskId
    template_id: TemplateId
    valid: bool
    reject_reason: str | None
    failures: tuple[SchemaFailure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What the oracle answered to one expected call."""

    turn_index: int
    call_group: int
    position_in_group: int
    tool: str
    arguments: Mapping[str, Json]
    result: Mapping[str, Json]

    def to_json(self) -> dict[str, Json]:
        return {
            "turn_index": self.turn_index,
            "call_group": self.call_group,
            "position_in_group": self.position_in_group,
            "tool": self.tool,
            "arguments": self.arguments,
            "result": self.result,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionOutcome:
    """One assertion's outcome in an episode."""

    name: str
    status: Literal["passed", "failed", "not_applicable", "error"]
    detail: str | None = None

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    def to_json(self) -> dict[str, Json]:
        return {"name": self.name, "status": self.status, "passed": self.passed, "detail": self.detail}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayVerdict:
    """A row of `replay_validated_tasks`. `reason` is null exactly when `valid`."""

    task_id: TaskId
    template_id: TemplateId
    valid: bool
    reason: str | None
    detail: str | None
    tool_results: tuple[ToolResult, ...]
    assertions: tuple[AssertionOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One failure or warning of a validation check. Rule: pack.md §13."""

    code: str
    message: str
    file: str | None = None
    """Pack-relative."""
    line: int | None = None
    pointer: str | None = None
    template_id: str | None = None
    case_id: str | None = None
    tool: str | None = None
    detail: str | None = None
    fix: str | None = None
    """Shown to people, not part of the report."""
    setting: str | None = None
    """Dotted key of the run's setting it speaks of, by which people are shown its line; not part of the report."""

    def to_json(self) -> dict[str, Json]:
        return {
            "code": self.code,
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "pointer": self.pointer,
            "template_id": self.template_id,
            "case_id": self.case_id,
            "tool": self.tool,
            "detail": self.detail,
        }

    def kept_json(self) -> dict[str, Json]:
        """Everything, fix and setting included: `from_json` is the inverse."""
        return {**self.to_json(), "fix": self.fix, "setting": self.setting}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Finding:
        """The finding that `kept_json` wrote."""
        return cls(**value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check's verdict. A skipped check is never a pass."""

    id: str
    name: str
    status: Literal["pass", "fail", "skipped"]
    skipped_because: str | None = None
    failures: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()

    def kept_json(self) -> dict[str, Json]:
        """Everything, fixes included: `from_json` is the inverse."""
        return {
            "id": self.id,
            "name": self.name,
            "status": self.status,
            "skipped_because": self.skipped_because,
            "failures": [finding.kept_json() for finding in self.failures],
            "warnings": [finding.kept_json() for finding in self.warnings],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> CheckResult:
        """The result that `kept_json` wrote."""
        findings = {name: tuple(map(Finding.from_json, value[name])) for name in ("failures", "warnings")}
        return cls(**{**value, **findings})


@dataclass(frozen=True, slots=True, kw_only=True)
class PackVerdict:
    """The tier, always derived from the checks."""

    tier: Tier
    reasons: tuple[str, ...]
    """`<check>: <code>`, sorted in check order, unique."""
    checks: tuple[CheckResult, ...]
    exported_assertions: tuple[str, ...] = ()
    """Names the pack's assertions module exports, as its worker saw them."""

    @property
    def gold_eligible(self) -> bool:
        return self.tier == "gold"
