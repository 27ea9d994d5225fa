"""How conversations read once bound values are masked."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.records.task import SlotDelivery
from bfcl.stages.balancing.projection import collapsed, literals, masked, projection, text_hash
from tests.stages.studio import studio

TASK = replace(studio().tasks("kiln_status")[0], slots={}, slots_initial={}, slot_updates=())
SIGNS = [".", ",", " ", "\u00a0", "\u202f", "'", "\u2019"]


def project(*turns: str, **slots: Any) -> str:
    return projection(replace(TASK, slots=slots, slots_initial=slots), turns)


def test_projection_is_one_line_a_user_turn_with_whitespace_collapsed() -> None:
    text = project("  Fire\n kiln\tK-1 ", "Yes,  please.", kiln="K-1")
    assert text == "[user] Fire kiln <kiln>\n[user] Yes, please."
    assert text_hash(text) == "3952cc5630c3a0fc1d0441b23b4d169dd44d2b8846066ea259118f3bdc116b52"


def test_projection_masks_old_new_and_aliased_values() -> None:
    delivery = SlotDelivery(entry_index=0, values={"cone": 9, "kiln.zone": "north"}, aliases={"new_cone": 9})
    task = replace(
        TASK,
        slots_initial={"cone": 4, "kiln": "K-1"},
        slots={"cone": 9, "kiln": "K-1", "kiln.zone": "north"},
        slot_updates=(delivery, SlotDelivery(entry_index=1, values={"cone": 11}, aliases={"late": "eleven"})),
    )
    assert literals(task) == {"4": "cone", "9": "cone", "11": "cone", "K-1": "kiln", "eleven": "late"}
    assert projection(task, ["K-1 at 4", "9, not 4", "eleven (11), up north"]) == (
        "[user] <kiln> at <cone>\n[user] <cone>, not <cone>\n[user] <late> (<cone>), up north"
    )


def test_literal_of_several_slots_takes_the_first_name_in_sort_order() -> None:
    assert project("from K-1 to K-1", target="K-1", source="K-1") == "[user] from <source> to <source>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12 and 123, x12y, 12.5", "<n> and 123, x<n>y, <n>.5"),
        ("us, status, us_x, us-x, (us)", "<w>, status, us_x, <w>-x, (<w>)"),
        ("K-1, K-12, AK-1, K-1x, K-1.", "<k>, K-<n>, AK-1, K-1x, <k>."),
        ("-x- a-x-b", "<dash> a<dash>b"),
        ("true trueish", "<flag> trueish"),
        ("1.5 and 1.50", "<f> and 1.50"),
    ],
)
def test_literal_is_masked_as_a_whole_token_only(text: str, expected: str) -> None:
    assert project(text, n=12, w="us", k="K-1", dash="-x-", flag=True, f=1.5) == f"[user] {expected}"


def test_longer_literal_wins_and_nothing_put_in_is_masked_again() -> None:
    assert project("red kiln, red, kiln", colour="red", what="red kiln", other="what", kiln="kiln") == (
        "[user] <what>, <colour>, <kiln>"
    )
    assert project("what is red", a="red", red="a", what="what") == "[user] <what> is <a>"


def test_leftmost_literal_wins_over_a_longer_one_further_right() -> None:
    assert project("a b c d", short="a b", long="b c d") == "[user] <short> c d"


def test_empty_value_masks_nothing_and_texts_are_compared_in_nfc() -> None:
    assert project("a  b", nothing="", blank="  ") == "[user] a b"
    assert project(unicodedata.normalize("NFD", "lò số 1"), kiln="lò") == "[user] <kiln> số 1"


@pytest.mark.parametrize("sign", SIGNS)
def test_grouped_number_is_masked_before_what_stands_inside_it(sign: str) -> None:
    text = f"pay 1{sign}200{sign}000đ or 1200000, not 12000000"
    assert project(text, amount=1200000, part=200, one=1, word="pay 1") == (
        "[user] pay <amount>đ or <amount>, not 12000000"
    )


def test_grouped_number_of_no_slot_is_left_to_the_other_literals() -> None:
    assert project("1, 2, 3 and 1.200", n=123, part=200) == "[user] 1, 2, 3 and 1.<part>"
    assert project("1.200.000,5", n=1200000) == "[user] 1.200.000,5"


# --- laws ------------------------------------------------------------------------------------------------------------

_WORDS = st.text(st.sampled_from("ab1 -_đ"), min_size=1, max_size=4).map(collapsed).filter(bool)
_NAMES = st.dictionaries(_WORDS, st.sampled_from(["p", "q", "rr"]), max_size=5)


def _edge(character: str) -> str:
    return r"\w" if character.isalnum() or character == "_" else r"(?!)"


def _by_regex(text: str, names: dict[str, str]) -> str:
    """The rule as one alternation: longest first, then lexicographic, each with its edges."""
    if not names:
        return text
    parts = []
    for literal in sorted(names, key=lambda each: (-len(each), each)):
        edges = (r"\d", r"\d") if literal.isdecimal() else (_edge(literal[0]), _edge(literal[-1]))
        parts.append(f"(?<!{edges[0]}){re.escape(literal)}(?!{edges[1]})")
    return re.sub("|".join(parts), lambda found: f"<{names[found.group()]}>", text)


@given(st.text(st.sampled_from("ab12 -_đ"), max_size=24).map(collapsed), _NAMES)
def test_masking_is_one_pass_longest_first_over_whole_tokens(text: str, names: dict[str, str]) -> None:
    assert masked(text, names) == _by_regex(text, names)


@given(st.integers(1000, 10**12), st.sampled_from(SIGNS), st.sampled_from(["", "đ", " now", ", then"]))
def test_number_reads_the_same_in_any_grouping(number: int, sign: str, after: str) -> None:
    grouped = f"{number:,}".replace(",", sign)
    assert project(f"pay {grouped}{after}", amount=number) == project(f"pay {number}{after}", amount=number)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(0, 30), max_size=3))
def test_masking_does_not_depend_on_the_order_of_slots(slots: dict[str, int]) -> None:
    turned = dict(reversed(slots.items()))
    assert project("1 2 3 12 21 30", **slots) == project("1 2 3 12 21 30", **turned)


@given(st.lists(st.integers(10, 99), min_size=2, max_size=2, unique=True))
def test_instances_of_one_template_read_the_same(pair: list[int]) -> None:
    assert project(f"Fire at cone {pair[0]}.", cone=pair[0]) == project(f"Fire at cone {pair[1]}.", cone=pair[1])
