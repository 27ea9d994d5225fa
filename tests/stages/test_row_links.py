"""Which values a template takes from one row, and what a bound task makes of them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import StageError
from bfcl.pack.placeholders import is_identifier
from bfcl.records.task import Task
from bfcl.records.template import SlotUpdate, Template
from bfcl.stages.expand import ExpandSettings, expand_template, pool_size
from bfcl.stages.row_links import Draw, Linked, Marker, draws, has_key, is_marker, read_marker, row_links
from tests.stages.drawing import follower, of_row, slot, sources, template
from tests.stages.plain_pool import canonical

SLOTS = {
    "zone": follower("kilns.zone"),
    "kiln": slot("kilns.kiln_id", "load > 1"),
    "cone": slot("range:{min: 4, max: 6}", name="cone"),
}
ARGS = {"a": of_row(field="load"), "b": of_row(field="zone"), "c": of_row(field="load")}
UPDATE = SlotUpdate(slot="kiln", source="kilns.kiln_id", bind_as="right_kiln")


def expanded(drawn: Template, rows: list[dict[str, Any]], limit: int = 60) -> list[Task]:
    """All tasks of a template over `kilns` of these rows; none where it cannot bind."""
    known = sources({"kilns": rows})
    settings = ExpandSettings(limit=limit, seed=3, pack_id="studio", pack_version="1")
    try:
        return expand_template(drawn, known, settings, range(pool_size(drawn, known, settings)))
    except StageError:
        return []


# --- what is declared -----------------------------------------------------------------------------------------------


def test_links_are_listed_by_leader_each_name_once() -> None:
    links = row_links(template(SLOTS, args=ARGS))
    assert links.problems == ()
    assert links.linked == {
        "kiln": (
            Linked("zone", "zone", "slots.zone.same_row_as", "slot `zone`"),
            Linked("kiln.load", "load", "assistant_milestones.1.args.a", "argument `a`"),
            Linked("kiln.zone", "zone", "assistant_milestones.1.args.b", "argument `b`"),
        )
    }
    assert links.moved_by("kiln") == {"kiln", "zone", "kiln.load", "kiln.zone"}
    assert links.moved_by("cone") == {"cone"}


def test_followers_draw_nothing_and_their_leader_draws_for_them() -> None:
    assert list(draws(template(SLOTS, UPDATE, args=ARGS))) == [
        Draw("kilns.kiln_id", "load > 1", ("zone", "load")),
        Draw("range:{min: 4, max: 6}", None),
        Draw("kilns.kiln_id", None, ("zone", "load")),
    ]


def test_broken_links_are_left_out_of_what_is_drawn() -> None:
    slots = {"kiln": slot("kilns.kiln_id"), "zone": follower("kilns.zone", "kil")}
    assert list(draws(template(slots, args={"a": of_row("kil")}))) == [Draw("kilns.kiln_id", None)]


@pytest.mark.parametrize(
    ("value", "marker"),
    [
        (of_row(), Marker("kiln", "zone")),
        (of_row(field="a.b"), Marker("kiln", "a.b")),
        (of_row(more=1), None),
        (of_row(field=""), None),
        ({"from_fixture": ["kiln", "zone"]}, None),
        ({"from_result": {"slot": "kiln", "field": "zone"}}, None),
        ("from_fixture", None),
        (None, None),
    ],
)
def test_marker_is_read_where_it_is_well_formed(value: Any, marker: Marker | None) -> None:
    assert read_marker(value) == marker
    assert is_marker(value) == has_key(value, "from_fixture")


def test_name_of_a_rows_field_is_none_that_a_slot_or_placeholder_may_have() -> None:
    assert not is_identifier(Marker("kiln", "zone").name)
    assert Marker("kiln", "zone.deep").name.partition(".") == ("kiln", ".", "zone.deep")


# --- what is bound --------------------------------------------------------------------------------------------------

VALUES = st.none() | st.integers(0, 2) | st.sampled_from(["north", "south"]) | st.booleans()
ROWS = st.lists(
    st.fixed_dictionaries({"zone": VALUES, "load": VALUES}, optional={"code": VALUES}), min_size=1, max_size=7
).map(lambda rows: [{"kiln_id": f"K-{number}", **row} for number, row in enumerate(rows)])
LEADERS = st.sampled_from(["kiln_id", "zone"])


def linked(leader: str, *updates: SlotUpdate) -> Template:
    """A leader over a field that may repeat, a follower and two arguments of its row, and a slot of its own."""
    slots = {
        "a_load": follower("kilns.load", name="a_load"),
        "kiln": slot(f"kilns.{leader}"),
        "cone": slot("range:{min: 4, max: 5}", name="cone"),
    }
    return template(slots, *updates, args={"kiln_id": of_row(field="kiln_id"), "code": of_row(field="code")})


def same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)


def assert_of_row(values: Any, row: dict[str, Any], leader: str) -> None:
    names = {"kiln": leader, "a_load": "load", "kiln.kiln_id": "kiln_id", "kiln.code": "code"}
    assert all(same(values[name], row[field]) and row[field] is not None for name, field in names.items())


@given(ROWS, LEADERS)
def test_every_task_takes_all_values_of_a_leader_from_one_row(rows: list[dict[str, Any]], leader: str) -> None:
    tasks = expanded(linked(leader), rows)
    by_id = {row["kiln_id"]: row for row in rows}
    fields = {leader, "kiln_id", "load", "code"}
    whole = [row["kiln_id"] for row in rows if all(row.get(field) is not None for field in fields)]
    assert [(task.slots["cone"], task.slots["kiln.kiln_id"]) for task in tasks] == [
        (cone, key) for cone in (4, 5) for key in whole
    ]
    assert len({task.task_id for task in tasks}) == len(tasks)
    for task in tasks:
        (ref,) = task.fixture_refs
        assert_of_row(task.slots, by_id[json.loads(ref)[1]], leader)


@given(ROWS, LEADERS)
def test_correction_of_a_leader_moves_all_values_to_the_new_row(rows: list[dict[str, Any]], leader: str) -> None:
    update = SlotUpdate(slot="kiln", source=f"kilns.{leader}")
    by_id = {row["kiln_id"]: row for row in rows}
    tasks = expanded(linked(leader, update), rows)
    for task in tasks:
        (delivery,) = task.slot_updates
        before, after = (by_id[values["kiln.kiln_id"]] for values in (task.slots_initial, delivery.values))
        assert set(delivery.values) == {"kiln", "a_load", "kiln.kiln_id", "kiln.code"}
        assert_of_row(task.slots_initial, before, leader)
        assert_of_row(task.slots, after, leader)
        assert not same(before[leader], after[leader])
        assert {json.loads(ref)[1] for ref in task.fixture_refs} == {before["kiln_id"], after["kiln_id"]}
    assert len({task.task_id for task in tasks}) == len(tasks)


@given(st.integers(1, 6), st.integers(1, 40))
def test_links_change_neither_which_rows_are_taken_nor_in_which_order(count: int, limit: int) -> None:
    rows = [{"kiln_id": f"K-{number}", "load": number, "code": number} for number in range(count)]
    bare = template({name: one for name, one in linked("kiln_id").slots.items() if name != "a_load"})
    pairs = [
        [(task.slots["cone"], task.slots["kiln"]) for task in expanded(drawn, rows, limit)]
        for drawn in (bare, linked("kiln_id"))
    ]
    assert pairs[0] == pairs[1]


def test_bindings_of_a_row_enter_ids_and_seeds_by_their_names() -> None:
    rows = [{"kiln_id": "K-1", "load": 3, "code": 9}, {"kiln_id": "K-2", "load": 2, "code": 8}]
    (task, *_) = expanded(linked("kiln_id", SlotUpdate(slot="kiln", source="kilns.kiln_id")), rows)
    assert task.slots_initial == {"cone": 4, "kiln": "K-1", "a_load": 3, "kiln.kiln_id": "K-1", "kiln.code": 9}
    assert task.slot_updates[0].values == {"kiln": "K-2", "a_load": 2, "kiln.kiln_id": "K-2", "kiln.code": 8}
    bindings = {
        **task.slots_initial,
        **{f"{name}@correction0": value for name, value in task.slot_updates[0].values.items()},
    }
    identity: dict[str, Any] = {
        "pack_id": "studio",
        "pack_version": "1",
        "template_id": "fire",
        "fixture_refs": ['["kilns","K-1"]', '["kilns","K-2"]'],
        "slot_bindings": bindings,
        "variant_index": 0,
    }
    assert task.task_id == "studio__fire__" + hashlib.sha256(canonical(identity)).hexdigest()[:16]
    digest = hashlib.sha256(canonical({**identity, "global_seed": 3})).digest()
    assert task.seed == int.from_bytes(digest[:8], "big")
    assert task.task_id == "studio__fire__e5586213064e619d"


def test_correction_to_another_row_of_the_same_value_is_none() -> None:
    rows = [
        {"kiln_id": "K-1", "zone": "south", "load": 1, "code": 1},
        {"kiln_id": "K-2", "zone": "south", "load": 2, "code": 2},
        {"kiln_id": "K-3", "zone": "north", "load": 3, "code": 3},
    ]
    tasks = expanded(linked("zone", SlotUpdate(slot="kiln", source="kilns.zone")), rows)
    moves = {(task.slots_initial["kiln.kiln_id"], task.slots["kiln.kiln_id"]) for task in tasks}
    assert moves == {("K-1", "K-3"), ("K-2", "K-3"), ("K-3", "K-1"), ("K-3", "K-2")}
