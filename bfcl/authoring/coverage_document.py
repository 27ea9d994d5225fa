"""How is a pack's coverage written as one JSON document? Rule: authoring.md §2, §15."""

from __future__ import annotations

from typing import Final

from bfcl.authoring.coverage import COUNTED, Coverage
from bfcl.canonical import Json

SCHEMA_VERSION: Final = "1.0"


def document(found: Coverage) -> dict[str, Json]:
    """The coverage as data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "status": "incomplete" if found.missing else "complete",
        "pack_id": found.pack.manifest.pack_id,
        "version": found.pack.manifest.version,
        "pack_fingerprint": found.pack.fingerprint,
        "probes_run": found.ran,
        "tools": [
            {
                "name": one.name,
                "requires_confirmation": one.gated,
                "declared": dict(one.declared),
                "observed": None if one.observed is None else dict(one.observed),
                "broken": one.broken,
                "templates": list(one.templates),
                "assertions": list(one.assertions),
            }
            for one in found.tools
        ],
        "policies": {policy: dict(counts) for policy, counts in found.policies.items()},
        "templates": [
            {
                "template_id": one.template_id,
                "category": one.category,
                "turn_policy": one.turn_policy,
                "reserved": one.reserved,
                "bindings": one.bindings,
                "bindings_at_least": one.bindings is not None and one.bindings >= COUNTED,
                "tasks": one.tasks,
            }
            for one in found.templates
        ],
        "categories": [
            {
                "category": one.category,
                "templates": one.templates,
                "budget": one.budget,
                "bindings": one.bindings,
                "shortfall": one.shortfall,
            }
            for one in found.categories
        ],
        "collections": [
            {
                "name": one.name,
                "rows": one.rows,
                "reserved": one.reserved,
                "bound": one.bound,
                "templates": list(one.templates),
                "unbound": None if one.unbound is None else list(one.unbound),
            }
            for one in found.collections
        ],
        "missing": [
            {
                "code": one.code,
                "subject": one.subject,
                "message": one.message,
                "file": one.path,
                "line": one.line,
                "fix": one.fix,
            }
            for one in found.missing
        ],
    }
