"""Check 7: one instance of every template through generation."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.validate import validate_pack
from bfcl.errors import ConfigError
from tests.checks.judged import judge
from tests.checks.plain_oracle import PlainOracle
from tests.packs import ALL_POLICIES, BASE, Edit, append, drop, drop_template, put, put_template, replace

REFUSED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "category has more templates than tasks": (
        [],
        {"task_generation__tasks_per_category": 1, "task_generation__candidate_tasks_per_category": 1},
        [
            (
                "7 category_budget_too_small: task_generation.tasks_per_category: category `kilns` has 2 "
                "templates, but its budget is 1 tasks\n"
                "  fix: set `task_generation.tasks_per_category` to at least 2"
            ),
        ],
    ),
    "exempt tool name is unknown": (
        [put("manifest.yaml", ("surface_guards",), {"tool_names_exempt": ["get_kiln", "get_klin"]})],
        {},
        [
            (
                "7 pack/manifest.yaml:26: unknown_tool: `surface_guards.tool_names_exempt` names "
                "`get_klin`, not in the catalog\n"
                "  fix: did you mean `get_kiln`?"
            ),
        ],
    ),
    "nothing chooses the language": (
        [
            drop("manifest.yaml", ("languages",)),
            drop("manifest.yaml", ("default_language",)),
            *[put_template(name, ("user_turn_templates", "vi"), "x") for name in BASE],
        ],
        {},
        [
            (
                "7 pack/manifest.yaml:1: render_language_ambiguous: surface_generation.language: every "
                "template offers en, vi and nothing chooses among them\n"
                "  fix: set `default_language` in manifest.yaml, or `surface_generation.language`"
            ),
        ],
    ),
    "text of the language is missing": (
        [
            put_template("kiln_status", ("user_turn_templates",), {"vi": "Lò {kiln_id}?"}),
            put_template("out_of_scope", ("assistant_milestones", 0, "content_template"), {"vi": "Không."}),
            drop("manifest.yaml", ("assistant_turn_templates", "decline")),
        ],
        {},
        [
            (
                "7 pack/task_templates.yaml:14: missing_language_text: kiln_status: user_turn_templates "
                "has no `en` text; it has vi\n"
                "  fix: add `user_turn_templates.en`"
            ),
            (
                "7 pack/task_templates.yaml:104: missing_language_text: out_of_scope: "
                "assistant_milestones.0.content_template has no `en` text; it has vi\n"
                "  fix: add `assistant_milestones.0.content_template.en`"
            ),
        ],
    ),
    "assistant text is missing everywhere": (
        [drop("manifest.yaml", ("assistant_turn_templates", "decline"))],
        {},
        [
            (
                "7 pack/task_templates.yaml:103: missing_assistant_turn_templates: out_of_scope: "
                "assistant_milestones.0 (decline) has no text of its own, and neither the template nor "
                "the manifest has one for `decline`\n"
                "  fix: add `assistant_turn_templates.decline.en` to manifest.yaml or to the template"
            ),
        ],
    ),
    "user turn holds an unbound placeholder": (
        [put_template("kiln_status", ("user_turn_templates",), {"en": "Is kiln {kiln_id} {now}?"})],
        {},
        [
            (
                "7 pack/task_templates.yaml:14: unbound_placeholder: kiln_status: user_turn_templates "
                "says {now}, which nothing binds at this turn\n"
                "  fix: declare slot `now`, or correct the name"
            ),
        ],
    ),
    "question names no slot": (
        [
            put_template("kiln_unnamed", ("slots", "zone"), {"source": "kilns.zone", "visible_in_first_turn": False}),
            drop_template("kiln_unnamed", ("assistant_milestones", 0, "slot")),
        ],
        {"templates": ("kiln_unnamed",)},
        [
            (
                "7 pack/task_templates.yaml:22: ask_for_slot_without_a_named_slot: kiln_unnamed: "
                "assistant_milestones.0.content_template says {slot_name} but names no slot, and 2 slots "
                "are hidden; expected one\n"
                "  fix: add `slot: <name>` to the milestone"
            ),
            (
                "7 pack/task_templates.yaml:9: turn_policy_shape_violation: kiln_unnamed: policy "
                "`missing_slot`: slot `kiln_id` is withheld but not asked for; expected an "
                "`ask_for_slot` naming it before the first call"
                "\n  fix: shape the conversation as the message expects, or set the policy that it follows"
            ),
            (
                "7 pack/task_templates.yaml:14: turn_policy_shape_violation: kiln_unnamed: policy "
                "`missing_slot`: slot `zone` is withheld but not asked for; expected an `ask_for_slot` "
                "naming it before the first call"
                "\n  fix: shape the conversation as the message expects, or set the policy that it follows"
            ),
        ],
    ),
    "policy shape is broken": (
        [put_template("kiln_status", ("turn_policy",), "multi_tool")],
        {},
        [
            (
                "7 pack/task_templates.yaml:16: turn_policy_shape_violation: kiln_status: policy "
                "`multi_tool`: 1 tool call; expected at least two"
                "\n  fix: shape the conversation as the message expects, or set the policy that it follows"
            ),
        ],
    ),
    "call reads a hidden slot too early": (
        [
            put_template(
                "kiln_unnamed",
                ("assistant_milestones",),
                [{"type": "tool_call", "tool": "get_kiln"}, {"type": "final_answer"}],
            ),
            drop_template("kiln_unnamed", ("user_simulator_turns",)),
            put_template("kiln_unnamed", ("turn_policy",), "single_turn"),
        ],
        {"templates": ("kiln_unnamed",)},
        [
            (
                "7 pack/task_templates.yaml:19: hidden_slot_used_before_reply: kiln_unnamed: call "
                "`tool_call@0` reads the withheld slot `kiln_id` before any reply states it; expected a "
                "reply holding `{kiln_id}` earlier"
                "\n  fix: ask for the slot first, and let that reply hold its placeholder"
            ),
        ],
    ),
    "required argument has no value": (
        [
            put_template(
                "kiln_status", ("slots",), {"kiln": {"source": "kilns.kiln_id", "visible_in_first_turn": True}}
            ),
            put_template("kiln_status", ("user_turn_templates",), {"en": "Is kiln {kiln} free?"}),
            drop_template("kiln_status", ("assistant_milestones", 1, "content_template")),
        ],
        {},
        [
            (
                "7 pack/task_templates.yaml:17: unbound_argument: kiln_status: "
                "assistant_milestones.0.args: required argument `kiln_id` of get_kiln has no value in "
                "`args` and no slot of its name\n"
                "  fix: add `args.kiln_id`, or declare slot `kiln_id`"
            ),
        ],
    ),
    "argument breaks the schema": (
        [put_template("start_confirmed", ("assistant_milestones", 1, "args", "atmosphere"), "steam")],
        {},
        [
            (
                "7 pack/task_templates.yaml:47: trace_schema_violation: start_confirmed: call 0: "
                '`/atmosphere`: "steam"; expected one of ["oxidation","reduction"]'
                "\n  fix: change `args` of the milestone, or the slots, to what the tool's schema takes"
            ),
        ],
    ),
    "call is confirmed without the user": (
        [
            put_template("start_confirmed", ("assistant_milestones", 2, "id"), "then"),
            put_template("start_confirmed", ("turn_policy",), "multi_tool"),
            put_template(
                "start_confirmed",
                ("assistant_milestones", 0),
                {"type": "tool_call", "tool": "start_firing", "args": {"confirm": True}},
            ),
            put_template("start_confirmed", ("user_simulator_turns",), []),
        ],
        {},
        [
            (
                "7 pack/task_templates.yaml:44: trace_schema_violation: start_confirmed: call 0: "
                "`/confirm`: start_firing is called with `confirm: true`, but no answered ask_confirm "
                "covers this batch"
                "\n  fix: put an `ask_confirm` with its `user_simulator_turns` entry before the call"
            ),
            (
                "7 pack/task_templates.yaml:48: trace_schema_violation: start_confirmed: call 1: "
                "`/confirm`: start_firing is called with `confirm: true`, but no answered ask_confirm "
                "covers this batch"
                "\n  fix: put an `ask_confirm` with its `user_simulator_turns` entry before the call"
            ),
        ],
    ),
    "required tool is never called": (
        [
            put_template("out_of_scope", ("required_tools",), ["get_kiln"]),
            put_template("out_of_scope", ("call_order",), "any"),
        ],
        {},
        [
            (
                "7 pack/task_templates.yaml:105: trace_schema_violation: out_of_scope: `required_tools` lists "
                "`get_kiln`, which no milestone calls"
                "\n  fix: remove `get_kiln` from `required_tools`, or add the call"
            ),
        ],
    ),
    "required tool of a strict order is never called": (
        [put_template("kiln_status", ("required_tools",), ["get_firing", "get_kiln"])],
        {},
        [
            (
                "7 pack/task_templates.yaml:7: trace_schema_violation: kiln_status: `required_tools` lists "
                "`get_firing`, which no milestone calls"
                "\n  fix: remove `get_firing` from `required_tools`, or add the call"
            ),
        ],
    ),
    "user does not say a visible value": (
        [put_template("kiln_status", ("user_turn_templates",), {"en": "Is my kiln free?"})],
        {},
        [
            (
                "7 pack/task_templates.yaml:15: surface_guard_violation: kiln_status: the user turns do "
                "not say the value of slot `kiln_id` where they must"
                "\n  fix: write the placeholder where the user is to say the value"
            ),
        ],
    ),
    "user says a hidden value": (
        [put_template("kiln_unnamed", ("user_turn_templates",), {"en": "Is K-1, K-2 or K-3 free?"})],
        {"templates": ("kiln_unnamed",)},
        [
            (
                "7 pack/task_templates.yaml:17: surface_guard_violation: kiln_unnamed: the first user "
                "turn says the value of slot `kiln_id`, which it must leave out"
                "\n  fix: take the value out of the first user turn: a later one may say it"
            ),
        ],
    ),
    "user says a tool name": (
        [put_template("kiln_status", ("user_turn_templates",), {"en": "Please get_kiln {kiln_id}."})],
        {},
        [
            (
                "7 pack/task_templates.yaml:15: surface_guard_violation: kiln_status: a user turn says "
                "the tool `get_kiln`, which it must not mention"
                "\n  fix: say it in other words, or exempt a tool's name in the manifest's "
                "`surface_guards.tool_names_exempt`"
            ),
        ],
    ),
    "results differ between the worlds": (
        [
            replace(
                "backend.py",
                'return {"status": "started", "firing_id": firing_id}',
                'return {"status": "started", "firing_id": firing_id, "by": __name__}',
            )
        ],
        {},
        [
            (
                "7 pack/task_templates.yaml:22: nondeterministic_replay: start_confirmed: results "
                'diverged at results[0].by: "backend_a" in world A, "backend_b" in world B; suspect '
                "lines: backend.py:1: a suspect line"
                "\n  fix: take time, randomness and ids from `ctx`, and sort what comes out of a set"
            ),
            (
                "D1 pack/validation_cases.yaml:70: nondeterministic_result: start_done: `start_firing` "
                'answers otherwise in two worlds: `result.by` is "backend_a" in world A, "backend_b" in '
                "world B; suspect lines: backend.py:1: a suspect line\n"
                "  fix: take time, randomness and ids from `ctx`, and sort what comes out of a set"
            ),
        ],
    ),
    "tool raises in a replay": (
        [replace("backend.py", '    firing_id = "F-%d"', '    firing_id = cone < 6 and 1 / 0 or "F-%d"')],
        {},
        [
            (
                "7 pack/backend.py:73: tool_raised: start_confirmed: ZeroDivisionError: division by zero "
                "(call 0 start_firing at backend.py:73)"
                '\n  fix: mend that line; answer a refusal as `{"error": {"code": "<word>"}}`'
            ),
        ],
    ),
    "assertion fails on the expected calls": (
        [put_template("kiln_status", ("success_assertions",), ["assert_kiln_read", "assert_firing_read"])],
        {},
        [
            (
                "7 pack/task_templates.yaml:14: assertion_failed: kiln_status: `assert_firing_read` does "
                "not pass on the expected calls: the firing was not looked up"
                "\n  fix: mend the assertion, or the expected calls; `bfcl preview` shows the conversation"
            ),
        ],
    ),
    "assertion does not apply": (
        [
            replace(
                "assertions.py",
                '    assert not trace, "a tool was called"',
                '    return {"status": "not_applicable", "detail": "no calls"}',
            )
        ],
        {},
        [
            (
                "7 pack/task_templates.yaml:99: assertion_not_applicable: out_of_scope: "
                "`assert_no_tool_called` does not pass on the expected calls: no calls"
                "\n  fix: list in `success_assertions` only what applies to this conversation"
            ),
        ],
    ),
    "assertion breaks": (
        [replace("assertions.py", '    assert not trace, "a tool was called"', "    assert trace[0]")],
        {},
        [
            (
                "7 pack/task_templates.yaml:98: assertion_infrastructure_error: out_of_scope: "
                "assert_no_tool_called: IndexError: list index out of range"
                "\n  fix: use `assert` and return nothing; test for a missing call before reading from it"
            ),
        ],
    ),
    "doing nothing passes": (
        [
            put_template("kiln_status", ("success_assertions",), ["assert_calm"]),
            append("assertions.py", "\n\ndef assert_calm(*, state, trace, task, ctx):\n    assert state\n"),
        ],
        {},
        [
            (
                "7 pack/task_templates.yaml:12: vacuous_assertions: kiln_status: a candidate that does "
                "nothing passes `assert_calm`; expected at least one to fail\n"
                "  fix: assert what the conversation must bring about: the calls with their results, and "
                "the changed state"
            ),
        ],
    ),
    "calling without effect passes": (
        [
            put_template("start_confirmed", ("success_assertions",), ["assert_calm"]),
            append("assertions.py", "\n\ndef assert_calm(*, state, trace, task, ctx):\n    assert trace\n"),
        ],
        {},
        [
            (
                "7 pack/task_templates.yaml:38: vacuous_assertions: start_confirmed: a candidate that "
                "calls everything but changes nothing passes `assert_calm`; expected at least one to "
                "fail\n"
                "  fix: assert what the conversation must bring about: the calls with their results, and "
                "the changed state"
            ),
        ],
    ),
    "mutating template changes nothing": (
        [put_template("kiln_status", ("mutates",), True)],
        {},
        [
            (
                "7 pack/task_templates.yaml:12: vacuous_assertions: kiln_status: expected calls that "
                "leave the state as reset made it pass `assert_kiln_read`; expected at least one to fail\n"
                "  fix: let the expected calls change the state, or remove `mutates: true`"
            ),
        ],
    ),
    "dependent path misses": (
        [
            put_template(
                "last_firing",
                ("assistant_milestones", 1, "args", "firing_id", "from_result", "path"),
                "kiln.recent_firings.7",
            )
        ],
        {"templates": ("last_firing",)},
        [
            (
                "7 pack/task_templates.yaml:27: dependent_call_binding_failed: last_firing: the first "
                "instance has no expected trace: `kiln.recent_firings.7`: the answer of `look` holds a list of 1 at "
                "`kiln.recent_firings`; expected an element at 7\n"
                "  fix: correct the path, or narrow the slot filters to rows that have a result"
            ),
        ],
    ),
    "dependent path names a list's field": (
        [
            put_template(
                "last_firing",
                ("assistant_milestones", 1, "args", "firing_id", "from_result", "path"),
                "kiln.recent_firings.x",
            )
        ],
        {"templates": ("last_firing",)},
        [
            (
                "7 pack/task_templates.yaml:27: dependent_call_binding_failed: last_firing: the first "
                "instance has no expected trace: `kiln.recent_firings.x`: the answer of `look` holds a list of 1 at "
                "`kiln.recent_firings`; expected an index\n"
                "  fix: write `kiln.recent_firings.0`, or another index, there"
            ),
        ],
    ),
    "dependent call is unknown": (
        [put_template("last_firing", ("assistant_milestones", 1, "args", "firing_id", "from_result", "call"), "luk")],
        {"templates": ("last_firing",)},
        [
            (
                "7 pack/task_templates.yaml:24: dependent_call_binding_failed: last_firing: "
                "assistant_milestones.1.args.firing_id: `luk` is no tool_call of the template\n"
                "  fix: name the `id` of an earlier tool_call"
            ),
        ],
    ),
    "oracle breaks under a dependent call": (
        [
            replace("backend.py", '    return {"kiln": copy.deepcopy(', '    return 1 / 0, {"kiln": copy.deepcopy('),
            put("validation_cases.yaml", (0, "arguments", "kiln_id"), "K-99"),
            put("validation_cases.yaml", (0, "expect"), {}),
            drop("validation_cases.yaml", (9,)),
            put("validation_cases.yaml", (0, "tool"), "get_firing"),
        ],
        {"templates": ("last_firing",)},
        [
            (
                "5 pack/tools.json:5: incomplete_validation_coverage: `get_kiln` has no success probe; "
                "expected at least one\n"
                "  fix: add a case that the tool answers with a success"
            ),
            (
                "7 pack/backend.py:46: tool_raised: last_firing: the first instance has no "
                "expected trace: ZeroDivisionError: division by zero"
                '\n  fix: mend that line; answer a refusal as `{"error": {"code": "<word>"}}`'
            ),
            (
                "D1 pack/tools.json:5: no_success_observation: `get_kiln` shows no success to compare; "
                "expected at least one probe that succeeds\n"
                "  fix: add a case that `get_kiln` answers with a success"
            ),
        ],
    ),
    "call reads a slot that is corrected later": (
        [
            put_template(
                "kiln_corrected",
                ("assistant_milestones",),
                [
                    {"type": "tool_call", "tool": "get_kiln"},
                    {"type": "final_answer", "id": "announce"},
                    {"type": "final_answer", "id": "answer"},
                ],
            )
        ],
        {"templates": ("kiln_corrected",)},
        [
            (
                "7 pack/task_templates.yaml:1: superseded_slot_value_in_trace: kiln_corrected: call 0 "
                "(get_kiln) reads slot `kiln_id` before a later turn corrects it\n"
                "  fix: move the correction before the call, or the call behind the correction"
            ),
        ],
    ),
}

WARNED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "expected call is refused": (
        [put_template("kiln_unknown", ("turn_policy",), "single_turn")],
        {"templates": ("kiln_unknown",)},
        [
            (
                "7 pack/task_templates.yaml:1: gold_call_refused: kiln_unknown: expected call `get_kiln` "
                'is refused: {"error":{"code":"not_found","entity":"kiln","id":"K-90"}}\n'
                "  fix: bind values the tool accepts, or set `turn_policy: negative_path`"
            ),
        ],
    ),
    "state changes without a declaration": (
        [drop_template("start_confirmed", ("mutates",))],
        {"templates": ("start_confirmed",)},
        [
            (
                "7 pack/task_templates.yaml:1: undeclared_template_mutation: start_confirmed: does not "
                'say `mutates: true`, but its expected calls change the state: `firings["F-14"]` was '
                'nothing and became {"cone":4,"firing_id":"F-14","kiln_id":"K-1","outcome":null}\n'
                "  fix: set `mutates: true`"
            ),
        ],
    ),
    "assertion breaks for a candidate that does nothing": (
        [
            put_template("kiln_status", ("success_assertions",), ["assert_first"]),
            append(
                "assertions.py",
                '\n\ndef assert_first(*, state, trace, task, ctx):\n    assert trace[0]["tool"] == "get_kiln"\n',
            ),
        ],
        {"templates": ("kiln_status",)},
        [
            (
                "7 pack/task_templates.yaml:13: fragile_assertion: kiln_status: `assert_first` breaks "
                "for a candidate that does nothing: IndexError: list index out of range; expected it to "
                "fail\n"
                "  fix: test for a missing call or field before reading from it"
            ),
        ],
    ),
    "default prompt speaks another language under smoke": (
        [
            drop("manifest.yaml", ("system_prompt",)),
            put("manifest.yaml", ("default_language",), "vi"),
            put("manifest.yaml", ("languages",), ["vi"]),
            put("manifest.yaml", ("assistant_turn_templates", "decline"), {"vi": "Xin lỗi."}),
            put_template("out_of_scope", ("user_turn_templates",), {"vi": "{topic}?"}),
            put("task_templates.yaml", (0, "slots", "topic", "source"), "literal:[thời tiết]"),
        ],
        {"templates": ("out_of_scope",), "lineage__policy": "smoke_no_publication"},
        [
            (
                "7 pack/manifest.yaml:1: system_prompt_language_mismatch: surfaces speak `vi` but the "
                "built-in system prompt is English\n"
                "  fix: set `system_prompt` or `system_prompt_path` in manifest.yaml"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "run", "expected"), REFUSED.values(), ids=REFUSED)
def test_check_7_reports_exactly_the_fault_of_one_edit(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    assert judge(tmp_path, *edits, **run).failures() == expected


@pytest.mark.parametrize(("edits", "run", "expected"), WARNED.values(), ids=WARNED)
def test_check_7_warns_without_failing(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    judged = judge(tmp_path, *edits, **run)
    seen = [one for one in judged.warnings() if one.startswith("7 ") and "assert_started_as_asked" not in one]
    assert seen == expected
    assert judged.failures() == []


def test_check_7_passes_for_every_turn_policy(tmp_path: Path) -> None:
    assert judge(tmp_path, templates=ALL_POLICIES).failures() == []


def test_check_7_asks_for_all_replays_in_one_request(tmp_path: Path) -> None:
    judged = judge(tmp_path)
    oracle = PlainOracle(judged.pack, judged.config.oracle_runtime.clock)
    validate_pack(judged.pack, judged.config, oracle)
    # The probes; those of gated tools unconfirmed; the replays, with the candidates that leave work undone.
    assert oracle.requests == 3


def test_check_7_carries_the_stages_own_reason_as_detail(tmp_path: Path) -> None:
    schema = put_template("start_confirmed", ("assistant_milestones", 1, "args", "atmosphere"), "steam")
    failing = put_template("kiln_status", ("success_assertions",), ["assert_kiln_read", "assert_firing_read"])
    finding = [one for check in judge(tmp_path, schema, failing).verdict.checks for one in check.failures]
    assert [(one.code, one.template_id, one.tool, one.detail) for one in finding] == [
        ("assertion_failed", "kiln_status", None, "assertion_failed"),
        ("trace_schema_violation", "start_confirmed", "start_firing", "argument_not_in_enum"),
    ]


def test_a_language_that_templates_do_not_offer_is_the_configurations_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        judge(tmp_path, surface_generation__language="vi")
    assert [problem.code for problem in caught.value.problems] == ["generation_config_invalid"]
