"""What does a Parquet file hold, without reading its rows: how many, under which schema, of which tasks?"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bfcl.digest import Digest, sha256_json
from bfcl.errors import DriftError, Problem

_TASK_ID = "task_id"


class Footprint(NamedTuple):
    """Rows, SHA-256 of the canonical JSON of `[name, type]` per column, and the task ids in file order.

    The ids are None for a table without a column `task_id`.
    """

    rows: int
    schema_fingerprint: Digest
    task_ids: list[str] | None


def footprint(path: Path) -> Footprint:
    """Read the footer and at most one column. Raises: DriftError `table_unreadable`."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            schema = file.schema_arrow
            ids = file.read(columns=[_TASK_ID]).column(0).to_pylist() if _TASK_ID in schema.names else None
            rows = file.metadata.num_rows
    except (pa.ArrowInvalid, OSError) as error:
        message = f"cannot be read: {str(error).splitlines()[0]}"
        fix = "run `doit generate` again, which writes the table anew"
        raise DriftError(Problem(code="table_unreadable", subject=path.name, message=message, fix=fix)) from None
    columns = [[field.name, str(field.type)] for field in schema]
    return Footprint(rows=rows, schema_fingerprint=sha256_json(columns), task_ids=ids)
