"""The four files of the gates, of which a passed and a failed one exclude each other."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from bfcl.errors import EvalError, Problem, StageError
from bfcl.evaluate.source.plan import plan_of
from bfcl.evaluate.source.reports import (
    write_contamination_failure,
    write_contamination_report,
    write_verification_failure,
    write_verification_report,
)
from bfcl.evaluate.source.verify import verify_source
from tests.evaluate.source.builder import Site, candidate, exposed

AT = datetime(2026, 3, 2, 9, 0, tzinfo=timezone(timedelta(hours=7)))
SAID = "2026-03-02T02:00:00+00:00"
ERROR = EvalError(
    Problem(code="some_code", path="/some/where/run_manifest.json", field="tier", message="is wrong", fix="mend it")
)
FAILURE = {
    "code": "some_code",
    "file": "run_manifest.json",
    "field": "tier",
    "subject": None,
    "message": "is wrong",
    "fix": "mend it",
}


def document(site: Site, name: str) -> dict[str, Any]:
    return dict(json.loads((site.out / name).read_bytes()))


def written(site: Site) -> list[str]:
    return sorted(path.name for path in site.out.iterdir())


def test_a_report_says_what_was_verified(site: Site) -> None:
    settings = site.settings()
    verified = verify_source(settings, probe_oracle=True)
    path = write_verification_report(settings, verified, at=AT)
    assert path == site.out / "source_verification_report.json"
    pack = site.manifest()["pack"]
    told = document(site, path.name)
    assert told == {
        "schema_version": "1.0",
        "status": "passed",
        "written_at": SAID,
        "eval_config_hash": settings.eval_config_hash,
        "source_identity": verified.source_identity,
        "verification_identity": verified.verification_identity,
        "run_id": site.manifest()["run_id"],
        "modes": ["trace", "executable"],
        "files": dict(verified.files),
        "counts": {"raw": 10, "published": 10},
        "raw_ids_hash": told["raw_ids_hash"],
        "task_ids_hash": told["raw_ids_hash"],
        "pack": {"pack_id": pack["pack_id"], "version": pack["version"], "content_hash": pack["content_hash"]},
        "oracle": {
            "pack_fingerprint": pack["content_hash"],
            "resource": {"content_hash": settings.source.oracle_hash},
            "clock": site.manifest()["oracle_clock"],
            "probed": True,
        },
        "exposures": [],
    }
    assert str(site.root) not in path.read_text(encoding="utf-8")


def test_report_and_failure_of_verification_exclude_each_other(site: Site) -> None:
    settings = site.settings(trace_only=True)
    verified = verify_source(settings, probe_oracle=False)
    write_verification_report(settings, verified, at=AT)
    write_verification_failure(settings, ERROR, at=AT)
    assert written(site) == ["source_verification_failure.json"]
    assert document(site, "source_verification_failure.json") == {
        "schema_version": "1.0",
        "status": "failed",
        "written_at": SAID,
        "eval_config_hash": settings.eval_config_hash,
        "failures": [FAILURE],
    }
    write_verification_report(settings, verified, at=AT)
    assert written(site) == ["source_verification_report.json"]
    assert document(site, "source_verification_report.json")["oracle"] is None


def test_report_and_failure_of_contamination_exclude_each_other(site: Site) -> None:
    settings = site.settings(candidate(), trace_only=True)
    verified = verify_source(settings, probe_oracle=False)
    verified = dataclasses.replace(verified, exposures=(exposed("profile", "org/helper", verified.task_ids[:1]),))
    write_contamination_failure(settings, verified, ERROR, at=AT)
    assert written(site) == ["contamination_failure.json"]
    judged = {
        "schema_version": "1.0",
        "written_at": SAID,
        "eval_config_hash": settings.eval_config_hash,
        "source_verification_identity": verified.verification_identity,
        "policy": {"enforce": True, "on_violation": "fail_run", "comparison_set": "common_intersection"},
        "publication_requested": False,
        "exposures": [verified.exposures[0].to_json()],
    }
    plan = plan_of(settings, verified)
    verdicts = [one.to_json() for one in plan.verdicts]
    assert document(site, "contamination_failure.json") == {
        **judged,
        "status": "failed",
        "verdicts": verdicts,
        "failures": [FAILURE],
    }
    write_contamination_report(settings, verified, plan, at=AT)
    assert written(site) == ["contamination_report.json"]
    assert document(site, "contamination_report.json") == {
        **judged,
        "status": "passed",
        "plan_identity": plan.plan_identity,
        "candidates": [
            {
                "alias": "small",
                "canonical_id": "hub:org/small@provider_managed",
                "task_count": 10,
                "task_ids_hash": plan.candidates[0].task_ids_hash,
                "excluded_rows": 0,
            }
        ],
        "comparison_set": plan.comparison_set.to_json(),
        "verdicts": verdicts,
        "publication_allowed": True,
        "non_publication_reasons": [],
    }


def test_the_two_pairs_leave_each_other_alone(site: Site) -> None:
    settings = site.settings(trace_only=True)
    verified = verify_source(settings, probe_oracle=False)
    write_verification_report(settings, verified, at=datetime.now(UTC))
    write_contamination_failure(settings, verified, ERROR, at=AT)
    assert written(site) == ["contamination_failure.json", "source_verification_report.json"]


def test_a_directory_that_cannot_be_made_is_told(site: Site) -> None:
    site.out.write_bytes(b"")
    with pytest.raises(StageError) as caught:
        write_verification_failure(site.settings(trace_only=True), ERROR, at=AT)
    assert [problem.code for problem in caught.value.problems] == ["storage_failed"]
