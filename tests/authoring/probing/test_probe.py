"""Probing the small pack with assertions that look away."""

from __future__ import annotations

import pytest

from bfcl.authoring.probing.probe import probe
from bfcl.authoring.probing.report import document, template_score, weigh
from bfcl.authoring.workbench import workbench
from bfcl.checks.report import as_problem
from bfcl.errors import BfclError
from tests.packs import ALL_POLICIES, BASE, put, put_template, replace, write_pack

IGNORES_RESULT = replace(
    "assertions.py", '    assert calls[-1]["result"]["kiln"]["kiln_id"] == task["slots"]["kiln_id"]\n', ""
)
NEVER_FAILS = replace(
    "assertions.py",
    '    assert state["kilns"][task["slots"]["kiln_id"]]["status"] == "busy"\n',
    "    assert state is not None\n",
)


@pytest.fixture
def probed(tmp_path):
    def run(*edits, templates=BASE, only=(), min_score=None, **options):
        root = write_pack(tmp_path / "pack", *edits, templates=templates)
        with workbench(root) as bench:
            return weigh(probe(bench, only, **options), min_score=min_score)

    return run


def told(report, template_id):
    """Every survivor of a template: kind, words of the mutants, what to look at."""
    found = {one["template_id"]: one for one in document(report)["templates"]}[template_id]
    return [(one["kind"], one["mutants"], one["look_at"]) for one in found["survivors"]]


def test_assertions_that_look_at_all_leave_only_unread_fields(probed):
    report = probed(templates=ALL_POLICIES)
    assert report.good
    assert told(report, "kiln_status") == [
        ("drop_element", ["`result.kiln.recent_firings[0]` of call 0 `get_kiln` is left out"], RECENT),
        ("add_element", ['`result.kiln.recent_firings` of call 0 `get_kiln` has a further element "F-10"'], RECENT),
        (
            "change_result",
            [
                '`result.kiln.recent_firings[0]` of call 0 `get_kiln` is "F-10" instead of "F-11"',
                '`result.kiln.status` of call 0 `get_kiln` is "busy" instead of "idle"',
                '`result.kiln.zone` of call 0 `get_kiln` is "south" instead of "north"',
            ],
            "`result.kiln.recent_firings[0]`, `result.kiln.status`, `result.kiln.zone` of call 0 `get_kiln`",
        ),
    ]
    assert told(report, "start_confirmed") == [
        (
            "revert_change",
            ['`state.kilns["K-1"].recent_firings` is still ["F-11"] instead of ["F-14","F-11"]'],
            '`state.kilns["K-1"].recent_firings`',
        ),
        (
            "drop_element",
            ['`state.kilns["K-1"].recent_firings[1]` is left out'],
            'how many elements `state.kilns["K-1"].recent_firings` has (expected: 2)',
        ),
        (
            "add_element",
            ['`state.kilns["K-1"].recent_firings` has a further element "F-10"'],
            'how many elements `state.kilns["K-1"].recent_firings` has (expected: 2)',
        ),
    ]
    assert told(report, "out_of_scope") == []
    scores = {one.template.template_id: template_score(one) for one in report.probing.probed}
    assert scores["kiln_status"] == 0.4444
    assert scores["out_of_scope"] == 1.0
    assert list(scores) == list(ALL_POLICIES)


RECENT = "how many elements `result.kiln.recent_firings` of call 0 `get_kiln` has (expected: 1)"


def test_dependent_template_is_probed_with_its_order_and_its_second_answer(probed):
    report = probed(templates=ALL_POLICIES, only=("last_firing",))
    kinds = [(kind, look) for kind, _, look in told(report, "last_firing") if kind != "change_result"]
    assert kinds == [
        ("refuse_result", "`result.error` of call 1 `get_firing`"),
        ("reorder_calls", "that call 0 `get_kiln` comes before call 1 `get_firing`"),
        ("add_element", RECENT),
    ]


def test_assertion_that_ignores_the_result_lets_a_refusal_pass(probed):
    report = probed(IGNORES_RESULT, only=("kiln_status",))
    assert told(report, "kiln_status")[0] == (
        "refuse_result",
        ['call 0 `get_kiln` answers {"error":{"code":"not_found"}}'],
        "`result.error` of call 0 `get_kiln`",
    )
    (survivor, *_) = document(report)["templates"][0]["survivors"]
    assert (survivor["passed"], survivor["not_applicable"]) == (["assert_kiln_read"], [])


def test_assertion_that_ignores_the_count_lets_a_second_change_pass(probed):
    repeatable = replace("backend.py", '    if kiln["status"] != "idle":\n', '    if kiln["zone"] == "south":\n')
    report = probed(repeatable, only=("start_confirmed",))
    survivors = told(report, "start_confirmed")
    assert ("repeat_call", ["call 0 `start_firing` is made twice"], TWICE) in survivors


TWICE = "how often `start_firing` is called (expected: once)"


def test_repeated_reading_is_tolerated_and_order_is_free_under_call_order_any(probed):
    report = probed(only=("kiln_and_firing",))
    counts = document(report)["templates"][0]["mutants"]
    assert counts["by_kind"]["repeat_call"] == {"tolerated": 2}
    assert "reorder_calls" not in counts["by_kind"]


def test_swapped_calls_count_where_the_order_is_strict(probed):
    report = probed(put_template("kiln_and_firing", ("call_order",), "strict"), only=("kiln_and_firing",))
    assert told(report, "kiln_and_firing")[0] == (
        "reorder_calls",
        ["call 1 `get_firing` before call 0 `get_kiln`"],
        "that call 0 `get_kiln` comes before call 1 `get_firing`",
    )


@pytest.mark.parametrize(
    ("required", "made"), [(["get_firing", "get_kiln"], False), (["get_kiln", "get_firing"], True)]
)
def test_swapped_calls_under_a_prefix_count_where_they_break_it(probed, required, made):
    report = probed(
        put_template("kiln_and_firing", ("call_order",), "prefix"),
        put_template("kiln_and_firing", ("call_order_prefix",), 1),
        put_template("kiln_and_firing", ("required_tools",), required),
        only=("kiln_and_firing",),
    )
    assert ("reorder_calls" in document(report)["templates"][0]["mutants"]["by_kind"]) == made


def test_argument_that_makes_no_difference_is_equivalent(probed):
    report = probed(
        put_template("start_confirmed", ("assistant_milestones", 1, "args", "atmosphere"), "oxidation"),
        only=("start_confirmed",),
    )
    counts = document(report)["templates"][0]["mutants"]
    assert counts["by_kind"]["change_argument"] == {"killed": 3, "equivalent": 1}


def test_assertion_that_never_fails_is_weak_with_its_line_and_what_to_look_at(probed):
    report = probed(NEVER_FAILS)
    assert not report.good
    assert document(report)["status"] == "weak"
    (weak,) = report.weak
    assert str(as_problem(weak, root="pack")) == (
        "pack/assertions.py:47: weak_assertion: `assert_kiln_busy` fails on none of 16 mutants of `start_confirmed`;"
        " expected one at least\n"
        '  fix: let it look at `state.kilns["K-1"].recent_firings`, `state.kilns["K-1"].status`,'
        " which nothing else looks at; or remove it"
    )


def test_weak_assertion_beside_ones_that_catch_all_is_told_so(probed):
    report = probed(
        replace("assertions.py", 'assert not trace, "a tool was called"', 'assert trace == [], "a tool was called"'),
        replace(
            "assertions.py",
            "def assert_no_tool_called(",
            "def assert_calm(*, state, trace, task, ctx):\n    pass\n\n\ndef assert_no_tool_called(",
        ),
        put_template("out_of_scope", ("success_assertions",), ["assert_no_tool_called", "assert_calm"]),
        only=("out_of_scope",),
    )
    (weak,) = report.weak
    assert str(as_problem(weak, root="pack")) == (
        "pack/assertions.py:57: weak_assertion: `assert_calm` fails on none of 3 mutants of `out_of_scope`;"
        " expected one at least\n"
        "  fix: others catch all of them: let it state what only it can tell, or remove it"
    )


def test_assertion_that_asserts_nothing_and_only_breaks_is_weak(probed):
    report = probed(
        replace("assertions.py", '    assert trace, "nothing was looked up"\n', ""),
        replace("assertions.py", '    assert trace[-1]["arguments"] == {"kiln_id": task["slots"]["kiln_id"]}\n', ""),
        replace(
            "assertions.py",
            '    assert trace[-1]["result"]["error"]["code"] == "not_found"\n',
            '    trace[-1]["result"].get("error")\n',
        ),
        templates=("kiln_unknown",),
    )
    (weak,) = report.weak
    assert (weak.code, weak.detail) == ("weak_assertion", "assert_not_found")
    assert " (and breaks on 1); expected one at least" in weak.message


def test_assertion_is_not_called_weak_while_a_template_that_names_it_was_not_probed(probed):
    report = probed(NEVER_FAILS, templates=ALL_POLICIES, only=("start_confirmed",))
    assert report.good
    assert [(one.name, one.kills) for one in report.standings] == [
        ("assert_started_as_asked", 12),
        ("assert_kiln_busy", 0),
    ]


def test_not_applicable_kills_nothing_and_is_named(probed):
    shrug = replace("assertions.py", '    assert calls, "the kiln was not looked up"\n', SHRUG)
    report = probed(shrug, only=("kiln_status",))
    (survivor, *_) = document(report)["templates"][0]["survivors"]
    assert (survivor["kind"], survivor["passed"], survivor["not_applicable"]) == ("drop_call", [], ["assert_kiln_read"])
    assert survivor["mutants"] == ["call 0 `get_kiln` is left out"]
    assert survivor["look_at"] == "how often `get_kiln` is called (expected: once)"


SHRUG = '    if not calls:\n        return {"status": "not_applicable"}\n'


def test_assertion_that_breaks_kills_and_is_named_fragile(probed):
    report = probed(only=("kiln_status",))
    assert report.good
    assert [str(as_problem(one, root="pack")) for one in report.fragile] == [
        "pack/assertions.py:18: fragile_assertion: kiln_status: `assert_kiln_read` breaks instead of failing where"
        ' call 0 `get_kiln` answers {"error":{"code":"not_found"}}: assertions.py:22: KeyError: \'kiln\'\n'
        "  fix: test for a missing call, row or field before reading from it"
    ]


def test_mutant_that_breaks_the_oracle_is_told_and_not_counted(probed):
    report = probed(
        replace("backend.py", "def _get_kiln(kiln_id):\n", "def _get_kiln(kiln_id):\n    assert kiln_id != 'K-2'\n"),
        only=("kiln_status",),
    )
    assert report.good
    assert [str(as_problem(one, root="pack")) for one in report.broken] == [
        'pack/backend.py:42: tool_raised: kiln_status: the oracle breaks where `kiln_id` of call 0 `get_kiln` is "K-2"'
        ' instead of "K-1": AssertionError'
    ]
    assert document(report)["templates"][0]["mutants"]["broken"] == 1


def test_template_whose_expected_calls_fail_is_not_probed(probed):
    report = probed(replace("assertions.py", '["status"] == "busy"', '["status"] == "cold"'))
    assert not report.good
    assert [str(as_problem(one, root="pack")) for one in report.faults] == [
        "pack/task_templates.yaml:38: assertion_failed: start_confirmed: the expected calls do not pass themselves:"
        " assert_kiln_busy: assert at assertions.py:48\n"
        "  fix: mend the template or its assertions; `bfcl preview` shows the conversation"
    ]


def test_template_that_does_not_compile_is_not_probed(probed):
    report = probed(put_template("kiln_status", ("slots", "kiln_id", "filter"), 'zone == "west"'))
    assert [str(as_problem(one, root="pack")) for one in report.faults] == [
        "pack/task_templates.yaml:12: filter_matches_zero: kiln_status: slot `kiln_id`: no row of `kilns` offers"
        ' a value of `kiln_id` under filter `zone == "west"`; expected at least one'
    ]
    assert document(report)["totals"]["probed"] == 3


def test_template_below_the_wanted_score_is_named(probed):
    report = probed(min_score=0.9)
    assert not report.good
    assert report.low == ("kiln_status", "start_confirmed", "kiln_and_firing")


def test_limit_spreads_the_mutants_of_each_kind(probed):
    report = probed(only=("kiln_status",), limit=2)
    (one,) = report.probing.probed
    assert [each.mutant.what for each in one.judged if each.mutant.kind == "change_result"] == [
        '`result.kiln.kiln_id` of call 0 `get_kiln` is "K-2" instead of "K-1"',
        '`result.kiln.status` of call 0 `get_kiln` is "busy" instead of "idle"',
    ]


def test_superseded_value_is_the_other_argument_of_a_corrected_slot(probed):
    report = probed(templates=ALL_POLICIES, only=("cone_corrected", "kiln_corrected"))
    whats = [one.mutant.what for each in report.probing.probed for one in each.judged]
    assert '`kiln_id` of call 0 `get_kiln` is "K-1" instead of "K-2"' in whats
    assert "`cone` of call 0 `start_firing` is 5 instead of 6" in whats


def test_probing_twice_gives_the_same_document(probed, tmp_path):
    assert document(probed(templates=ALL_POLICIES)) == document(probed(templates=ALL_POLICIES))


def test_unknown_template_is_refused(probed):
    with pytest.raises(BfclError) as refused:
        probed(only=("kiln_statu",))
    assert [str(one) for one in refused.value.problems] == [
        "unknown_template: kiln_statu: the pack has no such template; it has 4\n  fix: did you mean `kiln_status`?"
    ]


def test_assertions_that_do_not_import_are_refused(probed):
    with pytest.raises(BfclError) as refused:
        probed(replace("assertions.py", '"""What a good', 'import nowhere\n"""What a good'))
    assert [str(one) for one in refused.value.problems] == [
        "assertions.py: assertions_import_failed: does not import: ModuleNotFoundError: No module named 'nowhere'\n"
        "  fix: mend assertions.py:1"
    ]


def test_extra_call_without_effect_is_tolerated(probed):
    report = probed(
        put("validation_cases.yaml", (8, "arguments", "kiln_id"), "K-3"),
        put_template("start_confirmed", ("success_assertions",), ["assert_kiln_busy"]),
        only=("start_confirmed",),
    )
    assert document(report)["templates"][0]["mutants"]["by_kind"]["extra_call"] == {"tolerated": 2}


def test_extra_call_of_a_corrected_task_departs_from_the_probe_that_is_its_own_call(probed):
    report = probed(templates=ALL_POLICIES, only=("cone_corrected",))
    (one,) = report.probing.probed
    assert [each.mutant.what for each in one.judged if each.mutant.kind == "extra_call"] == [
        'a further call `start_firing` with {"cone":6,"confirm":true,"kiln_id":"K-2"}'
    ]


def test_extra_call_with_an_effect_counts(probed):
    report = probed(
        put("validation_cases.yaml", (8, "arguments", "kiln_id"), "K-2"),
        put_template("start_confirmed", ("success_assertions",), ["assert_kiln_busy"]),
        only=("start_confirmed",),
    )
    assert (
        "extra_call",
        ['a further call `start_firing` with {"cone":6,"confirm":true,"kiln_id":"K-2"}'],
        "that `start_firing` is not called again, or what it changed",
    ) in told(report, "start_confirmed")


HAVE = 'calls[-1]["result"]["kiln"]["recent_firings"]'
WANT = 'state["kilns"][task["slots"]["kiln_id"]]["recent_firings"]'


@pytest.mark.parametrize(
    ("held", "check", "survivors"),
    [
        (["F-11", "F-10", "F-12"], f"{HAVE} == {WANT}", []),
        (
            ["F-11", "F-10", "F-12"],
            f"all(one in {WANT} for one in {HAVE})",
            [
                (
                    "drop_element",
                    "how many elements `result.kiln.recent_firings` of call 0 `get_kiln` has (expected: 3)",
                ),
                (
                    "add_element",
                    "how many elements `result.kiln.recent_firings` of call 0 `get_kiln` has (expected: 3)",
                ),
                (
                    "change_result",
                    "`result.kiln.recent_firings[0]`, `result.kiln.recent_firings[1]`, `result.kiln.recent_firings[2]`"
                    " of call 0 `get_kiln`",
                ),
                ("reorder_list", "the order of `result.kiln.recent_firings` of call 0 `get_kiln`, if it matters"),
            ],
        ),
        (
            ["F-11", "F-10", "F-12"],
            f"sorted({HAVE}) == sorted({WANT})",
            [("reorder_list", "the order of `result.kiln.recent_firings` of call 0 `get_kiln`, if it matters")],
        ),
        (
            ["F-11", "F-10", "F-12"],
            f"{HAVE}[:1] == {WANT}[:1] and {HAVE}[-1:] == {WANT}[-1:]",
            [
                (
                    "drop_element",
                    "how many elements `result.kiln.recent_firings` of call 0 `get_kiln` has (expected: 3)",
                ),
                ("change_result", "`result.kiln.recent_firings[1]` of call 0 `get_kiln`"),
            ],
        ),
        (
            [],
            '"recent_firings" in calls[-1]["result"]["kiln"]',
            [("add_element", "that `result.kiln.recent_firings` of call 0 `get_kiln` is empty")],
        ),
    ],
    ids=["all of it", "only that each belongs there", "not the order", "only the ends", "not that it is empty"],
)
def test_assertion_on_a_list_lets_pass_what_it_does_not_look_at(probed, held, check, survivors):
    report = probed(
        put("fixtures.json", ("kilns", 0, "recent_firings"), held),
        replace(
            "assertions.py",
            '    assert calls[-1]["result"]["kiln"]["kiln_id"]',
            f'    assert {check}\n    assert calls[-1]["result"]["kiln"]["kiln_id"]',
        ),
        only=("kiln_status",),
    )
    lists = [(kind, look) for kind, _, look in told(report, "kiln_status") if "recent_firings" in look]
    assert [(kind, look.replace(", `result.kiln.status`, `result.kiln.zone`", "")) for kind, look in lists] == survivors
