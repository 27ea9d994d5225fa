from __future__ import annotations

from bfcl.authoring.diagnostics.as_json import document
from tests.authoring.diagnostics.samples import CHECKED


def test_json_document_holds_every_key_and_null_where_it_does_not_apply() -> None:
    found = document(CHECKED)
    assert isinstance(found, dict)
    assert {key: value for key, value in found.items() if key != "diagnostics"} == {
        "schema_version": "1.0",
        "pack": "packs/my pack",
        "loads": False,
        "errors": 2,
        "warnings": 1,
    }
    first, _, last = found["diagnostics"]
    assert first == {
        "severity": "error",
        "code": "unknown_tool",
        "message": "calls `get_kilm`, 100% wrong",
        "file": "packs/my pack/a,b:c.yaml",
        "line": 3,
        "column": 7,
        "fix": "did you mean `get_kiln`?",
        "check": "1",
        "pointer": "/0/tool",
        "template_id": "t",
        "case_id": None,
        "tool": "get_kilm",
        "because": {"code": "tools_catalog_invalid", "file": "packs/my pack/tools.json", "line": 2},
    }
    assert last["file"] is None
    assert last["because"] is None
