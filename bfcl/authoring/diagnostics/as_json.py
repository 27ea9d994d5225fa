"""How does a program read the diagnostics of a check? One document, keys that do not apply null."""

from __future__ import annotations

from bfcl.authoring.diagnostics.diagnostic import Checked, Diagnostic
from bfcl.canonical import Json


def document(checked: Checked) -> Json:
    """The whole check as one JSON value."""
    return {
        "schema_version": "1.0",
        "pack": checked.pack,
        "loads": checked.loads,
        "errors": checked.count("error"),
        "warnings": checked.count("warning"),
        "diagnostics": [_diagnostic(one) for one in checked.diagnostics],
    }


def _diagnostic(one: Diagnostic) -> Json:
    because = one.because
    return {
        "severity": one.severity,
        "code": one.code,
        "message": one.message,
        "file": one.path,
        "line": one.line,
        "column": one.column,
        "fix": one.fix,
        "check": one.check,
        "pointer": one.pointer,
        "template_id": one.template_id,
        "case_id": one.case_id,
        "tool": one.tool,
        "because": None if because is None else {"code": because.code, "file": because.path, "line": because.line},
    }
