"""Assembled rows and decisions, kept by shard: an edit assembles what it touches. Rule: generation.md §9.2.

A shard holds one line a task in each of its files: what the stages decided about it, and its row without the tools,
`null` where its replay is not valid. Tools are left out because they repeat from row to row; they are put in when the
tables are written, so a reworded tool changes no shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, NamedTuple

from bfcl.canonical import Json, canonical_json, from_canonical
from bfcl.digest import blake3_json
from bfcl.errors import StageError
from bfcl.graph.pointers import Pointer, Shard
from bfcl.graph.progress import Progress
from bfcl.graph.session import Session
from bfcl.graph.shards import ROWS_FILE, Order, RowReader, join_rows, split_rows, template_of
from bfcl.graph.sources import code_digest
from bfcl.graph.store import Entry, Key, Store
from bfcl.records.ids import TemplateId
from bfcl.stages.final_output import RowContext, assemble, disagreement
from bfcl.tables.benchmark import encode_bare_row, with_tools
from bfcl.tables.codec import REPLAY_VERDICTS, SURFACES, TASKS, TRACES, decode_line
from bfcl.tables.decisions import Decision, decide

DECISIONS_FILE: Final = "decisions.jsonl"
READ: Final = ("expand", "render", "expected_trace", "schema_validation", "executable_replay")
_STAGE: Final = "final_output"
_DROPPED: Final = b"null"
_GROUP_TASKS: Final = 2048
"""Shards of so many tasks are flushed to the disk together."""
_BATCH_BYTES: Final = 16 << 20
_BATCH_ROWS: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """How a run assembles rows. `scanned` says that a held-out policy is scanned for, and so every row says."""

    context: RowContext
    scanned: bool

    def key(self, label: str, rows: Mapping[str, str]) -> Key:
        """The key of a shard: all that its files take from the run. `rows` are the digests of its five tables' rows."""
        context = self.context
        params: dict[str, Json] = {
            "expt_name": context.expt_name,
            "tier": context.tier,
            "gold_eligible": context.gold_eligible,
            "argument_order": context.argument_orders[TemplateId(template_of(label))],
            "scanned": self.scanned,
        }
        inputs = {f"rows/{name}": digest for name, digest in rows.items()}
        inputs["system_prompt"] = blake3_json(context.system_prompt)
        return Key(stage=_STAGE, shard=label, code=code_digest(_STAGE), params=params, inputs=inputs)

    def lines(self, label: str, tables: Sequence[Sequence[bytes]]) -> dict[str, bytes]:
        """The files of a shard from the lines of its five tables. Raises: StageError `stage_tables_disagree`."""
        decisions: list[bytes] = []
        rows: list[bytes] = []
        for number, lines in enumerate(zip_longest(*tables)):
            task, surface, trace, _, replay = found = [decode_line(line) if line is not None else {} for line in lines]
            ids = {name: row.get("task_id") for name, row in zip(READ, found, strict=True)}
            problem = disagreement(ids, f"row {number} of shard `{label}`")
            if problem is not None:
                raise StageError(problem)
            decision = decide(*found)
            decisions.append(canonical_json(decision._asdict()))
            if not decision.replay_valid:
                rows.append(_DROPPED)
                continue
            row = assemble(
                TASKS.from_row(task),
                SURFACES.from_row(surface),
                TRACES.from_row(trace),
                REPLAY_VERDICTS.from_row(replay),
                self.context,
            )
            if self.scanned:
                # What the scan finds is refused, so that no row ever says otherwise.
                row["held_out_hit"] = False
            rows.append(encode_bare_row(row))
        return {DECISIONS_FILE: join_rows(decisions), ROWS_FILE: join_rows(rows)}


class _Missing(NamedTuple):
    """A shard to assemble: its place, its key, its upstream shards."""

    number: int
    key: Key
    upstream: tuple[Shard, ...]


def assembled(session: Session, assembly: Assembly) -> tuple[Shard, ...]:
    """Every shard of the run in template order, looked up or assembled now.

    Raises: StageError `stage_tables_disagree`; DriftError `build_cache_tampered`.
    """
    pointers = [session.result(name) for name in READ]
    found: list[Shard | None] = []
    missing: list[_Missing] = []
    wanted = [(upstream, assembly.key(upstream[0].label, _digests(upstream))) for upstream in _in_step(pointers)]
    anew = session.anew(_STAGE)
    if not anew:
        session.fetch(key.fp for _, key in wanted)
    for number, (upstream, key) in enumerate(wanted):
        entry = None if anew else session.store.find(key.fp)
        found.append(None if entry is None else _shard(upstream[0], entry))
        if entry is None:
            missing.append(_Missing(number, key, upstream))
        else:
            session.evidence.add(_STAGE, upstream[0].label, key.fp, "hit")
    for number, shard in _made(session, assembly, missing):
        found[number] = shard
    return tuple(shard for shard in found if shard is not None)


def _in_step(pointers: Sequence[Pointer]) -> Iterator[tuple[Shard, ...]]:
    """The five stages' shards of one label together; all stages keep the order of the first."""
    for upstream in zip(*(pointer.shards for pointer in pointers), strict=True):
        if len({shard.label for shard in upstream}) != 1:
            raise AssertionError(f"stages of one run are cut differently: {[shard.label for shard in upstream]}")
        yield upstream


def _digests(upstream: Sequence[Shard]) -> dict[str, str]:
    return {name: str(shard.digest) for name, shard in zip(READ, upstream, strict=True)}


def _shard(upstream: Shard, entry: Entry) -> Shard:
    return Shard(label=upstream.label, fp=entry.fp, digest=entry.files[ROWS_FILE], rows=upstream.rows)


def _made(session: Session, assembly: Assembly, missing: Sequence[_Missing]) -> Iterator[tuple[int, Shard]]:
    with Progress(_STAGE, sum(one.upstream[0].rows for one in missing)) as progress:
        for group in _groups(missing):
            made = [(one.key, _assembled(session.store, assembly, one.upstream)) for one in group]
            entries = session.store.put(made)
            session.offer(entries)
            for one, entry in zip(group, entries, strict=True):
                session.evidence.add(_STAGE, one.upstream[0].label, entry.fp, "computed")
                progress.advance(one.upstream[0].rows)
                yield one.number, _shard(one.upstream[0], entry)


def _assembled(store: Store, assembly: Assembly, upstream: Sequence[Shard]) -> dict[str, bytes]:
    return assembly.lines(upstream[0].label, [_lines(store, shard) for shard in upstream])


def _groups(missing: Sequence[_Missing]) -> Iterator[list[_Missing]]:
    group: list[_Missing] = []
    for one in missing:
        group.append(one)
        if sum(each.upstream[0].rows for each in group) >= _GROUP_TASKS:
            yield group
            group = []
    if group:
        yield group


def _lines(store: Store, shard: Shard) -> list[bytes]:
    return split_rows(store.get(shard.fp).file(ROWS_FILE).read_bytes())


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A run's assembled shards, read in task order."""

    store: Store
    shards: tuple[Shard, ...]
    order: Order
    context: RowContext

    def decisions(self) -> list[Decision]:
        """What the stages decided about every task, dropped ones included."""
        by_template: dict[str, list[Decision]] = {name: [] for name in self.order.template_ids}
        for shard in self.shards:
            lines = split_rows(self.store.get(shard.fp).file(DECISIONS_FILE).read_bytes())
            by_template[template_of(shard.label)] += map(_decision, lines)
        streams = [iter(by_template[name]) for name in self.order.template_ids]
        return [next(streams[index]) for index in self.order.sequence]

    def bare_lines(self) -> Iterator[bytes]:
        """Every raw row in its `encode_bare_row` form, some megabytes at a time."""
        reader = RowReader(self.store, _STAGE, self.shards, self.order)
        for batch in reader.batches(self._batch_rows()):
            yield from (line for line in batch if line != _DROPPED)

    def lines(self) -> Iterator[bytes]:
        """Every raw row in its `encode_row` form."""
        known: dict[bytes, str] = {}

        def tools_of(present: bytes) -> str:
            text = known.get(present)
            if text is None:
                text = known[present] = self.context.tool_texts(tuple(from_canonical(present.decode())), ())[0]
            return text

        for line in self.bare_lines():
            yield with_tools(line, tools_of)

    def _batch_rows(self) -> int:
        """Rows that fit into a batch by their average size."""
        size = sum(self.store.get(shard.fp).file(ROWS_FILE).stat().st_size for shard in self.shards)
        rows = sum(shard.rows for shard in self.shards)
        return max(1, min(_BATCH_ROWS, _BATCH_BYTES * rows // max(1, size)))


def _decision(line: bytes) -> Decision:
    value = from_canonical(line.decode())
    return Decision(**{**value, "guards": tuple(value["guards"])})
