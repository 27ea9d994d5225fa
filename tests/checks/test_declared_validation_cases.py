"""Check 5: probes of the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.judged import judge
from tests.packs import Edit, append, drop, put, put_template, replace, text

REFUSED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "no case is declared": (
        [put("validation_cases.yaml", (), [])],
        {},
        [
            (
                "5 pack/validation_cases.yaml:1: validation_cases_empty: declares no probe; expected a "
                "success and a refusal for every tool\n"
                "  fix: add at least two cases for each tool"
            ),
            (
                "6 pack/tools.json:45: confirmation_unprobed: `start_firing` requires confirmation, but "
                "no probe of it succeeds; expected at least one\n"
                "  fix: add a case that `start_firing` answers with a success"
            ),
            (
                "M1 pack/tools.json:78: declared_mutation_not_observed: `start_firing` says `x-mutates: "
                "true`, but no probe of it succeeds; expected at least one change\n"
                "  fix: add a case in which it takes effect, let `get_state` show the effect, or remove "
                "`x-mutates`"
            ),
            (
                "D1 pack/tools.json:5: no_success_observation: `get_kiln` shows no success to compare; "
                "expected at least one probe that succeeds\n"
                "  fix: add a case that `get_kiln` answers with a success"
            ),
            (
                "D1 pack/tools.json:25: no_success_observation: `get_firing` shows no success to compare; "
                "expected at least one probe that succeeds\n"
                "  fix: add a case that `get_firing` answers with a success"
            ),
            (
                "D1 pack/tools.json:45: no_success_observation: `start_firing` shows no success to compare; "
                "expected at least one probe that succeeds\n"
                "  fix: add a case that `start_firing` answers with a success"
            ),
        ],
    ),
    "first case continues nothing": (
        [put("validation_cases.yaml", (0, "reset_before"), False)],
        {},
        [
            (
                "5 pack/validation_cases.yaml:7: reset_before_false_without_predecessor: kiln_found: the "
                "first case says `reset_before: false`, but no case comes before it\n"
                "  fix: remove `reset_before`"
            ),
        ],
    ),
    "two cases share an id": (
        [put("validation_cases.yaml", (1, "id"), "kiln_found")],
        {},
        [
            (
                "5 pack/validation_cases.yaml:7: duplicate_case_id: kiln_found: case id `kiln_found` is "
                "used twice; expected unique ids"
                "\n  fix: rename one of them"
            ),
        ],
    ),
    "case probes an unknown tool": (
        [put("validation_cases.yaml", (0, "tool"), "get_klin")],
        {},
        [
            (
                "5 pack/validation_cases.yaml:2: unknown_tool: kiln_found: probes `get_klin`, not in the "
                "catalog\n"
                "  fix: did you mean `get_kiln`?"
            ),
        ],
    ),
    "answer is of another class": (
        [put("validation_cases.yaml", (0, "expect", "result_class"), "structured_error")],
        {},
        [
            (
                "5 pack/validation_cases.yaml:6: result_class_mismatch: kiln_found: answered "
                '{"kiln":{"kiln_id":"K-1","recent_firings":["F-11"],"statu...: class is `success`; '
                "expected `structured_error`"
                "\n  fix: mend the backend, or set `expect.result_class` to the class that is right"
            ),
        ],
    ),
    "answer is not pending": (
        [put("validation_cases.yaml", (8, "expect", "result_class"), "awaiting_confirmation")],
        {},
        [
            (
                "5 pack/validation_cases.yaml:77: result_class_mismatch: start_done: answered "
                '{"firing_id":"F-14","status":"started"}: class is `success`; expected '
                "`awaiting_confirmation`"
                "\n  fix: mend the backend, or set `expect.result_class` to the class that is right"
            ),
        ],
    ),
    "error has another code": (
        [put("validation_cases.yaml", (1, "expect", "error_code"), "gone")],
        {},
        [
            (
                "5 pack/validation_cases.yaml:13: error_code_mismatch: kiln_missing: error code is "
                '"not_found"; expected "gone"'
                "\n  fix: mend the backend, or set `expect.error_code` to the code that is right"
            ),
        ],
    ),
    "error code is expected of a success": (
        [put("validation_cases.yaml", (3, "expect", "error_code"), "gone")],
        {},
        [
            (
                "5 pack/validation_cases.yaml:28: error_code_mismatch: firing_found: the answer is no "
                'error; expected "gone"'
                "\n  fix: mend the backend, or set `expect.error_code` to the code that is right"
            ),
        ],
    ),
    "no error is expected of a refusal": (
        [put("validation_cases.yaml", (1, "expect"), {"error_code": None})],
        {},
        [
            (
                "5 pack/validation_cases.yaml:12: error_code_mismatch: kiln_missing: error code is "
                '"not_found"; expected no error'
                "\n  fix: mend the backend, or set `expect.error_code` to the code that is right"
            ),
        ],
    ),
    "result field differs deep down": (
        [put("validation_cases.yaml", (3, "expect", "firing", "cone"), 5.0)],
        {},
        [
            (
                "5 pack/validation_cases.yaml:29: result_field_mismatch: firing_found: result field "
                "`firing.cone` is 5; expected 5.0"
                "\n  fix: mend the backend, or set the field in `expect` to the value that is right"
            ),
        ],
    ),
    "result field is missing": (
        [put("validation_cases.yaml", (0, "expect", "zone"), None)],
        {},
        [
            (
                "5 pack/validation_cases.yaml:7: result_field_mismatch: kiln_found: result field `zone` "
                "is nothing; expected null"
                "\n  fix: mend the backend, or set the field in `expect` to the value that is right"
            ),
        ],
    ),
    "state changes against the claim": (
        [put("validation_cases.yaml", (8, "expect", "state_unchanged"), True)],
        {},
        [
            (
                "5 pack/validation_cases.yaml:79: state_changed: start_done: the call changed the state: "
                '`firings["F-14"]` was nothing and became '
                '{"cone":6,"firing_id":"F-14","kiln_id":"K-1","outcome":null}; expected no change'
                "\n  fix: let the tool leave the state alone, or remove `state_unchanged` from `expect`"
            ),
        ],
    ),
    "success breaks its schema": (
        [put("validation_cases.yaml", (8, "arguments", "atmosphere"), None)],
        {},
        [
            (
                "5 pack/validation_cases.yaml:72: successful_validation_case_schema_mismatch: "
                "start_done: succeeded with arguments its schema refuses: `/atmosphere`: null; expected "
                'one of ["oxidation","reduction"]'
                "\n  fix: let the tool refuse these arguments, or widen its schema"
            ),
            (
                "5 pack/validation_cases.yaml:72: successful_validation_case_schema_mismatch: "
                "start_done: succeeded with arguments its schema refuses: `/atmosphere`: null is null; "
                "expected string"
                "\n  fix: let the tool refuse these arguments, or widen its schema"
            ),
        ],
    ),
    "tool has no negative case": (
        [drop("validation_cases.yaml", (4,))],
        {},
        [
            (
                "5 pack/tools.json:25: incomplete_validation_coverage: `get_firing` has no negative "
                "probe; expected at least one\n"
                "  fix: add a case that the tool refuses; for a refusal told as a plain result say "
                "`coverage: negative`"
            ),
        ],
    ),
    "tool has no success case": (
        [put("validation_cases.yaml", (3, "coverage"), "negative")],
        {},
        [
            (
                "5 pack/tools.json:25: incomplete_validation_coverage: `get_firing` has no success "
                "probe; expected at least one\n"
                "  fix: add a case that the tool answers with a success"
            ),
            (
                "D1 pack/tools.json:25: no_success_observation: `get_firing` shows no success to compare; "
                "expected at least one probe that succeeds\n"
                "  fix: add a case that `get_firing` answers with a success"
            ),
        ],
    ),
    "tool raises in the middle of a chain": (
        [
            replace("backend.py", '    firing_id = "F-%d"', '    firing_id = 1 / 0 or "F-%d"'),
            put_template("start_confirmed", ("assistant_milestones", 1, "args", "confirm"), False),
            put_template("start_confirmed", ("success_assertions",), ["assert_pending"]),
            put_template("start_confirmed", ("mutates",), False),
            append(
                "assertions.py",
                '\n\ndef assert_pending(*, state, trace, task, ctx):\n    assert trace[0]["result"]["status"] != "x"\n',
            ),
        ],
        {},
        [
            (
                "5 pack/validation_cases.yaml:70: tool_raised: start_done: `start_firing` broke instead "
                "of answering: ZeroDivisionError: division by zero (backend.py:73)"
                '\n  fix: mend that line; answer a refusal as `{"error": {"code": "<word>"}}`'
            ),
            (
                "5 pack/validation_cases.yaml:83: chain_aborted: kiln_after_start: did not run: "
                "`start_done`, whose episode it continues, broke"
                "\n  fix: mend that probe first"
            ),
            (
                "6 pack/tools.json:45: confirmation_unprobed: `start_firing` requires confirmation, but "
                "no probe of it succeeds; expected at least one\n"
                "  fix: mend what broke its probe, which check 5 tells"
            ),
            (
                "M1 pack/tools.json:78: declared_mutation_not_observed: `start_firing` says `x-mutates: "
                "true`, but no probe of it succeeds; expected at least one change\n"
                "  fix: add a case in which it takes effect, let `get_state` show the effect, or remove "
                "`x-mutates`"
            ),
            (
                "D1 pack/tools.json:45: no_success_observation: `start_firing` shows no success to compare; "
                "expected at least one probe that succeeds\n"
                "  fix: mend what broke its probe, which check 5 tells"
            ),
        ],
    ),
    "result is no object": (
        [
            replace("backend.py", '    return _refuse("unknown_tool", field=name)', "    return [name]"),
            put("validation_cases.yaml", (0, "tool"), "other"),
        ],
        {},
        [
            (
                "5 pack/validation_cases.yaml:2: unknown_tool: kiln_found: probes `other`, not in the catalog"
                "\n  fix: use a name that tools.json declares, or declare the tool there"
            ),
            (
                "5 pack/validation_cases.yaml:1: non_object_result: kiln_found: `other` broke instead of "
                "answering: `other` answered list, expected an object"
                "\n  fix: return a dict from `call_tool`, and a list of different names from `list_tools`"
            ),
        ],
    ),
}

WARNED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "refusal changes the state": (
        [
            replace(
                "backend.py",
                '        return _refuse("kiln_busy", entity="kiln", id=kiln_id)',
                '        _STATE["next_firing"] += 1\n        return _refuse("kiln_busy", entity="kiln", id=kiln_id)',
            ),
            drop("validation_cases.yaml", (7, "expect", "state_unchanged")),
        ],
        {},
        [
            (
                "5 pack/validation_cases.yaml:60: rejected_call_mutated_state: start_busy: refused the "
                "call and yet changed the state: `next_firing` was 14 and became 15"
                "\n  fix: refuse before anything is changed"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "run", "expected"), REFUSED.values(), ids=REFUSED)
def test_check_5_reports_exactly_the_fault_of_one_edit(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    assert judge(tmp_path, *edits, **run).failures() == expected


@pytest.mark.parametrize(("edits", "run", "expected"), WARNED.values(), ids=WARNED)
def test_check_5_warns_without_failing(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    judged = judge(tmp_path, *edits, **run)
    assert [one for one in judged.warnings() if "_assertion" not in one] == expected
    assert judged.statuses()["5"] == "pass"


def test_check_5_lets_a_refusal_told_as_a_result_break_the_schema(tmp_path: Path) -> None:
    arguments = put("validation_cases.yaml", (8, "arguments", "atmosphere"), None)
    judged = judge(tmp_path, arguments, put("validation_cases.yaml", (8, "coverage"), "negative"))
    assert [one for one in judged.failures() if one.startswith("5 ")] == [
        "5 pack/tools.json:45: incomplete_validation_coverage: `start_firing` has no success probe; "
        "expected at least one\n"
        "  fix: add a case that the tool answers with a success"
    ]


RESERVED = [
    put("manifest.yaml", ("held_out",), "held_out.yaml"),
    text("held_out.yaml", "version: '1.0'\nfixtures: {kilns: [K-1]}\npolicy: {fixtures_in_backend_state: false}\n"),
]


def test_check_5_hints_at_a_row_that_is_kept_from_the_oracle(tmp_path: Path) -> None:
    failures = judge(tmp_path, *RESERVED, templates=()).failures()
    hint = '(argument `kiln_id` is "K-1", a row of `kilns` held out of the oracle\'s sight)'
    fix = "probe a row that is not reserved, or set `policy.fixtures_in_backend_state: true` in the held-out file"
    assert failures[0] == (
        "5 pack/validation_cases.yaml:6: result_class_mismatch: kiln_found: answered "
        '{"error":{"code":"not_found","entity":"kiln","id":"K-1"}}: class is `structured_error`; expected `success` '
        f"{hint}\n  fix: {fix}"
    )
    assert [one.split(": ")[2] for one in failures if hint in one] == [
        *("kiln_found", "start_pending", "start_done", "start_done", "kiln_after_start", "kiln_after_start")
    ]


def test_check_5_hints_at_nothing_where_the_oracle_has_the_reserved_rows(tmp_path: Path) -> None:
    seen = text("held_out.yaml", "version: '1.0'\nfixtures: {kilns: [K-1]}\n")
    gone = put("validation_cases.yaml", (1, "expect", "error_code"), "gone")
    assert judge(tmp_path, *RESERVED, seen, gone, templates=()).failures() == [
        (
            '5 pack/validation_cases.yaml:13: error_code_mismatch: kiln_missing: error code is "not_found"; expected '
            '"gone"\n  fix: mend the backend, or set `expect.error_code` to the code that is right'
        )
    ]
