"""The stages that are not cut into shards: the reference profile, and the assembly of the rows to publish."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bfcl.canonical import Json, canonical_json, readable_json
from bfcl.config.portable import portable
from bfcl.config.reference import reference_samples
from bfcl.digest import Digest, blake3_json
from bfcl.errors import StageError, raise_all
from bfcl.files import write_synced
from bfcl.graph.keys import merge_key
from bfcl.graph.pointers import Pointer, write_pointer
from bfcl.graph.publish import StagedTables, stage_release
from bfcl.graph.runner import FACTS, entry_of
from bfcl.graph.session import Session
from bfcl.graph.shards import RowReader
from bfcl.graph.store import Entry
from bfcl.records.ids import Tier
from bfcl.stages import Stage
from bfcl.stages.final_output import (
    PublicationPlan,
    Tally,
    assemble,
    disagreements,
    publication_plan,
    row_context,
    tally,
)
from bfcl.stages.held_out_bindings import BINDINGS_FILE
from bfcl.stages.held_out_scan import SCAN_FILE, Scan, held_out_scan, leak_problems, scan_for, stage_four
from bfcl.stages.reference_profile import profile, sample_rows
from bfcl.tables.benchmark import BenchmarkInfo, BenchmarkRow
from bfcl.tables.codec import REPLAY_VERDICTS, SURFACES, TASKS, TRACES, decode_line, encode_line
from bfcl.tables.decisions import Decision, decide
from bfcl.tables.parquet import TableWriter

SUMMARY = "summary.json"
PLAN = "plan.json"
BATCH = 1024
_READ = ("expand", "render", "expected_trace", "schema_validation", "executable_replay")


def run_reference_profile(session: Session, stage: Stage) -> None:
    """Record the reference samples and the profile; without a profile role it is the documented disabled form."""
    session.check_views(stage.name)
    samples = reference_samples(session.loaded)
    benchmark = session.config.reference_benchmark
    pin = Digest(benchmark.content_hash) if benchmark is not None else None
    key = merge_key(stage.name, stage.name, (), {"samples": blake3_json({"pin": pin, "rows": samples})}, {})
    entry = None if session.variables.rebuild else session.store.find(key.fp)
    session.evidence.add(stage.name, None, key.fp, "hit" if entry else "computed")
    if entry is None:
        table, document = stage.writes
        with session.store.building(key) as directory:
            with TableWriter(directory / table, Path(table).stem) as writer:
                writer.write([encode_line(row) for row in sample_rows(samples)])
                info = writer.close()
            write_synced(directory / document, readable_json(profile(samples, pin)))
            write_synced(directory / FACTS, canonical_json({table: info._asdict()}))
    _finish(session, stage, key.fp)


class Summary(NamedTuple):
    """What the final rows amount to: counts with their drop reasons, and both tables' facts."""

    tally: Tally
    tables: StagedTables


def run_final_output(session: Session, stage: Stage) -> None:
    """Assemble both tables into a stored result, verified by reading them back.

    Raises: StageError `no_replay_validated_rows`, `no_published_rows`, `stage_tables_disagree`,
    `held_out_leak_detected`.
    """
    invocation = session.invocation
    tier = _tier(session)
    config = portable(
        invocation.raw, config_path=invocation.config_path, project=invocation.project, stage=session.release_stage
    )
    params: dict[str, Json] = {
        "config": config,
        "expt_name": session.config.expt_name,
        "pack_fingerprint": session.pack.fingerprint,
        "tier": tier,
    }
    inputs = {name: str(session.result(name).fp) for name in stage.reads}
    key = merge_key(stage.name, stage.name, (), inputs, params)
    entry = None if session.variables.rebuild else session.store.find(key.fp)
    session.evidence.add(stage.name, None, key.fp, "hit" if entry else "computed")
    if entry is None:
        decisions: list[Decision] = []
        scan = scan_for(session.pack.held_out) if session.pack.held_out is not None else None
        with session.store.building(key) as directory:

            def decided() -> PublicationPlan:
                if scan is not None:
                    write_synced(directory / SCAN_FILE, _scanned(session, scan, decisions))
                return publication_plan(decisions)

            plan = functools.cache(decided)
            tables = stage_release(directory, _row_batches(session, tier, decisions, scan), plan)
            _write_summary(directory, decisions, plan(), tables)
    _finish(session, stage, key.fp)


def read_summary(entry: Entry) -> Summary:
    """The summary stored beside the final tables."""
    value: dict[str, Any] = json.loads(entry.file(SUMMARY).read_bytes())
    tables = StagedTables(BenchmarkInfo(**value["raw"]), BenchmarkInfo(**value["published"]))
    return Summary(tally=Tally(**value["tally"]), tables=tables)


def read_scan(entry: Entry) -> dict[str, Json]:
    """The held-out scan stored beside the final tables of a run under a policy."""
    value: dict[str, Json] = json.loads(entry.file(SCAN_FILE).read_bytes())
    return value


def read_plan(entry: Entry) -> PublicationPlan:
    """The publication plan stored beside the final tables."""
    value = json.loads(entry.file(PLAN).read_bytes())
    return PublicationPlan(tuple(value["raw"]), tuple(value["published"]))


def _tier(session: Session) -> Tier:
    if session.verdict is None:
        raise AssertionError("the gate has not run in this process")
    return session.verdict.tier


def _scanned(session: Session, scan: Scan, decisions: list[Decision]) -> bytes:
    """The scan's document once it saw every raw row.

    Raises: StageError `held_out_leak_detected`, after leaving the document in `stage_cache/` for people to read.
    """
    held_out = session.pack.held_out
    assert held_out is not None
    entry = entry_of(session, session.result("expand"))
    data = entry.file(BINDINGS_FILE).read_bytes() if BINDINGS_FILE in entry.files else None
    evidence = stage_four(data, held_out, len(decisions))
    planned = sum(decision.replay_valid and not decision.guards for decision in decisions)
    document = readable_json(held_out_scan(scan, held_out, evidence, planned))
    problems = leak_problems(scan, evidence)
    if problems:
        session.views.write(SCAN_FILE, document)
    raise_all(StageError, problems)
    return document


def _batches(session: Session) -> Iterator[tuple[list[bytes], ...]]:
    """The five tables' lines in step, batch by batch."""
    readers = [RowReader(session.store, name, session.result(name).shards, session.order) for name in _READ]
    return zip(*(reader.batches(BATCH) for reader in readers), strict=True)


def _check_ids(ids: list[str]) -> None:
    if len(set(ids)) != 1:
        raise_all(StageError, disagreements({name: [one] for name, one in zip(_READ, ids, strict=True)}))


def _row_batches(
    session: Session, tier: Tier, decisions: list[Decision], scan: Scan | None
) -> Iterator[list[BenchmarkRow]]:
    """Raw rows batch by batch; every task's decision, dropped ones included, is added to `decisions` on the way.

    Each row says what `scan` found in it.
    """
    context = row_context(session.config, session.pack, tier, session.wording.system_prompt)
    for batch in _batches(session):
        raw: list[BenchmarkRow] = []
        for lines in zip(*batch, strict=True):
            task, surface, trace, _, replay = rows = [decode_line(line) for line in lines]
            _check_ids([row["task_id"] for row in rows])
            decision = decide(*rows)
            decisions.append(decision)
            if decision.replay_valid:
                row = assemble(
                    TASKS.from_row(task),
                    SURFACES.from_row(surface),
                    TRACES.from_row(trace),
                    REPLAY_VERDICTS.from_row(replay),
                    context,
                )
                if scan is not None:
                    row["held_out_hit"] = scan.see(row)
                raw.append(row)
        yield raw


def _write_summary(directory: Path, decisions: list[Decision], plan: PublicationPlan, tables: StagedTables) -> None:
    summary: dict[str, Json] = {
        "tally": tally(decisions)._asdict(),
        "raw": tables.raw._asdict(),
        "published": tables.published._asdict(),
    }
    write_synced(directory / SUMMARY, canonical_json(summary))
    write_synced(directory / PLAN, canonical_json({"raw": plan.raw, "published": plan.published}))


def _finish(session: Session, stage: Stage, fp: str) -> None:
    entry = session.store.find(fp)
    assert entry is not None
    session.views.copy({name: entry.file(name) for name in session.files_of(stage)})
    pointer = Pointer(stage=stage.name, fp=entry.fp, record_digest=entry.record_digest)
    entry_of(session, pointer)
    write_pointer(session.tree.pointer(session.invocation.ck, stage.name), pointer)
