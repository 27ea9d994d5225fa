from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import PackError
from bfcl.pack.placeholders import fill, fill_json, is_identifier, names, names_in, text_form

SCALARS = st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text())


def test_names_are_distinct_and_in_order_of_first_appearance() -> None:
    assert names("{b} then {a}, {b} again; {not a name} {} {9} {{c}}") == ("b", "a", "c")


def test_names_in_reads_strings_at_any_depth_but_no_keys() -> None:
    assert names_in({"{key}": ["{a}", {"x": "{b} {a}"}], "n": 3}) == ("a", "b")


def test_fill_writes_other_values_than_text_as_json() -> None:
    values = {"t": "as is", "n": 3, "f": 2.5, "yes": True, "nothing": None, "l": ["é", 1]}
    assert fill("{t}|{n}|{f}|{yes}|{nothing}|{l}", values) == 'as is|3|2.5|true|null|["é",1]'


def test_fill_never_scans_inserted_text_again() -> None:
    assert fill("{a}", {"a": "{b}", "b": "no"}) == "{b}"


def test_fill_leaves_other_braces_alone() -> None:
    assert fill("{} {9} {a b} {a", {}) == "{} {9} {a b} {a"


def test_fill_refuses_every_name_bound_by_nothing() -> None:
    with pytest.raises(PackError) as caught:
        fill("{kiln} {cone} {zone}", {"cone": 1})
    assert str(caught.value) == (
        "unbound_placeholder: `{kiln}` in '{kiln} {cone} {zone}' is bound by nothing; bound here: cone\n"
        "  fix: declare a slot `kiln` or correct the name\n"
        "unbound_placeholder: `{zone}` in '{kiln} {cone} {zone}' is bound by nothing; bound here: cone\n"
        "  fix: declare a slot `zone` or correct the name"
    )


def test_fill_json_keeps_the_type_of_a_lone_placeholder() -> None:
    filled = fill_json({"n": "{n}", "list": ["{b}", "no {n}"], "{n}": 1}, {"n": 4, "b": False})
    assert filled == {"n": 4, "list": [False, "no 4"], "{n}": 1}


def test_fill_json_refuses_a_lone_placeholder_bound_by_nothing() -> None:
    with pytest.raises(PackError, match="unbound_placeholder"):
        fill_json(["{n}"], {})


@pytest.mark.parametrize(("text", "answer"), [("a_1", True), ("_", True), ("1a", False), ("é", False), ("", False)])
def test_identifiers_are_ascii(text: str, answer: bool) -> None:
    assert is_identifier(text) is answer


@given(st.text(), st.dictionaries(st.from_regex(r"[a-z_]{1,3}", fullmatch=True), SCALARS))
def test_fill_inserts_each_value_exactly_where_its_name_stood(text: str, values: dict[str, object]) -> None:
    source = text.replace("{", "") + "".join(f"{{{name}}}" for name in values)
    expected = text.replace("{", "") + "".join(text_form(value) for value in values.values())
    assert fill(source, values) == expected
