"""Credentials are found by name and by form, and never shown."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.authoring.imports.record_rows import Record
from bfcl.authoring.imports.secret_scan import is_secret_column, secret_kind, secret_problems, told

# In parts, so that no scanner takes this file for a leak.
KEYS = {
    "a secret API key": "sk" + "-proj1234567890abcdef",
    "a GitHub token": "gh" + "p_0123456789abcdefABCDEF0123456789abcd",
    "an AWS access key": "AK" + "IAIOSFODNN7EXAMPLE",
    "a PEM block": "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIB",
    "a JSON Web Token": "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "a Slack token": "xo" + "xb-123456789012-abcdef",
    "a Google API key": "AI" + "zaSyA-1234567890abcdefghijklmnopqrstu",
    "a GitLab token": "gl" + "pat-abcdefghij0123456789",
    "a Hugging Face token": "hf" + "_abcdefghijklmnopqrstuvwxyz",
    "a bearer token": "Authorization: Bea" + "rer abcdef0123456789abcdef",
    "a password in a URL": "postgres://me:hunter2@db.example/x",
}


def problems(*values: Any, allowed: tuple[str, ...] = ()) -> list[str]:
    rows = [Record(line=line, values=each) for line, each in enumerate(values, start=2)]
    return [str(each) for each in secret_problems(rows, allowed, path="x.csv")]


@pytest.mark.parametrize(("kind", "value"), KEYS.items(), ids=list(KEYS))
def test_credential_is_known_by_its_form_and_not_shown(kind: str, value: str) -> None:
    assert secret_kind(value) == kind
    assert problems({"note": "fine"}, {"note": f"use {value}"}) == [
        f"x.csv:3: secret_in_records: column `note` holds {kind}\n"
        "  fix: replace it by an invented value; where it is invented already, pass --allow-secrets note"
    ]
    assert told("note", value) == f"<text, {len(value)}>"


@pytest.mark.parametrize(
    "name",
    ["password", "Password", "user_password", "apiKey", "API Key", "api-key", "private_key", "accessToken", "pwd"],
)
def test_column_is_known_by_its_name(name: str) -> None:
    assert is_secret_column(name)
    message = f"x.csv:2: secret_in_records: column `{name}` holds a value, and its name says credential"
    assert problems({name: "hunter2"})[0].startswith(message)
    assert told(name, "hunter2") == "<text, 7>"


@pytest.mark.parametrize("name", ["name", "tokens_used", "key", "bike_id", "secretary", "api_key_env", "monkey"])
def test_column_of_another_name_is_none(name: str) -> None:
    assert not is_secret_column(name)
    assert problems({name: "SK-100"}, {name: "eyJ.a.b"}, {name: "risk-assessment-2024-final"}) == []


def test_rows_of_one_kind_are_counted_and_nested_values_are_found() -> None:
    value = KEYS["a GitHub token"]
    assert problems(
        {"password": "", "it": {"auth": {"token": "x"}, "list": ["a", value]}},
        {"password": "a", "it": {"list": [value]}},
        {"password": None, "it": {"list": [value, value]}},
        {"password": True, "it": None},
    ) == [
        "x.csv:2: secret_in_records: column `it.auth.token` holds a value, and its name says credential\n"
        "  fix: replace it by an invented value; where it is invented already, pass --allow-secrets it",
        "x.csv:2: secret_in_records: column `it.list` holds a GitHub token, and so do 2 more rows\n"
        "  fix: replace it by an invented value; where it is invented already, pass --allow-secrets it",
        "x.csv:3: secret_in_records: column `password` holds a value, and its name says credential\n"
        "  fix: replace it by an invented value; where it is invented already, pass --allow-secrets password",
    ]


def test_allowed_column_is_not_scanned() -> None:
    row = {"password": "x", "it": {"token": "y"}, "other": KEYS["a Slack token"]}
    assert [each.split("`")[1] for each in problems(row, row, allowed=("password", "it"))] == ["other"]


def test_harmless_value_is_shown() -> None:
    assert told("name", "Ada\n") == "'Ada\\n'"
    assert told("name", 3) == "3"
    assert told("name", "x" * 80) == '"' + "x" * 56 + "..."
