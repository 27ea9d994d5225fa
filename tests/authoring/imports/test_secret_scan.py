"""Credentials are found by name and by form, and never shown."""

from __future__ import annotations

from typing import Any

import pytest

from bfcl.authoring.imports.record_rows import Record
from bfcl.authoring.imports.secret_scan import secret_problems
from tests.authoring.imports.keys import KEYS


def problems(*values: Any, allowed: tuple[str, ...] = ()) -> list[str]:
    rows = [Record(line=line, values=each) for line, each in enumerate(values, start=2)]
    return [str(each) for each in secret_problems(rows, allowed, path="x.csv")]


@pytest.mark.parametrize(("kind", "value"), KEYS.items(), ids=list(KEYS))
def test_credential_is_found_by_its_form_and_not_shown(kind: str, value: str) -> None:
    assert problems({"note": "fine"}, {"note": f"use {value}"}) == [
        f"x.csv:3: secret_in_records: column `note` holds {kind}\n"
        "  fix: replace it by an invented value; where it is invented already, pass --allow-secrets note"
    ]


def test_credential_is_found_by_the_name_of_its_column() -> None:
    message = "x.csv:2: secret_in_records: column `pass word` holds a value, and its name says credential"
    assert problems({"pass word": "hunter2"})[0].startswith(message)
    assert problems({"tokens_used": "SK-100"}, {"key": "eyJ.a.b"}, {"name": "risk-assessment-2024-final"}) == []


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


def test_key_inside_a_value_that_is_a_credential_is_found_and_not_shown() -> None:
    assert problems({"it": {KEYS["an AWS access key"]: 2}}) == [
        "x.csv:2: secret_in_records: column `it.<text, 20>` holds an AWS access key as a key\n"
        "  fix: replace it by an invented value; where it is invented already, pass --allow-secrets it"
    ]


def test_allowed_column_is_not_scanned() -> None:
    row = {"password": "x", "it": {"token": "y"}, "other": KEYS["a Slack token"]}
    assert [each.split("`")[1] for each in problems(row, row, allowed=("password", "it"))] == ["other"]
