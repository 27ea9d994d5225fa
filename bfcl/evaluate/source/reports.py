"""What do people read of the gates: four files, of which a passed and a failed one exclude each other? Rule: §3, §4.

Each says when it was written and is written anew by every run, so no identity covers any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.canonical import Json, readable_json
from bfcl.digest import sha256_json
from bfcl.errors import BfclError, EvalError, Problem
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.source.plan import Plan, plan_json, verdicts_of
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.files import remove_whole, storage, write_atomic
from bfcl.located import parse_json

VERIFICATION_REPORT: Final = "source_verification_report.json"
VERIFICATION_FAILURE: Final = "source_verification_failure.json"
CONTAMINATION_REPORT: Final = "contamination_report.json"
CONTAMINATION_FAILURE: Final = "contamination_failure.json"

SCHEMA_VERSION: Final = "1.0"


def write_verification_report(settings: EvalSettings, verified: VerifiedSource, *, at: datetime) -> Path:
    """Say what was verified, and take an earlier failure away. Raises: StageError `storage_failed`."""
    document = verification_report(settings, verified, written_at=_instant(at))
    return _write(settings, VERIFICATION_REPORT, VERIFICATION_FAILURE, document)


def verification_report(settings: EvalSettings, verified: VerifiedSource, *, written_at: str) -> dict[str, Json]:
    """What was verified."""
    oracle = verified.oracle
    pack = verified.manifest["pack"]
    told: dict[str, Json] = {
        "source_identity": verified.source_identity,
        "verification_identity": verified.verification_identity,
        "run_id": verified.run_id,
        "modes": verified.modes,
        "files": verified.files,
        "counts": {"raw": len(verified.raw_ids), "published": len(verified.task_ids)},
        "raw_ids_hash": sha256_json(verified.raw_ids),
        "task_ids_hash": sha256_json(verified.task_ids),
        "pack": {name: pack.get(name) for name in ("pack_id", "version", "content_hash")}
        if isinstance(pack, Mapping)
        else None,
        "oracle": None
        if oracle is None
        else {
            "pack_fingerprint": oracle.pack.fingerprint,
            "resource": {"content_hash": oracle.resource_hash},
            "clock": verified.oracle_clock,
            "probed": oracle.probed,
        },
        "exposures": [exposure.to_json() for exposure in verified.exposures],
    }
    return _document(settings, VERIFICATION_REPORT, told, written_at)


def write_verification_failure(settings: EvalSettings, error: EvalError, *, at: datetime) -> Path:
    """Say which gate refused and why, and take an earlier report away. Raises: StageError `storage_failed`."""
    told: dict[str, Json] = {"failures": [_failure(problem) for problem in error.problems]}
    document = _document(settings, VERIFICATION_FAILURE, told, _instant(at))
    return _write(settings, VERIFICATION_FAILURE, VERIFICATION_REPORT, document)


def write_contamination_report(settings: EvalSettings, verified: VerifiedSource, plan: Plan, *, at: datetime) -> Path:
    """Say who gets which tasks and why, and take an earlier failure away. Raises: StageError `storage_failed`."""
    document = contamination_report(settings, verified, plan, written_at=_instant(at))
    return _write(settings, CONTAMINATION_REPORT, CONTAMINATION_FAILURE, document)


def contamination_report(
    settings: EvalSettings, verified: VerifiedSource, plan: Plan, *, written_at: str
) -> dict[str, Json]:
    """Who gets which tasks and why."""
    told: dict[str, Json] = {**_judged(settings, verified), "plan_identity": plan.plan_identity, **plan_json(plan)}
    return _document(settings, CONTAMINATION_REPORT, told, written_at)


def write_contamination_failure(
    settings: EvalSettings, verified: VerifiedSource, error: EvalError, *, at: datetime
) -> Path:
    """Say every verdict and what was refused, and take an earlier report away. Raises: StageError `storage_failed`."""
    told: dict[str, Json] = {
        **_judged(settings, verified),
        "verdicts": [verdict.to_json() for verdict in verdicts_of(settings, verified)],
        "failures": [_failure(problem) for problem in error.problems],
    }
    document = _document(settings, CONTAMINATION_FAILURE, told, _instant(at))
    return _write(settings, CONTAMINATION_FAILURE, CONTAMINATION_REPORT, document)


class Refusal(NamedTuple):
    """What a run that a gate refused left to tell of it."""

    file: Path
    codes: tuple[str, ...]
    """Each once, in the order of the file; none where it cannot be read."""

    def __str__(self) -> str:
        told = ", ".join(self.codes) or "the file cannot be read"
        return f"the evaluation was refused before anybody was asked: {told}, see {self.file.name}"


def recorded_refusal(directory: Path) -> Refusal | None:
    """The refusal of a directory's last run, None where no gate refused it."""
    for name in (VERIFICATION_FAILURE, CONTAMINATION_FAILURE):
        path = directory / name
        if path.is_file():
            return Refusal(path, _codes(path))
    return None


def _codes(path: Path) -> tuple[str, ...]:
    try:
        value = parse_json(path.read_bytes(), path=str(path), code="eval_artifact_invalid").value
    except (OSError, BfclError):
        return ()
    failures = value.get("failures") if isinstance(value, Mapping) else None
    listed = failures if isinstance(failures, list | tuple) else ()
    codes = [one.get("code") for one in listed if isinstance(one, Mapping)]
    return tuple(dict.fromkeys(one for one in codes if isinstance(one, str)))


def _judged(settings: EvalSettings, verified: VerifiedSource) -> dict[str, Json]:
    policy = settings.contamination
    return {
        "source_verification_identity": verified.verification_identity,
        "policy": {
            "enforce": policy.enforce,
            "on_violation": policy.on_violation,
            "comparison_set": policy.comparison_set,
        },
        "publication_requested": settings.publication_requested,
        "exposures": [exposure.to_json() for exposure in verified.exposures],
    }


def _failure(problem: Problem) -> Json:
    """A refusal without the directory of its file: results may be handed on."""
    return {
        "code": problem.code,
        "file": None if problem.path is None else Path(problem.path).name,
        "field": problem.field,
        "subject": problem.subject,
        "message": problem.message,
        "fix": problem.fix,
    }


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _document(settings: EvalSettings, name: str, told: Mapping[str, Json], written_at: str) -> dict[str, Json]:
    return {
        "schema_version": SCHEMA_VERSION,
        "status": "failed" if name in (VERIFICATION_FAILURE, CONTAMINATION_FAILURE) else "passed",
        "written_at": written_at,
        "eval_config_hash": settings.eval_config_hash,
        **told,
    }


def _write(settings: EvalSettings, name: str, other: str, document: Mapping[str, Json]) -> Path:
    """Write one file and take its counterpart away first: they must never stand side by side."""
    directory = settings.outputs.output_dir
    with storage(directory):
        directory.mkdir(parents=True, exist_ok=True)
        remove_whole(directory / other)
    path = directory / name
    write_atomic(path, readable_json(document))
    return path
