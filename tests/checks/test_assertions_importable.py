"""Check 4: assertions and who relies on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.assertions_importable import findings
from bfcl.checks.outline import Outline, exported_assertions, read_outline
from bfcl.checks.report import as_problem
from bfcl.pack.load import load_pack
from tests.checks.judged import judge
from tests.packs import Edit, append, drop_template, put_template, replace, run_config, write_pack

REFUSED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "module does not import": (
        [append("assertions.py", 'raise ValueError("boom")\n')],
        {},
        [
            (
                "4 pack/assertions.py:59: assertions_import_failed: ValueError: boom"
                "\n  fix: mend that line; only Python's own library and the pack's own files can be imported"
            ),
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
                "\n  fix: use another assertion, or remove `executable: False` from its capabilities"
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
    "success assertion is written under another kind of name": (
        [
            append("assertions.py", "\n\ndef kiln_told(*, state, trace, task, ctx):\n    assert trace\n"),
            put_template("kiln_status", ("success_assertions",), ["kiln_told"]),
        ],
        {},
        [
            (
                "4 pack/task_templates.yaml:13: missing_assertion: kiln_status: success assertion "
                "`kiln_told` is not exported by the assertions module, though assertions.py:61 defines it\n"
                "  fix: name it `assert_...`, or add it to a dictionary `ASSERTIONS`"
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


def test_assertion_left_out_of_the_exports_is_told_where_it_is_written(tmp_path: Path) -> None:
    table = "\n\nASSERTIONS = {\n    'assert_firing_read': assert_firing_read,\n}\n"
    root = write_pack(tmp_path / "pack", append("assertions.py", table), templates=["kiln_status"])
    outline = read_outline((root / "assertions.py").read_bytes())
    assert isinstance(outline, Outline)
    found = findings(load_pack(run_config(root), project=tmp_path), exported_assertions(outline))
    missing = [one for one in found.failures if one.code == "missing_assertion"]
    assert [str(as_problem(one, root="pack")) for one in missing] == [
        "pack/task_templates.yaml:13: missing_assertion: kiln_status: success assertion `assert_kiln_read` is not "
        "exported by the assertions module, though assertions.py:18 defines it\n"
        "  fix: add it to `ASSERTIONS`"
    ]
