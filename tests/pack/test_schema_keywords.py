from __future__ import annotations

from typing import Any

import pytest

from bfcl.pack.schema_keywords import RULES, TYPES, has_type


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (True, {"boolean"}),
        (1, {"integer", "number"}),
        (1.0, {"number"}),
        ("a", {"string"}),
        (None, {"null"}),
        ({}, {"object"}),
        ([], {"array"}),
    ],
)
def test_types_are_strict(value: Any, names: set[str]) -> None:
    assert {name for name in TYPES if has_type(value, name)} == names


@pytest.mark.parametrize("keyword", ["title", "description", "$comment", "$ref"])
def test_text_keywords_refuse_other_values(keyword: str) -> None:
    (defect,) = RULES[keyword](3, f"/{keyword}")
    assert tuple(defect) == (f"/{keyword}", "malformed_keyword", f"`{keyword}` is 3; expected text")


@pytest.mark.parametrize("keyword", ["properties", "$defs", "definitions"])
def test_keywords_that_hold_schemas_refuse_lists(keyword: str) -> None:
    (defect,) = RULES[keyword]([], f"/{keyword}")
    assert tuple(defect) == (f"/{keyword}", "malformed_keyword", f"`{keyword}` is []; expected an object of schemas")


@pytest.mark.parametrize("keyword", ["const", "default"])
def test_const_and_default_take_any_value(keyword: str) -> None:
    assert list(RULES[keyword](None, f"/{keyword}")) == []
