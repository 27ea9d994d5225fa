"""Which direct probes does `validation_cases.yaml` declare? Shapes only; check 5 runs them. Rule: pack.md §10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bfcl.errors import Problem
from bfcl.located import Document
from bfcl.pack.conform import Label, conforms, entries_that_conform
from bfcl.pack.model import Case
from bfcl.pack.shape import Shape


def load_cases(document: Document) -> tuple[tuple[Case, ...], list[Problem]]:
    """Cases in file order and every `validation_cases_invalid` problem; empty lists, repeated ids are check 5's.

    An entry at fault makes no case. A file without content is the empty list with which an author begins.
    """
    shape = Shape(document, "validation_cases_invalid")
    if not isinstance(document.value, list):
        conforms("validation_cases", document.value, shape)
        return (), shape.problems
    entries = entries_that_conform("validation_cases", shape, document.value, Label("case", "id"))
    return tuple(_case(entry.value) for entry in entries if entry.fits), shape.problems


def _case(entry: Mapping[str, Any]) -> Case:
    """The case behind an entry that conforms to its schema."""
    return Case(
        id=entry["id"],
        tool=entry["tool"],
        arguments=entry.get("arguments") or {},
        reset_before=entry.get("reset_before") is not False,
        expect=entry.get("expect") or {},
        coverage=entry.get("coverage"),
    )
