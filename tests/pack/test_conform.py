from __future__ import annotations

from typing import Any

import pytest

from bfcl.canonical import Json, readable_json
from bfcl.located import parse_json
from bfcl.pack.conform import Label, conforming, conforms, entries_that_conform
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


def test_null_under_a_required_key_is_told_as_empty_at_its_own_line() -> None:
    assert _told("manifest", {"pack_id": None, "version": "1"}) == [
        "f.json:2: refused: `pack_id` is empty\n"
        "  fix: write its value; one on the lines below has to be indented further than `pack_id`"
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


def test_word_that_a_fix_proposes_is_told_apart() -> None:
    value: Json = {"pack_id": "a", "version": "1", "confirmation": {"paramter": "x", "zzz": "y"}}
    shape = _shape(value)
    assert not conforms("manifest", value, shape)
    assert [(problem.fix, problem.suggests) for problem in shape.problems] == [
        ("did you mean `parameter`?", "parameter"),
        ("use one of parameter, pending_status, status_field", None),
    ]
    assert shape.unknown_keys == {"confirmation.paramter", "confirmation.zzz"}


@pytest.mark.parametrize(
    ("value", "rest"),
    [
        (7, {}),
        ({"version": "1", "pack_id": None}, {"version": "1"}),
        ({"pack_id": "a", "version": "1", "x": [7]}, {"pack_id": "a", "version": "1", "x": [7]}),
        (
            {"pack_id": "a", "version": "1", "languages": ["en", 7, "en", "vi"], "paths": {"tool": "x", "tools": "t"}},
            {"pack_id": "a", "version": "1", "languages": ["en", None, None, "vi"], "paths": {"tools": "t"}},
        ),
    ],
)
def test_what_conforms_is_left_and_a_list_keeps_its_length(value: Json, rest: Json) -> None:
    shape = _shape(value)
    assert conforming("manifest", value, shape) == rest
    assert bool(shape.problems) is (rest != value)
