"""Every problem check 2 can tell about slots, corrections and what is taken from one row together."""

from __future__ import annotations

import pytest

from bfcl.canonical import Json
from bfcl.records.template import Slot, SlotUpdate
from bfcl.stages.slot_problems import slot_problems
from tests.stages.drawing import FIXTURES, follower, of_row, slot, sources, template


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


# --- values of one row ----------------------------------------------------------------------------------------------


def told(slots: dict[str, Slot], *updates: SlotUpdate, args: dict[str, Json] | None = None) -> list[tuple[str, str]]:
    problems = slot_problems(template(slots, *updates, args=args), sources())
    return [(str(problem.field), str(problem).replace(": fire:", ":")) for problem in problems]


def test_slot_problems_accepts_slots_and_arguments_of_one_row() -> None:
    slots = {**_KILN, "zone": follower("kilns.zone")}
    args = {"kiln_id": of_row(field="kiln_id"), "atmosphere": of_row(field="zone")}
    assert told(slots, args=args) == []
    assert told(slots, SlotUpdate(slot="kiln", source="kilns.kiln_id", filter='zone == "south"'), args=args) == []


@pytest.mark.parametrize(
    ("slots", "field", "text"),
    [
        (
            {"kiln": slot("kilns.kiln_id"), "zone": follower("kilns.zone", "kil")},
            "same_row_as",
            (
                "unknown_slot: slot `zone` takes its row from `kil`, which is no slot of the template\n"
                "  fix: did you mean `kiln`?"
            ),
        ),
        (
            {"zone": follower("kilns.zone", "zone")},
            "same_row_as",
            "slot_row_link_invalid: slot `zone` takes its row from `zone`; expected another slot",
        ),
        (
            {"kiln": slot("literal:[K-1]"), "zone": follower("kilns.zone")},
            "same_row_as",
            (
                "slot_row_link_invalid: slot `zone` takes its row from `kiln`, which binds no row: its source is of"
                " kind `literal`; expected a slot of kind `fixture`"
            ),
        ),
        (
            {"kiln": slot("kilns.kiln_id"), "zone": follower("literal:[north]")},
            "source",
            (
                "slot_row_link_invalid: slot `zone` takes its row from `kiln`, but its source is of kind `literal`;"
                " expected `fixture:kilns.<field>`"
            ),
        ),
        (
            {"kiln": slot("kilns.kiln_id"), "zone": follower("firings.firing_id")},
            "source",
            (
                "slot_row_link_invalid: slot `zone` takes its row from `kiln`, a row of `kilns`, but its source names"
                " `firings`; expected `fixture:kilns.<field>`"
            ),
        ),
        (
            {"kiln": slot("kilns.kiln_id"), "zone": follower("kilns.zone", filter_text="load == 3")},
            "filter",
            (
                "slot_row_link_invalid: slot `zone` takes its row from `kiln` and has a filter of its own; expected"
                " none, since the filter of `kiln` holds\n"
                "  fix: move the condition to the filter of `kiln`, or remove it"
            ),
        ),
        (
            {"kiln": slot("kilns.kiln_id"), "zone": follower("kilns.zne")},
            "source",
            ("unknown_field: slot `zone`: draws field `zne`, which no row of `kilns` has\n  fix: did you mean `zone`?"),
        ),
        (
            {"kiln": slot("kilns.kiln_id"), "zone": follower("fixture:kilns")},
            "source",
            (
                "slot_source_malformed: slot `zone`: source 'fixture:kilns': it does not name two parts joined by a"
                " dot\n  fix: write fixture:<collection>.<field>"
            ),
        ),
        (
            {"kiln": slot("kilns.kiln_id"), "zone": follower("kilns.tags")},
            "same_row_as",
            (
                "slot_value_not_scalar: slot `zone`: field `tags` of row 0 of `kilns` is no text, number or boolean\n"
                "  fix: draw another field, or flatten this one"
            ),
        ),
        (
            {"kiln": slot("kilns.kiln_id", 'zone == "south"'), "zone": follower("kilns.load")},
            "same_row_as",
            (
                "filter_matches_zero: slot `zone`: no row of `kilns` offers a value of `kiln_id` and `load` together"
                ' under filter `zone == "south"`; expected at least one'
            ),
        ),
    ],
)
def test_slot_problems_refuses_a_slot_that_cannot_follow(slots: dict[str, Slot], field: str, text: str) -> None:
    assert told(slots) == [(f"slots.zone.{field}", text)]


def test_slot_problems_refuses_a_chain_of_followers_and_a_circle() -> None:
    zone = follower("kilns.zone")
    chained = {**_KILN, "zone": zone, "load": follower("kilns.load", "zone", name="load")}
    start = "slot_row_link_invalid: slot `load` takes its row from `zone`, which takes it from"
    end = "; expected a slot that draws its own row\n  fix: "
    assert told(chained) == [("slots.load.same_row_as", f"{start} `kiln`{end}write `same_row_as: kiln`")]
    circle = {"zone": follower("kilns.zone", "load"), "load": follower("kilns.load", "zone", name="load")}
    first, second = told(circle)
    assert first[0] == "slots.zone.same_row_as"
    assert second == ("slots.load.same_row_as", f"{start} `load`{end}remove one of the two")


def test_slot_problems_keeps_the_code_of_a_filter_that_no_fixture_source_has() -> None:
    found = told({**_KILN, "zone": follower("literal:[north]", filter_text="load == 3")})
    assert [(field, text.split(":")[0]) for field, text in found] == [
        ("slots.zone.filter", "filter_on_non_fixture_source"),
        ("slots.zone.source", "slot_row_link_invalid"),
    ]


def test_slot_problems_tells_values_that_no_row_offers_together() -> None:
    fixtures = {"kilns": [{"kiln_id": "K-1", "zone": "north"}, {"kiln_id": "K-2", "load": 3}]}
    slots = {**_KILN, "zone": follower("kilns.zone"), "load": follower("kilns.load", name="load")}
    (problem,) = slot_problems(template(slots), sources(fixtures))
    assert problem.field == "slots.kiln"
    assert str(problem) == (
        "filter_matches_zero: fire: slot `kiln`: no row of `kilns` offers a value of `kiln_id`, `zone` and `load`"
        " together; expected at least one"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(
            (
                value,
                (
                    "slot_row_link_invalid: argument `cone`: `from_fixture` takes exactly `slot` and `field`, both"
                    " text, and nothing beside it\n  fix: write `{from_fixture: {slot: <slot>, field: <field>}}`"
                ),
            )
            for value in (
                {"from_fixture": "kiln"},
                {"from_fixture": {"slot": "kiln"}},
                {"from_fixture": {"slot": "kiln", "field": "zone", "filter": "x"}},
                of_row(slot=1),
                of_row(field=" "),
                of_row(field=None),
                of_row(from_result={"call": "a", "path": "b"}),
            )
        ),
        *(
            (
                value,
                (
                    "slot_row_link_invalid: argument `cone`: `from_fixture` stands below the top level of `args`;"
                    " expected it at the top\n  fix: move it up, so that it is the whole argument"
                ),
            )
            for value in ([of_row()], {"deep": {"er": of_row()}})
        ),
        (
            of_row("kilm"),
            (
                "unknown_slot: argument `cone` takes its row from `kilm`, which is no slot of the template\n"
                "  fix: did you mean `kiln`?"
            ),
        ),
        (
            of_row("glaze"),
            (
                "slot_row_link_invalid: argument `cone` takes its row from `glaze`, which binds no row: its source is"
                " of kind `literal`; expected a slot of kind `fixture`"
            ),
        ),
        (
            of_row("zone"),
            (
                "slot_row_link_invalid: argument `cone` takes its row from `zone`, which takes it from `kiln`;"
                " expected the slot that draws the row\n  fix: write `slot: kiln`"
            ),
        ),
        (
            of_row(field="zonne"),
            (
                "unknown_field: argument `cone`: draws field `zonne`, which no row of `kilns` has\n"
                "  fix: did you mean `zone`?"
            ),
        ),
        (
            of_row(field="tags"),
            (
                "slot_value_not_scalar: argument `cone`: field `tags` of row 0 of `kilns` is no text, number or"
                " boolean\n  fix: draw another field, or flatten this one"
            ),
        ),
    ],
)
def test_slot_problems_refuses_an_argument_that_no_row_gives(value: Json, text: str) -> None:
    slots = {**_KILN, "zone": follower("kilns.zone"), "glaze": slot("literal:[matt]", name="glaze")}
    assert told(slots, args={"cone": value}) == [("assistant_milestones.1.args.cone", text)]


@pytest.mark.parametrize(
    ("update", "field", "text"),
    [
        (
            SlotUpdate(slot="zone", source="kilns.zone"),
            "zone",
            (
                "slot_correction_declaration_invalid: corrects slot `zone`, which takes its row from `kiln`\n"
                "  fix: correct `kiln`: what follows it moves with it"
            ),
        ),
        (
            SlotUpdate(slot="kiln", source="firings.firing_id"),
            "kiln.source",
            (
                "slot_correction_declaration_invalid: replaces slot `kiln` by one of `firings`; expected one of"
                " `kilns`, whose row also gives slot `zone` and argument `kiln_id`"
            ),
        ),
        (
            SlotUpdate(slot="kiln", source="kilns.kiln_id", filter='kiln_id == "K-3"'),
            "kiln",
            (
                "filter_matches_zero: correction of slot `kiln`: no row of `kilns` offers a value of `kiln_id`, `zone`"
                ' and `load` together under filter `kiln_id == "K-3"`; expected at least one'
            ),
        ),
    ],
)
def test_slot_problems_refuses_a_correction_that_parts_a_row(update: SlotUpdate, field: str, text: str) -> None:
    slots = {**_KILN, "zone": follower("kilns.zone")}
    found = told(slots, update, args={"kiln_id": of_row(field="load")})
    assert found == [(f"user_simulator_turns.0.slot_updates.{field}", text)]


def test_slot_problems_tells_a_link_and_other_faults_at_once() -> None:
    slots = {"kiln": slot("klns.kiln_id"), "zone": follower("klns.zone"), "load": follower("kilns.load", name="load")}
    assert [(field, text.split(":")[0]) for field, text in told(slots, args={"cone": of_row(field=3)})] == [
        ("slots.kiln.source", "unknown_collection"),
        ("slots.zone.source", "unknown_collection"),
        ("slots.load.source", "slot_row_link_invalid"),
        ("assistant_milestones.1.args.cone", "slot_row_link_invalid"),
    ]


def test_rows_reserved_for_a_follower_are_named() -> None:
    known = sources(FIXTURES, frozenset({'["kilns","K-1"]'}))
    (problem,) = slot_problems(template({**_KILN, "load": follower("kilns.load", name="load")}), known)
    assert problem.field == "slots.load.same_row_as"
    assert str(problem) == (
        "held_out_binding_starved: fire: slot `load`: every row of `kilns` that offers `kiln_id` and `load` together is"
        ' reserved: fixture:["kilns","K-1"]\n  fix: release one of them, or add a row to `kilns` that matches'
    )
