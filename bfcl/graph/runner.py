"""How a stage runs: look every shard up, compute the misses, merge in task order, write the pointer last.

Stages are pure; this module alone reads their inputs and writes what they return. Rule: generation.md §9.2, §9.3.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bfcl.canonical import canonical_json, readable_json
from bfcl.digest import blake3_of
from bfcl.errors import Problem, StageError, raise_all
from bfcl.files import write_synced
from bfcl.graph.compute import COMPUTE
from bfcl.graph.executor import Compute, Executor, Job, OverlappingExecutor, SerialExecutor
from bfcl.graph.keys import merge_key
from bfcl.graph.late import late
from bfcl.graph.levels import ORACLE_STAGES, asks_oracle, level_file
from bfcl.graph.pointers import Pointer, Shard, write_pointer
from bfcl.graph.progress import Progress
from bfcl.graph.remote_shards import remote_stage
from bfcl.graph.session import Session
from bfcl.graph.shards import ORDER_FILE, ROWS_FILE, Chunk, Order, RowReader, chunks, join_rows, split_rows, template_of
from bfcl.graph.shipped_view import ship_view
from bfcl.graph.store import Entry, Key, Store
from bfcl.oracle.view import oracle_spec
from bfcl.records.ids import TemplateId
from bfcl.stages import Stage
from bfcl.stages.expand import select
from bfcl.stages.expected_trace import starved
from bfcl.stages.held_out_bindings import BINDINGS_FILE, held_out_bindings
from bfcl.tables.codec import TRACES
from bfcl.tables.parquet import TableWriter

FACTS = "facts.json"
"""Beside each table: its rows and rows digest."""
TRANSIENT = "transient"
"""Marks a result with a timeout or a crash in it: good for the run that met it, computed again by the next."""

_TRANSIENT = re.compile(
    rb'"(?:detail|drop_reason)":"[^"]*(?:worker_crashed|(?:import|reset|tool|assertion|episode)_timeout)'
)
_TASK_ID = re.compile(rb'"task_id":("(?:[^"\\]|\\.)*")')
_DROPPED = re.compile(rb'"(?:accepted|derived|valid)":false')


def run_sharded(session: Session, stage: Stage) -> None:
    """Bring one sharded stage up to date and show its table in `stage_cache/`.

    Raises: StageError, OracleError, DriftError as its stage function and the store do.
    """
    session.check_views(stage.name)
    plan = _plan(session, stage)
    shards = _shards(session, stage, plan)
    pointer = _merge(session, stage, plan, shards)
    entry = session.pointed(pointer)
    session.views.copy({name: entry.file(name) for name in session.files_of(stage)})
    write_pointer(session.tree.pointer(session.invocation.ck, stage.name), pointer)
    session.send_offered()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """Chunks in template order, and the task order where this stage decides it."""

    chunks: tuple[Chunk, ...]
    order: Order
    bindings: bytes | None = None
    """`held_out_bindings.json`, of the expansion under a held-out policy."""


def _plan(session: Session, stage: Stage) -> _Planned:
    if stage.name == "expand":
        return _plan_expand(session)
    upstream = session.result("expand")
    found = []
    done: Counter[str] = Counter()
    for shard in upstream.shards:
        template_id = TemplateId(template_of(shard.label))
        start = done[template_id]
        found.append(Chunk(template_id=template_id, label=shard.label, start=start, stop=start + shard.rows))
        done[template_id] += shard.rows
    return _Planned(chunks=tuple(found), order=session.order)


def _plan_expand(session: Session) -> _Planned:
    context, pack = session.context, session.pack
    wanted = session.config.task_generation.tasks_per_category
    selection = select(pack.templates, pack.held_out, context.sources, context.expand, wanted)
    ids = tuple(template.template_id for template in selection.templates)
    position = {template_id: index for index, template_id in enumerate(ids)}
    taken = Counter(template_id for template_id, _ in selection.order)
    bindings = None
    if pack.held_out is not None:
        document = held_out_bindings(pack.held_out, pack.templates, context.sources, len(selection.order))
        bindings = readable_json(document)
    return _Planned(
        chunks=tuple(chunk for template_id in ids for chunk in chunks(template_id, taken[template_id])),
        order=Order(template_ids=ids, sequence=[position[template_id] for template_id, _ in selection.order]),
        bindings=bindings,
    )


# --- shards -------------------------------------------------------------------------------------------------------


def _shards(session: Session, stage: Stage, plan: _Planned) -> tuple[Shard, ...]:
    """Every chunk's result: looked up where it is stored, computed and stored where it is not."""
    upstream = {name: {shard.label: shard for shard in session.result(name).shards} for name in stage.reads}
    keys: list[Key] = []
    for chunk in plan.chunks:
        rows = {name: shards[chunk.label].digest for name, shards in upstream.items()}
        keys.append(session.keys.shard(stage.name, session.templates[chunk.template_id], chunk, rows))
    found: dict[int, Shard] = {}
    session.fetch(
        key.fp for chunk, key in zip(plan.chunks, keys, strict=True) if not _wants_fresh(session, stage, chunk)
    )
    for number, (chunk, key) in enumerate(zip(plan.chunks, keys, strict=True)):
        # Looked up even where it will not be used: one of a bad moment must not be held against the new result.
        entry = lasting(session.store, key)
        if entry is not None and not _wants_fresh(session, stage, chunk):
            found[number] = _shard(chunk, entry)
            session.evidence.add(stage.name, chunk.label, key.fp, "hit")
    missing = [number for number in range(len(keys)) if number not in found]
    if missing:
        jobs = (_job(session, number, plan.chunks[number], upstream) for number in missing)
        found.update(_compute(session, stage, keys, jobs, sum(_tasks(plan.chunks[number]) for number in missing)))
    return tuple(found[number] for number in range(len(keys)))


def _wants_fresh(session: Session, stage: Stage, chunk: Chunk) -> bool:
    """Whether a shard is computed despite a stored result: all of them, or those the oracle had a part in."""
    if session.anew(stage.name):
        return True
    return session.variables.replay_full and asks_oracle(stage.name, session.templates[chunk.template_id])


def lasting(store: Store, key: Key) -> Entry | None:
    """The stored result, but for one that only a busy or broken machine may have caused: that one is forgotten."""
    entry = store.find(key.fp)
    if entry is not None and TRANSIENT in entry.files:
        store.remove(key.fp)
        return None
    return entry


def _compute(
    session: Session, stage: Stage, keys: list[Key], jobs: Iterator[Job], tasks: int
) -> Iterator[tuple[int, Shard]]:
    executor, compute = _executor(session, stage)
    session.oracle.count_anew()
    started = time.monotonic()
    with Progress(stage.name, tasks) as progress:
        for done in executor.run(jobs, compute):
            for job, lines in done:
                if len(lines) != job.tasks:
                    raise AssertionError(f"{stage.name} returned {len(lines)} rows for {job.tasks} tasks")
                progress.advance(job.tasks, sum(1 for line in lines if _DROPPED.search(line)))
            entries = session.store.put(
                [(keys[job.number], {**_files(lines), **_level(session, stage, job)}) for job, lines in done]
            )
            session.offer(entry for entry in entries if TRANSIENT not in entry.files)
            now = time.monotonic()
            for (job, lines), entry in zip(done, entries, strict=True):
                seconds = _replay_seconds(session, stage, lines) or (now - started) / len(done)
                session.evidence.add(stage.name, job.chunk.label, entry.fp, "computed", seconds)
                yield job.number, _shard(job.chunk, entry)
            started = now


def _level(session: Session, stage: Stage, job: Job) -> dict[str, bytes]:
    """What is stored of the worlds that a shard was made in, where it was made in any."""
    return level_file(session.isolation) if asks_oracle(stage.name, job.template) else {}


def _replay_seconds(session: Session, stage: Stage, lines: list[bytes]) -> float:
    """What replaying a shard took in both worlds; 0 for other stages, whose shards share the time of their group."""
    if stage.name not in ORACLE_STAGES:
        return 0.0
    found = (_TASK_ID.search(line) for line in lines)
    return session.oracle.take_seconds(json.loads(match[1]) for match in found if match is not None)


def _executor(session: Session, stage: Stage) -> tuple[Executor, Compute]:
    """Who computes the stage's shards, and what they run.

    Only what asks the oracle goes to a cluster: all else costs this process less to compute than to send.
    """
    context = session.context
    address = session.variables.dask_address
    if address is not None and _asks_oracle(session, stage):
        view = session.store.get(session.oracle_view)
        spec = oracle_spec(session.pack, session.config, view.path)
        work = remote_stage(stage.name, context, ship_view(view, spec))
        cluster: Executor = late("dask_executor")(address, context.elsewhere.append)
        return cluster, work
    local: Executor = OverlappingExecutor(2, session.oracle.stop) if stage.name in ORACLE_STAGES else SerialExecutor()
    return local, lambda group: COMPUTE[stage.name](group, context)


def _asks_oracle(session: Session, stage: Stage) -> bool:
    """Whether the oracle has a part in the stage's shards: in every replay, and in deriving dependent arguments."""
    return any(asks_oracle(stage.name, template) for template in session.pack.templates)


def _files(lines: list[bytes]) -> dict[str, bytes]:
    files = {ROWS_FILE: join_rows(lines)}
    if any(_TRANSIENT.search(line) for line in lines):
        files[TRANSIENT] = b""
    return files


def _job(session: Session, number: int, chunk: Chunk, upstream: Mapping[str, Mapping[str, Shard]]) -> Job:
    rows = {name: _lines(session, shards[chunk.label]) for name, shards in upstream.items()}
    return Job(number=number, template=session.templates[chunk.template_id], chunk=chunk, rows=rows)


def _lines(session: Session, shard: Shard) -> list[bytes]:
    return split_rows(session.store.get(shard.fp).file(ROWS_FILE).read_bytes())


def _shard(chunk: Chunk, entry: Entry) -> Shard:
    return Shard(label=chunk.label, fp=entry.fp, digest=entry.files[ROWS_FILE], rows=_tasks(chunk))


def _tasks(chunk: Chunk) -> int:
    return chunk.stop - chunk.start


# --- merge --------------------------------------------------------------------------------------------------------


def _merge(session: Session, stage: Stage, plan: _Planned, shards: tuple[Shard, ...]) -> Pointer:
    """The stage's table as an entry, and the pointer that names it with all shards."""
    inputs: dict[str, str] = {"order": plan.order.digest}
    if plan.bindings is not None:
        inputs["held_out_bindings"] = blake3_of(plan.bindings)
    key = merge_key(stage.name, "merge", shards, inputs, {})
    entry = session.stored(stage.name, key.fp)
    session.evidence.add(stage.name, None, key.fp, "hit" if entry else "computed")
    if entry is None:
        with session.store.building(key) as directory:
            _write_table(session, stage, plan, shards, directory)
        entry = session.store.find(key.fp)
        session.offer([entry] if entry is not None else [])
    if entry is None:
        raise AssertionError("a merge vanished right after it was stored")
    return Pointer(stage=stage.name, fp=entry.fp, record_digest=entry.record_digest, shards=shards)


def _write_table(session: Session, stage: Stage, plan: _Planned, shards: tuple[Shard, ...], directory: Path) -> None:
    (name,) = stage.writes
    check = _Watch(stage.name)
    with TableWriter(directory / name, Path(name).stem) as writer:
        for batch in RowReader(session.store, stage.name, shards, plan.order).batches():
            check.see(batch)
            writer.write(batch)
        info = writer.close()
    check.finish(session, shards)
    write_synced(directory / FACTS, canonical_json({name: info._asdict()}))
    if stage.name == "expand":
        write_synced(directory / ORDER_FILE, plan.order.to_bytes())
    if plan.bindings is not None:
        write_synced(directory / BINDINGS_FILE, plan.bindings)


class _Watch:
    """Faults that only the whole stage shows: duplicate task ids, a template that lost every trace."""

    def __init__(self, stage: str) -> None:
        self._stage = stage
        self._ids: set[bytes] = set()
        self._twice: list[str] = []

    def see(self, batch: list[bytes]) -> None:
        if self._stage != "expand":
            return
        for line in batch:
            found = _TASK_ID.search(line)
            if found is None:
                continue
            if found[1] in self._ids:
                self._twice.append(found[1].decode())
            self._ids.add(found[1])

    def finish(self, session: Session, shards: tuple[Shard, ...]) -> None:
        raise_all(StageError, [_duplicate(task_id) for task_id in self._twice])
        if self._stage == "expected_trace":
            raise_all(StageError, list(_starved(session, shards)))


def _duplicate(task_id: str) -> Problem:
    return Problem(
        code="duplicate_task_id",
        subject=task_id.strip('"'),
        message="two bindings give this id, so a slot offers the same value twice",
        fix="remove the repeated value from the slot's source",
    )


def _starved(session: Session, shards: tuple[Shard, ...]) -> Iterator[Problem]:
    by_template: dict[TemplateId, list[Shard]] = {}
    for shard in shards:
        by_template.setdefault(TemplateId(template_of(shard.label)), []).append(shard)
    for template_id, own in by_template.items():
        lines: list[bytes] = []
        for shard in own:
            lines += _lines(session, shard)
            if any(b'"derived":true' in line for line in lines):
                break
        else:
            yield from starved(template_id, [TRACES.decode(line) for line in lines])
