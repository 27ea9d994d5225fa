"""The report of `prepare`: what was checked and what it means, in reproducible bytes. Rule: pack.md §13."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

from bfcl.canonical import Json, readable_json
from bfcl.checks.probes import declares_refusal
from bfcl.checks.template_tool_names import without_doubles
from bfcl.config.model import RunConfig
from bfcl.digest import Digest, sha256_json
from bfcl.errors import Problem
from bfcl.oracle.protocol import TIMEOUTS
from bfcl.pack.model import Pack
from bfcl.records.verdict import CheckResult, Finding, PackVerdict

REPORT_VERSION = "1.0"


def report(pack: Pack, config: RunConfig, verdict: PackVerdict) -> bytes:
    """`oracle_validation_report.json`: sorted keys, no time, duration or absolute path."""
    return readable_json(
        {
            "report_version": REPORT_VERSION,
            "pack_id": pack.manifest.pack_id,
            "version": pack.manifest.version,
            "oracle_kind": "python" if pack.endpoint is None else "endpoint",
            "worker": config.oracle_runtime.worker,
            "pack_fingerprint": pack.fingerprint,
            "config_fingerprint": config_fingerprint(config),
            "tier": verdict.tier,
            "gold_eligible": verdict.gold_eligible,
            "gold_ineligibility_reasons": verdict.reasons,
            "checks": [_check_json(check) for check in verdict.checks],
            "stats": _stats(pack, verdict),
        }
    )


def config_fingerprint(config: RunConfig) -> Digest:
    """SHA-256 of what validation reads of a configuration; a verdict holds for this and the pack's fingerprint."""
    return sha256_json(settings_read(config))


def settings_read(config: RunConfig) -> dict[str, Json]:
    """What validation reads of a configuration.

    Rule: generation.md §3, stage 2: clock, worker, five timeouts, seed, task_generation, surface settings, policy.
    """
    runtime = config.oracle_runtime
    timeouts: dict[str, Json] = {name: float(getattr(runtime, name)) for name in TIMEOUTS}
    return {
        "clock": runtime.clock,
        "worker": runtime.worker,
        "timeouts": timeouts,
        "random_seed": config.seed,
        "task_generation": dataclasses.asdict(config.task_generation),
        "surface_generation": dataclasses.asdict(config.surface_generation),
        "surface_quality_validation": dataclasses.asdict(config.surface_quality_validation),
        "lineage_policy": config.lineage.policy,
    }


def warnings_to_tell(verdict: PackVerdict) -> list[Finding]:
    """The warnings of all checks as people are told them: the report keeps those too that a failure says already."""
    failures = [finding for check in verdict.checks for finding in check.failures]
    return without_doubles([finding for check in verdict.checks for finding in check.warnings], failures)


def as_problem(finding: Finding, *, root: str) -> Problem:
    """A finding as people are told it: its file below `root` (the pack as the caller names it), or its template."""
    if finding.file is not None:
        path = finding.file if finding.file.startswith("declared/") else f"{root}/{finding.file}"
        return Problem(code=finding.code, message=_about(finding), path=path, line=finding.line, fix=finding.fix)
    return Problem(code=finding.code, message=finding.message, subject=_subject(finding), fix=finding.fix)


def _subject(finding: Finding) -> str | None:
    return finding.template_id or finding.case_id or finding.tool


def _about(finding: Finding) -> str:
    """The message, led by the template or case it is about: a line number alone says too little in a long file."""
    subject = finding.template_id or finding.case_id
    return finding.message if subject is None else f"{subject}: {finding.message}"


def _check_json(check: CheckResult) -> dict[str, Json]:
    return {
        "id": check.id,
        "name": check.name,
        "status": check.status,
        "skipped_because": check.skipped_because,
        "failures": [finding.to_json() for finding in check.failures],
        "warnings": [finding.to_json() for finding in check.warnings],
    }


def _stats(pack: Pack, verdict: PackVerdict) -> dict[str, Json]:
    negative = sum(declares_refusal(case) for case in pack.cases)
    held_out = pack.held_out
    return {
        "tools": len(pack.tools),
        "templates": len(pack.templates),
        "templates_by_policy": _counts(template.turn_policy for template in pack.templates),
        "templates_by_category": _counts(template.category for template in pack.templates),
        "fixture_rows": {name: len(rows) for name, rows in pack.fixtures.items() if isinstance(rows, list)},
        "cases": {"success": len(pack.cases) - negative, "negative": negative},
        "assertions": len(verdict.exported_assertions),
        "languages": list(pack.manifest.languages),
        "held_out_rows": 0 if held_out is None else sum(map(len, held_out.fixtures.values())),
        "held_out_templates": 0 if held_out is None else len(held_out.templates),
    }


def _counts(words: Iterable[str]) -> dict[str, Json]:
    return dict(Counter(words))
