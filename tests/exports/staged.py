"""Rows, staged tables and exported trees that the tests of exports share."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from bfcl.canonical import Json, canonical_text
from bfcl.exports.decode import StagedTable
from bfcl.exports.decode_row import decode_row
from bfcl.exports.format import Format
from bfcl.exports.row import ExportRow, Source
from bfcl.tables.benchmark import BenchmarkRow, BenchmarkWriter
from tests.release.samples import row, rows

__all__ = ["SOURCE", "decoded", "edited", "plain_row", "row", "row_with_arguments", "rows", "stage", "tree"]

SOURCE = Source(
    file="benchmark.parquet",
    content_hash=cast("Any", "sha256:" + "0" * 64),
    rows=2,
    pack_id="plant",
    pack_version="1.0",
    tier="gold",
    gold_eligible=True,
    expt_name="demo",
)


def edited(of: BenchmarkRow, path: Sequence[str | int], value: object) -> BenchmarkRow:
    """A copy of a row with one value changed; a value of `...` removes what stands there."""
    changed = copy.deepcopy(of)
    *way, last = path
    place: Any = changed
    for step in way:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return changed


def row_with_arguments(arguments: Mapping[str, Json], number: int = 1, name: str = "set_valve") -> BenchmarkRow:
    """A good row whose last call has this name and these arguments, wire and expected alike."""
    told = edited(row(number), ["expected_tool_calls", 2, "function_name"], name)
    pairs = [(key, canonical_text(value)) for key, value in arguments.items()]
    told = edited(told, ["expected_tool_calls", 2, "arguments"], pairs)
    function = {"name": name, "arguments": canonical_text(arguments)}
    return edited(told, ["messages", 7, "tool_calls", 0, "function"], function)


def plain_row(number: int = 9) -> BenchmarkRow:
    """A good row of one user turn and no call."""
    told = row(number)
    return {
        **told,
        "messages": [*told["messages"][:2], told["messages"][-1]],
        "expected_tool_calls": [],
        "num_tool_calls": 0,
        "is_multi_turn": False,
        "difficulty": None,
        "success_assertions": [],
    }


def decoded(of: BenchmarkRow) -> ExportRow:
    """A row that must be good."""
    found = decode_row(of)
    assert isinstance(found, ExportRow), found
    return found


def stage(directory: Path, of: Sequence[BenchmarkRow]) -> StagedTable:
    """A table of these rows, planned as they stand."""
    path = directory / "benchmark.parquet"
    with BenchmarkWriter(path) as writer:
        writer.write(of)
        info = writer.close()
    return StagedTable(
        path=path,
        file="benchmark.parquet",
        content_hash=info.content_hash,
        task_ids=[each["task_id"] for each in of],
    )


def tree(form: Format, of: Sequence[BenchmarkRow], source: Source = SOURCE) -> dict[str, bytes]:
    """The files of a format over these rows, without a disk."""
    writer = form.writer()
    files: dict[str, bytes] = {}
    for piece in [*(piece for each in of for piece in writer.add(decoded(each))), *writer.finish(source)]:
        files[piece.name] = files.get(piece.name, b"") + piece.data
    return files
