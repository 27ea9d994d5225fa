"""What is said of a dependent argument that found no value."""

from __future__ import annotations

import pytest

from bfcl.canonical import Json
from bfcl.oracle.protocol import Breakdown, ResultPath
from bfcl.oracle.result_path import pick
from bfcl.stages.unresolved import Unresolved, explained

ANSWER: Json = {"kiln": {"zone": "north", "recent": ["F-1", "F-2"], "outcome": None, "size": {"w": 1}, "none": []}}
NARROW = "correct the path, or narrow the slot filters to rows that have a result"
TOLD: dict[str, tuple[str, str]] = {
    "kiln.recent.x": (
        "`kiln.recent.x`: the answer of `look` holds a list of 2 at `kiln.recent`; expected an index",
        "write `kiln.recent.0`, or another index, there",
    ),
    "kiln.recent.7": (
        "`kiln.recent.7`: the answer of `look` holds a list of 2 at `kiln.recent`; expected an element at 7",
        NARROW,
    ),
    "kiln.none.0": (
        "`kiln.none.0`: the answer of `look` holds an empty list at `kiln.none`; expected an element at 0",
        NARROW,
    ),
    "kiln.zome": (
        "`kiln.zome`: the answer of `look` holds an object with `none`, `outcome`, `recent`, `size`, `zone` at `kiln`; "
        "expected the key `zome`",
        "did you mean `zone`?",
    ),
    "oven": ("`oven`: the answer of `look` is an object with `kiln`; expected the key `oven`", NARROW),
    "kiln.zone.x": (
        '`kiln.zone.x`: the answer of `look` holds "north" at `kiln.zone`; expected an object with the key `x`',
        NARROW,
    ),
    "kiln.outcome": (
        "`kiln.outcome`: the answer of `look` holds null at `kiln.outcome`; expected text, a number or a boolean",
        NARROW,
    ),
    "kiln.size": (
        "`kiln.size`: the answer of `look` holds an object with `w` at `kiln.size`; expected text, a number or a "
        "boolean",
        NARROW,
    ),
}


def _unresolved(path: str, answers: list[Json]) -> Unresolved:
    steps = tuple(int(step) if step.isdecimal() else step for step in path.split("."))
    picked = pick(answers, 0, steps)
    assert picked.miss is not None
    return Unresolved(
        1, "firing_id", ResultPath(call=0, path=steps), picked.miss, answers[0] if answers else None, None
    )


@pytest.mark.parametrize(("path", "expected"), TOLD.items(), ids=TOLD)
def test_miss_says_what_stood_there_and_what_was_expected(path: str, expected: tuple[str, str]) -> None:
    assert explained(_unresolved(path, [ANSWER]), "look") == expected


def test_miss_on_an_error_names_its_code() -> None:
    assert explained(_unresolved("kiln.zone", [{"error": {"code": "not_found"}}]), "look") == (
        '`kiln.zone`: `look` answered the error "not_found"; expected an answer to take it from',
        "narrow the slot filters to rows for which `look` has an answer",
    )


def test_miss_on_a_call_that_never_answered_says_so() -> None:
    broken = Breakdown(code="tool_raised", message="ValueError: no", phase="call")
    unresolved = _unresolved("kiln.zone", [])._replace(breakdown=broken)
    assert explained(unresolved, "look") == ("`kiln.zone`: `look` gave no answer", "let `look` answer")
