"""Stage 11 at the border: survivors go in, one selection with its report comes out, whether targets were met or not."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from bfcl.canonical import Json, canonical_json, readable_json
from bfcl.files import write_synced
from bfcl.graph.quality import kept_verdicts
from bfcl.graph.selected import RANKED_FILE, REPORT_FILE
from bfcl.graph.session import Session
from bfcl.graph.shards import RowReader
from bfcl.graph.unsharded import Given, bring_up, write_table
from bfcl.records.plan import Outline
from bfcl.records.quality import SurfaceQuality
from bfcl.stages import Stage
from bfcl.stages.balancing.finder import Finder, likeness
from bfcl.stages.balancing.partition import partition, preferences
from bfcl.stages.balancing.survivor import Gathered, Survivor, gather
from bfcl.stages.balancing.unmet import UnmetTarget, targets_unmet
from bfcl.stages.dedup_balancing import Balanced, balance, settings
from bfcl.stages.state_machine import outline
from bfcl.tables.codec import BALANCED, SURFACES, TASKS, decode_line


def run_dedup_balancing(session: Session, stage: Stage) -> None:
    """Find near-duplicates among the survivors and select what is published.

    Raises: StageError as the finder and `balance` do, ModelError as the finder does, and `balancing_targets_unmet`
    where the configuration says that a missed target ends the run; table and report then stay for people to read.
    """
    session.check_views(stage.name)
    finder = session.finder
    section = session.config.semantic_deduplication_config
    gathered = functools.cache(lambda: gather(_survivors(session)))
    params: dict[str, Json] = {
        "section": asdict(section),
        "task_generation": asdict(session.config.task_generation),
        "seed": session.config.seed,
        # A model is asked first: the key takes what it answered.
        "finder": finder.prepare(lambda: gathered().texts),
    }
    inputs = {name: str(session.result(name).fp) for name in stage.reads}

    def fill(directory: Path) -> None:
        balanced = _balanced(session, finder, gathered())
        write_table(directory, stage.writes[0], map(BALANCED.encode, balanced.rows))
        write_synced(directory / RANKED_FILE, canonical_json(balanced.ranked))
        write_synced(directory / REPORT_FILE, readable_json(balanced.report))

    entry = bring_up(session, stage, Given(inputs=inputs, params=params), fill)
    if section.unmet_target_policy == "abort":
        report = json.loads(entry.file(REPORT_FILE).read_bytes())
        if report["unmet_targets"]:
            raise targets_unmet([UnmetTarget(**target) for target in report["unmet_targets"]], report)


def _balanced(session: Session, finder: Finder, gathered: Gathered) -> Balanced:
    wanted = settings(session.config)
    section = wanted.deduplication
    assert section.n_clusters is not None
    assert section.eps is not None
    alike = likeness(finder, gathered.texts, section.n_clusters, section.eps)
    standings = partition(gathered.candidates, alike, preferences(session.config))
    return balance(gathered.candidates, standings, alike, wanted)


def _survivors(session: Session) -> Iterator[Survivor]:
    kept = kept_verdicts(session.entry("surface_quality"))
    readers = [
        RowReader(session.store, name, session.result(name).shards, session.order) for name in ("expand", "render")
    ]
    outlines = {name: outline(template) for name, template in session.templates.items()}
    tasks, surfaces = (chain.from_iterable(reader.batches()) for reader in readers)
    yield from survivors(zip(tasks, surfaces, strict=True), outlines, kept)


def survivors(
    rows: Iterable[tuple[bytes, bytes]], outlines: Mapping[str, Outline], kept: Iterator[SurfaceQuality]
) -> Iterator[Survivor]:
    """The tasks that `kept` are the verdicts on. `rows` are the lines of every task and of its wording.

    Both stand in task order, so one walk finds them. Raises: AssertionError for a verdict that has no row in its turn.
    """
    verdict = next(kept, None)
    for task, surface in rows:
        row = decode_line(task)
        if verdict is not None and row["task_id"] == verdict.task_id:
            yield Survivor(TASKS.from_row(row), outlines[row["template_id"]], SURFACES.decode(surface), verdict)
            verdict = next(kept, None)
    if verdict is not None:
        raise AssertionError(f"the verdict on {verdict.task_id} does not stand in task order")
