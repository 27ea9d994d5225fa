"""How does a table's file grow by whole row groups, and what is left of one that was abandoned?

One setting of the Parquet library for every table: its bytes depend on the rows and the pyarrow version alone.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bfcl.digest import Digest, Sha256Stream
from bfcl.files import storage

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP_BYTES = 64 << 20
"""A row group ends at so many bytes of canonical lines, or at its writer's number of rows, whichever comes first."""


def read_lines(data: bytes, schema: pa.Schema) -> pa.Table:
    """Canonical JSON lines, each ended by a line feed, as a table of one chunk. Raises pyarrow's ArrowInvalid."""
    import pyarrow as pa
    import pyarrow.json

    # One block and one thread: Arrow then reads the group as a single chunk, so its pages do not depend on cores.
    return pyarrow.json.read_json(
        pa.BufferReader(data),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior="error"
        ),
    )


class RowGroupFile:
    """A Parquet file that is being written, open until `close` or `abandon`.

    Raises StageError `storage_failed` where the disk refuses, pyarrow's errors on a table of another schema.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        import pyarrow.parquet

        self._path = path
        self._digest = Sha256Stream()
        self.rows = 0
        with storage(path):
            self._stream = path.open("wb")
            os.fchmod(self._stream.fileno(), 0o644)
            self._parquet = pyarrow.parquet.ParquetWriter(
                self._stream,
                schema,
                version="2.6",
                compression="zstd",
                compression_level=3,
                write_page_checksum=True,
                store_schema=True,
            )

    def append(self, group: pa.Table, lines: bytes) -> None:
        """Write one row group. `lines` are its rows as canonical JSON lines, each ended by a line feed."""
        with storage(self._path):
            self._parquet.write_table(group, row_group_size=group.num_rows)
        self._digest.update(lines)
        self.rows += group.num_rows

    def close(self) -> Digest:
        """Finish the file and fsync it; the digest of its lines."""
        with storage(self._path):
            self._parquet.close()
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
        return self._digest.digest()

    def abandon(self) -> bool:
        """Empty a file that is still open, so that it never reads as a shorter table; False where it was closed."""
        if self._stream.closed:
            return False
        # The writer insists on a footer, which may fail as the row groups before it did.
        for end in (self._parquet.close, lambda: self._stream.truncate(0), self._stream.close):
            with contextlib.suppress(OSError):
                end()
        return True
