"""Check D2: the codes of structured errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.judged import judge
from tests.packs import drop, put, replace

NOT_FOUND = '_refuse("not_found", entity="firing", id=firing_id)'


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        ('{"id": firing_id}', '{"error":{"id":"F-99"}}: the error\'s `code` is nothing'),
        ('{"code": None}', '{"error":{"code":null}}: the error\'s `code` is null'),
        ('{"code": 404}', '{"error":{"code":404}}: the error\'s `code` is 404'),
        ('{"code": " "}', '{"error":{"code":" "}}: the error\'s `code` is " "'),
    ],
)
def test_check_d2_asks_for_non_empty_text(tmp_path: Path, error: str, seen: str) -> None:
    codeless = replace("backend.py", NOT_FOUND, f'{{"error": {error}}}')
    unclaimed = put("validation_cases.yaml", (4, "expect"), {"result_class": "structured_error"})
    assert judge(tmp_path, codeless, unclaimed).failures() == [
        f"D2 pack/validation_cases.yaml:34: error_code_missing: firing_missing: answered {seen}; "
        "expected non-empty text\n"
        '  fix: refuse with `{"error": {"code": "<word>"}}`'
    ]


def test_check_d2_knows_no_error_where_the_field_holds_no_object(tmp_path: Path) -> None:
    text = replace("backend.py", NOT_FOUND, '{"error": "no such firing"}')
    as_result = [
        drop("validation_cases.yaml", (4, "expect")),
        put("validation_cases.yaml", (4, "coverage"), "negative"),
    ]
    assert judge(tmp_path, text, *as_result).failures() == []


def test_check_d2_runs_although_a_probe_fails(tmp_path: Path) -> None:
    failures = judge(tmp_path, replace("backend.py", NOT_FOUND, '{"error": {}}')).failures()
    assert [one.split(" ")[0] for one in failures] == ["5", "D2"]
