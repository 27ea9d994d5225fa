"""Every code of the table of checks: what brings it, in real workers where only they can, and several at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from bfcl.checks.report import report
from tests.checks import (
    test_assertions_importable,
    test_backend_schema_alignment,
    test_confirmation_policy,
    test_declared_validation_cases,
    test_determinism,
    test_mutation_declaration,
    test_representative_generation_contract,
    test_template_slot_sources,
    test_template_tool_names,
)
from tests.checks.judged import judge
from tests.checks.test_real_oracle import judge_for_real
from tests.packs import Edit, add_case, append, drop, drop_template, put, put_template, replace, write_pack

TABLES = (
    test_template_tool_names,
    test_template_slot_sources,
    test_backend_schema_alignment,
    test_assertions_importable,
    test_declared_validation_cases,
    test_confirmation_policy,
    test_representative_generation_contract,
    test_mutation_declaration,
    test_determinism,
)
"""Modules whose `REFUSED` asserts full messages: edits, configuration, failures as printed."""

TABLE = {
    "1": """unknown_tool unknown_turn_policy duplicate_milestone_id invalid_call_order tool_call_not_required
        required_tool_not_present unknown_slot simulator_after_unresolved call_group_not_contiguous
        text_milestone_without_reply""",
    "2": """slot_missing_visibility_flag reserved_slot_name filter_on_non_fixture_source unknown_slot_source
        slot_source_malformed unknown_collection unknown_field filter_matches_zero unknown_tool enum_source_unresolved
        absent_ids_missing invalid_filter primary_key_ambiguous fixture_row_missing_primary_key duplicate_primary_key
        absent_id_exists slot_correction_declaration_invalid""",
    "3": """missing_backend_callable backend_import_failed schema_without_implementation implementation_without_schema
        missing_parameter_schema confirmation_parameter_missing unsupported_parameter_schema review_marker_present
        import_timeout tool_timeout""",
    "4": """assertions_import_failed invalid_signature invalid_assertion_capability template_without_success_assertion
        missing_assertion assertion_not_executable_compatible import_timeout""",
    "5": """validation_cases_empty duplicate_case_id unknown_tool reset_before_false_without_predecessor
        non_object_result non_serializable_result state_not_serializable result_class_mismatch error_code_mismatch
        result_field_mismatch state_changed successful_validation_case_schema_mismatch incomplete_validation_coverage
        tool_raised chain_aborted reset_timeout tool_timeout episode_timeout worker_crashed worker_message_too_large
        ambient_access""",
    "6": "confirmation_not_pending unconfirmed_mutation confirmation_unprobed tool_timeout",
    "7": """category_budget_too_small render_language_ambiguous missing_language_text missing_assistant_turn_templates
        ask_for_slot_without_a_named_slot system_prompt_language_mismatch unknown_tool unbound_placeholder
        unbound_argument turn_policy_shape_violation hidden_slot_used_before_reply superseded_slot_value_in_trace
        dependent_call_binding_failed trace_schema_violation surface_guard_violation nondeterministic_replay
        assertion_failed assertion_not_applicable assertion_infrastructure_error assertion_timeout tool_timeout
        vacuous_assertions""",
    "M1": "undeclared_mutation declared_mutation_not_observed",
    "D1": "nondeterministic_result nondeterministic_state no_success_observation",
    "D2": "error_code_missing",
    "I1": "worker_not_process",
}
"""Codes by check. T1's only code needs a machine that cannot kill: see its own tests."""

HANG = "__import__('time').sleep(60)"


def late(deadline_s: float) -> dict[str, object]:
    """A configuration with short deadlines: honest phases take next to no time."""
    return {f"oracle_runtime__{name}_timeout_s": deadline_s for name in ("tool", "reset", "assertion")}


BREAKING = append(
    "backend.py",
    f"""

import os
import socket

_answer, _begin = call_tool, reset
_ODD = {{
    "hangs": lambda: {HANG},
    "dies": lambda: os._exit(3),
    "dials": lambda: socket.create_connection(("127.0.0.1", 9)),
    "lists": lambda: [1],
    "sets": lambda: {{"all": {{1}}}},
    "swells": lambda: {{"all": "x" * 11_000_000}},
    "spoils": lambda: _STATE.update(kilns={{1}}) or {{}},
    "dawdles": lambda: [__import__("time").sleep(0.4)] and {{}},
}}


def call_tool(name, arguments, *, ctx):
    act = _ODD.get(ctx.task_id.removeprefix("probe__").rstrip("0123456789"))
    return act() if act else _answer(name, arguments, ctx=ctx)


def reset(*, ctx, fixtures=None):
    _begin(ctx=ctx, fixtures=fixtures)
    {HANG} if ctx.task_id == "probe__never_begins" else None
""",
)
ODD = ("hangs", "dies", "dials", "lists", "sets", "swells", "spoils", "never_begins")
PROBES = [add_case(id=name, tool="get_kiln", coverage="negative") for name in ODD]
CHAIN = [
    add_case(id=f"dawdles{number}", tool="get_kiln", coverage="negative", reset_before=number == 0)
    for number in range(9)
]

HIDDEN = [
    replace(
        "backend.py",
        "    if not confirm:\n",
        f"    if not confirm and cone in (4, 7):\n        {HANG}\n    if not confirm:\n",
    ),
    put("validation_cases.yaml", (8, "arguments", "cone"), 7),
    replace(
        "backend.py", "    if firing_id not in", f'    if firing_id == "F-10":\n        {HANG}\n    if firing_id not in'
    ),
    append("assertions.py", f"\n\ndef assert_patient(*, state, trace, task, ctx):\n    {HANG} if trace else 1 / 0\n"),
    put_template("kiln_status", ("success_assertions",), ["assert_patient"]),
]

STOPPED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "probes break in every way": (
        [BREAKING, *PROBES],
        late(1.0),
        [
            (
                "5 pack/validation_cases.yaml:94: tool_timeout: hangs: `get_kiln` broke instead of "
                "answering: call 0 `get_kiln` did not return within 1 s"
                "\n  fix: let the call return sooner, or raise `oracle_runtime.tool_timeout_s`"
            ),
            (
                "5 pack/validation_cases.yaml:97: worker_crashed: dies: `get_kiln` broke instead of "
                "answering: the process ended with exit status 3 in call 0 `get_kiln`"
                "\n  fix: look for what ends the process there: `os._exit`, a signal, or more memory than there is"
            ),
            (
                "5 pack/validation_cases.yaml:100: ambient_access: dials: `get_kiln` broke instead of "
                "answering: call 0 `get_kiln` looks up the network name `127.0.0.1` (backend.py:88)"
                "\n  fix: take everything from `ctx` and the fixtures; an episode reaches nothing else"
            ),
            (
                "5 pack/validation_cases.yaml:103: non_object_result: lists: `get_kiln` broke instead of "
                "answering: call 0 `get_kiln` returned list, expected a JSON object"
                "\n  fix: return a dict from `call_tool`, and a list of different names from `list_tools`"
            ),
            (
                "5 pack/validation_cases.yaml:106: non_serializable_result: sets: `get_kiln` broke instead "
                "of answering: call 0 `get_kiln`: $.all: is a set, which JSON does not have"
                "\n  fix: return plain JSON values: text, finite numbers, lists, dicts with text as keys"
            ),
            (
                "5 pack/validation_cases.yaml:109: worker_message_too_large: swells: `get_kiln` broke "
                "instead of answering: the answer grew past 10485760 bytes in call 0 `get_kiln`"
                "\n  fix: return less, and keep the state small"
            ),
            (
                "5 pack/validation_cases.yaml:112: state_not_serializable: spoils: `get_state` broke instead "
                "of answering: get_state: $.kilns: is a set, which JSON does not have"
                "\n  fix: return a dict of plain JSON values from `get_state`; write a set as a sorted list"
            ),
            (
                "5 pack/validation_cases.yaml:115: reset_timeout: never_begins: `reset` broke instead of "
                "answering: reset did not return within 1 s"
                "\n  fix: make `reset` quicker, or raise `oracle_runtime.reset_timeout_s`"
            ),
        ],
    ),
    "both imports hang": (
        [append(name, f"\n{HANG}\n") for name in ("backend.py", "assertions.py")],
        {"oracle_runtime__import_timeout_s": 0.5},
        [
            (
                "3 pack/backend.py: import_timeout: importing backend did not end within 0.5 s"
                "\n  fix: do less while importing, or raise `oracle_runtime.import_timeout_s`"
            ),
            (
                "4 pack/assertions.py: import_timeout: importing assertions did not end within 0.5 s"
                "\n  fix: do less while importing, or raise `oracle_runtime.import_timeout_s`"
            ),
        ],
    ),
    "the list of tools hangs": (
        [replace("backend.py", "def list_tools():\n", f"def list_tools():\n    {HANG}\n")],
        late(0.5),
        [
            "3 pack/backend.py:8: tool_timeout: list_tools did not return within 0.5 s"
            "\n  fix: let the call return sooner, or raise `oracle_runtime.tool_timeout_s`",
        ],
    ),
    "tools and assertions hang where no probe shows it": (
        HIDDEN,
        late(0.5),
        [
            (
                "6 pack/validation_cases.yaml:70: tool_timeout: start_done: `start_firing` with `confirm: "
                "false` broke instead of answering: call 0 `start_firing` did not return within 0.5 s"
                "\n  fix: let the call return sooner, or raise `oracle_runtime.tool_timeout_s`"
            ),
            (
                "7 pack/task_templates.yaml:1: assertion_timeout: kiln_status: assertion `assert_patient` "
                "did not return within 0.5 s (assertion)"
                "\n  fix: let the assertion return sooner, or raise `oracle_runtime.assertion_timeout_s`"
            ),
            (
                "7 pack/task_templates.yaml:22: tool_timeout: start_confirmed: the episode of a candidate "
                "that calls everything but changes nothing broke: call 0 `start_firing` did not return "
                "within 0.5 s"
                "\n  fix: let the call return sooner, or raise `oracle_runtime.tool_timeout_s`"
            ),
            (
                "7 pack/task_templates.yaml:58: tool_timeout: kiln_and_firing: call 1 `get_firing` did not "
                "return within 0.5 s (call 1 get_firing)"
                "\n  fix: let the call return sooner, or raise `oracle_runtime.tool_timeout_s`"
            ),
        ],
    ),
}
"""What only workers show: a pack that is stopped, and what is told of it."""

SEVERAL: dict[str, tuple[list[Edit], dict[str, object], list[tuple[str, str]]]] = {
    "templates, assertions, probes and worker": (
        [
            put_template("kiln_status", ("turn_policy",), "chat"),
            put_template("kiln_status", ("required_tools",), ["get_klin"]),
            put_template("out_of_scope", ("slots", "topic", "source"), "literal:[]"),
            put("manifest.yaml", ("absent_ids",), {"kilns": ["K-1"]}),
            put_template("start_confirmed", ("success_assertions",), ["assert_nothing"]),
            drop_template("kiln_and_firing", ("success_assertions",)),
            append("assertions.py", "\n\ndef assert_odd(*, state):\n    pass\n"),
            put("validation_cases.yaml", (0, "expect", "zone"), "north"),
            put("validation_cases.yaml", (1, "expect", "error_code"), "gone"),
            put("validation_cases.yaml", (4, "expect"), {}),
            replace(
                "backend.py", '_refuse("not_found", entity="firing", id=firing_id)', '{"error": {"id": firing_id}}'
            ),
            replace("backend.py", "    if not confirm:\n", "    if confirm is False:\n"),
            replace(
                "backend.py",
                '    return {"firing": ',
                '    return {"all": list({str(n) for n in range(99)}), "firing": ',
            ),
            put("tools.json", (0, "x-mutates"), True),
            drop("tools.json", (2, "x-mutates")),
        ],
        {"oracle_runtime__worker": "thread"},
        [
            ("1", "unknown_turn_policy"),
            ("1", "unknown_tool"),
            ("1", "tool_call_not_required"),
            ("2", "absent_id_exists"),
            ("2", "slot_source_malformed"),
            ("4", "invalid_signature"),
            ("4", "missing_assertion"),
            ("4", "template_without_success_assertion"),
            ("5", "result_field_mismatch"),
            ("5", "error_code_mismatch"),
            ("6", "confirmation_not_pending"),
            ("6", "unconfirmed_mutation"),
            ("M1", "declared_mutation_not_observed"),
            ("M1", "undeclared_mutation"),
            ("D1", "nondeterministic_result"),
            ("D2", "error_code_missing"),
            ("I1", "worker_not_process"),
        ],
    ),
    "backend and catalog": (
        [
            replace("backend.py", "def get_state", "def read_state"),
            put("tools.json", (0, "function", "name"), "look_up_kiln"),
            drop("tools.json", (1, "function", "parameters")),
            drop("tools.json", (2, "function", "parameters", "properties", "confirm")),
            append("README.md", "BFCL-TODO\n"),
        ],
        {},
        [
            ("1", "unknown_tool"),
            ("1", "unknown_tool"),
            ("1", "unknown_tool"),
            ("1", "unknown_tool"),
            ("3", "missing_backend_callable"),
            ("3", "schema_without_implementation"),
            ("3", "implementation_without_schema"),
            ("3", "missing_parameter_schema"),
            ("3", "confirmation_parameter_missing"),
            ("3", "review_marker_present"),
        ],
    ),
    "representatives": (
        [
            put_template("kiln_status", ("user_turn_templates", "en"), "Is it free? Ask get_kiln."),
            put_template("out_of_scope", ("user_turn_templates", "en"), "Tell me {tpoic}, {topic}!"),
            put_template("kiln_and_firing", ("success_assertions",), ["assert_kiln_read", "assert_kiln_busy"]),
            put_template("start_confirmed", ("assistant_milestones", 1, "args", "atmosphere"), "steam"),
        ],
        {"task_generation__tasks_per_category": 1, "task_generation__candidate_tasks_per_category": 1},
        [
            ("7", "category_budget_too_small"),
            ("7", "unbound_placeholder"),
            ("7", "surface_guard_violation"),
            ("7", "surface_guard_violation"),
            ("7", "trace_schema_violation"),
            ("7", "assertion_failed"),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "run", "expected"), STOPPED.values(), ids=STOPPED)
def test_what_is_stopped_is_told_by_what_stopped_it(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    judged = judge_for_real(write_pack(tmp_path / "pack", *edits), **run)
    assert judged.failures() == expected
    assert str(tmp_path).encode() not in report(judged.pack, judged.config, judged.verdict)


def test_a_chain_that_takes_too_long_is_stopped_and_its_rest_told(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", BREAKING, *CHAIN, templates=())
    failures = judge_for_real(root, oracle_runtime__episode_timeout_s=0.5).failures()
    assert codes(failures) == [("5", "episode_timeout"), *[("5", "chain_aborted")] * (len(failures) - 1)]
    assert "broke instead of answering: the episode did not end within 0.5 s; it was in call" in failures[0]


@pytest.mark.parametrize(("edits", "run", "expected"), SEVERAL.values(), ids=SEVERAL)
def test_several_faults_are_told_at_once(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    judged = judge_for_real(write_pack(tmp_path / "pack", *edits), **run)
    assert codes(judged.failures()) == expected
    assert [one for one in judged.failures() if "\n  fix: " not in one] == []


def test_a_prompt_in_another_language_fails_outside_smoke_runs(tmp_path: Path) -> None:
    edits = [
        drop("manifest.yaml", ("system_prompt",)),
        put("manifest.yaml", ("default_language",), "vi"),
        put("manifest.yaml", ("languages",), ["vi"]),
        put("manifest.yaml", ("assistant_turn_templates", "decline"), {"vi": "Xin lỗi."}),
        put_template("out_of_scope", ("user_turn_templates",), {"vi": "{topic}?"}),
    ]
    assert judge(tmp_path, *edits, templates=("out_of_scope",)).failures() == [
        (
            "7 pack/manifest.yaml:1: system_prompt_language_mismatch: surfaces speak `vi` but the "
            "built-in system prompt is English\n  fix: set `system_prompt` or `system_prompt_path` in "
            "manifest.yaml"
        ),
    ]


def test_every_code_of_the_table_is_brought_by_some_edit() -> None:
    seen = {("7", "system_prompt_language_mismatch"), ("5", "episode_timeout")}
    for module in TABLES:
        seen.update(code for *_, expected in module.REFUSED.values() for code in codes(expected))
    seen.update(code for _, _, expected in STOPPED.values() for code in codes(expected))
    seen.update(code for _, _, expected in SEVERAL.values() for code in expected)
    wanted = {(check, code) for check, listed in TABLE.items() for code in listed.split()}
    assert wanted - seen == set()


def codes(failures: Iterable[str]) -> list[tuple[str, str]]:
    """Check and code of failures as printed."""
    found = []
    for failure in failures:
        check, _, told = failure.partition(" ")
        found.append((check, told.split(": ")[1 if told.startswith("pack/") else 0]))
    return found
