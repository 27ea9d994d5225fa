"""The stages that are not cut into shards: how one is looked up, stored and shown; the reference profile is one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bfcl.canonical import Json, canonical_json, readable_json
from bfcl.config.reference import reference_samples
from bfcl.digest import Digest, blake3_json
from bfcl.files import write_synced
from bfcl.graph.keys import merge_key
from bfcl.graph.pointers import Pointer, Shard, write_pointer
from bfcl.graph.runner import FACTS
from bfcl.graph.session import Session
from bfcl.graph.store import Entry
from bfcl.stages import Stage
from bfcl.stages.reference_profile import profile, sample_rows
from bfcl.tables.codec import encode_line
from bfcl.tables.parquet import TableWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a stage's one result is made of: its key, but for the code."""

    inputs: Mapping[str, str]
    """Name to digest or address."""
    params: Mapping[str, Json] = field(default_factory=dict)
    shards: tuple[Shard, ...] = ()
    """Stored results that are read as well: the pointer names them, so that nobody takes them for garbage."""


def run_reference_profile(session: Session, stage: Stage) -> None:
    """Record the reference samples and the profile; without a profile role it is the documented disabled form."""
    session.check_views(stage.name)
    samples = reference_samples(session.loaded)
    benchmark = session.config.reference_benchmark
    pin = Digest(benchmark.content_hash) if benchmark is not None else None

    def fill(directory: Path) -> None:
        table, document = stage.writes
        write_table(directory, table, [encode_line(row) for row in sample_rows(samples)])
        write_synced(directory / document, readable_json(profile(samples, pin)))

    bring_up(session, stage, Given(inputs={"samples": blake3_json({"pin": pin, "rows": samples})}), fill)


def bring_up(session: Session, stage: Stage, given: Given, fill: Callable[[Path], None]) -> Entry:
    """Look the stage's one result up, or have `fill` make it; show its files and write the pointer last.

    Raises: what `fill` raises; DriftError `build_nondeterministic`, `build_cache_tampered`.
    """
    key = merge_key(stage.name, stage.name, (), given.inputs, given.params)
    entry = session.stored(stage.name, key.fp)
    session.evidence.add(stage.name, None, key.fp, "hit" if entry else "computed")
    if entry is None:
        # What an earlier configuration left would be read as the reason why this one was refused.
        session.views.remove(session.files_of(stage))
        with session.store.building(key) as directory:
            fill(directory)
        entry = session.store.find(key.fp)
        assert entry is not None
        session.offer([entry])
    session.views.copy({name: entry.file(name) for name in session.files_of(stage)})
    pointer = Pointer(stage=stage.name, fp=entry.fp, record_digest=entry.record_digest, shards=given.shards)
    session.pointed(pointer)
    write_pointer(session.tree.pointer(session.invocation.ck, stage.name), pointer)
    session.send_offered()
    return entry


def write_table(directory: Path, name: str, lines: Iterable[bytes]) -> None:
    """A stage's one table, with its facts beside it."""
    with TableWriter(directory / name, Path(name).stem) as writer:
        writer.write(lines)
        info = writer.close()
    write_synced(directory / FACTS, canonical_json({name: info._asdict()}))
