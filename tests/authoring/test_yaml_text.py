"""Generated YAML reads back as the same value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.yaml_text import yaml_text
from bfcl.canonical import Json
from bfcl.located import parse_yaml

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=12) | st.sampled_from(
    ["yes", "no", "012", "0x1F", "12:30", "2026-03-02", "null", "~", "1e3", "True", "=", "", "- a", "a: b", "#x", "{k}"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_generated_yaml_reads_back_equal(value: Json) -> None:
    assert parse_yaml(yaml_text(value).encode(), path="x", code="y").value == value


@pytest.mark.parametrize(("value", "text"), [("012", "'012'\n"), ("no", "'no'\n"), ("plain", "plain\n...\n")])
def test_text_that_reads_as_something_else_is_quoted(value: str, text: str) -> None:
    assert yaml_text(value) == text


def test_lone_surrogate_is_no_text() -> None:
    with pytest.raises(UnicodeEncodeError):
        yaml_text({"id": "\udcff"})
