"""A held-out policy over the rows of `tests.release.samples`, and what the stages say of it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bfcl.canonical import Json, readable_json
from bfcl.pack.held_out import policy_summary
from bfcl.pack.model import HeldOut
from bfcl.stages.held_out_scan import Scan, scan_for
from tests.release.samples import rows

POLICY = HeldOut(
    version="1",
    fixtures={"valves": ("V-77", "V-78")},
    templates=("secret",),
    fixtures_in_backend_state=True,
    seed=0,
    source="tree/held_out.yaml",
)
"""Reserves nothing that a sample row uses."""


def bindings(held_out: HeldOut, tasks: int, refs: Sequence[str] = ('["valves","V-77"]',), **edits: Json) -> bytes:
    """A consistent `held_out_bindings.json`, top-level keys replaced by `edits`."""
    document: dict[str, Json] = {
        "contract_version": "1.0",
        "policy": policy_summary(held_out),
        "blocked_templates": list(held_out.templates),
        "blocked_fixture_refs": list(refs),
        "counts": {
            "bind_attempts": 9,
            "templates_blocked": len(held_out.templates),
            "fixture_refs_blocked": len(refs),
            "tasks_expanded": tasks,
        },
    }
    return readable_json(json.loads(json.dumps({**document, **edits})))


def scanned(count: int, held_out: HeldOut) -> Scan:
    """A scan that saw the first `count` sample rows."""
    scan = scan_for(held_out)
    for row in rows(count):
        scan.see(row)
    return scan
