"""Candidates of each source, and why one offers none."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from bfcl.pack.load import load_pack
from bfcl.records.template import SlotUpdate
from bfcl.stages.bindings import enum_values, sources_of, sources_of_reserved
from bfcl.stages.candidates import Candidates
from bfcl.stages.slot_problems import slot_problems
from tests.packs import held_out, run_config, write_pack
from tests.stages.drawing import FIXTURES, TOOLS, found, slot, sources, template

# --- candidates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "filter_text", "values", "refs"),
    [
        ("kilns.kiln_id", None, ["K-1", "K-2", "K-3"], ['["kilns","K-1"]', '["kilns","K-2"]', '["kilns","K-3"]']),
        ("fixture:kilns.kiln_id", 'zone == "south"', ["K-2", "K-3"], ['["kilns","K-2"]', '["kilns","K-3"]']),
        ("fixture:kilns.load", None, [3], ['["kilns","K-1"]']),
        ("fixture:firings.kiln_id", None, ["K-3"], ['["firings","10"]']),
        ("enum:start_firing.atmosphere", None, ["oxidation", "reduction"], None),
        ("enum:start_firing.glaze", None, ["gloss", "matt", True], None),
        ("enum:start_firing.finish", None, ["matt"], None),
        ("literal:[4, 4.0, '4', true]", None, [4, 4.0, "4", True], None),
        ("literal:raku", None, ["raku"], None),
        ("range:{min: 5, max: 1, step: -2}", None, [5, 3, 1], None),
        ("range:{min: 1, max: 4, step: 2}", None, [1, 3], None),
        ("absent:kilns", None, ["K-90", "K-91"], None),
    ],
)
def test_resolve_lists_candidates_in_order(
    source: str, filter_text: str | None, values: list[Any], refs: list[str] | None
) -> None:
    resolved = sources().resolve(source, filter_text)
    assert resolved.problems == ()
    assert [(type(value), value) for value in resolved.candidates.values] == [(type(value), value) for value in values]
    assert resolved.candidates.refs == refs


def test_resolve_keeps_its_answer() -> None:
    known = sources()
    assert known.resolve("absent:kilns", None) is known.resolve("absent:kilns", None)


def test_candidates_find_values_by_canonical_text() -> None:
    listed = Candidates([1, 1.0, True, "1", 1])
    assert [listed.places(text) for text in ("1", "1.0", "true", '"1"', "2")] == [[0, 4], [1], [2], [3], []]
    counted = Candidates(range(2, 10, 2))
    assert [counted.places(text) for text in ("2", "8", "3", '"2"', "2.0", "true")] == [[0], [3], [], [], [], []]
    assert (listed.distinct, counted.distinct) == (4, 4)


def test_enum_values_ends_on_a_cyclic_reference() -> None:
    assert enum_values(TOOLS[0], "loop") == []


# --- problems -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "filter_text", "key", "text"),
    [
        (
            "fixture:klns.kiln_id",
            None,
            "source",
            (
                "unknown_collection: fire: slot `kiln`: draws from collection `klns`, which fixtures.json does not"
                " have as a"
                " list of rows\n  fix: did you mean `kilns`?"
            ),
        ),
        (
            "fixture:opening_hours.day",
            None,
            "source",
            (
                "unknown_collection: fire: slot `kiln`: draws from collection `opening_hours`, which fixtures.json"
                " does not"
                " have as a list of rows"
            ),
        ),
        (
            "fixture:kilns.kilnid",
            None,
            "source",
            (
                "unknown_field: fire: slot `kiln`: draws field `kilnid`, which no row of `kilns` has\n"
                "  fix: did you mean `kiln_id`?"
            ),
        ),
        (
            "fixture:kilns.kiln_id",
            'zone == "west"',
            "filter",
            (
                "filter_matches_zero: fire: slot `kiln`: no row of `kilns` offers a value of `kiln_id` under filter"
                " `zone =="
                ' "west"`; expected at least one'
            ),
        ),
        (
            "fixture:shelves.shelf_id",
            None,
            "source",
            (
                "filter_matches_zero: fire: slot `kiln`: no row of `shelves` offers a value of `shelf_id`; expected"
                " at least"
                " one"
            ),
        ),
        (
            "fixture:kilns.kiln_id",
            "zone or load",
            "filter",
            (
                "invalid_filter: fire: slot `kiln`: filter 'zone or load': only `and` joins clauses, without"
                " brackets around"
                " a group; expected `field op literal`, joined by `and`"
            ),
        ),
        (
            "fixture:kilns.tags",
            None,
            "source",
            (
                "slot_value_not_scalar: fire: slot `kiln`: field `tags` of row 0 of `kilns` is no text, number or"
                " boolean\n"
                "  fix: draw another field, or flatten this one"
            ),
        ),
        (
            "literal:[a]",
            'zone == "south"',
            "filter",
            (
                "filter_on_non_fixture_source: fire: slot `kiln`: has a filter, but its source is of kind `literal`;"
                " expected"
                " a filter on `fixture` only\n  fix: remove the filter"
            ),
        ),
        (
            "enum:start_fring.glaze",
            None,
            "source",
            (
                "unknown_tool: fire: slot `kiln`: draws from tool `start_fring`, which tools.json does not have\n"
                "  fix: did you mean `start_firing`?"
            ),
        ),
        (
            "enum:start_firing.kiln_id",
            None,
            "source",
            (
                "enum_source_unresolved: fire: slot `kiln`: parameter `kiln_id` of tool `start_firing` declares no"
                " enum to"
                " draw from"
            ),
        ),
        (
            "enum:start_firing.box",
            None,
            "source",
            (
                "slot_value_not_scalar: fire: slot `kiln`: the enum of `start_firing.box` holds an object or array;"
                " expected"
                " text, numbers or booleans"
            ),
        ),
        (
            "absent:firings",
            None,
            "source",
            (
                "absent_ids_missing: fire: slot `kiln`: draws absent ids of `firings`, but the manifest declares none\n"
                "  fix: declare `absent_ids.firings`"
            ),
        ),
        (
            "literal:[]",
            None,
            "source",
            (
                "slot_source_malformed: fire: slot `kiln`: source 'literal:[]': its list is empty\n"
                "  fix: list at least one value"
            ),
        ),
        (
            "enm:start_firing.glaze",
            None,
            "source",
            (
                "unknown_slot_source: fire: slot `kiln`: source 'enm:start_firing.glaze' has the kind 'enm';"
                " expected one of"
                " fixture, enum, literal, range, absent\n  fix: did you mean `enum`?"
            ),
        ),
    ],
)
def test_slot_problems_tells_a_source_that_offers_nothing(
    source: str, filter_text: str | None, key: str, text: str
) -> None:
    (problem,) = found(source, filter_text)
    assert problem.field == f"slots.kiln.{key}"
    assert str(problem) == text


def test_slot_problems_tells_an_ambiguous_primary_key() -> None:
    (problem,) = found("fixture:firings.kiln_id", known=sources(primary_keys={}))
    assert problem.field == "slots.kiln.source"
    assert str(problem) == (
        "primary_key_ambiguous: fire: slot `kiln`: rows of `firings` hold `firing_id`, `kiln_id`; which one"
        " identifies a"
        " row is not declared\n  fix: declare `primary_keys.firings` in the manifest"
    )


def test_slot_problems_tells_rows_without_or_with_repeated_primary_keys_once_a_slot() -> None:
    fixtures = copy.deepcopy(FIXTURES)
    fixtures["kilns"][0].pop("kiln_id")
    fixtures["kilns"][1]["kiln_id"] = None
    (problem,) = found("fixture:kilns.zone", known=sources(fixtures))
    assert str(problem) == (
        "fixture_row_missing_primary_key: fire: slot `kiln`: row 0 of `kilns` has no `kiln_id`; expected text or an"
        " integer (and 1 more)\n  fix: give the row its key"
    )
    fixtures = copy.deepcopy(FIXTURES)
    fixtures["kilns"][2]["kiln_id"] = "K-1"
    assert [problem.code for problem in found("fixture:kilns.zone", known=sources(fixtures))] == [
        "duplicate_primary_key"
    ]


def test_slot_problems_tells_an_absent_id_that_exists() -> None:
    (problem,) = found("absent:kilns", known=sources(absent_ids={"kilns": ("K-90", "K-2")}))
    assert problem.field == "slots.kiln.source"
    assert str(problem) == (
        "absent_id_exists: fire: slot `kiln`: `absent_ids.kilns` lists 'K-2', which row 1 of `kilns` carries\n"
        "  fix: list an id that no row has"
    )
    assert found("absent:guests", known=sources(absent_ids={"guests": ("G-1",)})) == []


# --- reserved rows --------------------------------------------------------------------------------------------------

K1, K2, K3 = (f'["kilns","K-{number}"]' for number in (1, 2, 3))


def test_reserved_rows_are_no_candidates() -> None:
    resolved = sources(reserved=frozenset({K2})).resolve("fixture:kilns.kiln_id", None)
    assert list(resolved.candidates.values) == ["K-1", "K-3"]
    assert resolved.candidates.refs == [K1, K3]
    assert (resolved.problems, resolved.blocked) == ((), (K2,))


def test_reserved_rows_that_do_not_match_are_not_blocked() -> None:
    resolved = sources(reserved=frozenset({K1, K2})).resolve("fixture:kilns.zone", 'zone == "south"')
    assert resolved.candidates.refs == [K3]
    assert resolved.blocked == (K2,)


def test_reserved_rows_lie_in_their_collection_alone() -> None:
    resolved = sources(reserved=frozenset({K3})).resolve("fixture:firings.kiln_id", None)
    assert list(resolved.candidates.values) == ["K-3"]
    assert resolved.blocked == ()


def test_slot_that_loses_every_matching_row_is_starved() -> None:
    known = sources(reserved=frozenset({K2, K3}))
    (problem,) = found("fixture:kilns.kiln_id", 'zone == "south"', known)
    assert (problem.field, problem.subject) == ("slots.kiln.source", "fire")
    assert str(problem) == (
        "held_out_binding_starved: fire: slot `kiln`: every row of `kilns` that offers `kiln_id` under filter "
        f'`zone == "south"` is reserved: fixture:{K2}, fixture:{K3}\n'
        "  fix: release one of them, or add a row to `kilns` that matches"
    )


def test_long_list_of_causes_is_cut() -> None:
    rows = [{"kiln_id": f"K-{number}"} for number in range(10, 35)]
    everything = frozenset(f'["kilns","{row["kiln_id"]}"]' for row in rows)
    (problem,) = found("fixture:kilns.kiln_id", None, sources({"kilns": rows}, everything))
    assert problem.message.endswith('fixture:["kilns","K-29"] and 5 more')


def test_slot_that_no_row_matches_is_not_blamed_on_the_policy() -> None:
    (problem,) = found("fixture:kilns.kiln_id", 'zone == "west"', sources(reserved=frozenset({K1})))
    assert problem.code == "filter_matches_zero"


def test_correction_that_only_reserved_rows_could_change_names_them() -> None:
    drawn = template(
        {"kiln": slot("fixture:kilns.kiln_id", 'zone == "north"')},
        SlotUpdate(slot="kiln", source="fixture:kilns.kiln_id"),
    )
    (problem,) = slot_problems(drawn, sources(reserved=frozenset({K2, K3})))
    assert (problem.code, problem.message) == (
        "slot_correction_declaration_invalid",
        f"every correction repeats the value in force (reserved: fixture:{K2}, fixture:{K3}); "
        "expected one that differs",
    )


@pytest.mark.parametrize(("in_state", "hidden"), [(True, ()), (False, (K2,))])
def test_reserved_template_is_compiled_with_the_rows_its_oracle_has(
    tmp_path: Path, in_state: bool, hidden: tuple[str, ...]
) -> None:
    root = write_pack(tmp_path / "pack", held_out({"kilns": ["K-2"]}, fixtures_in_backend_state=in_state))
    pack = load_pack(run_config(root), project=tmp_path)
    assert sources_of_reserved(pack).resolve("fixture:kilns.kiln_id", None).blocked == hidden
    assert sources_of(pack).resolve("fixture:kilns.kiln_id", None).blocked == (K2,)


def test_pack_without_policy_hides_no_row(tmp_path: Path) -> None:
    pack = load_pack(run_config(write_pack(tmp_path / "pack")), project=tmp_path)
    for made in (sources_of(pack), sources_of_reserved(pack)):
        assert made.resolve("fixture:kilns.kiln_id", None).blocked == ()
