"""What six checks say of one wording, and whether it is kept: a row of `surface_validated_tasks`.

Rule: generation.md §3.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from bfcl.canonical import Json
from bfcl.records.ids import TaskId, TemplateId

CONTRACT_VERSION: Final = "1.1"

PythonCheck: TypeAlias = Literal["surface_shape", "semantic_preservation", "leakage"]
JudgeCheck: TypeAlias = Literal["language_locale", "fluency_naturalness", "clarity_coherence"]
PYTHON_CHECKS: Final[tuple[PythonCheck, ...]] = ("surface_shape", "semantic_preservation", "leakage")
JUDGE_CHECKS: Final[tuple[JudgeCheck, ...]] = ("language_locale", "fluency_naturalness", "clarity_coherence")

CheckStatus: TypeAlias = Literal["passed", "failed", "not_applicable", "not_run", "error"]
CheckSource: TypeAlias = Literal["python", "surface_judge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceCheck:
    """What one check says. `reason_code` is set where it failed, broke or does not apply."""

    check: PythonCheck | JudgeCheck
    status: CheckStatus
    source: CheckSource
    reason_code: str | None = None
    evidence: str | None = None
    """Name of a slot or tool, or a forbidden phrase; never a value that should not be there."""

    def to_json(self) -> dict[str, Json]:
        return {
            "check": self.check,
            "status": self.status,
            "source": self.source,
            "reason_code": self.reason_code,
            "evidence": self.evidence,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceQuality:
    """A row of `surface_validated_tasks`."""

    task_id: TaskId
    base_task_id: TaskId
    template_id: TemplateId
    variant_index: int
    surface_source: Literal["template", "model"]
    turn_policy: str
    contract_version: str
    drop_source: CheckSource | None
    """Who dropped it; None where it is kept."""
    drop_reasons: tuple[str, ...]
    """Sorted `check:code`; empty where it is kept."""
    advisory_failures: tuple[str, ...]
    """Sorted `check:code` of what a judge without authority failed."""
    judge_error: str | None
    """Code of the call that gave no verdict."""
    checks: tuple[SurfaceCheck, ...]
    """All six, in the order of `PYTHON_CHECKS` and `JUDGE_CHECKS`."""

    @property
    def accepted(self) -> bool:
        return self.drop_source is None

    @property
    def decision(self) -> Literal["kept", "dropped"]:
        return "kept" if self.accepted else "dropped"
