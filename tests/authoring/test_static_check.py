from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.authoring.diagnostics.diagnostic import Checked
from bfcl.authoring.diagnostics.text import line
from bfcl.authoring.static_check import static_check
from bfcl.errors import PackError
from tests.checks.test_endpoint_conformance import SERVICE
from tests.packs import Edit, add_template, append, drop, held_out, put, put_template, replace, text

Check = Callable[..., Checked]


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
        "expected unique ids (rename one of them)",
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


def test_broken_row_link_is_told_at_its_line(check: Check) -> None:
    slots = {
        "kiln_id": {"source": "kilns.kiln_id", "visible_in_first_turn": True},
        "zone": {"source": "kilns.zone", "same_row_as": "kiln_id", "filter": 'status == "idle"'},
    }
    found = check(put_template("kiln_status", ("slots",), slots))
    assert [text for text in _lines(found) if "slot `zone`" in text] == [
        "pack/task_templates.yaml:12:5: error slot_missing_visibility_flag: slot `zone` does not say whether its value"
        " occurs in the first user turn (add `visible_in_first_turn: true` or `false`)",
        "pack/task_templates.yaml:15:7: error slot_row_link_invalid: slot `zone` takes its row from `kiln_id` and has a"
        " filter of its own; expected none, since the filter of `kiln_id` holds (move the condition to the filter of"
        " `kiln_id`, or remove it)",
    ]


def test_endpoint_without_an_attestation_is_an_error(check: Check) -> None:
    checked = check(*SERVICE)
    assert [(one.check, one.code, one.path) for one in checked.diagnostics if one.severity == "error"] == [
        ("A1", "endpoint_attestation_missing", "pack/endpoint_config.yaml")
    ]
    assert checked.loads


def test_worker_that_isolates_nothing_is_placed_in_the_configuration(check: Check) -> None:
    checked = check(own={"oracle_runtime__worker": "thread", "task_generation__tasks_per_category": 7})
    found = [one for one in checked.diagnostics if one.code == "worker_not_process"]
    assert [(one.check, one.path, one.pointer) for one in found] == [
        ("I1", "pack/validate.yaml", "/oracle_runtime/worker")
    ]


PARAMETERS = (0, "function", "parameters")
UNUSABLE: dict[str, tuple[Edit, str]] = {
    "a text is none": (
        put("tools.json", (*PARAMETERS, "properties", "kiln_id", "description"), []),
        "pack/tools.json:12:13: error unsupported_parameter_schema: `get_kiln`: `description` is []; expected text",
    ),
    "required names null": (
        put("tools.json", (*PARAMETERS, "required"), ["kiln_id", None]),
        'pack/tools.json:15:9: error unsupported_parameter_schema: `get_kiln`: `required` is ["kiln_id", null]; '
        "expected a list of property names",
    ),
    "a bound is no number": (
        put("tools.json", (2, "function", "parameters", "properties", "cone", "maximum"), {}),
        "pack/tools.json:56:13: error unsupported_parameter_schema: `start_firing`: `maximum` is {}; expected a number",
    ),
}


@pytest.mark.parametrize(("edit", "expected"), UNUSABLE.values(), ids=UNUSABLE)
def test_schema_that_cannot_be_used_is_told_once_and_not_by_every_template_that_calls_the_tool(
    check: Check, edit: Edit, expected: str
) -> None:
    fix = " (write the schema with the keywords that the pack's documentation lists)"
    assert _lines(check(edit)) == [expected + fix]


def test_confirmation_parameter_that_is_missing_is_told_once(check: Check) -> None:
    checked = check(drop("tools.json", (2, "function", "parameters", "properties", "confirm")))
    assert [one.code for one in checked.diagnostics] == ["confirmation_parameter_missing"]


def test_template_that_calls_a_tool_with_an_unusable_schema_is_still_checked_before_its_calls(check: Check) -> None:
    checked = check(UNUSABLE["a text is none"][0], put_template("kiln_status", ("turn_policy",), "multi_tool"))
    assert [one.code for one in checked.diagnostics] == ["unsupported_parameter_schema", "turn_policy_shape_violation"]


@pytest.mark.parametrize(("written", "shown"), [("", "null"), ("[]\n", "[]"), ("3\n", "3")])
def test_manifest_that_is_no_mapping_is_all_that_is_told_of_it(check: Check, written: str, shown: str) -> None:
    assert _lines(check(text("manifest.yaml", written))) == [
        f"pack/manifest.yaml:1:1: error manifest_invalid: the value is {shown}; expected a mapping with `pack_id` and "
        "`version`"
    ]


def test_required_tool_that_is_never_called_is_one_finding_at_its_entry(check: Check) -> None:
    assert _lines(check(put_template("kiln_status", ("required_tools",), ["get_firing", "get_kiln"]))) == [
        "pack/task_templates.yaml:7:5: error trace_schema_violation: `required_tools` lists `get_firing`, which no "
        "milestone calls (remove `get_firing` from `required_tools`, or add the call)"
    ]


def test_policy_that_reserves_every_template_is_refused_where_it_reserves_them(check: Check) -> None:
    checked = check(held_out(templates=["out_of_scope"]))
    assert _lines(checked) == [
        "pack/held_out.yaml:3:1: error held_out_binding_starved: category `out_of_scope` keeps no template; reserved: "
        "template:out_of_scope (release one of them, or add a template that is not reserved)"
    ]


def test_policy_is_not_blamed_for_a_category_whose_template_could_not_be_read(check: Check) -> None:
    checked = check(
        add_template("other_scope", like="out_of_scope"),
        put_template("other_scope", ("slot",), {}),
        held_out(templates=["out_of_scope"]),
    )
    assert [one.code for one in checked.diagnostics] == ["task_templates_invalid"]


TABLE_FIX = (
    '(write `ASSERTIONS = {"assert_done": assert_done}`, or remove it: then every function named `assert_...` is '
    "exported)"
)
RUNS_NOTHING: dict[str, tuple[Edit, str]] = {
    "a table that is a list": (
        append("assertions.py", "\n\nASSERTIONS = []\n"),
        "pack/assertions.py:61: error invalid_signature: `ASSERTIONS` is of type list; expected a dictionary of name "
        f"to function {TABLE_FIX}",
    ),
    "a table that is nothing": (
        append("assertions.py", "\n\nASSERTIONS = None\n"),
        "pack/assertions.py:61: error invalid_signature: `ASSERTIONS` is of type NoneType; expected a dictionary of "
        f"name to function {TABLE_FIX}",
    ),
    "reset is async": (
        replace("backend.py", "def reset(", "async def reset("),
        "pack/backend.py:12: error missing_backend_callable: `reset` is an `async def`, so calling it runs nothing; "
        "expected it to run as `reset(*, ctx, fixtures=None)` (define `def reset(*, ctx, fixtures=None):` at module "
        "level)",
    ),
    "get_state yields": (
        replace("backend.py", "    return copy.deepcopy(_STATE)", "    yield copy.deepcopy(_STATE)"),
        "pack/backend.py:19: error missing_backend_callable: `get_state` holds `yield`, so calling it runs nothing; "
        "expected it to run as `get_state()` (define `def get_state():` at module level)",
    ),
    "an assertion is async": (
        replace("assertions.py", "def assert_not_found(", "async def assert_not_found("),
        "pack/assertions.py:51: error invalid_signature: `assert_not_found` is an `async def`, so calling it runs "
        "nothing; expected a plain `def` (write `def assert_not_found(*, state, trace, task, ctx):`)",
    ),
}


@pytest.mark.parametrize(("edit", "expected"), RUNS_NOTHING.values(), ids=RUNS_NOTHING)
def test_code_that_runs_nothing_is_told_once_at_its_line(check: Check, edit: Edit, expected: str) -> None:
    assert _lines(check(edit)) == [expected]


def test_function_whose_inner_function_yields_is_none(check: Check) -> None:
    inner = "    def rows():\n        yield 1\n    return copy.deepcopy(_STATE)"
    assert _lines(check(replace("backend.py", "    return copy.deepcopy(_STATE)", inner))) == []


def test_pattern_that_may_not_end_is_warned_of_at_its_line(check: Check) -> None:
    checked = check(put("tools.json", (*PARAMETERS, "properties", "kiln_id", "pattern"), "^(K-[0-9]+)+$"))
    assert checked.diagnostics == ()
    checked = check(put("tools.json", (*PARAMETERS, "properties", "kiln_id", "pattern"), "^(K|-|[0-9]+)+$"))
    assert _lines(checked) == [
        'pack/tools.json:13:13: warning pattern_may_not_end: `get_kiln`: `pattern` "^(K|-|[0-9]+)+$" can read one text '
        "in many ways, and tries all of them where it does not match; expected repeated parts that a text can be read "
        "as in one way only (repeat once what is repeated inside a repetition (`a+` for `(a+)+`), or let a separator "
        "part the repeated parts)"
    ]
