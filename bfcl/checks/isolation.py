"""Check I1: does the pack run in worker processes? Rule: pack.md §7.7, §11."""

from __future__ import annotations

from bfcl.checks.findings import Findings, Subject
from bfcl.config.model import RunConfig
from bfcl.records.verdict import Finding


def check(subject: Subject) -> Findings:
    """A worker in our own process shares its memory, clock and environment, so nothing it shows is evidence."""
    return findings(subject.config)


def findings(config: RunConfig) -> Findings:
    """What the check finds; no code of the pack runs."""
    worker = config.oracle_runtime.worker
    if worker == "process":
        return Findings([], [])
    return Findings(
        [
            Finding(
                code="worker_not_process",
                message=f"`oracle_runtime.worker` is `{worker}`; only `process` isolates the oracle",
                fix="set `oracle_runtime.worker: process`, or leave it out",
                setting="oracle_runtime.worker",
            )
        ],
        [],
    )
