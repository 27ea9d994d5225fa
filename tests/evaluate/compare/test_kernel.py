"""What the one comparison of evaluation takes for equal, pairs, and says of what is not."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import Json
from bfcl.evaluate.compare.kernel import Kernel
from bfcl.evaluate.records import CallMatch, GoldCall
from bfcl.evaluate.settings.model import Scoring
from bfcl.modelio.exchange import ToolCall
from tests.evaluate.driven import SCORING, gold, made, tool

CANONICAL = dataclasses.replace(SCORING, argument_matching="canonical_only")
UNFILLED = dataclasses.replace(SCORING, insert_declared_defaults=False)

OPEN: Mapping[str, Json] = {"type": "object", "properties": {"x": {}, "y": {}}}
VALVE: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "bar": {"type": "integer"},
        "share": {"type": "number"},
        "unit": {"type": "string", "enum": ["bar", "psi"], "default": "bar"},
        "slow": {"type": "boolean", "default": False},
        "at": {"type": "object", "properties": {"hour": {"type": "integer"}, "zone": {"default": "UTC"}}},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["bar"],
    "additionalProperties": False,
}
NEEDY: Mapping[str, Json] = {"type": "object", "properties": {"x": {"default": 1}}, "required": ["x"]}
TOOLS = (tool("f", OPEN), tool("g", OPEN), tool("valve", VALVE), tool("needy", NEEDY))


def one(call: ToolCall, expected: GoldCall, scoring: Scoring = SCORING) -> CallMatch:
    (match,) = Kernel(scoring, TOOLS).match([call], [expected])
    return match


# --- equality -----------------------------------------------------------------------------------------------------

FOUR: list[Json] = [1, 1.0, "1", True]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, -1.5])
    | st.sampled_from(["", "1", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("value", "other"), [*itertools.permutations([*FOUR, 0, False, None, "true", " 1", [1], {}], 2)]
)
@pytest.mark.parametrize("scoring", [SCORING, CANONICAL], ids=["schema", "canonical"])
def test_values_of_other_type_or_spelling_differ(value: Json, other: Json, scoring: Scoring) -> None:
    match = one(made("f", {"x": value}), gold("f", x=other), scoring)
    assert (match.full, match.differing) == (False, ("x",))
    nested = one(made("f", {"x": [{"in": value}]}), gold("f", x=[{"in": other}]), scoring)
    assert (nested.full, nested.differing) == (False, ("x",))


@given(VALUES)
def test_a_value_equals_itself(value: Json) -> None:
    assert one(made("f", {"x": value}), gold("f", x=value)).full


@given(VALUES, VALUES)
def test_equality_is_that_of_the_typed_values(value: Json, other: Json) -> None:
    assert one(made("f", {"x": value}), gold("f", x=other)).full == (tagged(value) == tagged(other))


def tagged(value: Json) -> object:
    """A value whose equality in Python is equality by JSON type."""
    if isinstance(value, Mapping):
        return {key: tagged(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [tagged(inner) for inner in value]
    return (type(value), value)


def test_order_of_members_is_free_and_order_of_items_is_not() -> None:
    assert one(made("f", '{"x":{"b":1,"a":2},"y":0}'), gold("f", y=0, x={"a": 2, "b": 1})).full
    assert not one(made("f", {"x": [1, 2]}), gold("f", x=[2, 1])).full


def test_difference_lists_top_level_arguments() -> None:
    match = one(made("f", {"x": 1, "more": 2, "z": 3}), gold("f", x={"deep": 1}, y=2, w=0))
    assert (match.missing, match.unexpected, match.differing) == (("w", "y"), ("more", "z"), ("x",))
    assert (match.gold_index, match.name_matches, match.arguments_match) == (0, True, False)
    assert match.schema_reasons == ()


# --- schema step --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "reasons"),
    [
        ({}, ("missing_required_argument",)),
        ({"bar": True}, ("argument_type_mismatch",)),
        ({"bar": 1.0}, ("argument_type_mismatch",)),
        ({"bar": "1"}, ("argument_type_mismatch",)),
        ({"bar": 1, "share": True}, ("argument_type_mismatch",)),
        ({"bar": 1, "unit": "kPa"}, ("argument_not_in_enum",)),
        ({"bar": 1, "colour": "red"}, ("unknown_argument",)),
        ({"bar": "1", "colour": "red", "tags": [1, 2]}, ("argument_type_mismatch", "unknown_argument")),
        ("no JSON", ("invalid_arguments",)),
        ("[1]", ("invalid_arguments",)),
        ('{"bar":NaN}', ("invalid_arguments",)),
    ],
)
def test_schema_step_refuses_what_the_schema_of_the_tool_refuses(arguments: Json, reasons: tuple[str, ...]) -> None:
    match = one(made("valve", arguments), gold("valve", bar=1))
    assert (match.full, match.name_matches, match.schema_reasons) == (False, True, reasons)


def test_schema_step_finds_a_required_argument_missing_though_it_has_a_default() -> None:
    match = one(made("needy", {}), gold("needy", x=1))
    assert (match.full, match.schema_reasons) == (False, ("missing_required_argument",))


def test_schema_step_holds_a_call_against_its_own_tool_where_it_is_left_over() -> None:
    (match,) = Kernel(SCORING, TOOLS).match([made("valve", {})], [])
    assert (match.gold_index, match.schema_reasons) == (None, ("missing_required_argument",))


def test_canonical_only_says_nothing_of_schemas_and_fills_nothing() -> None:
    assert one(made("valve", {"bar": "1"}), gold("valve", bar="1"), CANONICAL).full
    spelt = one(made("valve", {"bar": 1, "unit": "bar"}), gold("valve", bar=1), CANONICAL)
    assert (spelt.full, spelt.unexpected, spelt.schema_reasons) == (False, ("unit",), ())
    broken = one(made("valve", "{"), gold("valve", bar=1), CANONICAL)
    assert (broken.full, broken.schema_reasons) == (False, ("invalid_arguments",))


def test_undeclared_tool_is_told_and_left_over() -> None:
    match = one(made("melt", {}), gold("f"))
    assert (match.gold_index, match.name_matches, match.schema_reasons) == (None, False, ("undeclared_tool",))


@pytest.mark.parametrize("kind", [None, "custom"])
def test_call_that_is_no_function_call_matches_by_name_alone(kind: str | None) -> None:
    match = one(made("f", {"x": 1}, kind=kind), gold("f", x=1))
    assert (match.full, match.name_matches, match.schema_reasons) == (False, True, ("invalid_call_type",))


def test_schema_with_a_circle_refuses_every_call_and_comes_to_an_end() -> None:
    loop: Mapping[str, Json] = {"properties": {"x": {"$ref": "#"}}}
    (match,) = Kernel(SCORING, [tool("f", loop)]).match([made("f", {"x": {}})], [gold("f", x={})])
    assert (match.full, match.schema_reasons) == (False, ("unresolvable_schema_ref",))


# --- default step -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"bar": 1, "unit": "bar"}, {"bar": 1, "unit": "bar"}),
        ({"bar": 1}, {"bar": 1, "unit": "bar"}),
        ({"bar": 1, "unit": "bar"}, {"bar": 1}),
        ({"bar": 1, "unit": "psi", "slow": True}, {"bar": 1}),
        ({"bar": 1, "at": {"hour": 3}}, {"bar": 1, "at": {"hour": 3, "zone": "UTC"}}),
        ({"bar": 1, "at": {"hour": 3, "zone": "UTC"}}, {"bar": 1, "at": {"hour": 3}}),
    ],
)
def test_default_step_takes_an_omitted_default_for_stated_and_leaves_others_free(
    call: dict[str, Json], expected: dict[str, Json]
) -> None:
    assert one(made("valve", call), gold("valve", **expected)).full
    assert one(made("valve", call), gold("valve", **expected), UNFILLED).full == (call == expected)


@pytest.mark.parametrize(
    ("call", "expected", "differing"),
    [
        ({"bar": 1}, {"bar": 1, "unit": "psi"}, ("unit",)),
        ({"bar": 1, "unit": "psi"}, {"bar": 1, "unit": "bar"}, ("unit",)),
        ({"bar": 1, "at": {"hour": 3, "zone": "CET"}}, {"bar": 1, "at": {"hour": 3}}, ("at",)),
    ],
)
def test_default_step_frees_only_what_gold_leaves_out_at_the_top(
    call: dict[str, Json], expected: dict[str, Json], differing: tuple[str, ...]
) -> None:
    match = one(made("valve", call), gold("valve", **expected))
    assert (match.full, match.differing, match.missing, match.unexpected) == (False, differing, (), ())


def test_undeclared_extra_argument_mismatches_though_the_schema_admits_it() -> None:
    match = one(made("f", {"x": 1, "colour": "red"}), gold("f", x=1))
    assert (match.full, match.unexpected, match.schema_reasons) == (False, ("colour",), ())


# --- pairing ------------------------------------------------------------------------------------------------------


def test_pairing_is_a_maximum_where_a_free_argument_fits_two_gold_calls() -> None:
    calls = [made("valve", {"bar": 1, "unit": "psi"}, index=0), made("valve", {"bar": 1, "unit": "bar"}, index=1)]
    matches = Kernel(SCORING, TOOLS).match(calls, [gold("valve", 4, bar=1), gold("valve", 5, bar=1, unit="psi")])
    assert [(match.gold_index, match.full) for match in matches] == [(5, True), (4, True)]


def test_pairing_claims_each_gold_call_once() -> None:
    calls = [made("f", {"x": 1}, index=index) for index in range(3)]
    matches = Kernel(SCORING, TOOLS).match(calls, [gold("f", 0, x=1), gold("g", 1, x=1)])
    assert [match.gold_index for match in matches] == [0, None, None]


def test_pairing_gives_full_matches_the_first_choice_and_names_the_rest() -> None:
    calls = [made("f", {"x": 9}, index=0), made("f", {"x": 1}, index=1), made("g", {"x": 2}, index=2)]
    matches = Kernel(SCORING, TOOLS).match(calls, [gold("f", 0, x=1), gold("f", 1, x=2)])
    assert [(match.gold_index, match.name_matches, match.full) for match in matches] == [
        (1, True, False),
        (0, True, True),
        (None, False, False),
    ]
    assert matches[0].differing == ("x",)


ARGUMENTS = st.fixed_dictionaries({"x": st.integers(0, 1)}, optional={"y": st.integers(0, 1)})
FREE: Mapping[str, Json] = {"type": "object", "properties": {"x": {}, "y": {"default": 0}}}
LAWS = Kernel(SCORING, [tool("f", FREE), tool("g", FREE)])
SIDES = st.lists(st.tuples(st.sampled_from("fg"), ARGUMENTS), max_size=5)


def sides(reply: Sequence[tuple[str, Json]], of: Sequence[tuple[str, dict[str, Json]]]) -> tuple[CallMatch, ...]:
    return LAWS.match(
        [made(name, arguments, index=index) for index, (name, arguments) in enumerate(reply)],
        [gold(name, index, **arguments) for index, (name, arguments) in enumerate(of)],
    )


def largest(reply: Sequence[tuple[str, Json]], of: Sequence[tuple[str, dict[str, Json]]]) -> int:
    """The most full matches that any assignment has, each pair held alone."""
    fits = {
        (index, place)
        for index, call in enumerate(reply)
        for place, expected in enumerate(of)
        if sides([call], [expected])[0].full
    }
    small, other = sorted((len(reply), len(of)))
    flip = len(reply) > len(of)
    return max(
        sum(((b, a) if flip else (a, b)) in fits for a, b in enumerate(chosen))
        for chosen in itertools.permutations(range(other), small)
    )


@given(SIDES, SIDES)
def test_full_matches_are_as_many_as_any_assignment_has(
    reply: list[tuple[str, Json]], of: list[tuple[str, dict[str, Json]]]
) -> None:
    matches = sides(reply, of)
    assert sum(match.full for match in matches) == largest(reply, of)
    claimed = [match.gold_index for match in matches if match.gold_index is not None]
    assert len(claimed) == len(set(claimed))
    for name in "fg":
        named = sum(match.name_matches for match, call in zip(matches, reply, strict=True) if call[0] == name)
        assert named == min(sum(call[0] == name for call in reply), sum(expected[0] == name for expected in of))


@given(st.data(), SIDES, SIDES)
def test_permuting_a_reply_keeps_how_many_calls_match(
    data: st.DataObject, reply: list[tuple[str, Json]], of: list[tuple[str, dict[str, Json]]]
) -> None:
    permuted = data.draw(st.permutations(reply))
    told = [
        (sum(match.full for match in matches), sum(match.name_matches for match in matches))
        for matches in (sides(reply, of), sides(permuted, of))
    ]
    assert told[0] == told[1]


@given(st.data(), st.lists(st.integers(), unique=True, max_size=5))
def test_permuting_a_reply_permutes_matches_that_are_the_only_ones(data: st.DataObject, values: list[int]) -> None:
    of: list[tuple[str, dict[str, Json]]] = [("f", {"x": value, "y": 0}) for value in values]
    places = data.draw(st.permutations(range(len(values))))
    matches = sides([of[place] for place in places], of)
    assert [match.gold_index for match in matches] == places
    assert all(match.full for match in matches)


@given(SIDES)
def test_gold_held_against_itself_matches_position_by_position(of: list[tuple[str, dict[str, Json]]]) -> None:
    matches = sides(of, of)
    assert [(match.gold_index, match.full) for match in matches] == [(index, True) for index in range(len(of))]
