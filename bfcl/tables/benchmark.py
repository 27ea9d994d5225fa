"""What a published row looks like, and how its tables are written, read back and compared. Rule: generation.md §6.1.

Bytes depend on the rows and the pyarrow version alone, never on how a caller batches them. `rows_digest` is the SHA-256
of one canonical JSON line a row: it outlives pyarrow versions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypedDict, cast

from bfcl.canonical import Json, canonical_json
from bfcl.digest import Digest, sha256_file
from bfcl.errors import Problem, ReleaseError
from bfcl.tables.row_groups import ROW_GROUP_BYTES, RowGroupFile, read_lines

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP_ROWS = 1024

_READ_ROWS = 1024


class WireFunction(TypedDict):
    """Name and canonical JSON of the arguments."""

    name: str
    arguments: str


class WireCall(TypedDict):
    """A call as the chat protocol carries it."""

    id: str
    type: str
    function: WireFunction


class Message(TypedDict):
    """One message. `tool_calls` is null but for a call batch, `tool_call_id` but for a tool's answer."""

    role: str
    content: str | None
    tool_calls: list[WireCall] | None
    tool_call_id: str | None


class ExpectedCall(TypedDict):
    """One expected call. `arguments` pairs a name with the canonical JSON of its value, in the order derived."""

    turn_index: int
    call_group: int
    position_in_group: int
    function_name: str
    arguments: list[tuple[str, str]]


class BenchmarkRow(TypedDict):
    """A row of both tables, keys in column order."""

    task_id: str
    template_id: str
    variant_index: int
    messages: list[Message]
    tools: str
    expected_tool_calls: list[ExpectedCall]
    success_assertions: list[str]
    fixture_refs: list[str]
    intent: str | None
    category: str
    difficulty: str | None
    required_tools: list[str]
    required_tools_fingerprint: str
    tools_present: list[str]
    turn_policy: str
    is_multi_turn: bool
    num_tool_calls: int
    call_order: str
    call_order_prefix: int | None
    system_prompt_id: str
    tier: str
    gold_eligible: bool
    validated_by: list[str]
    pack_id: str
    pack_version: str
    seed: int
    paraphrase_model: str | None
    paraphrase_model_canonical: str | None
    held_out_hit: bool | None
    src: str
    metadata: str


_AFTER_TOOLS: Final = b',"tools_present":'
"""Follows the tools in a row's line. Within a text the quotes would be escaped, so this stands there once."""
_AFTER_PRESENT: Final = b',"turn_policy":'
_CALLS: Final = "expected_tool_calls"


class BenchmarkInfo(NamedTuple):
    """What a written table is: row count, SHA-256 of its bytes, SHA-256 of its rows."""

    rows: int
    content_hash: Digest
    rows_digest: Digest


def benchmark_schema() -> pa.Schema:
    """The Arrow schema of both tables: names, order and types. Rule: generation.md §6.1."""
    import pyarrow as pa

    text, number, flag = pa.string(), pa.int32(), pa.bool_()
    texts = pa.list_(text)
    function = pa.struct([("name", text), ("arguments", text)])
    call = pa.struct([("id", text), ("type", text), ("function", function)])
    message = pa.struct([("role", text), ("content", text), ("tool_calls", pa.list_(call)), ("tool_call_id", text)])
    expected = pa.struct(
        [
            ("turn_index", number),
            ("call_group", number),
            ("position_in_group", number),
            ("function_name", text),
            ("arguments", pa.map_(text, text)),
        ]
    )
    return pa.schema(
        [
            ("task_id", text),
            ("template_id", text),
            ("variant_index", number),
            ("messages", pa.list_(message)),
            ("tools", text),
            ("expected_tool_calls", pa.list_(expected)),
            ("success_assertions", texts),
            ("fixture_refs", texts),
            ("intent", text),
            ("category", text),
            ("difficulty", text),
            ("required_tools", texts),
            ("required_tools_fingerprint", text),
            ("tools_present", texts),
            ("turn_policy", text),
            ("is_multi_turn", flag),
            ("num_tool_calls", number),
            ("call_order", text),
            ("call_order_prefix", number),
            ("system_prompt_id", text),
            ("tier", text),
            ("gold_eligible", flag),
            ("validated_by", texts),
            ("pack_id", text),
            ("pack_version", text),
            ("seed", pa.uint64()),
            ("paraphrase_model", text),
            ("paraphrase_model_canonical", text),
            ("held_out_hit", flag),
            ("src", text),
            ("metadata", text),
        ]
    )


def encode_row(row: BenchmarkRow) -> bytes:
    """The row as one canonical JSON line, without line feed: what `rows_digest` hashes."""
    return with_tools(encode_bare_row(row), lambda _: row["tools"])


def encode_bare_row(row: BenchmarkRow) -> bytes:
    """The row's line without its tools: they are much of its text, and a run knows few lists of them."""
    values = cast("dict[str, Json]", row)
    return canonical_json({name: value for name, value in values.items() if name != "tools"})


def with_tools(line: bytes, tools_of: Callable[[bytes], str]) -> bytes:
    """The whole line of an `encode_bare_row` line. `tools_of` gives the tools' text for the JSON of `tools_present`."""
    head, _, tail = line.partition(_AFTER_TOOLS)
    present = tail[: tail.index(_AFTER_PRESENT)]
    return b"%s,%s%s%s" % (head, _tools_member(tools_of(present)), _AFTER_TOOLS, tail)


@functools.lru_cache(maxsize=256)
def _tools_member(tools: str) -> bytes:
    return canonical_json({"tools": tools})[1:-1]


class BenchmarkWriter:
    """Writes one table, holding at most one row group.

    A context manager; leaving it without `close` removes the unfinished file. The caller renames the file's directory.
    Raises StageError `storage_failed` where the disk refuses, pyarrow's errors on a row of another shape.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._schema = benchmark_schema()
        self._read_schema = _with_pairs(self._schema)
        self._file = RowGroupFile(path, self._schema)
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def write(self, rows: Iterable[BenchmarkRow]) -> None:
        """Append rows."""
        self.write_lines(map(encode_row, rows))

    def write_lines(self, lines: Iterable[bytes]) -> None:
        """Append rows in their `encode_row` form."""
        for line in lines:
            self._pending.append(line)
            self._pending_bytes += len(line)
            if len(self._pending) == ROW_GROUP_ROWS or self._pending_bytes >= ROW_GROUP_BYTES:
                self._flush()

    def close(self) -> BenchmarkInfo:
        """Finish the file, fsync it and hash it from the disk."""
        self._flush()
        rows_digest = self._file.close()
        return BenchmarkInfo(self._file.rows, sha256_file(self._path), rows_digest)

    def _flush(self) -> None:
        if not self._pending:
            return
        data = b"\n".join(self._pending) + b"\n"
        table = read_lines(data, self._read_schema)
        place = self._schema.get_field_index(_CALLS)
        field = self._schema.field(place)
        # Read as one block, a group is one chunk.
        mapped = _with_maps(table.column(place).chunk(0), field.type)
        self._file.append(table.set_column(place, field, mapped), data)
        self._pending.clear()
        self._pending_bytes = 0

    def __enter__(self) -> BenchmarkWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file.abandon():
            self._path.unlink(missing_ok=True)


def _with_pairs(schema: pa.Schema) -> pa.Schema:
    """The schema as lines are read: JSON knows no maps, their entries are lists of a name and a value."""
    import pyarrow as pa

    place = schema.get_field_index(_CALLS)
    call = schema.field(place).type.value_type
    pairs = pa.list_(pa.list_(pa.string()))
    read = pa.struct([field.with_type(pairs) if pa.types.is_map(field.type) else field for field in call])
    return schema.set(place, schema.field(place).with_type(pa.list_(read)))


def _with_maps(expected: pa.ListArray, wanted: pa.ListType) -> pa.ListArray:
    """`expected_tool_calls` as read from lines, its lists of pairs made maps. Raises ArrowInvalid on another shape."""
    import pyarrow as pa
    import pyarrow.compute as pc

    calls = expected.values
    given = calls.field("arguments")
    pairs = given.values
    lengths = {length.as_py() for length in pc.unique(pc.list_value_length(pairs))}
    if expected.null_count or calls.null_count or given.null_count or not lengths <= {2}:
        raise pa.ArrowInvalid("expected calls hold arguments that are no pairs of a name and a value")
    maps = pa.MapArray.from_arrays(given.offsets, _each(pairs, 0), _each(pairs, 1))
    columns = [maps if pa.types.is_map(field.type) else calls.field(field.name) for field in wanted.value_type]
    made = pa.StructArray.from_arrays(columns, fields=list(wanted.value_type))
    return pa.ListArray.from_arrays(expected.offsets, made, type=wanted)


def _each(lists: pa.ListArray, place: int) -> pa.StringArray:
    """The texts at one place of lists that all have it; a slice, since a number for an argument would load pandas."""
    import pyarrow.compute as pc

    return pc.list_slice(lists, place, place + 1).flatten()


def schema_problem(path: Path) -> Problem | None:
    """`release_schema_mismatch` where `path` is no Parquet file or its Arrow schema is not `benchmark_schema`."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        seen = pyarrow.parquet.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        return _mismatch(path, f"cannot be read as Parquet: {str(error).splitlines()[0]}")
    wanted = benchmark_schema()
    if seen.names != wanted.names:
        missing = [name for name in wanted.names if name not in seen.names]
        extra = [name for name in seen.names if name not in wanted.names]
        if missing or extra:
            return _mismatch(path, f"columns missing: {_listed(missing)}; unexpected: {_listed(extra)}")
        return _mismatch(path, f"columns stand in another order: {', '.join(seen.names)}")
    for field in wanted:
        if not seen.field(field.name).equals(field):
            return _mismatch(
                path, f"column `{field.name}` has type {seen.field(field.name).type}, expected {field.type}"
            )
    return None


def read_rows(path: Path) -> Iterator[BenchmarkRow]:
    """Rows in file order, decoded batch by batch. Raises ReleaseError `release_payload_unreadable` on damaged pages."""
    names = benchmark_schema().names
    for batch in batches(path):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield cast("BenchmarkRow", dict(zip(names, values, strict=True)))


def column_values(path: Path, name: str) -> set[str]:
    """The distinct values of a text column, reading that column alone; a null counts as the empty text.

    Raises: KeyError for a column that no row has, ReleaseError `release_payload_unreadable` on damaged pages.
    """
    if str(benchmark_schema().field(name).type) != "string":
        raise KeyError(name)
    return {value or "" for batch in batches(path, [name]) for value in batch.column(name).unique().to_pylist()}


def flag_values(path: Path, name: str) -> set[bool | None]:
    """The distinct values of a column of flags, null included, reading that column alone.

    Raises: KeyError for a column that no row has, ReleaseError `release_payload_unreadable` on damaged pages.
    """
    if str(benchmark_schema().field(name).type) != "bool":
        raise KeyError(name)
    return {value for batch in batches(path, [name]) for value in batch.column(name).unique().to_pylist()}


def batches(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """A table's record batches in file order. Raises ReleaseError `release_payload_unreadable` on damaged pages."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            yield from file.iter_batches(batch_size=_READ_ROWS, columns=columns)
    except (pa.ArrowInvalid, OSError) as error:
        message = f"cannot be read: {str(error).splitlines()[0]}"
        raise ReleaseError(Problem(code="release_payload_unreadable", subject=path.name, message=message)) from None


def _mismatch(path: Path, message: str) -> Problem:
    fix = "generate the benchmark again with this version"
    return Problem(code="release_schema_mismatch", subject=path.name, message=message, fix=fix)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
