"""Does any finished row use what the held-out policy reserves, whatever expansion says? Rule: generation.md §6.2.

Rows are judged by their own template id and fixture references. What stage 4 left behind is only asked to agree.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from bfcl.canonical import Json
from bfcl.digest import sha256_of
from bfcl.errors import Problem
from bfcl.pack.held_out import CONTRACT_VERSION, policy_summary, reserved_refs
from bfcl.pack.model import HeldOut
from bfcl.records.ids import TaskId
from bfcl.stages import stage_named
from bfcl.stages.held_out_bindings import BINDINGS_FILE
from bfcl.tables.benchmark import BenchmarkRow

(SCAN_FILE,) = stage_named("final_output").under_policy
LEAK: Final = "held_out_leak_detected"

_SHOWN: Final = 5
_COUNTS: Final = ("bind_attempts", "templates_blocked", "fixture_refs_blocked", "tasks_expanded")


class Hit(NamedTuple):
    """A row that uses reserved material, and which."""

    task_id: TaskId
    template_id: str | None
    refs: tuple[str, ...]


class Scan:
    """Sees every raw row once and keeps those that use reserved material."""

    def __init__(self, templates: Iterable[str], refs: Iterable[str]) -> None:
        self._templates = frozenset(templates)
        self._refs = frozenset(refs)
        self.rows = 0
        self.hits: list[Hit] = []

    def see(self, row: BenchmarkRow) -> bool:
        """Whether the row uses reserved material."""
        self.rows += 1
        template_id = row["template_id"] if row["template_id"] in self._templates else None
        refs = tuple(sorted(self._refs.intersection(row["fixture_refs"])))
        hit = template_id is not None or bool(refs)
        if hit:
            self.hits.append(Hit(TaskId(row["task_id"]), template_id, refs))
        return hit


def scan_for(held_out: HeldOut) -> Scan:
    """The scan that a policy asks for."""
    return Scan(held_out.templates, reserved_refs(held_out))


class StageFour(NamedTuple):
    """What stage 4 says it did about the policy: `summary` is published, `faults` say why it proves nothing."""

    summary: dict[str, Json]
    faults: tuple[str, ...]


def stage_four(data: bytes | None, held_out: HeldOut, tasks: int) -> StageFour:
    """Judge `held_out_bindings.json`, None where it is missing, against the policy and the number of tasks expanded."""
    value = _parsed(data)
    counts = value.get("counts") if value is not None else None
    faults = tuple(_faults(value, held_out, tasks)) if data is not None else (f"{BINDINGS_FILE} is missing",)
    summary: dict[str, Json] = {
        "artifact": BINDINGS_FILE,
        "content_hash": sha256_of(data) if data is not None else None,
        "counts": counts if isinstance(counts, Mapping) else None,
        "consistent": not faults,
    }
    return StageFour(summary, faults)


def held_out_scan(scan: Scan, held_out: HeldOut, evidence: StageFour, planned: int) -> dict[str, Json]:
    """The document `held_out_scan.json`. `planned` is how many rows the other gates let through."""
    aborts = bool(scan.hits or evidence.faults)
    return {
        "contract_version": CONTRACT_VERSION,
        "policy": policy_summary(held_out),
        "stage_four": evidence.summary,
        "counts": {
            "rows_scanned": scan.rows,
            "rows_hit": len(scan.hits),
            "rows_blocked": planned if aborts else 0,
            "rows_dropped": 0,
            "planned_rows_published": planned,
            "rows_published": 0 if aborts else planned,
        },
        "action": "abort" if aborts else "publish",
        "hits": [
            {"task_id": hit.task_id, "matched_template_id": hit.template_id, "matched_fixture_refs": hit.refs}
            for hit in scan.hits
        ],
    }


def leak_problems(scan: Scan, evidence: StageFour) -> list[Problem]:
    """`held_out_leak_detected` for the rows that hit, and for each reason why stage 4 proves nothing."""
    found = []
    if scan.hits:
        shown = ", ".join(f"`{hit.task_id}`" for hit in scan.hits[:_SHOWN])
        more = f" and {len(scan.hits) - _SHOWN} more" if len(scan.hits) > _SHOWN else ""
        message = f"{len(scan.hits)} of {scan.rows} raw rows use reserved material, expected none: {shown}{more}"
        found.append(_leak("benchmark_raw", message))
    for fault in evidence.faults:
        found.append(_leak("held_out_bindings", f"{fault}, so nothing proves that no task binds reserved material"))
    return found


def _leak(subject: str, message: str) -> Problem:
    fix = f"read stage_cache/{SCAN_FILE}, then run again with rebuild=1"
    return Problem(code=LEAK, subject=subject, message=message, fix=fix)


def _parsed(data: bytes | None) -> Mapping[str, Json] | None:
    try:
        value = json.loads(data) if data is not None else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _faults(value: Mapping[str, Json] | None, held_out: HeldOut, tasks: int) -> Iterable[str]:
    if value is None:
        yield f"{BINDINGS_FILE} is no JSON object"
        return
    if value.get("contract_version") != CONTRACT_VERSION or value.get("policy") != policy_summary(held_out):
        yield f"{BINDINGS_FILE} speaks of another policy than `{held_out.source}`"
    if value.get("blocked_templates") != list(held_out.templates):
        yield f"{BINDINGS_FILE} does not block exactly the reserved templates"
    refs = value.get("blocked_fixture_refs")
    texts = [ref for ref in refs if isinstance(ref, str)] if isinstance(refs, list) else []
    if refs != texts or texts != sorted(set(texts)) or not reserved_refs(held_out).issuperset(texts):
        yield f"{BINDINGS_FILE} blocks other rows than the policy reserves"
    counts = value.get("counts")
    numbers = {name: counts.get(name) for name in _COUNTS} if isinstance(counts, dict) else {}
    attempts = numbers.get("bind_attempts")
    wanted = {
        "bind_attempts": attempts if isinstance(attempts, int) and attempts >= len(texts) else None,
        "templates_blocked": len(held_out.templates),
        "fixture_refs_blocked": len(texts),
        "tasks_expanded": tasks,
    }
    if numbers != wanted or attempts is None:
        yield f"{BINDINGS_FILE} counts differently than its lists and the {tasks} tasks expanded"
