"""Stage 12 up to the commit: assemble the rows of both tables into a stored result and verify them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from bfcl.canonical import Json, canonical_json, readable_json
from bfcl.config.portable import portable
from bfcl.errors import StageError, raise_all
from bfcl.files import write_synced
from bfcl.graph.assembled import Assembled, Assembly, assembled
from bfcl.graph.publish import StagedTables, stage_release
from bfcl.graph.quality import kept_ids
from bfcl.graph.selected import ranked_ids, read_balancing
from bfcl.graph.session import Session
from bfcl.graph.store import Entry
from bfcl.graph.unsharded import Given, bring_up
from bfcl.records.ids import Tier
from bfcl.stages import Stage
from bfcl.stages.final_output import RowContext, row_context
from bfcl.stages.held_out_bindings import BINDINGS_FILE
from bfcl.stages.held_out_scan import SCAN_FILE, Scan, held_out_scan, leak_problems, scan_for, stage_four
from bfcl.stages.publication_plan import Gates, PublicationPlan, publication_plan
from bfcl.stages.tally import Tally, tally
from bfcl.tables.benchmark import BenchmarkInfo
from bfcl.tables.decisions import Decision

SUMMARY = "summary.json"
PLAN = "plan.json"


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
    context = _context(session, tier)
    shards = assembled(session, Assembly(context=context, scanned=session.pack.held_out is not None))

    def fill(directory: Path) -> None:
        rows = Assembled(store=session.store, shards=shards, order=session.order, context=context)
        decisions, gates = rows.decisions(), gates_of(session)
        if session.pack.held_out is not None:
            scan = scan_for(session.pack.held_out)
            for line in rows.bare_lines():
                scan.see(json.loads(line))
            # Before anything else is refused: that reserved material was bound is what a person must know first.
            write_synced(directory / SCAN_FILE, _scanned(session, scan, len(decisions), gates.count(decisions)))
        plan = publication_plan(decisions, gates)
        tables = stage_release(directory, rows.lines, plan)
        _write_summary(directory, decisions, plan, tables)

    bring_up(session, stage, Given(inputs=inputs, params=params, shards=shards), fill)


def gates_of(session: Session) -> Gates:
    """What the stages that may be bypassed let through, as their results say."""
    names = {stage.name for stage in session.stages}
    return Gates(
        kept=kept_ids(session.entry("surface_quality")) if "surface_quality" in names else None,
        ranked=ranked_ids(session.entry("dedup_balancing")) if "dedup_balancing" in names else None,
    )


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


def _scanned(session: Session, scan: Scan, tasks: int, planned: int) -> bytes:
    """The scan's document once it saw every raw row.

    Raises: StageError `held_out_leak_detected`, after leaving the document in `stage_cache/` for people to read.
    """
    held_out = session.pack.held_out
    assert held_out is not None
    entry = session.entry("expand")
    data = entry.file(BINDINGS_FILE).read_bytes() if BINDINGS_FILE in entry.files else None
    evidence = stage_four(data, held_out, tasks)
    document = readable_json(held_out_scan(scan, held_out, evidence, planned))
    problems = leak_problems(scan, evidence)
    if problems:
        session.views.write(SCAN_FILE, document)
    raise_all(StageError, problems)
    return document


def _context(session: Session, tier: Tier) -> RowContext:
    balancing = read_balancing(session)
    unmet = balancing is not None and bool(balancing["unmet_targets"])
    return row_context(session.config, session.pack, tier, session.wording.system_prompt, unmet_targets=unmet)


def _write_summary(directory: Path, decisions: list[Decision], plan: PublicationPlan, tables: StagedTables) -> None:
    summary: dict[str, Json] = {
        "tally": tally(decisions, plan.published)._asdict(),
        "raw": tables.raw._asdict(),
        "published": tables.published._asdict(),
    }
    write_synced(directory / SUMMARY, canonical_json(summary))
    write_synced(directory / PLAN, canonical_json({"raw": plan.raw, "published": plan.published}))
