"""Whether published rows are their raw rows, in whatever order they stand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfcl.errors import ReleaseError
from bfcl.tables import benchmark, comparison
from bfcl.tables.benchmark import BenchmarkRow, BenchmarkWriter, benchmark_schema
from bfcl.tables.comparison import Comparison, Difference, compare_selection
from tests.release.samples import row, rows


def write(path: Path, table: Sequence[BenchmarkRow]) -> None:
    with BenchmarkWriter(path) as writer:
        writer.write(table)
        writer.close()


def changed(one: BenchmarkRow, **columns: Any) -> BenchmarkRow:
    return cast("BenchmarkRow", {**one, **columns})


def compared(tmp_path: Path, raw: Sequence[BenchmarkRow], published: Sequence[BenchmarkRow]) -> list[Difference]:
    write(tmp_path / "raw.parquet", raw)
    write(tmp_path / "published.parquet", published)
    seen = compare_selection(tmp_path / "raw.parquet", tmp_path / "published.parquet")
    assert seen.raw_ids == [one["task_id"] for one in raw]
    assert seen.published_ids == [one["task_id"] for one in published]
    return seen.differences


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kept=st.sets(st.integers(0, 10)))
def test_comparison_accepts_every_selection_in_raw_order(
    kept: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "_READ_ROWS", 4)
    raw = rows(11)
    assert compared(tmp_path, raw, [one for index, one in enumerate(raw) if index in kept]) == []


def test_comparison_of_equal_bytes_still_reads_every_page(tmp_path: Path) -> None:
    path, twin = tmp_path / "raw.parquet", tmp_path / "published.parquet"
    write(path, rows(5))
    data = bytearray(path.read_bytes())
    twin.write_bytes(data)
    ids = [one["task_id"] for one in rows(5)]
    assert compare_selection(path, twin) == Comparison(ids, ids, [], in_raw_order=True)
    data[200] ^= 0xFF
    path.write_bytes(data)
    twin.write_bytes(data)
    with pytest.raises(ReleaseError, match=r"release_payload_unreadable: raw\.parquet: cannot be read"):
        compare_selection(path, twin)


@pytest.mark.parametrize("column", benchmark_schema().names)
def test_comparison_finds_a_change_in_any_column(column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "_READ_ROWS", 2)
    raw = rows(5)
    others: dict[str, Any] = {"string": "other", "int32": 5, "uint64": 5, "bool": None}
    new = others.get(str(benchmark_schema().field(column).type), [])
    if column == "held_out_hit":
        new = False
    published = [*raw[1:3], changed(raw[3], **{column: new}), raw[4]]
    expected = Difference("other", None) if column == "task_id" else Difference(raw[3]["task_id"], column)
    assert compared(tmp_path, raw, published) == [expected]
    # In another order rows are found by their ids.
    assert compared(tmp_path, raw, published[::-1]) == [expected]


def test_comparison_finds_foreign_rows_in_any_order(tmp_path: Path) -> None:
    raw = rows(4)
    first, third = raw[0]["task_id"], row(9)["task_id"]
    assert compared(tmp_path, raw, [raw[0], row(9)]) == [Difference(third, None)]
    assert compared(tmp_path, raw, [row(9), raw[1], raw[0]]) == [Difference(third, None)]
    assert compared(tmp_path, [], [raw[0]]) == [Difference(first, None)]


def test_comparison_tells_raw_order_from_another(tmp_path: Path) -> None:
    raw = rows(4)
    for published, ordered in (([raw[1], raw[3]], True), ([raw[3], raw[1]], False), ([raw[0], raw[0]], False)):
        assert compared(tmp_path, raw, published) == []
        seen = compare_selection(tmp_path / "raw.parquet", tmp_path / "published.parquet")
        assert seen.in_raw_order is ordered


def test_comparison_reports_at_most_twenty_rows(tmp_path: Path) -> None:
    raw = rows(30)
    published = [changed(one, tier="silver") for one in raw]
    assert len(compared(tmp_path, raw, published)) == len(compared(tmp_path, raw, published[::-1])) == 20


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    order=st.permutations(range(7)), taken=st.integers(1, 7), bad=st.sets(st.integers(0, 6)), window=st.integers(1, 3)
)
def test_comparison_finds_what_differs_in_any_order_whatever_the_windows(
    order: list[int], taken: int, bad: set[int], window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark, "_READ_ROWS", window)
    monkeypatch.setattr(comparison, "_WINDOW_BYTES", 1)
    raw = rows(7)
    published = [changed(raw[index], intent="other") if index in bad else raw[index] for index in order[:taken]]
    expected = [Difference(raw[index]["task_id"], "intent") for index in order[:taken] if index in bad]
    assert compared(tmp_path, raw, published) == expected
