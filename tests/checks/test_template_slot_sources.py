"""Check 2: what slots and corrections bind."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.report import as_problem
from bfcl.checks.template_slot_sources import findings
from bfcl.pack.load import load_pack
from tests.checks.judged import judge
from tests.packs import ALL_POLICIES, ROW_LINKS, Edit, drop, held_out, put, put_template, run_config, write_pack

REFUSED: dict[str, tuple[list[Edit], dict[str, object], list[str]]] = {
    "source kind is unknown": (
        [
            put_template(
                "kiln_status",
                ("slots",),
                {"kiln_id": {"source": "fixtur:kilns.kiln_id", "visible_in_first_turn": True}},
            )
        ],
        {},
        [
            (
                "2 pack/task_templates.yaml:10: unknown_slot_source: kiln_status: slot `kiln_id`: source "
                "'fixtur:kilns.kiln_id' has the kind 'fixtur'; expected one of fixture, enum, literal, "
                "range, absent\n"
                "  fix: did you mean `fixture`?"
            ),
        ],
    ),
    "source is malformed": (
        [put_template("kiln_status", ("slots",), {"kiln_id": {"source": "literal:[]", "visible_in_first_turn": True}})],
        {},
        [
            (
                "2 pack/task_templates.yaml:10: slot_source_malformed: kiln_status: slot `kiln_id`: "
                "source 'literal:[]': its list is empty\n"
                "  fix: list at least one value"
            ),
        ],
    ),
    "collection is unknown": (
        [
            put_template(
                "kiln_status", ("slots",), {"kiln_id": {"source": "klins.kiln_id", "visible_in_first_turn": True}}
            )
        ],
        {},
        [
            (
                "2 pack/task_templates.yaml:10: unknown_collection: kiln_status: slot `kiln_id`: draws "
                "from collection `klins`, which fixtures.json does not have as a list of rows\n"
                "  fix: did you mean `kilns`?"
            ),
        ],
    ),
    "field is unknown": (
        [
            put_template(
                "kiln_status", ("slots",), {"kiln_id": {"source": "kilns.kilnid", "visible_in_first_turn": True}}
            )
        ],
        {},
        [
            (
                "2 pack/task_templates.yaml:10: unknown_field: kiln_status: slot `kiln_id`: draws field "
                "`kilnid`, which no row of `kilns` has\n"
                "  fix: did you mean `kiln_id`?"
            ),
        ],
    ),
    "filter matches nothing": (
        [
            put_template(
                "kiln_status",
                ("slots",),
                {
                    "kiln_id": {
                        "source": "fixture:kilns.kiln_id",
                        "visible_in_first_turn": True,
                        "filter": "zone == 'moon'",
                    }
                },
            )
        ],
        {},
        [
            (
                "2 pack/task_templates.yaml:12: filter_matches_zero: kiln_status: slot `kiln_id`: no row "
                "of `kilns` offers a value of `kiln_id` under filter `zone == 'moon'`; expected at least "
                "one"
                "\n  fix: loosen the filter, or add rows that pass it and have a value there"
            ),
        ],
    ),
    "filter is no conjunction": (
        [
            put_template(
                "kiln_status",
                ("slots",),
                {
                    "kiln_id": {
                        "source": "fixture:kilns.kiln_id",
                        "visible_in_first_turn": True,
                        "filter": "zone or status",
                    }
                },
            )
        ],
        {},
        [
            (
                "2 pack/task_templates.yaml:12: invalid_filter: kiln_status: slot `kiln_id`: filter "
                "'zone or status': only `and` joins clauses, without brackets around a group; expected "
                "`field op literal`, joined by `and`"
                "\n  fix: write `field op literal`, several joined by `and`"
            ),
        ],
    ),
    "filter stands on a literal": (
        [put_template("out_of_scope", ("slots", "topic", "filter"), "a == 1")],
        {},
        [
            (
                "2 pack/task_templates.yaml:98: filter_on_non_fixture_source: out_of_scope: slot "
                "`topic`: has a filter, but its source is of kind `literal`; expected a filter on "
                "`fixture` only\n"
                "  fix: remove the filter"
            ),
        ],
    ),
    "enum source names an unknown tool": (
        [
            put_template(
                "kiln_status",
                ("slots",),
                {"kiln_id": {"source": "enum:start_firin.atmosphere", "visible_in_first_turn": True}},
            )
        ],
        {},
        [
            (
                "2 pack/task_templates.yaml:10: unknown_tool: kiln_status: slot `kiln_id`: draws from "
                "tool `start_firin`, which tools.json does not have\n"
                "  fix: did you mean `start_firing`?"
            ),
        ],
    ),
    "enum source has no enum": (
        [
            put_template(
                "kiln_status",
                ("slots",),
                {"kiln_id": {"source": "enum:start_firing.cone", "visible_in_first_turn": True}},
            )
        ],
        {},
        [
            (
                "2 pack/task_templates.yaml:10: enum_source_unresolved: kiln_status: slot `kiln_id`: "
                "parameter `cone` of tool `start_firing` declares no enum to draw from"
                "\n  fix: name a parameter that declares an enum, or list the values as `literal:[...]`"
            ),
        ],
    ),
    "absent ids are not declared": (
        [
            put_template(
                "kiln_status", ("slots",), {"kiln_id": {"source": "absent:firings", "visible_in_first_turn": True}}
            )
        ],
        {},
        [
            (
                "2 pack/task_templates.yaml:10: absent_ids_missing: kiln_status: slot `kiln_id`: draws "
                "absent ids of `firings`, but the manifest declares none\n"
                "  fix: declare `absent_ids.firings`"
            ),
        ],
    ),
    "visibility is not declared": (
        [put_template("kiln_status", ("slots",), {"kiln_id": {"source": "kilns.kiln_id"}})],
        {},
        [
            (
                "2 pack/task_templates.yaml:9: slot_missing_visibility_flag: kiln_status: slot `kiln_id` "
                "does not say whether its value occurs in the first user turn\n"
                "  fix: add `visible_in_first_turn: true` or `false`"
            ),
        ],
    ),
    "slot name is reserved": (
        [put_template("out_of_scope", ("slots", "slot_name"), {"source": "literal:x", "visible_in_first_turn": False})],
        {},
        [
            (
                "2 pack/task_templates.yaml:98: reserved_slot_name: out_of_scope: `slot_name` stands for "
                "the label of the asked slot in texts; expected another name\n"
                "  fix: rename the slot"
            ),
        ],
    ),
    "primary key is ambiguous": (
        [drop("manifest.yaml", ("primary_keys",))],
        {},
        [
            (
                "2 pack/fixtures.json:29: primary_key_ambiguous: rows of `firings` hold `firing_id`, "
                "`kiln_id`; which one identifies a row is not declared\n"
                "  fix: declare `primary_keys.firings` in the manifest"
            ),
        ],
    ),
    "two rows share a primary key as text": (
        [
            put("fixtures.json", ("bins",), [{"bin_id": 1}, {"bin_id": "1"}]),
            put_template("out_of_scope", ("slots", "topic", "source"), "bins.bin_id"),
        ],
        {},
        [
            (
                "2 pack/fixtures.json:61: duplicate_primary_key: rows 0 and 1 of `bins` have the same "
                "`bin_id`, as text '1'\n"
                "  fix: give each row its own key"
            ),
        ],
    ),
    "row lacks its primary key": (
        [
            put("fixtures.json", ("bins",), [{"bin_id": 1}, {"name": "b"}]),
            put_template("out_of_scope", ("slots", "topic", "source"), "bins.bin_id"),
        ],
        {},
        [
            (
                "2 pack/fixtures.json:60: fixture_row_missing_primary_key: row 1 of `bins` has no "
                "`bin_id`; expected text or an integer\n"
                "  fix: give the row its key"
            ),
        ],
    ),
    "no field can be a primary key": (
        [
            put("fixtures.json", ("bins",), [{"name": "a"}]),
            put_template("out_of_scope", ("slots", "topic", "source"), "bins.name"),
        ],
        {},
        [
            (
                "2 pack/fixtures.json:56: fixture_row_missing_primary_key: rows of `bins` hold no field "
                "ending in `_id`; expected one of `id`, `bins_id`, `bin_id`\n"
                "  fix: declare `primary_keys.bins` in the manifest"
            ),
        ],
    ),
    "absent id is present": (
        [put("manifest.yaml", ("absent_ids", "kilns"), ["K-90", "K-2"])],
        {},
        [
            (
                "2 pack/manifest.yaml:12: absent_id_exists: `absent_ids.kilns` lists 'K-2', which row 1 "
                "of `kilns` carries\n"
                "  fix: list an id that no row has"
            ),
        ],
    ),
    "correction stands under another policy": (
        [put_template("kiln_corrected", ("turn_policy",), "negative_path")],
        {"templates": ALL_POLICIES},
        [
            (
                "2 pack/task_templates.yaml:161: slot_correction_declaration_invalid: kiln_corrected: "
                "corrects slot `kiln_id` under policy `negative_path`; expected `correction`"
                "\n  fix: change the entry of `slot_updates` to what the message expects"
            ),
        ],
    ),
    "correction changes the source kind": (
        [
            put_template(
                "kiln_corrected", ("user_simulator_turns", 0, "slot_updates", "kiln_id", "source"), "literal:[K-2, K-3]"
            )
        ],
        {"templates": ALL_POLICIES},
        [
            (
                "2 pack/task_templates.yaml:162: slot_correction_declaration_invalid: kiln_corrected: "
                "replaces slot `kiln_id` of kind `fixture` by one of kind `literal`; expected the same "
                "kind"
                "\n  fix: change the entry of `slot_updates` to what the message expects"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("edits", "run", "expected"), REFUSED.values(), ids=REFUSED)
def test_check_2_reports_exactly_the_fault_of_one_edit(
    tmp_path: Path, edits: list[Edit], run: dict[str, object], expected: list[str]
) -> None:
    assert judge(tmp_path, *edits, **run).failures() == expected


def test_check_2_tells_a_fault_of_rows_once_for_all_slots_that_draw_from_them(tmp_path: Path) -> None:
    edit = put("fixtures.json", ("kilns", 2, "kiln_id"), "K-2")
    failures = judge(tmp_path, edit, templates=ALL_POLICIES).failures()
    assert [one for one in failures if "duplicate_primary_key" in one] == [
        "2 pack/fixtures.json:20: duplicate_primary_key: rows 1 and 2 of `kilns` "
        "have the same `kiln_id`, as text 'K-2'\n"
        "  fix: give each row its own key"
    ]


def test_check_2_leaves_the_keys_of_unused_collections_alone(tmp_path: Path) -> None:
    judged = judge(tmp_path, put("fixtures.json", ("bins",), [{"a_id": 1, "b_id": 2}]))
    assert judged.statuses()["2"] == "pass"


def test_broken_row_links_are_placed_at_what_declares_them(tmp_path: Path) -> None:
    judged = judge(
        tmp_path,
        put_template("kiln_in_zone", ("slots", "zone", "same_row_as"), "kiln"),
        put_template(
            "kiln_of_firing",
            ("assistant_milestones", 0, "args", "kiln_id"),
            {"from_fixture": {"slot": "firing_id", "field": "kiln"}},
        ),
        put_template("firing_corrected", ("slots", "cone", "filter"), "cone < 6"),
        templates=ROW_LINKS,
    )
    assert judged.failures() == [
        (
            "2 pack/task_templates.yaml:14: unknown_slot: kiln_in_zone: slot `zone` takes its row from `kiln`, which is"
            " no slot of the template\n  fix: did you mean `kiln_id`?"
        ),
        (
            "2 pack/task_templates.yaml:44: unknown_field: kiln_of_firing: argument `kiln_id`: draws field `kiln`,"
            " which no row of `firings` has\n  fix: did you mean `kiln_id`?"
        ),
        (
            "2 pack/task_templates.yaml:65: slot_row_link_invalid: firing_corrected: slot `cone` takes its row from"
            " `firing_id` and has a filter of its own; expected none, since the filter of `firing_id` holds\n"
            "  fix: move the condition to the filter of `firing_id`, or remove it"
        ),
    ]


def test_slot_that_draws_a_value_from_several_rows_is_a_warning(tmp_path: Path) -> None:
    zone = {"source": "fixture:kilns.zone", "visible_in_first_turn": True}
    edit = put_template("kiln_status", ["slots", "kiln_id"], zone)
    found = findings(load_pack(run_config(write_pack(tmp_path / "pack", edit)), project=tmp_path))
    assert [str(as_problem(one, root="pack")) for one in found.warnings] == [
        "pack/task_templates.yaml:10: slot_value_repeats: kiln_status: slot `kiln_id` draws 3 rows with 2 distinct "
        'values ("south" comes 2 times); tasks that differ in nothing but their rows are published\n'
        "  fix: draw a field that tells rows apart, narrow the filter to one row a value, or list the values with "
        "`literal:`"
    ]


def test_slot_whose_row_others_are_taken_from_may_repeat(tmp_path: Path) -> None:
    zone = {"source": "fixture:kilns.zone", "visible_in_first_turn": True}
    follower = {"source": "fixture:kilns.kiln_id", "same_row_as": "zone", "visible_in_first_turn": True}
    edit = put_template("kiln_status", ["slots"], {"zone": zone, "kiln_id": follower})
    found = findings(load_pack(run_config(write_pack(tmp_path / "pack", edit)), project=tmp_path))
    assert [one.code for one in found.warnings] == []


@pytest.mark.parametrize(("rows", "templates"), [({"kilns": ["K-3"]}, []), ({}, ["kiln_status"])])
def test_rows_and_templates_held_out_repeat_nothing(
    tmp_path: Path, rows: dict[str, list[str]], templates: list[str]
) -> None:
    zone = {"source": "fixture:kilns.zone", "visible_in_first_turn": True}
    edit = put_template("kiln_status", ["slots", "kiln_id"], zone)
    root = write_pack(tmp_path / "pack", edit, held_out(rows, templates))
    assert findings(load_pack(run_config(root), project=tmp_path)).warnings == []
