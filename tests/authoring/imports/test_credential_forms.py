"""Credentials are known by form and by name, and told without being shown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.authoring.imports.credential_forms import (
    is_secret_name,
    kind_within,
    masked,
    masked_problems,
    secret_kind,
    told,
    told_name,
)
from bfcl.errors import Problem
from tests.authoring.imports.keys import KEYS

EACH = pytest.mark.parametrize(("kind", "value"), KEYS.items(), ids=list(KEYS))


@EACH
def test_credential_is_known_by_its_form_and_told_by_its_length(kind: str, value: str) -> None:
    assert secret_kind(f"use {value}") == kind
    assert told("note", value) == told_name(value) == f"<text, {len(value)}>"
    assert told("note", {"inside": [value]}).startswith("<text, ")
    assert kind_within([1, {"a": [value]}]) == kind_within({value: 1}) == kind


@EACH
def test_masked_text_shows_the_kind_and_nothing_of_the_credential(kind: str, value: str) -> None:
    text = masked(f"key '{value}' is given twice")
    assert f"<{kind}>" in text
    assert secret_kind(text) is None
    assert value[-12:] not in text


@given(st.text())
def test_masked_text_without_a_credential_is_the_same(text: str) -> None:
    assert masked(text) == text or secret_kind(text) is not None


@pytest.mark.parametrize(
    "name",
    [
        *("password", "Password", "user_password", "apiKey", "API Key", "api-key", "private_key", "accessToken", "pwd"),
        *("pass word", "pass-word", "user pass word"),
    ],
)
def test_name_says_credential(name: str) -> None:
    assert is_secret_name(name)
    assert told(name, "hunter2") == "<text, 7>"


@pytest.mark.parametrize(
    "name", ["name", "tokens_used", "key", "bike_id", "secretary", "api_key_env", "monkey", "password_policy"]
)
def test_name_says_nothing(name: str) -> None:
    assert not is_secret_name(name)
    assert told_name(name) == name


def test_harmless_value_is_shown() -> None:
    assert told("name", "Ada\n") == "'Ada\\n'"
    assert told("name", 3) == "3"
    assert told("name", "x" * 80) == '"' + "x" * 56 + "..."
    assert kind_within(json.loads('{"a": [1, null, "b"]}')) is None


def test_problems_are_masked_and_keep_the_rest() -> None:
    before = Problem(code="c", path="p", line=3, message=f"saw {KEYS['a GitHub token']}, stop", fix="f")
    assert [str(each) for each in masked_problems([before])] == ["p:3: c: saw <a GitHub token> stop\n  fix: f"]
