"""Is every published row its raw row, and do they stand in raw order? Rule: generation.md §6.2."""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from bfcl.tables.benchmark import batches, benchmark_schema

if TYPE_CHECKING:
    import pyarrow as pa

_REPORTED: Final = 20
_WINDOW_BYTES: Final = 96 << 20
_CHUNK_BYTES: Final = 1 << 20


class Difference(NamedTuple):
    """A published row that is not its raw row; `column` is None where the raw table holds no such row."""

    task_id: str
    column: str | None


class Comparison(NamedTuple):
    """Ids of both tables in file order, and the first published rows that differ from their raw row."""

    raw_ids: list[str]
    published_ids: list[str]
    differences: list[Difference]
    in_raw_order: bool
    """The published ids are a subsequence of the raw ones."""


def compare_selection(raw: Path, published: Path) -> Comparison:
    """Compare every published row with the raw row of its id, all columns, at most a few batches in memory.

    At most 20 differences are reported. Raises: ReleaseError `release_payload_unreadable` on damaged pages.
    """
    if _have_equal_bytes(raw, published):
        # Equal bytes hold equal rows; every page is read, as one that cannot be must not pass.
        ids = [task_id for batch in batches(raw) for task_id in batch.column("task_id").to_pylist()]
        return Comparison(ids, ids, [], in_raw_order=True)
    raw_ids, published_ids = _ids(raw), _ids(published)
    wanted = set(published_ids)
    ordered = [task_id for task_id in raw_ids if task_id in wanted] == published_ids
    differences = _in_step(raw, published, wanted) if ordered else _by_id(raw, published)
    return Comparison(raw_ids, published_ids, differences, ordered)


def _have_equal_bytes(one: Path, other: Path) -> bool:
    """False also for what cannot be read: whoever reads it as a table says so."""
    with contextlib.suppress(OSError), one.open("rb") as left, other.open("rb") as right:
        while (chunk := left.read(_CHUNK_BYTES)) == right.read(_CHUNK_BYTES):
            if not chunk:
                return True
    return False


def _ids(path: Path) -> list[str]:
    return [task_id for batch in batches(path, ["task_id"]) for task_id in batch.column(0).to_pylist()]


def _by_id(raw: Path, published: Path) -> list[Difference]:
    """Rows in any order, told in that of the published ones: the raw table is read once for each window of them."""
    differences: list[Difference] = []
    for window in _windows(published):
        differences += _unlike(raw, window)
        if len(differences) >= _REPORTED:
            break
    return differences[:_REPORTED]


def _windows(path: Path) -> Iterator[pa.Table]:
    """A table's rows in pieces that fit into memory."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    for batch in batches(path):
        held.append(batch)
        if sum(one.nbytes for one in held) >= _WINDOW_BYTES:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _unlike(raw: Path, window: pa.Table) -> list[Difference]:
    """The rows of a window that are not the raw row of their id."""
    import pyarrow as pa

    places: dict[str, list[int]] = {}
    for place, task_id in enumerate(window.column("task_id").to_pylist()):
        places.setdefault(task_id, []).append(place)
    found = {task_id: Difference(task_id, None) for task_id in places}
    for batch in batches(raw):
        ids = batch.column("task_id").to_pylist()
        pairs = [(row, place) for row, task_id in enumerate(ids) for place in places.get(task_id, ())]
        if pairs:
            for row, _ in pairs:
                found.pop(ids[row], None)
            expected = pa.Table.from_batches([batch.take(_indices([row for row, _ in pairs]))])
            unlike = _differences(expected, window.take(_indices([place for _, place in pairs])))
            found.update({difference.task_id: difference for difference in unlike})
    return sorted(found.values(), key=lambda difference: places[difference.task_id])


def _indices(values: Sequence[int]) -> pa.Array:
    """As Arrow wants them; made from a list they would load pandas where it is installed."""
    import pyarrow as pa

    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(array("q", values))])


def _in_step(raw: Path, published: Path, wanted: set[str]) -> list[Difference]:
    """Rows in raw order: Arrow compares them batch by batch without decoding any."""
    import pyarrow as pa

    cursor = _Cursor(batches(published))
    differences: list[Difference] = []
    for batch in batches(raw):
        ids = batch.column("task_id").to_pylist()
        kept = [index for index, task_id in enumerate(ids) if task_id in wanted]
        if kept:
            selected = batch if len(kept) == len(ids) else batch.take(_indices(kept))
            differences += _differences(pa.Table.from_batches([selected]), cursor.take(len(kept)))
    return differences[:_REPORTED]


class _Cursor:
    """Takes the next n rows of a stream of batches as one table; fewer at the end."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._left: list[pa.RecordBatch] = []

    def take(self, count: int) -> pa.Table:
        import pyarrow as pa

        have = sum(batch.num_rows for batch in self._left)
        while have < count:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._left.append(batch)
            have += batch.num_rows
        table = pa.Table.from_batches(self._left, schema=benchmark_schema())
        self._left = table.slice(count).to_batches()
        return table.slice(0, count)


def _differences(expected: pa.Table, published: pa.Table) -> list[Difference]:
    """The rows of two tables held against each other in step."""
    if expected.equals(published):
        return []
    found: list[Difference] = []
    for index in range(published.num_rows):
        one, other = expected.slice(index, 1), published.slice(index, 1)
        if not one.equals(other):
            task_id = other.column("task_id")[0].as_py()
            if one.column("task_id")[0].as_py() != task_id:
                found.append(Difference(task_id, None))
            else:
                names = (name for name in other.column_names if not one.column(name).equals(other.column(name)))
                found.append(Difference(task_id, next(names)))
        if len(found) == _REPORTED:
            break
    return found
