"""How do code scanning services and editors read diagnostics? As SARIF 2.1.0, one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from bfcl.authoring.catalogue import Explanation
from bfcl.authoring.diagnostics.diagnostic import Cause, Checked, Diagnostic
from bfcl.canonical import Json

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def document(checked: Checked, catalogue: Mapping[str, Explanation]) -> Json:
    """One run: a rule with its help for each code that occurs, sorted; results in the order of the diagnostics."""
    codes = sorted({one.code for one in checked.diagnostics})
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "bfcl", "rules": [_rule(code, catalogue.get(code)) for code in codes]}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(one, codes) for one in checked.diagnostics],
            }
        ],
    }


def _rule(code: str, explanation: Explanation | None) -> Json:
    if explanation is None:
        return {"id": code}
    text = f"{explanation.plain(explanation.cause)}\nFix: {explanation.plain(explanation.fix)}"
    markdown = f"{explanation.cause}\n\n**Fix:** {explanation.fix}\n\n**Example:** {explanation.example}"
    return {
        "id": code,
        "shortDescription": {"text": explanation.plain(explanation.cause)},
        "help": {"text": text, "markdown": markdown},
    }


def _result(diagnostic: Diagnostic, codes: Sequence[str]) -> Json:
    text = diagnostic.message if diagnostic.fix is None else f"{diagnostic.message}\nFix: {diagnostic.fix}"
    result: dict[str, Json] = {
        "ruleId": diagnostic.code,
        "ruleIndex": codes.index(diagnostic.code),
        "level": diagnostic.severity,
        "message": {"text": text},
    }
    if diagnostic.path is not None:
        place = _location(diagnostic.path, diagnostic.line, diagnostic.column)
        result["locations"] = [{"physicalLocation": place}]
    cause = diagnostic.because
    if cause is not None:
        result["relatedLocations"] = [_related(cause)]
    return result


def _related(cause: Cause) -> Json:
    told: dict[str, Json] = {"message": {"text": f"because of {cause.code}"}}
    if cause.path is not None:
        told["physicalLocation"] = _location(cause.path, cause.line, None)
    return told


def _location(path: str, line: int | None, column: int | None) -> Json:
    # Outside the current directory a path is absolute, and a URI then needs its scheme.
    uri = quote(path) if not Path(path).is_absolute() else Path(path).as_uri()
    place: dict[str, Json] = {"artifactLocation": {"uri": uri}}
    if line is not None:
        place["region"] = {"startLine": line} if column is None else {"startLine": line, "startColumn": column}
    return place
