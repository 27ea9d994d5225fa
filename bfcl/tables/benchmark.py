"""What a published row looks like, and how its tables are written, read back and compared. Rule: generation.md §6.1.

Bytes depend on the rows and the pyarrow version alone, never on how a caller batches them. `rows_digest` is the SHA-256
of one canonical JSON line a row: it outlives pyarrow versions.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast

from bfcl.canonical import Json, canonical_json
from bfcl.digest import Digest, sha256_file
from bfcl.errors import Problem, ReleaseError
from bfcl.tables.row_groups import ROW_GROUP_BYTES, RowGroupFile

if TYPE_CHECKING:
    import pyarrow as pa

ROW_GROUP_ROWS = 1024

_READ_ROWS = 1024
_REPORTED_DIFFERENCES = 20


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


_BEFORE_TOOLS = sorted(name for name in BenchmarkRow.__annotations__ if name < "tools")
_AFTER_TOOLS = sorted(name for name in BenchmarkRow.__annotations__ if name > "tools")


class BenchmarkInfo(NamedTuple):
    """What a written table is: row count, SHA-256 of its bytes, SHA-256 of its rows."""

    rows: int
    content_hash: Digest
    rows_digest: Digest


class Difference(NamedTuple):
    """A published row that is not its raw row; `column` is None where the raw table holds no such row there."""

    task_id: str
    column: str | None


class Comparison(NamedTuple):
    """Ids of both tables in file order, and the first published rows that differ from their raw row."""

    raw_ids: list[str]
    published_ids: list[str]
    differences: list[Difference]


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
    values = cast("dict[str, Json]", row)
    head = canonical_json({name: values[name] for name in _BEFORE_TOOLS})
    tail = canonical_json({name: values[name] for name in _AFTER_TOOLS})
    return b"%s,%s,%s" % (head[:-1], _tools_member(row["tools"]), tail[1:])


@functools.lru_cache(maxsize=256)
def _tools_member(tools: str) -> bytes:
    # Most of a row's text is its tools, and a run knows few lists of them: escaping them anew is a third of the work.
    return canonical_json({"tools": tools})[1:-1]


class BenchmarkWriter:
    """Writes one table, holding at most one row group.

    A context manager; leaving it without `close` removes the unfinished file. The caller renames the file's directory.
    Raises StageError `storage_failed` where the disk refuses, pyarrow's errors on a row of another shape.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._schema = benchmark_schema()
        self._file = RowGroupFile(path, self._schema)
        self._pending: list[BenchmarkRow] = []
        self._lines: list[bytes] = []
        self._pending_bytes = 0

    def write(self, rows: Sequence[BenchmarkRow], lines: Sequence[bytes] | None = None) -> None:
        """Append rows. `lines` are their `encode_row` forms where the caller has them already."""
        for row, line in zip(rows, map(encode_row, rows) if lines is None else lines, strict=True):
            self._pending.append(row)
            self._lines.append(line)
            self._pending_bytes += len(line)
            if len(self._pending) == ROW_GROUP_ROWS or self._pending_bytes >= ROW_GROUP_BYTES:
                self._flush()

    def close(self) -> BenchmarkInfo:
        """Finish the file, fsync it and hash it from the disk."""
        self._flush()
        rows_digest = self._file.close()
        return BenchmarkInfo(self._file.rows, sha256_file(self._path), rows_digest)

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._pending:
            return
        pending = cast("list[dict[str, Any]]", self._pending)
        columns = [pa.array([row[field.name] for row in pending], type=field.type) for field in self._schema]
        group = pa.Table.from_arrays(columns, schema=self._schema)
        self._file.append(group, b"\n".join(self._lines) + b"\n")
        self._pending.clear()
        self._lines.clear()
        self._pending_bytes = 0

    def __enter__(self) -> BenchmarkWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file.abandon():
            self._path.unlink(missing_ok=True)


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
    for batch in _batches(path):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield cast("BenchmarkRow", dict(zip(names, values, strict=True)))


def column_values(path: Path, name: str) -> set[str]:
    """The distinct values of a text column, reading that column alone; a null counts as the empty text.

    Raises: KeyError for a column that no row has, ReleaseError `release_payload_unreadable` on damaged pages.
    """
    if str(benchmark_schema().field(name).type) != "string":
        raise KeyError(name)
    return {value or "" for batch in _batches(path, [name]) for value in batch.column(name).unique().to_pylist()}


def flag_values(path: Path, name: str) -> set[bool | None]:
    """The distinct values of a column of flags, null included, reading that column alone.

    Raises: KeyError for a column that no row has, ReleaseError `release_payload_unreadable` on damaged pages.
    """
    if str(benchmark_schema().field(name).type) != "bool":
        raise KeyError(name)
    return {value for batch in _batches(path, [name]) for value in batch.column(name).unique().to_pylist()}


def compare_selection(raw: Path, published: Path) -> Comparison:
    """Compare every published row with the raw row of its id, all columns, at most a few batches in memory.

    Published rows are expected in raw order. At most 20 differences are reported.
    Raises: ReleaseError `release_payload_unreadable` on damaged pages.
    """
    published_ids = [task_id for batch in _batches(published, ["task_id"]) for task_id in batch.column(0).to_pylist()]
    wanted = set(published_ids)
    cursor = _Cursor(_batches(published))
    raw_ids: list[str] = []
    differences: list[Difference] = []
    for batch in _batches(raw):
        ids = batch.column("task_id").to_pylist()
        raw_ids += ids
        kept = [index for index, task_id in enumerate(ids) if task_id in wanted]
        if kept:
            selected = batch if len(kept) == len(ids) else batch.take(kept)
            differences += _differences(selected, cursor.take(len(kept)))
    rest = cursor.take(_REPORTED_DIFFERENCES)
    differences += [Difference(task_id, None) for task_id in rest.column("task_id").to_pylist()]
    return Comparison(raw_ids, published_ids, differences[:_REPORTED_DIFFERENCES])


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


def _differences(raw: pa.RecordBatch, published: pa.Table) -> list[Difference]:
    import pyarrow as pa

    expected = pa.Table.from_batches([raw])
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
        if len(found) == _REPORTED_DIFFERENCES:
            break
    return found


def _batches(path: Path, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
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
