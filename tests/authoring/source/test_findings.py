from __future__ import annotations

from bfcl.authoring.source.findings import SourceFinding, blocking_codes, in_order


def test_findings_are_ordered_by_file_and_line_without_doubles() -> None:
    late = SourceFinding(code="dynamic_import", detail="x", file="a.py", line=9)
    early = SourceFinding(code="tool_never_named", detail="x", file="a.py")
    other = SourceFinding(code="collection_too_small", detail="x", file="b.json", line=1)
    assert in_order([other, late, early, late]) == (early, late, other)


def test_blocking_codes_are_those_that_stop_and_all_when_strict() -> None:
    advice = SourceFinding(code="tool_never_named", detail="x", file="a.py")
    stops = SourceFinding(code="dynamic_import", detail="x", file="a.py", line=1)
    assert blocking_codes([advice, stops, stops]) == ("dynamic_import",)
    assert blocking_codes([stops, advice], strict=True) == ("dynamic_import", "tool_never_named")
    assert blocking_codes([advice]) == ()


def test_finding_is_told_with_its_impact() -> None:
    assert SourceFinding(code="tool_never_named", detail="x", file="a.py").document() == {
        "code": "tool_never_named",
        "detail": "x",
        "file": "a.py",
        "impact": "risks_failure",
        "line": None,
    }
