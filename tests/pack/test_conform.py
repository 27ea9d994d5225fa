from __future__ import annotations

from typing import Any

import pytest

from bfcl.canonical import Json, readable_json
from bfcl.located import parse_json
from bfcl.pack.conform import Label, conforms, entries_that_conform
from bfcl.pack.shape import Shape


def _shape(value: Json) -> Shape:
    return Shape(parse_json(readable_json(value), path="f.json", code="pack_parse_error"), "refused")


def _told(name: str, value: Json) -> list[str]:
    shape = _shape(value)
    assert conforms(name, value, shape) is (shape.problems == [])
    return [str(problem) for problem in shape.problems]


def test_value_that_conforms_leaves_no_problem() -> None:
    assert _told("fixtures", {"kilns": []}) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, ["f.json:1: refused: the value is 7; expected a mapping with `pack_id` and `version`"]),
        (
            {"pack_id": "a", "version": True},
            ["f.json:3: refused: `version` is true; expected non-empty text"],
        ),
        (
            {"pack_id": "a", "version": "1", "paths": {"held_out": "x"}},
            ["f.json:4: refused: `paths.held_out` is no key of `paths`\n  fix: use the top-level key `held_out`"],
        ),
        (
            {"pack_id": "a b", "version": "1", "confirmation": {"paramter": "x"}},
            [
                'f.json:5: refused: `pack_id` is "a b", but it holds white space; '
                "task ids carry it as a path component\n  fix: use letters, digits, `_` and `-`",
                "f.json:3: refused: unknown key `paramter` in `confirmation`\n  fix: did you mean `parameter`?",
            ],
        ),
        (
            {},
            [
                "f.json:1: refused: `pack_id` is required\n  fix: add `pack_id`",
                "f.json:1: refused: `version` is required\n  fix: add `version`",
            ],
        ),
    ],
)
def test_every_fault_is_told_in_words(value: Json, expected: list[str]) -> None:
    assert _told("manifest", value) == expected


def test_null_under_a_required_key_is_told_as_missing_at_its_own_line() -> None:
    assert _told("manifest", {"pack_id": None, "version": "1"}) == [
        "f.json:2: refused: `pack_id` is required\n  fix: add `pack_id`"
    ]


@pytest.mark.parametrize(
    ("entry", "label"),
    [({"id": "a"}, "case `a`"), ({"id": " "}, "case 3"), ({"id": 7}, "case 3"), ({}, "case 3")],
)
def test_entry_is_named_by_its_id_or_its_index(entry: dict[str, Any], label: str) -> None:
    assert Label("case", "id").of(entry, 3) == label


def test_entries_are_read_on_past_one_at_fault() -> None:
    value: Json = ["x", {"id": "a"}, {"id": "b", "tool": "t"}]
    shape = _shape(value)
    assert isinstance(value, list)
    entries = list(entries_that_conform("validation_cases", shape, value, Label("case", "id")))
    assert [(entry.position, entry.fits) for entry in entries] == [(1, False), (2, True)]
    assert [str(problem) for problem in shape.problems] == [
        'f.json:2: refused: `0` is "x"; expected a mapping with `id` and `tool`',
        "f.json:3: refused: case `a`: `tool` is required\n  fix: add `tool`",
    ]
