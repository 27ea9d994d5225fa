"""What is the published table to readers that know no Parquet maps, such as `datasets`? Rule: generation.md §6.1, §7.

The same columns in the same order. One type differs: the arguments of an expected call are a list of `{name, value}`
instead of a map, which loses neither order nor text.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, cast

from bfcl.tables.benchmark import BenchmarkRow, ExpectedCall, benchmark_schema

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP_ROWS: Final = 1024

ColumnType: TypeAlias = Literal["string", "int32", "uint64", "bool", "struct"]


class Column(NamedTuple):
    """A column, or a field of one. A list names the type of its items."""

    name: str
    type: ColumnType
    repeated: bool
    fields: tuple[Column, ...]
    """Of a struct, in order."""


@functools.cache
def hub_schema() -> pa.Schema:
    """The Arrow schema of the table."""
    import pyarrow as pa

    schema = benchmark_schema()
    index = schema.get_field_index("expected_tool_calls")
    pair = pa.struct([("name", pa.string()), ("value", pa.string())])
    call = pa.struct(
        [
            field.with_type(pa.list_(pair)) if field.name == "arguments" else field
            for field in schema.field(index).type.value_type
        ]
    )
    return schema.set(index, pa.field("expected_tool_calls", pa.list_(call)))


def hub_columns() -> tuple[Column, ...]:
    """The columns as a catalogue would name them."""
    return tuple(_column(field.name, field.type) for field in hub_schema())


def _column(name: str, kind: pa.DataType) -> Column:
    import pyarrow as pa

    repeated = pa.types.is_list(kind)
    item = kind.value_type if repeated else kind
    if pa.types.is_struct(item):
        return Column(name, "struct", repeated, tuple(_column(field.name, field.type) for field in item))
    return Column(name, cast("ColumnType", str(item)), repeated, ())


class HubWriter:
    """Turns rows into the bytes of one Parquet file, piece by piece, holding at most one row group.

    Bytes depend on the rows and the pyarrow version alone.
    """

    def __init__(self) -> None:
        import pyarrow.parquet

        self._schema = hub_schema()
        self._sink = _Sink()
        self._parquet = pyarrow.parquet.ParquetWriter(
            self._sink,
            self._schema,
            version="2.6",
            compression="zstd",
            compression_level=3,
            write_page_checksum=True,
            store_schema=True,
        )
        self._pending: list[BenchmarkRow] = []

    def add(self, row: BenchmarkRow) -> bytes:
        """The bytes that are ready once this row is in: mostly none."""
        self._pending.append(row)
        if len(self._pending) == ROW_GROUP_ROWS:
            self._flush()
        return self._sink.take()

    def finish(self) -> bytes:
        """The rest of the file."""
        self._flush()
        self._parquet.close()
        return self._sink.take()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._pending:
            columns = [
                pa.array([_values(row, field.name) for row in self._pending], type=field.type) for field in self._schema
            ]
            self._parquet.write_table(pa.Table.from_arrays(columns, schema=self._schema), row_group_size=ROW_GROUP_ROWS)
            self._pending.clear()


def _values(row: BenchmarkRow, name: str) -> object:
    if name != "expected_tool_calls":
        return cast("dict[str, object]", row)[name]
    return [
        {**call, "arguments": [{"name": key, "value": text} for key, text in call["arguments"]]}
        for call in row["expected_tool_calls"]
    ]


class _Sink:
    """The file that pyarrow believes it writes."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def take(self) -> bytes:
        """What was written since it was last asked."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def read_hub_rows(path: Path) -> Iterator[BenchmarkRow]:
    """Rows in file order, as the published table holds them.

    Raises: OSError where the file cannot be read, ValueError where it is damaged or has another schema.
    """
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        if not file.schema_arrow.equals(hub_schema()):
            raise ValueError("columns or types are not those of the table")
        for batch in file.iter_batches(batch_size=ROW_GROUP_ROWS):
            for values in batch.to_pylist():
                calls = cast("list[dict[str, Any]]", values["expected_tool_calls"])
                values["expected_tool_calls"] = [_expected(call) for call in calls]
                yield cast("BenchmarkRow", values)


def _expected(call: dict[str, Any]) -> ExpectedCall:
    pairs = [(pair["name"], pair["value"]) for pair in call["arguments"]]
    return cast("ExpectedCall", {**call, "arguments": pairs})
