"""Candidates of each source, and every problem check 2 can tell about slots and corrections."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from bfcl.errors import Problem
from bfcl.pack.load import load_pack
from bfcl.pack.model import Confirmation, Manifest
from bfcl.records.ids import TemplateId
from bfcl.records.template import Milestone, Paraphrase, SimulatorTurn, Slot, SlotUpdate, Template
from bfcl.records.tool import Tool
from bfcl.stages.bindings import Sources, enum_values, slot_problems, sources_of, sources_of_reserved
from bfcl.stages.candidates import Candidates
from tests.packs import held_out, run_config, write_pack

FIXTURES: dict[str, Any] = {
    "kilns": [
        {"kiln_id": "K-1", "zone": "north", "load": 3, "tags": ["old"]},
        {"kiln_id": "K-2", "zone": "south", "load": None, "tags": ["new"]},
        {"kiln_id": "K-3", "zone": "south", "tags": ["new"]},
    ],
    "firings": [{"firing_id": 10, "kiln_id": "K-3"}],
    "shelves": [],
    "opening_hours": "9-17",
}

TOOLS = (
    Tool(
        name="start_firing",
        parameters={
            "type": "object",
            "properties": {
                "kiln_id": {"type": "string"},
                "atmosphere": {"type": ["string", "null"], "enum": ["oxidation", None, "reduction"]},
                "glaze": {"$ref": "#/$defs/glaze"},
                "finish": {"allOf": [{"$ref": "#/$defs/glaze"}, {"enum": ["matt", 1, "satin"]}]},
                "box": {"enum": [{"a": 1}]},
                "loop": {"$ref": "#/$defs/loop"},
            },
            "$defs": {"glaze": {"enum": ["gloss", "matt", True]}, "loop": {"$ref": "#/$defs/loop"}},
        },
    ),
)


def sources(fixtures: dict[str, Any] = FIXTURES, reserved: frozenset[str] = frozenset(), **fields: Any) -> Sources:
    values: dict[str, Any] = {
        "pack_id": "kiln_studio",
        "version": "1.0",
        "languages": ("en",),
        "default_language": "en",
        "clock": None,
        "primary_keys": {"firings": "firing_id"},
        "absent_ids": {"kilns": ("K-90", "K-91")},
        "system_prompt": None,
        "assistant_turn_templates": {},
        "confirmation": Confirmation(),
        "tool_names_exempt": (),
        "values": {},
    }
    return Sources(TOOLS, fixtures, Manifest(**{**values, **fields}), reserved)


def template(slots: dict[str, Slot], *updates: SlotUpdate, policy: str = "single_turn") -> Template:
    turns = (SimulatorTurn(after="ask", content_template={"en": "No."}, slot_updates=updates),) if updates else ()
    return Template(
        template_id=TemplateId("fire"),
        intent=None,
        category="firings",
        difficulty=None,
        turn_policy="correction" if updates and policy == "single_turn" else policy,
        mutates=False,
        call_order="strict",
        call_order_prefix=None,
        required_tools=(),
        tools_present=(),
        slots=slots,
        success_assertions=(),
        user_turn_templates={"en": "Fire it."},
        assistant_milestones=(Milestone(type="ask_confirm", id="ask"),),
        user_simulator_turns=turns,
        assistant_turn_templates={},
        paraphrase=Paraphrase(),
        edge_signatures=(),
    )


def slot(source: str, filter_text: str | None = None, visible: bool | None = True, name: str = "kiln") -> Slot:
    return Slot(name=name, source=source, filter=filter_text, visible_in_first_turn=visible)


def found(source: str, filter_text: str | None = None, known: Sources | None = None) -> list[Problem]:
    return slot_problems(template({"kiln": slot(source, filter_text)}), known or sources())


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


def test_slot_problems_tells_names_and_flags() -> None:
    drawn = template({"slot_name": slot("literal:a"), "kiln": slot("literal:b", visible=None)})
    assert [(problem.field, str(problem)) for problem in slot_problems(drawn, sources())] == [
        (
            "slots.slot_name",
            (
                "reserved_slot_name: fire: `slot_name` stands for the label of the asked slot in texts; expected"
                " another"
                " name\n  fix: rename the slot"
            ),
        ),
        (
            "slots.kiln",
            (
                "slot_missing_visibility_flag: fire: slot `kiln` does not say whether its value occurs in the first"
                " user"
                " turn\n  fix: add `visible_in_first_turn: true` or `false`"
            ),
        ),
    ]


def test_slot_problems_tells_all_of_them() -> None:
    drawn = template({name: slot("absent:firings", name=name) for name in ("a", "b", "c")})
    assert [problem.field for problem in slot_problems(drawn, sources())] == [
        "slots.a.source",
        "slots.b.source",
        "slots.c.source",
    ]


# --- corrections ----------------------------------------------------------------------------------------------------

_KILN = {"kiln": slot("fixture:kilns.kiln_id")}


def test_slot_problems_accepts_a_correction() -> None:
    drawn = template(_KILN, SlotUpdate(slot="kiln", source="kilns.kiln_id", bind_as="right_kiln"))
    assert slot_problems(drawn, sources()) == []


@pytest.mark.parametrize(
    ("slots", "update", "field", "said"),
    [
        (_KILN, SlotUpdate(slot="kil", source="literal:a"), "", "corrects `kil`, which is no slot of the template"),
        (
            {"kiln": slot("literal:[a, b]", visible=False)},
            SlotUpdate(slot="kiln", source="literal:c"),
            "",
            "corrects slot `kiln`, which the first turn withholds; expected a visible slot",
        ),
        (
            _KILN,
            SlotUpdate(slot="kiln", source="literal:K-9"),
            ".source",
            "replaces slot `kiln` of kind `fixture` by one of kind `literal`; expected the same kind",
        ),
        *(
            (
                _KILN,
                SlotUpdate(slot="kiln", source="kilns.kiln_id", bind_as=alias),
                ".bind_as",
                f"alias `{alias}` is taken or reserved; expected a name of its own",
            )
            for alias in ("kiln", "slot_name")
        ),
    ],
)
def test_slot_problems_refuses_a_correction(slots: dict[str, Slot], update: SlotUpdate, field: str, said: str) -> None:
    (problem,) = slot_problems(template(slots, update), sources())
    assert (problem.code, problem.message) == ("slot_correction_declaration_invalid", said)
    assert problem.field == f"user_simulator_turns.0.slot_updates.{update.slot}{field}"


def test_slot_problems_refuses_corrections_under_another_policy() -> None:
    drawn = template(_KILN, SlotUpdate(slot="kiln", source="kilns.kiln_id"), policy="confirmation")
    (problem,) = slot_problems(drawn, sources())
    assert str(problem) == (
        "slot_correction_declaration_invalid: fire: corrects slot `kiln` under policy `confirmation`; expected"
        " `correction`"
    )


def test_slot_problems_refuses_a_correction_policy_without_updates() -> None:
    (problem,) = slot_problems(template(_KILN, policy="correction"), sources())
    assert str(problem) == (
        "slot_correction_declaration_invalid: fire: policy `correction`, but no simulator turn has `slot_updates`;"
        " expected at least one"
    )


def test_slot_problems_refuses_two_aliases_of_one_name() -> None:
    slots = {"a": slot("literal:[1, 2]", name="a"), "b": slot("literal:[1, 2]", name="b")}
    updates = [SlotUpdate(slot=name, source="literal:[3]", bind_as="new") for name in ("a", "b")]
    (problem,) = slot_problems(template(slots, *updates), sources())
    assert problem.field == "user_simulator_turns.0.slot_updates.b.bind_as"


def test_slot_problems_refuses_corrections_that_never_change_anything() -> None:
    drawn = template({"kiln": slot("literal:[K-1]")}, SlotUpdate(slot="kiln", source="literal:[K-1]"))
    (problem,) = slot_problems(drawn, sources())
    assert str(problem) == (
        "slot_correction_declaration_invalid: fire: every correction repeats the value in force; expected one that"
        " differs"
    )
    drawn = template({"kiln": slot("literal:[K-1]")}, SlotUpdate(slot="kiln", source="literal:[K-1, K-2]"))
    assert slot_problems(drawn, sources()) == []


def test_slot_problems_judges_a_replacement_source_like_any_other() -> None:
    drawn = template(_KILN, SlotUpdate(slot="kiln", source="kilns.kiln_id", filter='zone == "west"'))
    (problem,) = slot_problems(drawn, sources())
    assert problem.field == "user_simulator_turns.0.slot_updates.kiln.filter"
    assert str(problem) == (
        "filter_matches_zero: fire: correction of slot `kiln`: no row of `kilns` offers a value of `kiln_id`"
        " under filter"
        ' `zone == "west"`; expected at least one'
    )


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
