"""References lead inside the file, step by step, or are told with the place they stand at."""

from __future__ import annotations

from typing import Any

from bfcl.authoring.imports.references import References, Target
from bfcl.authoring.imports.report import Faults

ROOT: Any = {
    "a/b": {"c~d": [{"x": 1}]},
    "one": {"$ref": "#/two"},
    "two": {"$ref": "#/a~1b/c~0d/0"},
    "loop": {"$ref": "#/pool"},
    "pool": {"$ref": "#/loop"},
}


def told(faults: Faults) -> list[str]:
    return [f"{each.field}: {each.message}" for each in faults.problems("s", lambda every: dict.fromkeys(every, 1))]


def test_escaped_and_encoded_pointers_lead_to_the_value_and_its_place() -> None:
    faults = Faults()
    references = References(ROOT, faults)
    found = Target({"x": 1}, ("a/b", "c~d", 0))
    assert references.target("#/a~1b/c~0d/0", ()) == found
    assert references.target("#/a%7E1b/c~0d/0", ()) == found
    assert references.target("#", ()) == Target(ROOT, ())
    assert told(faults) == []


def test_chain_is_followed_to_its_end() -> None:
    faults = Faults()
    assert References(ROOT, faults).follow(ROOT["one"], ("one",)) == Target({"x": 1}, ("a/b", "c~d", 0))
    assert References(ROOT, faults).follow(3, ("x",)) == Target(3, ("x",))
    assert told(faults) == []


def test_chain_that_returns_and_steps_that_do_not_exist_are_faults() -> None:
    faults = Faults()
    references = References(ROOT, faults)
    assert references.follow(ROOT["loop"], ("loop",)) is None
    for ref in ("#/a~1b/c~0d/1", "#/a~1b/c~0d/-1", "#/a~1b/c~0d/0/x/y", "#anchor", "http://x#/a"):
        assert references.target(ref, ("at", 0)) is None
    assert told(faults) == [
        "at.0.$ref: `$ref` is '#anchor', a name instead of a path",
        "at.0.$ref: `$ref` leads to '#/a~1b/c~0d/-1', which does not exist",
        "at.0.$ref: `$ref` leads to '#/a~1b/c~0d/0/x/y', which does not exist",
        "at.0.$ref: `$ref` leads to '#/a~1b/c~0d/1', which does not exist",
        "at.0.$ref: `$ref` leads to 'http://x#/a', outside this file",
        "pool.$ref: `$ref` '#/loop' leads back to itself",
    ]
