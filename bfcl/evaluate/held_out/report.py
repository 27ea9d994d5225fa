"""What does `held_out_eval_report.json` say? Counts and rates; of no task an id or a text. Rule: evaluation.md §2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bfcl.canonical import Json, readable_json
from bfcl.errors import EvalError
from bfcl.evaluate.artifacts.names import HELD_OUT_FILE
from bfcl.evaluate.artifacts.reading import read_document, unusable
from bfcl.evaluate.held_out.measures import Comparison, Side, compared, standing
from bfcl.evaluate.score.intervals import CONFIDENCE
from bfcl.evaluate.score.taxonomy import error_taxonomy_hash
from bfcl.evaluate.settings.model import Candidate, EvalSettings, HeldOutEval
from bfcl.evaluate.source.plan import Plan
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.files import write_atomic

REPORT_VERSION: Final = "1.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSides:
    """One candidate on both sides."""

    candidate: Candidate
    seen: Side
    held_out: Side

    def to_json(self) -> dict[str, Json]:
        whole = Comparison(seen=standing(self.seen.scores), held_out=standing(self.held_out.scores))
        return {
            "alias": self.candidate.alias,
            "canonical_id": self.candidate.canonical_id,
            **whole.to_json(),
            "strata": [
                {"tool": stratum.tool, "turn_policy": stratum.turn_policy, **comparison.to_json()}
                for stratum, comparison in compared(self.seen, self.held_out).items()
            ],
            "failures": {"seen": self.seen.failures(), "held_out": self.held_out.failures()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What a held-out evaluation rests on."""

    eval_run_id: str
    settings: EvalSettings
    verified: VerifiedSource
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutReport:
    """All that leaves a held-out evaluation."""

    basis: Basis
    mode: Literal["trace", "executable"]
    private_tasks: int
    private_tasks_refused: int
    candidates: tuple[CandidateSides, ...]
    """By alias."""

    def to_json(self) -> dict[str, Json]:
        """The report. No time and no path: the same answers give the same bytes."""
        settings, verified, plan = self.basis.settings, self.basis.verified, self.basis.plan
        section, outputs = settings.held_out, settings.outputs
        assert section is not None
        return {
            "schema_version": REPORT_VERSION,
            "eval_run_id": self.basis.eval_run_id,
            "eval_scope": "trace_and_executable" if self.mode == "executable" else "trace",
            "source_run_id": verified.run_id,
            "eval_config_hash": settings.eval_config_hash,
            "scoring_policy_hash": settings.scoring.policy_hash,
            "error_taxonomy_hash": error_taxonomy_hash(),
            "plan_identity": plan.plan_identity,
            "source_verification_identity": verified.verification_identity,
            "policy": _policy(section),
            "confidence": CONFIDENCE,
            "intervals": {"rates": "wilson", "gap": "seen.low - held_out.high to seen.high - held_out.low"},
            "tasks": {
                "seen": plan.comparison_set.task_count,
                "held_out": self.private_tasks,
                "held_out_refused_by_checks": self.private_tasks_refused,
            },
            "candidates": [one.to_json() for one in self.candidates],
            "privacy": {
                "task_results_written": outputs.write_task_results,
                "candidate_responses_cached": outputs.cache_candidate_responses,
                "tool_results_cached": outputs.cache_tool_results,
            },
        }


def write_report(directory: Path, report: HeldOutReport) -> Path:
    """Write the report; one that lies there already has to say the same.

    Raises: EvalError `eval_artifact_invalid`; StageError `storage_failed`.
    """
    path, data = directory / HELD_OUT_FILE, readable_json(report.to_json())
    if read_document(path) is None:
        write_atomic(path, data)
    elif path.read_bytes() != data:
        raise EvalError(unusable(path, "is not what these answers give; expected the same to the last byte"))
    return path


def _policy(section: HeldOutEval) -> dict[str, Json]:
    """Which policy, and how much it reserves: never what."""
    return {
        "contract_version": section.contract_version,
        "policy_hash": section.policy_hash,
        "pack_version": section.pack_version,
        "fixture_ref_count": len(section.fixture_refs),
        "template_count": len(section.template_ids),
        "seed": section.seed,
        "max_tasks_per_template": section.max_tasks_per_template,
    }
