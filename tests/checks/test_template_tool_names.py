"""Check 1: names, order and links of templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.report import warnings_to_tell
from tests.checks.judged import judge
from tests.packs import ALL_POLICIES, Edit, drop_template, put_template

REFUSED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "turn policy is unknown": (
        [put_template("kiln_status", ("turn_policy",), "single_tern")],
        {},
        [
            (
                "1 pack/task_templates.yaml:5: unknown_turn_policy: kiln_status: `single_tern` is no "
                "turn policy; expected one of single_turn, multi_tool, missing_slot, confirmation, "
                "correction, dependent_call, negative_path, clarify_only, irrelevant\n"
                "  fix: did you mean `single_turn`?"
            ),
        ],
    ),
    "call order is unknown": (
        [put_template("kiln_status", ("call_order",), "strickt")],
        {},
        [
            (
                "1 pack/task_templates.yaml:22: invalid_call_order: kiln_status: call order `strickt` is "
                "unknown; expected one of strict, any, prefix\n"
                "  fix: did you mean `strict`?"
            ),
        ],
    ),
    "prefix order lacks its number": (
        [put_template("kiln_and_firing", ("call_order",), "prefix")],
        {},
        [
            (
                "1 pack/task_templates.yaml:63: invalid_call_order: kiln_and_firing: call order `prefix` "
                "without `call_order_prefix`; expected how many leading tools keep their order\n"
                "  fix: add `call_order_prefix`, from 1 to 2"
            ),
        ],
    ),
    "prefix is longer than required_tools": (
        [
            put_template("kiln_and_firing", ("call_order",), "prefix"),
            put_template("kiln_and_firing", ("call_order_prefix",), 3),
        ],
        {},
        [
            (
                "1 pack/task_templates.yaml:89: invalid_call_order: kiln_and_firing: `call_order_prefix` "
                "is 3; expected 1 to 2, the number of `required_tools`"
                "\n  fix: use `strict`, `any`, or `prefix` with a `call_order_prefix` in that range"
            ),
        ],
    ),
    "prefix is zero": (
        [
            put_template("kiln_and_firing", ("call_order",), "prefix"),
            put_template("kiln_and_firing", ("call_order_prefix",), 0),
        ],
        {},
        [
            (
                "1 pack/task_templates.yaml:89: invalid_call_order: kiln_and_firing: `call_order_prefix` "
                "is 0; expected 1 to 2, the number of `required_tools`"
                "\n  fix: use `strict`, `any`, or `prefix` with a `call_order_prefix` in that range"
            ),
        ],
    ),
    "prefix stands beside another order": (
        [put_template("kiln_and_firing", ("call_order_prefix",), 1)],
        {},
        [
            (
                "1 pack/task_templates.yaml:89: invalid_call_order: kiln_and_firing: `call_order_prefix` "
                "is given beside call order `any`; it belongs to `prefix`\n"
                "  fix: remove `call_order_prefix`, or set `call_order: prefix`"
            ),
        ],
    ),
    "milestone calls an unknown tool": (
        [
            put_template("kiln_status", ("assistant_milestones", 0, "tool"), "get_klin"),
            drop_template("kiln_status", ("required_tools",)),
        ],
        {},
        [
            (
                "1 pack/task_templates.yaml:16: unknown_tool: kiln_status: milestone `tool_call@0` calls "
                "`get_klin`, not in the catalog\n"
                "  fix: did you mean `get_kiln`?"
            ),
        ],
    ),
    "required_tools names an unknown tool": (
        [put_template("kiln_status", ("required_tools",), ["get_kiln", "get_klin"])],
        {},
        [
            (
                "1 pack/task_templates.yaml:8: unknown_tool: kiln_status: `required_tools` names "
                "`get_klin`, not in the catalog\n"
                "  fix: did you mean `get_kiln`?"
            ),
        ],
    ),
    "tools_present names an unknown tool": (
        [put_template("kiln_status", ("tools_present",), ["get_klin", "get_kiln"])],
        {},
        [
            (
                "1 pack/task_templates.yaml:23: unknown_tool: kiln_status: `tools_present` names "
                "`get_klin`, not in the catalog\n"
                "  fix: did you mean `get_kiln`?"
            ),
        ],
    ),
    "required_tools leaves a called tool out": (
        [put_template("kiln_status", ("required_tools",), [])],
        {},
        [
            (
                "1 pack/task_templates.yaml:17: tool_call_not_required: kiln_status: milestone "
                "`tool_call@0` calls `get_kiln`, which `required_tools` does not list\n"
                "  fix: add `get_kiln` to `required_tools`, or leave `required_tools` out"
            ),
        ],
    ),
    "tools_present hides a needed tool": (
        [put_template("kiln_status", ("tools_present",), ["get_firing"])],
        {},
        [
            (
                "1 pack/task_templates.yaml:22: required_tool_not_present: kiln_status: `get_kiln` is "
                "needed but `tools_present` does not expose it\n"
                "  fix: add `get_kiln` to `tools_present`, or leave `tools_present` out"
            ),
        ],
    ),
    "two milestones share an id": (
        [
            put_template("kiln_and_firing", ("assistant_milestones", 0, "id"), "look"),
            put_template("kiln_and_firing", ("assistant_milestones", 1, "id"), "look"),
        ],
        {},
        [
            (
                "1 pack/task_templates.yaml:89: duplicate_milestone_id: kiln_and_firing: milestones 0 "
                "and 1 share the id `look`; expected unique ids\n"
                "  fix: rename one of the two"
            ),
        ],
    ),
    "milestone asks for an unknown slot": (
        [put_template("kiln_unnamed", ("assistant_milestones", 0, "slot"), "kilnid")],
        {"templates": ALL_POLICIES},
        [
            (
                "1 pack/task_templates.yaml:123: unknown_slot: kiln_unnamed: milestone `ask_for_slot@0` "
                "asks for `kilnid`, which is no slot of the template\n"
                "  fix: did you mean `kiln_id`?"
            ),
        ],
    ),
    "call group is interrupted": (
        [
            put_template(
                "kiln_and_firing",
                ("assistant_milestones",),
                [
                    {"type": "tool_call", "tool": "get_kiln", "call_group": 0},
                    {"type": "tool_call", "tool": "get_kiln"},
                    {"type": "tool_call", "tool": "get_firing", "args": {"firing_id": "{firing_id}"}, "call_group": 0},
                ],
            )
        ],
        {},
        [
            (
                "1 pack/task_templates.yaml:89: call_group_not_contiguous: kiln_and_firing: call group 0 "
                "is interrupted before milestone 2; expected its calls side by side\n"
                "  fix: move the calls together, or give the later ones another number"
            ),
        ],
    ),
    "reply follows nothing": (
        [put_template("start_confirmed", ("user_simulator_turns", 0, "after"), "confirm")],
        {},
        [
            (
                "1 pack/task_templates.yaml:55: simulator_after_unresolved: start_confirmed: `confirm` "
                "is neither a milestone id nor a milestone type of this template\n"
                "  fix: did you mean `ask_confirm@0`?"
            ),
            (
                "1 pack/task_templates.yaml:44: text_milestone_without_reply: start_confirmed: milestone "
                "`ask_confirm@0` has no user reply; expected a simulator turn after it\n"
                "  fix: add an entry with `after: ask_confirm@0` to `user_simulator_turns`"
            ),
        ],
    ),
    "question stays without reply": (
        [put_template("start_confirmed", ("user_simulator_turns",), [])],
        {},
        [
            (
                "1 pack/task_templates.yaml:44: text_milestone_without_reply: start_confirmed: milestone "
                "`ask_confirm@0` has no user reply; expected a simulator turn after it\n"
                "  fix: add an entry with `after: ask_confirm@0` to `user_simulator_turns`"
            ),
        ],
    ),
    "paraphrase preserves an unknown slot": (
        [put_template("kiln_status", ("paraphrase",), {"must_preserve": ["klin_id"]})],
        {},
        [
            (
                "1 pack/task_templates.yaml:24: unknown_slot: kiln_status: `paraphrase.must_preserve` "
                "names slot `klin_id`, which the template does not declare\n"
                "  fix: did you mean `kiln_id`?"
            ),
        ],
    ),
    "paraphrase omits an unknown slot": (
        [put_template("kiln_status", ("paraphrase",), {"must_omit": ["klin_id"]})],
        {},
        [
            (
                "1 pack/task_templates.yaml:24: unknown_slot: kiln_status: `paraphrase.must_omit` names "
                "slot `klin_id`, which the template does not declare\n"
                "  fix: did you mean `kiln_id`?"
            ),
        ],
    ),
}

WARNED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "required_tools lists a tool that no milestone calls": (
        [put_template("out_of_scope", ("required_tools",), ["get_kiln"])],
        {},
        [
            (
                "1 pack/task_templates.yaml:105: required_tool_never_called: out_of_scope: "
                "`required_tools` lists `get_kiln`, which no milestone calls\n"
                "  fix: remove `get_kiln` from `required_tools`, or add the call"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "run", "expected"), REFUSED.values(), ids=REFUSED)
def test_check_1_reports_exactly_the_fault_of_one_edit(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    assert judge(tmp_path, *edits, **run).failures() == expected


@pytest.mark.parametrize(("edits", "run", "expected"), WARNED.values(), ids=WARNED)
def test_check_1_warns_without_failing(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    judged = judge(tmp_path, *edits, **run)
    assert [one for one in judged.warnings() if "_assertion" not in one] == expected
    assert judged.statuses()["1"] == "pass"


def test_required_tool_that_check_7_fails_for_is_told_once(tmp_path: Path) -> None:
    judged = judge(tmp_path, put_template("out_of_scope", ("required_tools",), ["get_kiln"]))
    assert [one.code for one in judged.verdict.checks[0].warnings] == ["required_tool_never_called"]
    assert "required_tool_never_called" not in [one.code for one in warnings_to_tell(judged.verdict)]
    (failure,) = [one for check in judged.verdict.checks for one in check.failures]
    assert (failure.code, failure.detail, failure.tool) == (
        "trace_schema_violation",
        "required_tool_not_called",
        "get_kiln",
    )


def test_required_tool_is_still_warned_of_where_check_7_does_not_come_to_it(tmp_path: Path) -> None:
    judged = judge(
        tmp_path,
        put_template("out_of_scope", ("required_tools",), ["get_kiln"]),
        put_template("kiln_status", ("turn_policy",), "single_trun"),
    )
    assert "required_tool_never_called" in [one.code for one in warnings_to_tell(judged.verdict)]
