"""Diagnostics that show what a format has to cope with."""

from __future__ import annotations

from bfcl.authoring.diagnostics.diagnostic import Cause, Checked, Diagnostic

PLACED = Diagnostic(
    severity="error",
    code="unknown_tool",
    message="calls `get_kilm`, 100% wrong",
    path="packs/my pack/a,b:c.yaml",
    line=3,
    column=7,
    fix="did you mean `get_kiln`?",
    check="1",
    pointer="/0/tool",
    template_id="t",
    tool="get_kilm",
    because=Cause("tools_catalog_invalid", "packs/my pack/tools.json", 2),
)
LINES = Diagnostic(severity="warning", code="odd", message="two\nlines", path="packs/é.py", line=4)
NOWHERE = Diagnostic(severity="error", code="category_budget_too_small", message="too small")
CHECKED = Checked(pack="packs/my pack", loads=False, diagnostics=(PLACED, LINES, NOWHERE))
