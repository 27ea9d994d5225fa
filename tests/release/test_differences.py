"""Where two JSON values part."""

from __future__ import annotations

from bfcl.release.differences import differences


def told(seen: object, wanted: object) -> list[tuple[str, str]]:
    return [(one.field, one.told) for one in differences(seen, wanted)]  # type: ignore[arg-type]


def test_equal_values_do_not_differ() -> None:
    assert told({"a": [1, {"b": None}], "c": ()}, {"c": [], "a": [1, {"b": None}]}) == []


def test_every_key_that_is_missing_unexpected_or_another_is_told_by_its_path() -> None:
    assert told({"a": {"b": 1, "x": 2}, "l": [1]}, {"a": {"b": True, "y": 3}, "l": [1, 2]}) == [
        ("a.b", "is 1, expected true"),
        ("a.x", "is 2, expected nothing of that name"),
        ("a.y", "is missing, expected 3"),
        ("l", "is [1], expected [1,2]"),
    ]


def test_object_in_place_of_a_scalar_is_told_and_long_values_are_cut() -> None:
    assert told({"a": {}}, {"a": "x" * 200}) == [("a", 'is {}, expected "' + "x" * 119 + "…")]
