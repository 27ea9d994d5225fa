"""What a Parquet file is known by without its rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from bfcl.errors import DriftError
from bfcl.tables.footprint import footprint


def written(path: Path, **columns: list[object]) -> Path:
    pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=2)
    return path


def test_footprint_tells_rows_schema_and_task_ids_in_file_order(tmp_path: Path) -> None:
    seen = footprint(written(tmp_path / "a.parquet", task_id=["b", "a", "c"], number=[1, 2, 3]))
    assert seen.rows == 3
    assert seen.task_ids == ["b", "a", "c"]
    assert seen.schema_fingerprint == "sha256:35c905d9e04725ce1079273a2946c8059dc279317bb78e380a3f1d4af4918798"


def test_footprint_depends_on_names_order_and_types_of_columns(tmp_path: Path) -> None:
    tables = {
        "one": {"task_id": ["a"], "number": [1]},
        "renamed": {"task_id": ["a"], "numbers": [1]},
        "retyped": {"task_id": ["a"], "number": [1.0]},
        "reordered": {"number": [1], "task_id": ["a"]},
    }
    seen = {name: footprint(written(tmp_path / name, **columns)) for name, columns in tables.items()}
    assert len({each.schema_fingerprint for each in seen.values()}) == len(tables)


def test_footprint_of_a_table_without_tasks_has_no_ids(tmp_path: Path) -> None:
    assert footprint(written(tmp_path / "a.parquet", sample_id=["a"])).task_ids is None


@pytest.mark.parametrize("damage", ["absent", "empty", "cut"])
def test_footprint_of_what_is_no_table_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.parquet"
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        data = written(path, task_id=["a"]).read_bytes()
        path.write_bytes(data[:-20])
    with pytest.raises(DriftError) as caught:
        footprint(path)
    (problem,) = caught.value.problems
    assert str(problem).startswith("table_unreadable: a.parquet: cannot be read: ")
    assert problem.fix == "run `doit generate` again, which writes the table anew"
