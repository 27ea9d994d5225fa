"""Notices and faults are told once, in the order of the file, and never with a credential."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from bfcl.authoring.imports.report import Faults, ImportedCatalog, ImportedTool, Notes, Pointer
from bfcl.errors import Problem
from tests.authoring.imports.keys import KEYS


def lines(pointers: Iterable[Pointer]) -> Mapping[Pointer, int]:
    return {at: len(at) for at in pointers}


def test_notice_reached_from_several_tools_is_told_once() -> None:
    notes = Notes()
    for tool in ("b", "a", "b"):
        notes.of(tool).note(("x", 0), "not", "dropped", "gone")
    notes.of("a").note(("x",), "not", "dropped", "gone")
    assert notes.to_json(lines) == [
        {"line": 1, "pointer": "/x", "keyword": "not", "action": "dropped", "message": "gone", "tools": ["a"]},
        {"line": 2, "pointer": "/x/0", "keyword": "not", "action": "dropped", "message": "gone", "tools": ["b", "a"]},
    ]


def test_faults_are_told_once_by_line() -> None:
    faults, more = Faults(), Faults()
    faults.note(("a", "b"), "second")
    faults.note(("a", "b"), "second")
    more.note(("c",), "first", "mend it", code="other")
    faults.add(more)
    assert [str(each) for each in faults.problems("s.json", lines)] == [
        "s.json:1: other: first\n  fix: mend it",
        "s.json:2: import_source_invalid: second",
    ]


def test_credential_in_a_message_is_masked() -> None:
    key = KEYS["a Slack token"]
    notes, faults = Notes(), Faults()
    notes.note((), "default", "dropped", f"`{key}` is odd")
    faults.note((), f"`{key}` is odd")
    told: Any = notes.to_json(lines)
    assert told[0]["message"] == faults.problems("s", lines)[0].message == "`<a Slack token>` is odd"


@pytest.mark.parametrize(
    ("mutates", "findings", "status"),
    [
        (True, (), "written"),
        (None, (), "undecided"),
        (None, (Problem(code="unsupported_hint", message="m"),), "findings"),
    ],
)
def test_status_says_what_stands_against_writing(mutates: bool | None, findings: Any, status: str) -> None:
    tool = ImportedTool(name="t", source="T", line=3, mutates=mutates, requires_confirmation=False)
    document = ImportedCatalog(entries=[], tools=[tool], report=[], findings=findings).to_json("s", "out.json")
    assert document["status"] == status
    assert document["written"] == ("out.json" if status == "written" else None)
    assert document["undecided"] == ([{"name": "t", "source": "T", "line": 3}] if mutates is None else [])
