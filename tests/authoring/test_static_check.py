from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.authoring.diagnostics.diagnostic import Checked
from bfcl.authoring.diagnostics.text import line
from bfcl.authoring.static_check import static_check
from bfcl.errors import PackError
from tests.packs import (
    ALL_POLICIES,
    Edit,
    add_case,
    drop_template,
    put,
    put_template,
    replace,
    text,
    write_config,
    write_pack,
)

Check = Callable[..., Checked]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Check the small pack with edits, as `pack/`; `own` edits give it a validate.yaml."""
    monkeypatch.chdir(tmp_path)

    def run(*edits: Edit, own: dict[str, object] | None = None) -> Checked:
        root = write_pack(tmp_path / "pack", *edits, templates=ALL_POLICIES)
        if own is not None:
            write_config(root / "validate.yaml", root, output_dir="../runs", **own)
        return static_check(Path("pack"))

    return run


def _lines(checked: Checked) -> list[str]:
    return [line(one) for one in checked.diagnostics]


def test_good_pack_is_clean_without_a_configuration(check: Check) -> None:
    assert check() == Checked(pack="pack", loads=True, diagnostics=())


def test_directory_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PackError) as caught:
        static_check(tmp_path)
    assert caught.value.problems[0].code == "pack_file_missing"


def test_finding_has_line_and_column_of_its_value(check: Check) -> None:
    checked = check(put_template("kiln_status", ("turn_policy",), "single_trun"))
    assert _lines(checked) == [
        "pack/task_templates.yaml:5:3: error unknown_turn_policy: `single_trun` is no turn policy; expected one of "
        "single_turn, multi_tool, missing_slot, confirmation, correction, dependent_call, negative_path, clarify_only, "
        "irrelevant (did you mean `single_turn`?)"
    ]


def test_finding_in_json_has_the_column_of_its_key(check: Check) -> None:
    checked = check(put("tools.json", (0, "function", "parameters", "type"), "array"))
    (found,) = [one for one in checked.diagnostics if one.code == "unsupported_parameter_schema"]
    assert (found.path, found.line, found.column) == ("pack/tools.json", 8, 9)
    assert found.pointer == "/0/function/parameters/type"


def test_warnings_of_loading_are_told_beside_errors(check: Check) -> None:
    checked = check(put("manifest.yaml", ("descripton",), "x"))
    assert [(one.severity, one.code, one.line) for one in checked.diagnostics] == [
        ("warning", "unknown_manifest_key", 23)
    ]
    assert checked.clean


def test_problems_of_every_file_are_told_at_once_and_the_rest_is_checked(check: Check) -> None:
    checked = check(
        put("manifest.yaml", ("languages",), "en"),
        put("tools.json", (1, "function", "strict"), "no"),
        text("fixtures.json", "[]"),
        put_template("kiln_status", ("slot",), {}),
        put("validation_cases.yaml", (0, "reset_before"), "no"),
        replace("backend.py", "def get_state()", "def get_stat()"),
    )
    assert not checked.loads
    codes = {one.code for one in checked.diagnostics if one.check is None}
    assert codes == {
        "manifest_invalid",
        "tools_catalog_invalid",
        "fixtures_invalid",
        "task_templates_invalid",
        "validation_cases_invalid",
    }
    assert ("3", "missing_backend_callable") in {(one.check, one.code) for one in checked.diagnostics}


def test_entries_after_one_at_fault_keep_their_places(check: Check) -> None:
    checked = check(
        put("validation_cases.yaml", (0, "tol"), 1),
        put("validation_cases.yaml", (1, "tool"), "get_kilm"),
        put("validation_cases.yaml", (2, "id"), "kiln_missing"),
    )
    lines = [one for one in _lines(checked) if "validation_cases.yaml" in one]
    assert lines == [
        "pack/validation_cases.yaml:7:3: error validation_cases_invalid: case `kiln_found`: unknown key `tol` "
        "(did you mean `tool`?)",
        "pack/validation_cases.yaml:9:3: error unknown_tool: probes `get_kilm`, not in the catalog "
        "(did you mean `get_kiln`?)",
        "pack/validation_cases.yaml:16:3: error duplicate_case_id: case id `kiln_missing` is used twice; "
        "expected unique ids",
    ]


def test_manifest_that_does_not_parse_is_all_there_is(check: Check) -> None:
    checked = check(text("manifest.yaml", "a: [\n"))
    assert [(one.code, one.path) for one in checked.diagnostics] == [("pack_parse_error", "pack/manifest.yaml")]
    assert not checked.loads


def test_refused_configuration_is_told_and_the_pack_is_checked_all_the_same(check: Check) -> None:
    checked = check(put_template("kiln_status", ("call_order",), "sorted"), own={"oracle_runtime__wroker": "process"})
    assert [(one.path, one.code) for one in checked.diagnostics] == [
        ("pack/task_templates.yaml", "invalid_call_order"),
        ("pack/validate.yaml", "generation_config_invalid"),
    ]
    assert not checked.loads


def test_budget_is_judged_by_the_configuration_the_pack_brings(check: Check) -> None:
    small = check(own={"task_generation__tasks_per_category": 2})
    assert [(one.severity, one.code, one.path) for one in small.diagnostics] == [
        ("error", "category_budget_too_small", "pack/validate.yaml"),
    ]
    large = check(own={"task_generation__tasks_per_category": 7})
    (found,) = large.diagnostics
    assert (found.severity, found.code, found.path) == (
        "warning",
        "category_budget_not_reachable",
        "pack/validate.yaml",
    )
    assert found.line is not None


def test_assertion_of_a_template_at_fault_is_not_called_unused(check: Check) -> None:
    checked = check(put_template("kiln_unknown", ("slot",), {}))
    assert [one.code for one in checked.diagnostics] == ["task_templates_invalid"]


# --- causes ---------------------------------------------------------------------------------------------------------


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
