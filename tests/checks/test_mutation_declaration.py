"""Check M1: who changes the state, and who says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.judged import judge
from tests.packs import Edit, drop, put, replace

COUNTS = '_STATE["next_firing"] += 1\n'
BUSY = '        return _refuse("kiln_busy"'

REFUSED: dict[str, tuple[list[Edit], list[str]]] = {
    "mutating tool does not say so": (
        [drop("tools.json", (2, "x-mutates"))],
        [
            (
                "M1 pack/tools.json:42: undeclared_mutation: start_done: `start_firing` changed the "
                'state: `firings["F-14"]` was nothing and became '
                '{"cone":6,"firing_id":"F-14","kiln_id":"K-1","outcome":null}; expected no change from a '
                "tool without `x-mutates`\n"
                '  fix: add `"x-mutates": true` to its entry, or leave the state alone'
            ),
        ],
    ),
    "reading tool counts its calls": (
        [replace("backend.py", '    return {"firing": copy', f'    {COUNTS}    return {{"firing": copy')],
        [
            (
                "M1 pack/tools.json:22: undeclared_mutation: firing_found: `get_firing` changed the "
                "state: `next_firing` was 14 and became 15; expected no change from a tool without "
                "`x-mutates`\n"
                '  fix: add `"x-mutates": true` to its entry, or leave the state alone'
            ),
        ],
    ),
    "reading tool counts its refusals": (
        [
            replace(
                "backend.py",
                '        return _refuse("not_found", entity="firing"',
                f'        {COUNTS}        return _refuse("not_found", entity="firing"',
            )
        ],
        [
            (
                "M1 pack/tools.json:22: undeclared_mutation: firing_missing: `get_firing` changed the "
                "state: `next_firing` was 14 and became 15; expected no change from a tool without "
                "`x-mutates`\n"
                '  fix: add `"x-mutates": true` to its entry, or leave the state alone'
            ),
        ],
    ),
    "declared tool changes nothing": (
        [put("tools.json", (0, "x-mutates"), True)],
        [
            (
                "M1 pack/tools.json:21: declared_mutation_not_observed: `get_kiln` says `x-mutates: "
                "true`, but none of its success probes (2) changes the state; expected at least one "
                "change\n"
                "  fix: add a case in which it takes effect, let `get_state` show the effect, or remove "
                "`x-mutates`"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "expected"), REFUSED.values(), ids=REFUSED)
def test_check_m1_reports_exactly_the_fault_of_one_edit(tmp_path: Path, edits: list[Edit], expected: list[str]) -> None:
    assert judge(tmp_path, *edits).failures() == expected


def test_check_m1_leaves_the_refusals_of_a_declaring_tool_to_a_warning(tmp_path: Path) -> None:
    counts = replace("backend.py", BUSY, f"        {COUNTS}{BUSY}")
    judged = judge(tmp_path, counts, drop("validation_cases.yaml", (7, "expect", "state_unchanged")))
    assert judged.failures() == []
    assert [one.split(": ")[1] for one in judged.warnings() if one.startswith("5 ")] == ["rejected_call_mutated_state"]


def test_check_m1_runs_on_what_there_is_when_a_probe_fails(tmp_path: Path) -> None:
    undeclared = drop("tools.json", (2, "x-mutates"))
    gone = put("validation_cases.yaml", (1, "expect", "error_code"), "gone")
    assert [one.split(": ")[1] for one in judge(tmp_path, undeclared, gone).failures()] == [
        "error_code_mismatch",
        "undeclared_mutation",
    ]
