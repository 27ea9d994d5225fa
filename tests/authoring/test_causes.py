"""Which diagnostic follows from which."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bfcl.authoring.causes import FOLDED_AFTER, folded
from bfcl.authoring.diagnostics.diagnostic import Cause, Checked, Diagnostic
from tests.packs import Edit, add_case, add_template, drop_template, put, put_template, text

Check = Callable[..., Checked]


def _because(checked: Checked, code: str) -> list[tuple[str, str | None, int | None] | None]:
    found = [one.because for one in checked.diagnostics if one.code == code]
    return [None if one is None else tuple(one) for one in found]


def test_tool_is_unknown_because_its_entry_was_refused(check: Check) -> None:
    checked = check(put("tools.json", (1, "function", "strict"), "no"))
    cause = ("tools_catalog_invalid", "pack/tools.json", 40)
    assert set(_because(checked, "unknown_tool")) == {cause}
    assert _because(checked, "implementation_without_schema") == [cause]


def test_tool_that_nobody_declared_is_unknown_for_no_other_reason(check: Check) -> None:
    checked = check(
        put("tools.json", (1, "function", "strict"), "no"),
        add_case(id="x", tool="get_kilm", expect={"result_class": "success"}),
    )
    (found,) = [one for one in checked.diagnostics if one.tool == "get_kilm"]
    assert found.because is None


def test_enum_source_is_unresolved_because_its_tool_was_refused(check: Check) -> None:
    source = {"source": "enum:start_firing.atmosphere", "visible_in_first_turn": True}
    checked = check(
        put_template("out_of_scope", ("slots", "topic"), source),
        put("tools.json", (2, "x-mutates"), "yes"),
    )
    (found,) = [one for one in checked.diagnostics if one.check == "2"]
    assert found.code == "unknown_tool"
    assert found.because is not None
    assert found.because.code == "tools_catalog_invalid"


def test_probe_is_lacking_because_its_case_was_refused(check: Check) -> None:
    checked = check(put("validation_cases.yaml", (3, "tol"), 1))
    assert _because(checked, "incomplete_validation_coverage") == [
        ("validation_cases_invalid", "pack/validation_cases.yaml", 34)
    ]


def test_field_is_missing_because_it_is_misspelt_beside(check: Check) -> None:
    checked = check(drop_template("kiln_status", ("slots",)), put_template("kiln_status", ("slot",), {}))
    (missing,) = [one for one in checked.diagnostics if one.fix == "add `slots`"]
    (misspelt,) = [one for one in checked.diagnostics if one.fix == "did you mean `slots`?"]
    assert missing.because == ("task_templates_invalid", "pack/task_templates.yaml", misspelt.line)
    assert misspelt.because is None


def test_question_is_unanswered_because_its_reply_is_not_linked(check: Check) -> None:
    checked = check(put_template("start_confirmed", ("user_simulator_turns", 0, "after"), "ask_confrm"))
    (link,) = [one for one in checked.diagnostics if one.code == "simulator_after_unresolved"]
    assert _because(checked, "text_milestone_without_reply") == [
        ("simulator_after_unresolved", "pack/task_templates.yaml", link.line)
    ]


def test_confirmation_parameter_is_missing_because_the_manifest_was_refused(check: Check) -> None:
    checked = check(
        put("manifest.yaml", ("confirmation",), {"parameter": 3}),
        put("tools.json", (2, "function", "parameters", "properties", "confirm"), {"type": "string"}),
    )
    assert _because(checked, "confirmation_parameter_missing") == [("manifest_invalid", "pack/manifest.yaml", 24)]


def test_diagnostic_with_a_cause_says_so_once(check: Check) -> None:
    checked = check(put("tools.json", (1, "function", "strict"), "no"))
    assert [one.code for one in checked.diagnostics if one.because is None] == ["tools_catalog_invalid"]


HELD_OUT: dict[str, tuple[list[Edit], tuple[str, str, int]]] = {
    "is not there": ([], ("pack_file_missing", "pack/manifest.yaml", 23)),
    "has an unknown key": (
        [text("held_out.yaml", "version: '1'\ntemplate: [kiln_status]\n")],
        ("held_out_contract_invalid", "pack/held_out.yaml", 2),
    ),
}


@pytest.mark.parametrize(("edits", "cause"), HELD_OUT.values(), ids=HELD_OUT)
def test_budget_is_too_small_because_the_held_out_file(
    check: Check, edits: list[Edit], cause: tuple[str, str, int]
) -> None:
    declared = put("manifest.yaml", ("held_out",), "held_out.yaml")
    checked = check(declared, *edits, own={"task_generation__tasks_per_category": 2})
    assert _because(checked, "category_budget_too_small") == [cause]


def test_budget_is_too_small_for_no_other_reason_where_the_held_out_file_is_good(check: Check) -> None:
    declared = put("manifest.yaml", ("held_out",), "held_out.yaml")
    good = text("held_out.yaml", "version: '1'\ntemplates: [kiln_status]\n")
    checked = check(declared, good, own={"task_generation__tasks_per_category": 2})
    assert _because(checked, "category_budget_too_small") == [None]


@pytest.mark.parametrize(
    ("edit", "cause"),
    [
        (put("manifest.yaml", ("paths",), {"fixtures": "rows.json"}), ("pack_file_missing", "pack/manifest.yaml", 24)),
        (text("fixtures.json", "[]"), ("fixtures_invalid", "pack/fixtures.json", 1)),
    ],
)
def test_collection_is_unknown_because_the_fixtures_cannot_be_used(
    check: Check, edit: Edit, cause: tuple[str, str, int]
) -> None:
    assert set(_because(check(edit), "unknown_collection")) == {cause}


def test_what_follows_from_one_cause_many_times_is_told_a_few_times_and_counted() -> None:
    cause = Cause("manifest_invalid", "pack/manifest.yaml", 14)
    own = Diagnostic(severity="error", code="unknown_tool", message="own")
    following = [
        Diagnostic(severity="error", code="missing_language_text", message=f"number {number}", because=cause)
        for number in range(FOLDED_AFTER + 5)
    ]
    other = Diagnostic(severity="error", code="absent_ids_missing", message="x", because=cause)
    found = folded([own, *following, other, own])
    assert [one.message for one in found] == [
        "own",
        *(f"number {number}" for number in range(FOLDED_AFTER - 1)),
        f"number {FOLDED_AFTER - 1}; and 5 more like it",
        "x",
        "own",
    ]
    assert folded(following[:FOLDED_AFTER]) == following[:FOLDED_AFTER]


def test_a_large_pack_shows_the_cause_first_and_not_every_template(check: Check) -> None:
    more = [add_template(f"more_{number}", like="out_of_scope") for number in range(30)]
    checked = check(put("manifest.yaml", ("assistant_turn_templates",), []), *more)
    assert checked.diagnostics[0].code == "manifest_invalid"
    assert len(checked.diagnostics) == 1 + FOLDED_AFTER
    assert checked.diagnostics[-1].message.endswith("; and 29 more like it")
