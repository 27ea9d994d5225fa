"""What a model's wording may not do to the conversation it rewords."""

from __future__ import annotations

import pytest

from bfcl.stages.rewording import rewording_violations

CANONICAL = ["Fire kiln BK-100 for 1.200.000 đồng at 9:30.", "Yes, cone 4."]


def broken(*turns: str, canonical: list[str] = CANONICAL) -> list[str]:
    return [f"{one.guard}:{one.key}:{one.value}" for one in rewording_violations(turns, canonical)]


@pytest.mark.parametrize(
    "first",
    [
        "At 9:30, for 1200000 đồng, please fire BK-100.",
        "BK-100: 1,200,000 đồng, 9.30.",
        "BK-100 tại 1'200'000 đồng lúc 9:30",
        "Nothing said at all.",
        "kiln bk-100, ١٢٠٠٠٠٠",
    ],
)
def test_rewording_with_given_literals_breaks_nothing(first: str) -> None:
    assert broken(first, "Cone 4, yes.") == []


@pytest.mark.parametrize("same", [CANONICAL, ["  fire KILN bk-100 for 1.200.000 đồng   at 9:30.", "Yes,\ncone 4."]])
def test_rewording_in_other_case_or_spacing_is_unchanged(same: list[str]) -> None:
    assert broken(*same) == ["semantic_shape:reason:unchanged_surface"]


def test_rewording_that_changes_one_turn_of_two_is_changed() -> None:
    assert broken(CANONICAL[0], "Cone 4, yes.") == []


def test_rewording_with_another_number_of_turns_or_a_blank_one_is_another_conversation() -> None:
    assert broken("Fire it.") == ["semantic_shape:reason:user_turn_count_changed"]
    assert broken("Fire it.", " \n") == ["semantic_shape:reason:empty_user_turn"]
    assert broken("") == ["semantic_shape:reason:user_turn_count_changed", "semantic_shape:reason:empty_user_turn"]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Fire BK-1000.", "number"),
        ("Fire BK-10.", "number"),
        ("Fire XBK-100.", "code"),
        ("Fire KILN_OVEN.", "code"),
        ("Fire it at cone 40.", "number"),
        ("Pay 1.200.", "number"),
        ("Pay 200.", "number"),
        ("Pay 1.200.001.", "number"),
        ("At 09:30.", "number"),
    ],
)
def test_rewording_with_a_literal_nobody_gave_is_novel(said: str, kind: str) -> None:
    assert f"novel_literal:reason:{kind}" in broken(said, "Yes.")


def test_rewording_violations_never_repeat_what_was_made_up() -> None:
    found = broken("Fire ZZ-77 and QQ_88 at 99.", "Yes.")
    assert found == ["novel_literal:reason:code", "novel_literal:reason:number"]
