"""Everything a check refuses comes with what to do about it."""

from __future__ import annotations

from bfcl.checks.findings import Findings
from bfcl.checks.fixes import with_fixes
from bfcl.records.verdict import Finding
from tests.checks.test_codes import STOPPED, TABLES


def test_every_failure_that_the_tables_provoke_is_told_with_a_fix() -> None:
    told = [one for module in TABLES for *_, expected in module.REFUSED.values() for one in expected]
    told += [one for *_, expected in STOPPED.values() for one in expected]
    assert [one for one in told if "\n  fix: " not in one] == []


def test_finding_told_with_a_fix_keeps_it() -> None:
    found = Findings([Finding(code="unknown_tool", message="", fix="did you mean `get_kiln`?")], [])
    assert with_fixes(found) == found


def test_finding_told_without_a_fix_gets_the_one_of_its_code_or_of_its_detail() -> None:
    called = Finding(code="trace_schema_violation", message="", detail="unknown_argument")
    missing = Finding(code="trace_schema_violation", message="", detail="tool_not_exposed")
    assert [one.fix for one in with_fixes(Findings([called], [missing])).failures] == [
        "change `args` of the milestone, or the slots, to what the tool's schema takes"
    ]
    assert [one.fix for one in with_fixes(Findings([called], [missing])).warnings] == [
        "add the tool to `tools_present`, or leave `tools_present` out"
    ]


def test_finding_of_a_code_without_an_edit_stays_as_it_is() -> None:
    found = Findings([Finding(code="no_such_code", message="")], [])
    assert with_fixes(found) == found
