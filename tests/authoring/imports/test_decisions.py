"""Names of tools: portable, distinct, and found again by whatever people call them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.imports.decisions import Decisions, decide, distinct_name, portable_name, with_confirmation


@given(st.text())
def test_portable_name_fits_and_settles(raw: str) -> None:
    name = portable_name(raw)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
    assert portable_name(name) in (name, name.strip("_"))


@pytest.mark.parametrize(
    ("raw", "name"),
    [("get /pets/{id}", "get_pets_id"), ("a.b", "a_b"), ("ünï", "n"), ("", "operation"), ("ü", "operation")],
)
def test_name_is_made_portable(raw: str, name: str) -> None:
    assert portable_name(raw) == name


@given(st.lists(st.text("ab_", min_size=1, max_size=64) | st.just("x" * 64), max_size=12))
def test_distinct_names_are_distinct_and_fit(raw: list[str]) -> None:
    taken: set[str] = set()
    for each in raw:
        name = distinct_name(each, taken)
        assert name not in taken
        assert len(name) <= 64
        taken.add(name)


def test_alias_names_every_tool_that_has_it_and_a_tool_name_wins() -> None:
    aliases = {"a": ["b", "GET /a"], "b": ["c"], "d": ["c"]}
    decided = decide(Decisions(only=("GET /a", "c"), mutates=("b",)), aliases, "operation")
    assert decided.only == {"a", "b", "d"}
    assert decided.mutates == {"b"}


def test_consent_is_added_to_a_schema_without_properties() -> None:
    consent = {"type": "boolean", "default": False, "description": "True once the user has agreed to it."}
    assert with_confirmation({"type": "object"}, "ok") == {"type": "object", "properties": {"ok": consent}}
    assert with_confirmation({"properties": {"ok": {"type": ["boolean", "null"]}}}, "ok") is None
