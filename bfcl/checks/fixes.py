"""What is to be done about a finding that was told without an edit? One answer a code, where one fits every case.

Where the edit depends on what was seen, whoever finds the fault says it, and that wins.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from bfcl.checks.findings import Findings
from bfcl.records.verdict import Finding

_OF_CODE: Final[Mapping[str, str]] = {
    # templates
    "unknown_tool": "use a name that tools.json declares, or declare the tool there",
    "unknown_slot": "use the name of a slot that the template declares, or declare the slot",
    "unknown_turn_policy": "use one of the policies that the message lists",
    "invalid_call_order": "use `strict`, `any`, or `prefix` with a `call_order_prefix` in that range",
    "filter_matches_zero": "loosen the filter, or add rows that pass it and have a value there",
    "invalid_filter": "write `field op literal`, several joined by `and`",
    "enum_source_unresolved": "name a parameter that declares an enum, or list the values as `literal:[...]`",
    "slot_correction_declaration_invalid": "change the entry of `slot_updates` to what the message expects",
    "turn_policy_shape_violation": "shape the conversation as the message expects, or set the policy that it follows",
    "hidden_slot_used_before_reply": "ask for the slot first, and let that reply hold its placeholder",
    "ask_for_slot_without_a_named_slot": "add `slot: <name>` to the milestone",
    "render_language_ambiguous": "set `default_language` in the manifest, or `surface_generation.language`",
    "trace_schema_violation": "change `args` of the milestone, or the slots, to what the tool's schema takes",
    "assertion_failed": "mend the assertion, or the expected calls; `bfcl preview` shows the conversation",
    "assertion_not_applicable": "list in `success_assertions` only what applies to this conversation",
    "assertion_not_executable_compatible": "use another assertion, or remove `executable: False` from its capabilities",
    "nondeterministic_replay": "take time, randomness and ids from `ctx`, and sort what comes out of a set",
    # tools and code
    "unsupported_parameter_schema": "write the schema with the keywords that the pack's documentation lists",
    "backend_import_failed": "mend that line; only Python's own library and the pack's own files can be imported",
    "assertions_import_failed": "mend that line; only Python's own library and the pack's own files can be imported",
    # probes
    "duplicate_case_id": "rename one of them",
    "result_class_mismatch": "mend the backend, or set `expect.result_class` to the class that is right",
    "error_code_mismatch": "mend the backend, or set `expect.error_code` to the code that is right",
    "result_field_mismatch": "mend the backend, or set the field in `expect` to the value that is right",
    "state_changed": "let the tool leave the state alone, or remove `state_unchanged` from `expect`",
    "successful_validation_case_schema_mismatch": "let the tool refuse these arguments, or widen its schema",
    "chain_aborted": "mend that probe first",
    "unconfirmed_mutation": "change nothing before the confirmation is true",
    "rejected_call_mutated_state": "refuse before anything is changed",
    # episodes that broke
    "import_timeout": "do less while importing, or raise `oracle_runtime.import_timeout_s`",
    "reset_timeout": "make `reset` quicker, or raise `oracle_runtime.reset_timeout_s`",
    "tool_timeout": "let the call return sooner, or raise `oracle_runtime.tool_timeout_s`",
    "assertion_timeout": "let the assertion return sooner, or raise `oracle_runtime.assertion_timeout_s`",
    "episode_timeout": "shorten the chain of calls, or raise `oracle_runtime.episode_timeout_s`",
    "worker_crashed": "look for what ends the process there: `os._exit`, a signal, or more memory than there is",
    "worker_message_too_large": "return less, and keep the state small",
    "ambient_access": "take everything from `ctx` and the fixtures; an episode reaches nothing else",
    "tool_raised": 'mend that line; answer a refusal as `{"error": {"code": "<word>"}}`',
    "reset_raised": "mend that line",
    "state_raised": "mend that line",
    "non_object_result": "return a dict from `call_tool`, and a list of different names from `list_tools`",
    "non_serializable_result": "return plain JSON values: text, finite numbers, lists, dicts with text as keys",
    "state_not_serializable": "return a dict of plain JSON values from `get_state`; write a set as a sorted list",
    "assertion_infrastructure_error": "use `assert` and return nothing; test for a missing call before reading from it",
    "executable_replay_failed": "mend the backend; `bfcl preview` shows the conversation",
}

_OF_DETAIL: Final[Mapping[tuple[str, str], str]] = {
    (
        "trace_schema_violation",
        "confirmed_mutation_without_user_confirmation",
    ): "put an `ask_confirm` with its `user_simulator_turns` entry before the call",
    ("trace_schema_violation", "irrelevant_task_has_calls"): "remove the calls, or set another `turn_policy`",
    ("trace_schema_violation", "dependent_call_requires_strict_order"): "set `call_order: strict`",
    ("trace_schema_violation", "tool_not_exposed"): "add the tool to `tools_present`, or leave `tools_present` out",
    ("surface_guard_violation", "must_preserve"): "write the placeholder where the user is to say the value",
    ("surface_guard_violation", "must_omit"): "take the value out of the first user turn: a later one may say it",
    ("surface_guard_violation", "must_not_mention"): "say it in other words, or exempt a tool's name in the manifest's "
    "`surface_guards.tool_names_exempt`",
}
"""Codes that stand for several faults, by the finding's `detail`."""


def with_fixes(found: Findings) -> Findings:
    """The findings in their order; those told without a fix get the one of their code, where there is one."""
    return Findings(*([_with_fix(one) for one in kind] for kind in found))


def _with_fix(finding: Finding) -> Finding:
    if finding.fix is not None:
        return finding
    fix = _OF_DETAIL.get((finding.code, finding.detail or "")) or _OF_CODE.get(finding.code)
    return dataclasses.replace(finding, fix=fix)
