"""How a stage is cut into shards and put together again in task order. Rule: generation.md §9.2.

A shard is one template, or a chunk of its tasks where it has many. Rows travel as canonical JSON lines, so stored
results do not depend on the Parquet library.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bfcl.canonical import canonical_json
from bfcl.digest import Fingerprint, blake3_of
from bfcl.graph.pointers import Shard
from bfcl.graph.store import Store, tampered
from bfcl.records.ids import TemplateId

ROWS_FILE = "rows.jsonl"
ORDER_FILE = "order.json"
CHUNK_TASKS = 128
"""Tasks of one template in one shard: small enough to interrupt, large enough to amortise a file."""
BATCH_ROWS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Tasks `start`..`stop` of one template's selected pool."""

    template_id: TemplateId
    label: str
    start: int
    stop: int


def chunks(template_id: TemplateId, count: int) -> list[Chunk]:
    """The chunks of a template with `count` tasks; none where nothing was selected."""
    if count <= CHUNK_TASKS:
        return [Chunk(template_id=template_id, label=template_id, start=0, stop=count)] if count else []
    return [
        Chunk(
            template_id=template_id,
            label=f"{template_id}/{number}",
            start=start,
            stop=min(start + CHUNK_TASKS, count),
        )
        for number, start in enumerate(range(0, count, CHUNK_TASKS))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Global task order: which template each next task comes from; within a template tasks keep pool order."""

    template_ids: tuple[TemplateId, ...]
    sequence: Sequence[int]
    """Index into `template_ids`, one per task."""

    @property
    def digest(self) -> Fingerprint:
        """BLAKE3 of the order."""
        return blake3_of(self.to_bytes())

    def to_bytes(self) -> bytes:
        return canonical_json({"template_ids": self.template_ids, "sequence": list(self.sequence)})

    @classmethod
    def from_bytes(cls, data: bytes) -> Order:
        value = json.loads(data)
        return cls(template_ids=tuple(value["template_ids"]), sequence=value["sequence"])


def join_rows(lines: Sequence[bytes]) -> bytes:
    """Lines to a rows file: each ends in a newline."""
    return b"".join(line + b"\n" for line in lines)


def split_rows(data: bytes) -> list[bytes]:
    """A rows file to its lines."""
    return data.splitlines()


class RowReader:
    """One stage's rows in task order, without holding more than a batch of them."""

    def __init__(self, store: Store, stage: str, shards: Sequence[Shard], order: Order) -> None:
        self._store = store
        self._order = order
        self._stage = stage
        self._chunks: dict[str, list[Shard]] = {template_id: [] for template_id in order.template_ids}
        for shard in shards:
            self._chunks[template_of(shard.label)].append(shard)
        self._cursor: dict[str, tuple[int, int, int]] = dict.fromkeys(order.template_ids, (0, 0, 0))

    def batches(self, size: int = BATCH_ROWS) -> Iterator[list[bytes]]:
        """Lists of at most `size` lines."""
        ids = self._order.template_ids
        for start in range(0, len(self._order.sequence), size):
            wanted = self._order.sequence[start : start + size]
            lines = {index: iter(self._take(ids[index], count)) for index, count in Counter(wanted).items()}
            yield [next(lines[index]) for index in wanted]

    def _take(self, template_id: str, count: int) -> list[bytes]:
        """The next `count` lines of a template; a cursor is (chunk, byte offset, lines taken of the chunk)."""
        number, offset, taken = self._cursor[template_id]
        found: list[bytes] = []
        while len(found) < count:
            shard = self._chunks[template_id][number]
            entry = self._store.find(shard.fp)
            if entry is None:
                raise tampered(f"build/{shard.fp}", f"is gone though {self._stage} still names it")
            with entry.file(ROWS_FILE).open("rb") as stream:
                stream.seek(offset)
                need = min(count - len(found), shard.rows - taken)
                for _ in range(need):
                    found.append(stream.readline().rstrip(b"\n"))
                offset, taken = stream.tell(), taken + need
            if taken == shard.rows:
                number, offset, taken = number + 1, 0, 0
        self._cursor[template_id] = (number, offset, taken)
        return found


def template_of(label: str) -> str:
    """The template a shard belongs to: ids never hold a path separator."""
    return label.partition("/")[0]
