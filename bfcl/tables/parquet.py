"""How are the rows of a stage table written to Parquet, digested, and read back? Rule: generation.md §3.

Bytes depend on the rows and the pyarrow version alone, never on how a caller batches them. `rows_digest` is the SHA-256
of one canonical JSON line a row, each ended by a line feed: it outlives pyarrow versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bfcl.digest import Digest, Sha256Stream
from bfcl.errors import DriftError, Problem
from bfcl.tables.codec import Row
from bfcl.tables.columns import COLUMNS
from bfcl.tables.row_groups import ROW_GROUP_BYTES, RowGroupFile, read_lines

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP_ROWS = 4096

_READ_ROWS = 1024


class TableInfo(NamedTuple):
    """What a written table holds: row count and `rows_digest`."""

    rows: int
    rows_digest: Digest


def table_schema(artifact: str) -> pa.Schema:
    """The Arrow schema of a stage table: names, order and types. Raises KeyError for an unknown artifact."""
    import pyarrow as pa

    types = {
        "s": pa.string(),
        "j": pa.string(),
        "i": pa.int32(),
        "u": pa.uint64(),
        "b": pa.bool_(),
        "f": pa.float64(),
        "[s]": pa.list_(pa.string()),
    }
    return pa.schema([(name, types[kind]) for name, kind in COLUMNS[artifact]])


def rows_digest(lines: Iterable[bytes]) -> Digest:
    """The digest of rows given as canonical JSON lines without line feed."""
    stream = Sha256Stream()
    for line in lines:
        stream.update(line + b"\n")
    return stream.digest()


class TableWriter:
    """Writes one table from canonical JSON lines, holding at most one row group.

    A context manager: leaving it without `close` leaves an empty file, never one that reads as a shorter table.
    Raises StageError `storage_failed` where the disk refuses, pyarrow's ArrowInvalid on a row of another shape.
    """

    def __init__(self, path: Path, artifact: str) -> None:
        self._schema = table_schema(artifact)
        self._file = RowGroupFile(path, self._schema)
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def write(self, lines: Iterable[bytes]) -> None:
        """Append rows, one canonical JSON line each, without line feed."""
        pending, size = self._pending, self._pending_bytes
        for line in lines:
            pending.append(line)
            size += len(line)
            if len(pending) == ROW_GROUP_ROWS or size >= ROW_GROUP_BYTES:
                self._flush()
                size = 0
        self._pending_bytes = size

    def close(self) -> TableInfo:
        """Finish the file and fsync it."""
        self._flush()
        return TableInfo(rows_digest=self._file.close(), rows=self._file.rows)

    def _flush(self) -> None:
        if not self._pending:
            return
        data = b"\n".join(self._pending) + b"\n"
        self._file.append(read_lines(data, self._schema), data)
        self._pending.clear()

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.abandon()


def read_rows(path: Path, artifact: str) -> Iterator[Row]:
    """Rows in file order as dicts in column order, decoded batch by batch.

    Raises: DriftError `table_schema_mismatch` where columns or types are not the artifact's, `table_unreadable` on a
    file that is missing, no Parquet or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet

    wanted = table_schema(artifact)
    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            if not file.schema_arrow.equals(wanted):
                raise DriftError(_mismatch(path, wanted, file.schema_arrow))
            for batch in file.iter_batches(batch_size=_READ_ROWS):
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    yield dict(zip(wanted.names, values, strict=True))
    except (pa.ArrowInvalid, OSError) as error:
        message = f"cannot be read: {str(error).splitlines()[0]}"
        raise DriftError(Problem(code="table_unreadable", subject=path.name, message=message, fix=_FIX)) from None


_FIX = "run `doit generate` again, which writes the table anew"


def _mismatch(path: Path, wanted: pa.Schema, seen: pa.Schema) -> Problem:
    missing = [name for name in wanted.names if name not in seen.names]
    extra = [name for name in seen.names if name not in wanted.names]
    if missing or extra:
        message = f"columns missing: {', '.join(missing) or 'none'}; unexpected: {', '.join(extra) or 'none'}"
    elif seen.names != wanted.names:
        message = f"columns stand in another order: {', '.join(seen.names)}"
    else:
        message = "; ".join(
            f"column `{field.name}` has type {seen.field(field.name).type}, expected {field.type}"
            for field in wanted
            if not seen.field(field.name).equals(field)
        )
    return Problem(code="table_schema_mismatch", subject=path.name, message=message, fix=_FIX)
