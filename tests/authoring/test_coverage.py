"""What the small pack covers, and what is told where something is missing."""

from __future__ import annotations

import pytest

from bfcl.authoring.coverage import coverage, named_by
from bfcl.authoring.coverage_document import document
from bfcl.authoring.workbench import workbench
from tests.packs import (
    ALL_POLICIES,
    BASE,
    ROW_LINKS,
    add_template,
    drop,
    held_out,
    put,
    put_template,
    replace,
    text,
    write_pack,
)


@pytest.fixture
def covered(tmp_path):
    def look(*edits, templates=BASE, static=False, budget=None):
        root = write_pack(tmp_path / "pack", *edits, templates=templates)
        with workbench(root) as bench:
            source = bench.pack.files["assertions"].path.read_bytes()
            oracle = None if static else bench.oracle
            return coverage(bench.pack, bench.config, oracle, source, budget=budget)

    return look


def test_tools_tell_probes_templates_and_the_functions_that_name_them(covered):
    found = covered(templates=ALL_POLICIES)
    assert found.missing == ()
    assert document(found)["tools"] == [
        {
            "name": "get_kiln",
            "requires_confirmation": False,
            "declared": {"success": 2, "negative": 2, "pending": 0},
            "observed": {"success": 2, "negative": 2, "pending": 0},
            "broken": 0,
            "templates": [
                "kiln_status",
                "kiln_and_firing",
                "kiln_unnamed",
                "kiln_corrected",
                "last_firing",
                "kiln_unknown",
            ],
            "assertions": ["assert_kiln_read", "assert_firing_from_kiln"],
        },
        {
            "name": "get_firing",
            "requires_confirmation": False,
            "declared": {"success": 1, "negative": 1, "pending": 0},
            "observed": {"success": 1, "negative": 1, "pending": 0},
            "broken": 0,
            "templates": ["kiln_and_firing", "last_firing"],
            "assertions": ["assert_firing_read", "assert_firing_from_kiln"],
        },
        {
            "name": "start_firing",
            "requires_confirmation": True,
            "declared": {"success": 1, "negative": 3, "pending": 1},
            "observed": {"success": 1, "negative": 3, "pending": 1},
            "broken": 0,
            "templates": ["start_confirmed", "cone_corrected"],
            "assertions": ["assert_started_as_asked"],
        },
    ]


def test_tool_without_a_refusal_is_missing(covered):
    found = covered(drop("validation_cases.yaml", (4,)))
    assert [str(one).partition("/pack/")[2] for one in found.missing] == [
        "tools.json:25: incomplete_validation_coverage: `get_firing` has no negative probe; expected at least one\n"
        "  fix: add a case that the tool refuses; for a refusal told as a plain result say `coverage: negative`"
    ]


def test_probe_that_is_no_refusal_counts_as_observed_unless_nothing_is_run(covered):
    answers = put("validation_cases.yaml", (4, "arguments", "firing_id"), "F-10")
    found = covered(answers)
    assert [one.message for one in found.missing] == ["`get_firing` has no negative probe; expected at least one"]
    static = covered(answers, static=True)
    assert static.missing == ()
    assert static.tools[1].observed is None


def test_probe_that_breaks_is_counted_apart(covered):
    head = "def _get_firing(firing_id):\n"
    found = covered(replace("backend.py", head, f"{head}    assert firing_id != 'F-12'\n"))
    assert (found.tools[1].observed, found.tools[1].broken) == ({"success": 0, "negative": 1, "pending": 0}, 1)
    assert found.missing == ()


def test_policies_count_templates_by_language(covered):
    found = covered(
        put("manifest.yaml", ("languages",), ["en", "vi"]),
        put_template("kiln_status", ("user_turn_templates", "vi"), "Lò {kiln_id} có trống không?"),
    )
    assert found.policies["single_turn"] == {"en": 1, "vi": 1}
    assert found.policies["multi_tool"] == {"en": 1, "vi": 0}
    assert found.policies["negative_path"] == {"en": 0, "vi": 0}
    assert len(found.policies) == 9


def test_bindings_stand_beside_the_budget_of_their_category(covered):
    found = covered(add_template("kiln_again", like="kiln_status"), budget=20)
    assert [(one.template_id, one.category, one.bindings, one.tasks) for one in found.templates] == [
        ("kiln_status", "kilns", 3, 3),
        ("start_confirmed", "firings", 4, 4),
        ("kiln_and_firing", "kilns", 12, 12),
        ("out_of_scope", "out_of_scope", 2, 2),
        ("kiln_again", "kilns", 3, 3),
    ]
    assert [(one.category, one.budget, one.bindings, one.shortfall) for one in found.categories] == [
        ("kilns", 20, 18, 2),
        ("firings", 20, 4, 16),
        ("out_of_scope", 20, 2, 18),
    ]
    assert found.missing == ()


def test_budget_below_the_number_of_templates_is_missing(covered):
    found = covered(budget=1)
    assert [str(one) for one in found.missing] == [
        "category_budget_too_small: task_generation.tasks_per_category: category `kilns` has 2 templates,"
        " but its budget is 1 tasks\n"
        "  fix: set `task_generation.tasks_per_category` to at least 2"
    ]


def test_slot_that_binds_nothing_is_missing_and_the_rest_is_told(covered):
    found = covered(put_template("kiln_status", ("slots", "kiln_id", "filter"), 'zone == "west"'))
    assert [one.code for one in found.missing] == ["filter_matches_zero"]
    assert [one.bindings for one in found.templates] == [None, 4, 12, 2]


def test_template_without_assertions_is_missing(covered):
    found = covered(put_template("kiln_status", ("success_assertions",), []))
    assert [str(one).partition("/pack/")[2] for one in found.missing] == [
        "task_templates.yaml:12: template_without_success_assertion: kiln_status: declares no success assertion;"
        " expected at least one\n"
        "  fix: list in `success_assertions` what must hold when the conversation is over"
    ]


def test_millions_of_bindings_are_counted_to_a_bound(covered):
    found = covered(put_template("start_confirmed", ("slots", "cone", "source"), "range:{min: 1, max: 9000000}"))
    told = document(found)["templates"][1]
    assert (told["bindings"], told["bindings_at_least"]) == (10_000, True)


def test_rows_that_no_slot_binds_are_named(covered):
    found = covered(
        put_template("kiln_status", ("slots", "kiln_id", "filter"), 'zone == "north"'), templates=("kiln_status",)
    )
    assert document(found)["collections"] == [
        {
            "name": "kilns",
            "rows": 3,
            "reserved": 0,
            "bound": 1,
            "templates": ["kiln_status"],
            "unbound": ["K-2", "K-3"],
        },
        {
            "name": "firings",
            "rows": 4,
            "reserved": 0,
            "bound": 0,
            "templates": [],
            "unbound": ["F-10", "F-11", "F-12", "F-13"],
        },
    ]


def test_reserved_rows_and_templates_are_neither_bound_nor_missed(covered):
    found = covered(
        put("manifest.yaml", ("held_out",), "held_out.yaml"),
        text("held_out.yaml", 'version: "1"\nfixtures: {kilns: [K-2]}\ntemplates: [kiln_and_firing]\n'),
    )
    (kilns, _) = found.collections
    assert (kilns.rows, kilns.reserved, kilns.bound, kilns.unbound) == (3, 1, 2, ())
    assert [(one.template_id, one.reserved, one.bindings) for one in found.templates][2] == (
        "kiln_and_firing",
        True,
        None,
    )


@pytest.mark.parametrize(
    ("source", "owners"),
    [
        (b"TOOL = 'look'\ndef assert_it(): pass\n", {"look": ["(module)"]}),
        (b"def assert_it():\n    def inner(): return ['look']\n", {"look": ["assert_it"]}),
        (b"async def it():\n    return 'looks'\n", {}),
        (b"def broken(:\n    'look'\n", {}),
    ],
)
def test_named_by_tells_which_function_holds_a_tool_name(source, owners):
    assert named_by(source, {"look"}) == owners


def test_values_of_one_row_are_one_binding(covered):
    found = covered(held_out({"kilns": ["K-2"]}), templates=ROW_LINKS, static=True)
    assert [(one.template_id, one.bindings) for one in found.templates] == [
        ("kiln_in_zone", 2),
        ("kiln_of_firing", 4),
        ("firing_corrected", 4),
    ]
    assert [(one.name, one.bound, one.unbound) for one in found.collections] == [("kilns", 2, ()), ("firings", 4, ())]


def test_broken_link_is_missing_and_the_rest_is_told(covered):
    edit = put_template("kiln_in_zone", ("slots", "zone", "same_row_as"), "nobody")
    found = covered(edit, templates=ROW_LINKS, static=True)
    assert "unknown_slot" in [one.code for one in found.missing]
    assert [one.bindings for one in found.templates] == [None, 4, 4]
    assert [(one.name, one.bound) for one in found.collections] == [("kilns", 3), ("firings", 4)]
