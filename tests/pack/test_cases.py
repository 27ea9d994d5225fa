from __future__ import annotations

import pytest

from bfcl.pack.model import Case
from tests.pack.conftest import Load, Refused
from tests.packs import CASES, Edit, add_case, drop, put, text

C = "validation_cases.yaml"


@pytest.mark.parametrize(
    ("edit", "field", "message"),
    [
        (text(C, "a: 1\n"), None, 'the value is {"a": 1}; expected a list of cases'),
        (put(C, (0,), []), "0", "`0` is []; expected a mapping with `id` and `tool`"),
        (drop(C, (0, "id")), "0", "case 0: `id` is required\n  fix: add `id`"),
        (put(C, (0, "id"), 4), "0.id", "case 0: `id` is 4; expected text\n  fix: quote it to make it text"),
        (drop(C, (0, "tool")), "0", "case `kiln_found`: `tool` is required\n  fix: add `tool`"),
        (put(C, (0, "arguments"), []), "0.arguments", "case `kiln_found`: `arguments` is []; expected a mapping"),
        (
            put(C, (0, "reset_before"), "no"),
            "0.reset_before",
            'case `kiln_found`: `reset_before` is "no"; expected true or false',
        ),
        (
            put(C, (0, "coverage"), "positive"),
            "0.coverage",
            'case `kiln_found`: `coverage` is "positive"; expected the word "negative", or no `coverage`',
        ),
        (
            put(C, (0, "argument"), {}),
            "0.argument",
            "case `kiln_found`: unknown key `argument`\n  fix: did you mean `arguments`?",
        ),
        (put(C, (0, "expect"), "ok"), "0.expect", 'case `kiln_found`: `expect` is "ok"; expected a mapping'),
        (
            put(C, (0, "expect", "result_class"), "sucess"),
            "0.expect.result_class",
            (
                'case `kiln_found`: `expect.result_class` is "sucess"; '
                "expected success, structured_error, awaiting_confirmation\n  fix: did you mean `success`?"
            ),
        ),
        (
            put(C, (0, "expect", "result_class"), None),
            "0.expect.result_class",
            (
                "case `kiln_found`: `expect.result_class` is null; "
                "expected success, structured_error, awaiting_confirmation"
            ),
        ),
        (
            put(C, (0, "expect", "error_code"), 404),
            "0.expect.error_code",
            "case `kiln_found`: `expect.error_code` is 404; expected text\n  fix: quote it to make it text",
        ),
        (
            put(C, (0, "expect", "state_unchanged"), None),
            "0.expect.state_unchanged",
            "case `kiln_found`: `expect.state_unchanged` is null; expected true or false",
        ),
    ],
)
def test_case_of_the_wrong_shape_is_refused(refused: Refused, edit: Edit, field: str | None, message: str) -> None:
    (problem,) = refused(edit)
    assert problem.code == "validation_cases_invalid"
    assert problem.field == field
    assert str(problem) == f"pack/validation_cases.yaml:{problem.line}: validation_cases_invalid: {message}"


def test_cases_keep_file_order_and_repeated_ids(load: Load) -> None:
    pack = load(add_case(id="kiln_found", tool="no_such_tool"))
    assert [case.id for case in pack.cases] == [*(case["id"] for case in CASES), "kiln_found"]
    assert pack.cases[-1] == Case(
        id="kiln_found", tool="no_such_tool", arguments={}, reset_before=True, expect={}, coverage=None
    )


def test_case_keeps_an_explicit_null_apart_from_an_absent_claim(load: Load) -> None:
    cases = {case.id: case for case in load().cases}
    assert cases["firing_found"].expect["error_code"] is None
    assert "error_code" not in cases["kiln_found"].expect
    assert cases["kiln_after_start"].reset_before is False


def test_empty_list_of_cases_loads(load: Load) -> None:
    assert load(put(C, (), [])).cases == ()


def test_other_expect_keys_are_result_fields(load: Load) -> None:
    pack = load(add_case(id="x", tool="get_kiln", coverage="negative", expect={"result": [1, None], "status": None}))
    assert pack.cases[-1].expect == {"result": [1, None], "status": None}
    assert pack.cases[-1].coverage == "negative"
