"""How faults get their place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.checks.findings import field_pointer, from_breakdown, placed, pointer_text, text_pointer, where
from bfcl.oracle.protocol import Breakdown
from bfcl.records.verdict import Finding
from tests.checks.judged import judge
from tests.packs import rename, replace

ROOT = {"slots": {"0": {"source": "x"}}, "steps": [{"args": {"a": 1}}]}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (None, ()),
        ("slots.0.source", ("slots", "0", "source")),
        ("steps.0.args.a", ("steps", 0, "args", "a")),
        ("steps[0].args.a", ("steps", 0, "args", "a")),
        ("steps[7].args", ("steps", 7, "args")),
        ("nowhere.0", ("nowhere", "0")),
    ],
)
def test_field_pointer_takes_digits_for_an_index_only_inside_a_list(
    field: str | None, expected: tuple[str | int, ...]
) -> None:
    assert field_pointer(ROOT, field) == expected


@given(st.lists(st.text(alphabet="ab~/01", max_size=4)))
def test_text_pointer_is_the_inverse_of_pointer_text_for_keys(keys: list[str]) -> None:
    assert text_pointer({}, pointer_text(keys)) == tuple(keys)


def test_placed_gives_a_file_that_is_not_data_its_name_alone(tmp_path: Path) -> None:
    pack = judge(tmp_path).pack
    finding = placed(pack, "backend", (1, "x"), Finding(code="c", message="m"))
    assert (finding.file, finding.line, finding.pointer) == ("backend.py", None, None)


def test_placed_names_a_file_as_it_lies_in_the_pack(tmp_path: Path) -> None:
    moved = [
        rename("validation_cases.yaml", "probes/all.yaml"),
        replace(
            "manifest.yaml", "pack_id: kiln_studio", "pack_id: kiln_studio\npaths: {validation_cases: probes/all.yaml}"
        ),
    ]
    pack = judge(tmp_path, *moved).pack
    finding = placed(pack, "validation_cases", (1, "expect"), Finding(code="c", message="m"))
    assert (finding.file, finding.line, finding.pointer) == ("probes/all.yaml", 11, "/1/expect")


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ("backend.py:12", ("backend.py", 12)),
        ("lib/a.py:3", ("lib/a.py", 3)),
        ("backend.py", ("backend.py", None)),
        (None, (None, None)),
    ],
)
def test_where_splits_file_and_line(seen: str | None, expected: tuple[str | None, int | None]) -> None:
    assert where(Breakdown(code="c", message="m", phase="call", where=seen)) == expected


@pytest.mark.parametrize("code", ["import_timeout", "worker_crashed", "ambient_access"])
def test_from_breakdown_keeps_the_code_of_infrastructure(code: str) -> None:
    found = from_breakdown(Breakdown(code=code, message="m", phase="import"), otherwise="backend_import_failed")
    assert found.code == code


def test_from_breakdown_names_any_other_failure_after_what_was_tried() -> None:
    broken = Breakdown(code="tool_raised", message="ValueError: x", phase="import", where="backend.py:4")
    found = from_breakdown(broken, otherwise="backend_import_failed")
    assert (found.code, found.message, found.file, found.line) == (
        "backend_import_failed",
        "ValueError: x",
        "backend.py",
        4,
    )
    assert from_breakdown(broken).code == "tool_raised"
