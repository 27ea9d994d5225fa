from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.checks.report import as_problem
from bfcl.checks.static import static_findings
from bfcl.pack.load import load_pack, read_pack
from bfcl.pack.model import Pack
from tests.checks.judged import judge as validated
from tests.checks.test_endpoint_conformance import SERVICE
from tests.packs import (
    ALL_POLICIES,
    Edit,
    add_case,
    add_template,
    append,
    drop,
    drop_template,
    put,
    put_template,
    replace,
    run_config,
    text,
    write_pack,
)

T, C = "task_templates.yaml", "validation_cases.yaml"
Told = list[tuple[str, str, str | None, int | None]]
Judge = Callable[..., Told]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """(check, code, file, line) of everything static in a pack written with edits; warnings marked with `?`."""

    def run(*edits: Edit, **config: object) -> Told:
        root = write_pack(tmp_path / "pack", *edits, templates=ALL_POLICIES)
        settings = run_config(root, **config)
        return _told(load_pack(settings, project=tmp_path), settings)

    return run


def _told(pack: Pack, settings: object) -> Told:
    found: Told = []
    for check, findings in static_findings(pack, settings):  # type: ignore[arg-type]
        found += [(check, one.code, one.file, one.line) for one in findings.failures]
        found += [(check, f"?{one.code}", one.file, one.line) for one in findings.warnings]
    return found


def test_good_pack_has_no_static_finding(judge: Judge) -> None:
    assert judge(task_generation__tasks_per_category=2) == [("7", "category_budget_too_small", None, None)]
    assert judge(task_generation__tasks_per_category=7)[0][1] == "?category_budget_not_reachable"


def _without_budget(found: Told) -> Told:
    return [one for one in found if "category_budget" not in one[1]]


MISDEFINED = ("missing_backend_callable", "backend.py", 19)
FAULTS: list[tuple[Edit, tuple[str, str, str, int | None]]] = [
    (put_template("kiln_status", ("required_tools",), ["get_kilm"]), ("1", "unknown_tool", T, 7)),
    (put_template("kiln_status", ("turn_policy",), "chat"), ("1", "unknown_turn_policy", T, 5)),
    (
        put_template("kiln_status", ("slots", "kiln_id", "source"), "fixture:kiln.kiln_id"),
        ("2", "unknown_collection", T, None),
    ),
    (
        drop_template("kiln_status", ("slots", "kiln_id", "visible_in_first_turn")),
        ("2", "slot_missing_visibility_flag", T, None),
    ),
    (put("manifest.yaml", ("absent_ids", "kilns"), ["K-1"]), ("2", "absent_id_exists", "manifest.yaml", None)),
    (
        drop("tools.json", (0, "function", "parameters")),
        ("3", "missing_parameter_schema", "tools.json", None),
    ),
    (
        drop("tools.json", (2, "function", "parameters", "properties", "confirm")),
        ("3", "confirmation_parameter_missing", "tools.json", None),
    ),
    (
        replace("backend.py", '"get_firing", "start_firing"]', '"start_firing"]'),
        ("3", "schema_without_implementation", "tools.json", None),
    ),
    (
        replace("backend.py", '"start_firing"]', '"start_firing", "stop"]'),
        ("3", "implementation_without_schema", "backend.py", 8),
    ),
    (
        replace("backend.py", "def get_state()", "def get_stat()"),
        ("3", "missing_backend_callable", "backend.py", None),
    ),
    (
        replace("backend.py", "def get_state()", "def get_state(x)"),
        ("3", "missing_backend_callable", "backend.py", 19),
    ),
    (replace("backend.py", "def get_state()", "def get_state("), ("3", "backend_import_failed", "backend.py", 19)),
    (append("backend.py", "# BFCL-TODO\n"), ("3", "review_marker_present", "backend.py", None)),
    (text("json.py", ""), ("3", "?module_shadowed", "json.py", None)),
    (text("json/__init__.py", ""), ("3", "?module_shadowed", "json/__init__.py", None)),
    (
        replace("assertions.py", "def assert_not_found(", "def assert_gone("),
        ("4", "missing_assertion", T, None),
    ),
    (
        replace("assertions.py", "def assert_not_found(*, state, trace, task, ctx)", "def assert_not_found(*, state)"),
        ("4", "invalid_signature", "assertions.py", None),
    ),
    (
        drop_template("kiln_status", ("success_assertions",)),
        ("4", "template_without_success_assertion", T, None),
    ),
    (text(C, "[]\n"), ("5", "validation_cases_empty", C, 1)),
    (put(C, (0, "tool"), "get_kilm"), ("5", "unknown_tool", C, 2)),
    (put(C, (1, "id"), "kiln_found"), ("5", "duplicate_case_id", C, None)),
    (put(C, (0, "reset_before"), False), ("5", "reset_before_false_without_predecessor", C, None)),
    (
        put(C, (0, "arguments"), {"kiln": "K-1"}),
        ("5", "successful_validation_case_schema_mismatch", C, None),
    ),
    (drop(C, (3,)), ("5", "incomplete_validation_coverage", "tools.json", None)),
    (
        put("manifest.yaml", ("surface_guards",), {"tool_names_exempt": ["get_kilm"]}),
        ("7", "unknown_tool", "manifest.yaml", None),
    ),
    (
        put_template("kiln_status", ("turn_policy",), "multi_tool"),
        ("7", "turn_policy_shape_violation", T, None),
    ),
    (
        put_template("start_confirmed", ("assistant_milestones", 1, "args", "cone"), "hot"),
        ("7", "trace_schema_violation", T, None),
    ),
    (
        put_template("kiln_status", ("user_turn_templates",), {"en": "Is it free?"}),
        ("7", "surface_guard_violation", T, None),
    ),
    (
        put_template("kiln_status", ("user_turn_templates",), {"en": "Is {kiln} free?"}),
        ("7", "unbound_placeholder", T, None),
    ),
    (
        drop("manifest.yaml", ("assistant_turn_templates", "decline")),
        ("7", "missing_assistant_turn_templates", T, None),
    ),
    (
        put_template("kiln_status", ("user_turn_templates",), {"vi": "Kiln {kiln_id}?"}),
        ("7", "missing_language_text", T, None),
    ),
]
"""One edit of the good pack, and a finding it makes: check, code, file, line where that is worth pinning."""


@pytest.mark.parametrize(("edit", "expected"), FAULTS, ids=[expected[1] for _, expected in FAULTS])
def test_static_part_of_each_check_finds_its_faults(
    judge: Judge, edit: Edit, expected: tuple[str, str, str, int | None]
) -> None:
    found = _without_budget(judge(edit))
    same = [one for one in found if one[:3] == expected[:3]]
    assert same, found
    assert expected[3] is None or same[0][3] == expected[3]


# Of signatures the stand-in oracle knows nothing; `test_outline` compares them with the worker's own words.
SHOWN_BY_RUNNING = [(edit, expected[1]) for edit, expected in FAULTS if expected[1:] != MISDEFINED]


@pytest.mark.parametrize("edit", [edit for edit, _ in SHOWN_BY_RUNNING], ids=[code for _, code in SHOWN_BY_RUNNING])
def test_static_failures_are_failures_of_validation_too(tmp_path: Path, edit: Edit) -> None:
    judged = validated(tmp_path, edit, templates=ALL_POLICIES, task_generation__tasks_per_category=9)
    real = {(check.id, one.code) for check in judged.verdict.checks for one in check.failures}
    if ("5", "result_class_mismatch") in real:
        # What was declared a success turns out a refusal of the very arguments that the schema refuses.
        real.add(("5", "successful_validation_case_schema_mismatch"))
    skipped = {check.id for check in judged.verdict.checks if check.status == "skipped"}
    warned = {(check.id, one) for check in judged.verdict.checks for one in check.warnings}
    for check, found in static_findings(judged.pack, judged.config):
        assert check in skipped or {(check, one.code) for one in found.failures} <= real
        assert check in skipped or {(check, one) for one in found.warnings} <= warned


def test_case_that_declares_nothing_may_cover_either_side(judge: Judge) -> None:
    assert ("5", "incomplete_validation_coverage", "tools.json", 25) in judge(drop(C, (3,)))
    found = judge(drop(C, (3,)), add_case(id="open", tool="get_firing", arguments={"firing_id": 1}))
    assert not [one for one in found if one[0] == "5"]


def test_template_that_can_bind_nothing_is_told_once(judge: Judge) -> None:
    found = judge(put("fixtures.json", ("firings", 1, "firing_id"), "F-10"))
    assert [one[:2] for one in _without_budget(found)] == [("2", "duplicate_primary_key")]


def test_budget_that_no_binding_reaches_is_a_warning_naming_both_numbers(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", add_template("more", like="out_of_scope", category="talk"))
    settings = run_config(root, task_generation__tasks_per_category=3)
    found = {one.check: one.found for one in static_findings(load_pack(settings, project=tmp_path), settings)}["7"]
    assert [one.message for one in found.warnings] == [
        "the templates of category `out_of_scope` offer 2 tasks; its budget is 3",
        "the templates of category `talk` offer 2 tasks; its budget is 3",
    ]


@pytest.mark.parametrize(
    ("edit", "silent"),
    [
        (text("tools.json", "["), {"1", "2", "5", "7", "tier"}),
        (text(T, "["), {"1", "2", "4", "7", "tier"}),
        (text("fixtures.json", "["), {"2", "7"}),
        (text(C, "["), {"5"}),
    ],
)
def test_check_without_its_file_says_nothing(tmp_path: Path, edit: Edit, silent: set[str]) -> None:
    root = write_pack(tmp_path / "pack", edit, templates=ALL_POLICIES)
    reading = read_pack(run_config(root), project=tmp_path)
    assert reading.pack is not None
    judged = {one.check for one in static_findings(reading.pack, run_config(root))}
    assert judged == {"1", "2", "3", "4", "5", "7", "D1", "I1", "tier"} - silent


def test_wording_of_a_template_that_depends_on_answers_is_judged_without_them(judge: Judge) -> None:
    found = judge(put_template("last_firing", ("user_turn_templates", "en"), "How did it go?"))
    assert [one[:2] for one in _without_budget(found)] == [("7", "surface_guard_violation")]


def test_arguments_of_a_template_that_depends_on_answers_are_judged_without_them(judge: Judge) -> None:
    found = judge(put_template("last_firing", ("assistant_milestones", 0, "args"), {"kiln_id": "{kiln}"}))
    assert [one[:2] for one in _without_budget(found)] == [("7", "unbound_placeholder")]


def test_worker_that_isolates_nothing_is_told(judge: Judge) -> None:
    assert ("I1", "worker_not_process", None, None) in judge(oracle_runtime__worker="thread")


def test_endpoint_without_attestation_is_told_at_its_file(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", *SERVICE, templates=ALL_POLICIES)
    settings = run_config(root)
    found = _without_budget(_told(load_pack(settings, project=tmp_path), settings))
    assert found == [("A1", "endpoint_attestation_missing", "endpoint_config.yaml", None)]


def test_pack_that_lacks_what_gold_needs_is_told_before_it_is_validated(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", text(T, "[]\n"), text("assertions.py", "X = 1\n"))
    reading = read_pack(run_config(root), project=tmp_path)
    assert reading.pack is not None
    found = [one for judged in static_findings(reading.pack, run_config(root)) for one in judged.found.failures]
    assert [str(as_problem(one, root="pack")) for one in found] == [
        "pack/task_templates.yaml:1: no_templates: the pack has no template, and Gold needs at least one\n"
        "  fix: add one: `bfcl new template` writes a start",
        "pack/assertions.py: no_assertions_exported: the pack has no exported assertion, and Gold needs at least one\n"
        "  fix: add one: `bfcl new assertion` writes a start",
    ]
