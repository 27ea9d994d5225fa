"""Which direct probes does `validation_cases.yaml` declare? Shapes only; check 5 runs them. Rule: pack.md §10."""

from __future__ import annotations

from collections.abc import Mapping

from bfcl.canonical import Json
from bfcl.errors import Problem, did_you_mean
from bfcl.located import Document, canonical_word
from bfcl.pack.model import Case
from bfcl.pack.shape import Pointer, Shape

RESULT_CLASSES = ("success", "structured_error", "awaiting_confirmation")
_FIELDS = ("id", "tool", "arguments", "reset_before", "expect", "coverage", "notes")


def load_cases(document: Document) -> tuple[tuple[Case, ...], list[Problem]]:
    """Cases in file order and every `validation_cases_invalid` problem; empty lists, repeated ids are check 5's."""
    shape = Shape(document, "validation_cases_invalid")
    if not isinstance(document.value, list):
        shape.misfit(document.value, (), "a list of cases")
        return (), shape.problems
    cases = []
    for index, entry in enumerate(document.value):
        if not isinstance(entry, dict):
            shape.misfit(entry, (index,), "a mapping with `id` and `tool`")
            continue
        given = entry.get("id")
        label = f"case `{given}`" if isinstance(given, str) and given.strip() else f"case {index}"
        cases.append(_case(entry, shape.inside((index,), label)))
    return tuple(cases), shape.problems


def _case(entry: Mapping[str, Json], shape: Shape) -> Case:
    shape.closed(entry, (), _FIELDS)
    coverage = entry.get("coverage")
    if coverage not in (None, "negative"):
        shape.misfit(coverage, ("coverage",), 'the word "negative", or no `coverage`')
    reset_before = shape.flag(entry.get("reset_before"), ("reset_before",))
    return Case(
        id=shape.required_text(entry, (), "id"),
        tool=shape.required_text(entry, (), "tool"),
        arguments=shape.mapping(entry.get("arguments"), ("arguments",)),
        reset_before=reset_before is not False,
        expect=_expect(entry, shape),
        coverage="negative" if coverage == "negative" else None,
    )


def _expect(entry: Mapping[str, Json], shape: Shape) -> Mapping[str, Json]:
    expect = shape.mapping(entry.get("expect"), ("expect",))
    if "result_class" in expect and expect["result_class"] not in RESULT_CLASSES:
        seen = expect["result_class"]
        fix = did_you_mean(seen, RESULT_CLASSES) if isinstance(seen, str) else None
        message = f"`expect.result_class` is {canonical_word(seen)}; expected {', '.join(RESULT_CLASSES)}"
        shape.refuse(("expect", "result_class"), message, fix)
    if expect.get("error_code") is not None:
        shape.text(expect["error_code"], ("expect", "error_code"))
    if "state_unchanged" in expect and not isinstance(expect["state_unchanged"], bool):
        pointer: Pointer = ("expect", "state_unchanged")
        shape.misfit(expect["state_unchanged"], pointer, "true or false")
    return expect
