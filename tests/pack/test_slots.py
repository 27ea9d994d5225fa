from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import PackError
from bfcl.pack.slots import SlotSource, parse_source


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("fixture:kilns.kiln_id", SlotSource(kind="fixture", collection="kilns", field="kiln_id")),
        ("kilns.kiln_id", SlotSource(kind="fixture", collection="kilns", field="kiln_id")),
        ("fixture:kilns.size.cm", SlotSource(kind="fixture", collection="kilns", field="size.cm")),
        ("enum:start_firing.atmosphere", SlotSource(kind="enum", tool="start_firing", parameter="atmosphere")),
        ("enum:studio.start.mode", SlotSource(kind="enum", tool="studio.start", parameter="mode")),
        ("literal:[a, 1, 2.5, true, '4']", SlotSource(kind="literal", values=("a", 1, 2.5, True, "4"))),
        (
            "literal:[yes, 012, 12:30, 2026-03-02]",
            SlotSource(kind="literal", values=("yes", "012", "12:30", "2026-03-02")),
        ),
        ("literal:a glaze, please", SlotSource(kind="literal", values=("a glaze, please",))),
        ("literal:7", SlotSource(kind="literal", values=(7,))),
        ('literal:"a: b"', SlotSource(kind="literal", values=("a: b",))),
        ("range:{min: 1, max: 9}", SlotSource(kind="range", minimum=1, maximum=9, step=1)),
        ("range:{min: 9, max: 1, step: -4}", SlotSource(kind="range", minimum=9, maximum=1, step=-4)),
        ("range:{min: 3, max: 3, step: -1}", SlotSource(kind="range", minimum=3, maximum=3, step=-1)),
        ("absent: kilns", SlotSource(kind="absent", collection="kilns")),
    ],
)
def test_source_is_parsed_by_kind(text: str, source: SlotSource) -> None:
    assert parse_source(text) == source


def test_range_includes_both_ends_in_the_direction_of_its_step() -> None:
    assert list(parse_source("range:{min: 1, max: 9, step: 4}").integers()) == [1, 5, 9]
    assert list(parse_source("range:{min: 9, max: 1, step: -4}").integers()) == [9, 5, 1]
    assert list(parse_source("range:{min: 9, max: 2, step: -4}").integers()) == [9, 5]
    assert list(parse_source("range:{min: 3, max: 3}").integers()) == [3]


def test_range_of_any_length_is_never_materialised() -> None:
    assert len(parse_source("range:{min: 1, max: 1000000000000}").integers()) == 10**12


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fixture:kilns", "it does not name two parts joined by a dot\n  fix: write fixture:<collection>.<field>"),
        ("fixture:.x", "it does not name two parts joined by a dot\n  fix: write fixture:<collection>.<field>"),
        ("", "it does not name two parts joined by a dot\n  fix: write fixture:<collection>.<field>"),
        ("enum:tool", "it does not name two parts joined by a dot\n  fix: write enum:<tool>.<parameter>"),
        ("literal:[]", "its list is empty\n  fix: list at least one value"),
        ("literal:", "it holds null, which cannot be bound\n  fix: give a value, or quote the word"),
        ("literal:[a, null]", "it holds null, which cannot be bound\n  fix: give a value, or quote the word"),
        ("literal:[[a]]", '["a"] is nested\n  fix: list scalars only, and quote text with `: `'),
        ("literal:{a: 1}", '{"a": 1} is nested\n  fix: list scalars only, and quote text with `: `'),
        ("literal:- a", "a list is written in brackets\n  fix: write literal:[first, second]"),
        ("literal:[a", "not YAML: did not find expected ',' or ']'\n  fix: quote the text"),
        ("range:1-9", '"1-9" is not a mapping\n  fix: write range:{min: 1, max: 9, step: 2}'),
        ("range:{min: 1}", "it has no `max`\n  fix: write range:{min: 1, max: 9, step: 2}"),
        ("range:{min: 1.0, max: 2}", "`min` is 1.0; expected an integer\n  fix: give `min` a whole number"),
        ("range:{min: true, max: 2}", "`min` is true; expected an integer\n  fix: give `min` a whole number"),
        ("range:{min: 1, max: 2, by: 1}", "it has the unknown key 'by'\n  fix: write range:{min: 1, max: 9, step: 2}"),
        ("range:{min: 1, max: 2, step: 0}", "its step is 0\n  fix: give a step other than 0, or leave it out"),
        ("range:{min: 1, max: 2, step: -1}", "step -1 does not lead from 1 to 2\n  fix: swap the sign of `step`"),
        ("range:{min: 2, max: 1}", "step 1 does not lead from 2 to 1\n  fix: swap the sign of `step`"),
        ("absent:", "it names no collection\n  fix: write absent:<collection>"),
    ],
)
def test_source_with_an_unparsable_rest_is_refused(text: str, message: str) -> None:
    with pytest.raises(PackError) as caught:
        parse_source(text)
    (problem,) = caught.value.problems
    assert problem.code == "slot_source_malformed"
    assert problem.field == "source"
    assert str(problem) == f"slot_source_malformed: source {text!r}: {message}"


def test_source_of_unknown_kind_is_refused() -> None:
    with pytest.raises(PackError) as caught:
        parse_source("fixtures:kilns.kiln_id")
    assert str(caught.value) == (
        "unknown_slot_source: source 'fixtures:kilns.kiln_id' has the kind 'fixtures'; "
        "expected one of fixture, enum, literal, range, absent\n"
        "  fix: did you mean `fixture`?"
    )


@given(
    st.one_of(
        st.text(),
        st.sampled_from(["literal", "range", "enum", "absent", "x"]).flatmap(
            lambda kind: st.text(alphabet="[]{}:, .'\"ab1-&*!#\n").map(lambda rest: f"{kind}:{rest}")
        ),
    )
)
def test_source_raises_nothing_but_pack_errors(text: str) -> None:
    assert _codes(text) <= {"unknown_slot_source", "slot_source_malformed"}


@given(st.lists(st.one_of(st.booleans(), st.integers(-(10**6), 10**6)), min_size=1))
def test_literal_list_keeps_values_types_and_order(values: list[object]) -> None:
    text = "[" + ", ".join(str(value).lower() for value in values) + "]"
    assert [(type(one), one) for one in parse_source(f"literal:{text}").values] == [(type(one), one) for one in values]


def _codes(text: str) -> set[str]:
    try:
        parse_source(text)
    except PackError as error:
        return {problem.code for problem in error.problems}
    return set()
