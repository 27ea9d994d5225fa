"""Check 4: assertions and who relies on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.judged import judge
from tests.packs import Edit, append, drop_template, put_template, replace

REFUSED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "module does not import": (
        [append("assertions.py", 'raise ValueError("boom")\n')],
        {},
        [
            "4 pack/assertions.py:59: assertions_import_failed: ValueError: boom",
        ],
    ),
    "assertion lacks keywords": (
        [append("assertions.py", "\n\ndef assert_odd(*, state, task):\n    pass\n")],
        {},
        [
            (
                "4 pack/assertions.py:61: invalid_signature: `assert_odd` does not accept `trace`, "
                "`ctx`; expected the keywords `state`, `trace`, `task` and `ctx`\n"
                "  fix: write `def assert_odd(*, state, trace, task, ctx):`"
            ),
        ],
    ),
    "capability has an unknown category": (
        [
            replace(
                "assertions.py", '"assert_kiln_busy": {"category": "state"}', '"assert_kiln_busy": {"category": "stat"}'
            )
        ],
        {},
        [
            (
                "4 pack/assertions.py:8: invalid_assertion_capability: `assert_kiln_busy.category` is "
                "`'stat'`; expected one of state, path, result, final_answer, unclassified\n"
                "  fix: did you mean `state`?"
            ),
        ],
    ),
    "capability names no assertion": (
        [replace("assertions.py", '"assert_kiln_busy": {', '"assert_kiln_bsy": {')],
        {},
        [
            (
                "4 pack/assertions.py:8: invalid_assertion_capability: `assert_kiln_bsy` is not an "
                "exported assertion\n"
                "  fix: did you mean `assert_kiln_busy`?"
            ),
        ],
    ),
    "referenced assertion is not executable": (
        [
            replace(
                "assertions.py",
                '"assert_kiln_busy": {"category": "state"}',
                '"assert_kiln_busy": {"executable": False}',
            )
        ],
        {},
        [
            (
                "4 pack/task_templates.yaml:40: assertion_not_executable_compatible: start_confirmed: "
                "success assertion `assert_kiln_busy` is declared `executable: False`; replay cannot run "
                "it"
            ),
        ],
    ),
    "template has no success assertion": (
        [put_template("kiln_status", ("success_assertions",), [])],
        {},
        [
            (
                "4 pack/task_templates.yaml:12: template_without_success_assertion: kiln_status: "
                "declares no success assertion; expected at least one\n"
                "  fix: list in `success_assertions` what must hold when the conversation is over"
            ),
        ],
    ),
    "template leaves success assertions out": (
        [drop_template("kiln_status", ("success_assertions",))],
        {},
        [
            (
                "4 pack/task_templates.yaml:1: template_without_success_assertion: kiln_status: declares "
                "no success assertion; expected at least one\n"
                "  fix: list in `success_assertions` what must hold when the conversation is over"
            ),
        ],
    ),
    "success assertion is not exported": (
        [put_template("kiln_status", ("success_assertions",), ["assert_kiln_reed"])],
        {},
        [
            (
                "4 pack/task_templates.yaml:13: missing_assertion: kiln_status: success assertion "
                "`assert_kiln_reed` is not exported by the assertions module\n"
                "  fix: did you mean `assert_kiln_read`?"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "run", "expected"), REFUSED.values(), ids=REFUSED)
def test_check_4_reports_exactly_the_fault_of_one_edit(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    assert judge(tmp_path, *edits, **run).failures() == expected


def test_check_4_warns_of_an_assertion_that_no_template_uses(tmp_path: Path) -> None:
    assert [one for one in judge(tmp_path).warnings() if one.startswith("4 ")] == [
        "4 pack/assertions.py:31: unused_assertion: no template uses `assert_firing_from_kiln`\n"
        "  fix: add it to a template's `success_assertions`, or remove it",
        "4 pack/assertions.py:51: unused_assertion: no template uses `assert_not_found`\n"
        "  fix: add it to a template's `success_assertions`, or remove it",
    ]
