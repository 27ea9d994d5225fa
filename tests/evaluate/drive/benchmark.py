"""A published benchmark without its files: the rows that the stages make of a pack, and the pack to ask anew.

The pack that the rows were made of and the one that answers may differ: that is how an oracle misbehaves in evaluation
whose rows are sound.

    made = studio_benchmark(tmp_path)
    asked = other_pack(tmp_path, replace("backend.py", "return {", "while True: pass\\n    return {"))
    evidence = play_live(made, made.row("kiln_status"), pack=asked, tool_s=0.5)
"""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfcl.canonical import Json
from bfcl.config.model import RunConfig
from bfcl.evaluate.drive.answers import SessionAnswers
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.desk import open_desk
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.drive.live import LiveResults
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.drive.task_spec import TaskSpec, TaskSpecs, published_specs
from bfcl.evaluate.records import EpisodeEvidence, Script
from bfcl.evaluate.settings.model import Limits, Scoring
from bfcl.exports.decode_row import decode_row
from bfcl.exports.row import ExportRow
from bfcl.oracle.private import private_oracle
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from bfcl.stages.bindings import sources_of
from bfcl.stages.executable_replay import replay
from bfcl.stages.expand import expand_template, select, settings_of
from bfcl.stages.expected_trace import derive_chunk
from bfcl.stages.final_output import assemble, row_context
from bfcl.stages.render import render
from bfcl.stages.schema_validation import validate
from bfcl.stages.state_machine import outline
from bfcl.stages.wording import wording_of
from tests.evaluate.driven import LIMITS, SCORING, Answer, Answering, answering, candidate
from tests.packs import ALL_POLICIES, Edit, run_config, write_pack


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Rows in template order, the run's manifest as far as slots need it, and what made them."""

    pack: Pack
    config: RunConfig
    rows: tuple[ExportRow, ...]

    @property
    def manifest(self) -> dict[str, Json]:
        return {
            "seeds": {"global": self.config.seed},
            "bias_targets": {
                "candidate_tasks_per_category": self.config.task_generation.candidate_tasks_per_category,
            },
        }

    def row(self, template_id: str, number: int = 0) -> ExportRow:
        return [row for row in self.rows if row.published["template_id"] == template_id][number]

    def specs(self) -> TaskSpecs:
        return published_specs(self.pack, self.manifest, self.rows)

    def spec(self, row: ExportRow) -> TaskSpec:
        return self.specs().of(row)

    def limited(self, **timeouts: float) -> RunConfig:
        """The configuration of worlds with other deadlines: `tool_s=0.3`."""
        return with_deadlines(self.config, **timeouts)


def with_deadlines(config: RunConfig, **timeouts: float) -> RunConfig:
    fields: dict[str, Any] = {name.replace("_s", "_timeout_s"): seconds for name, seconds in timeouts.items()}
    return dataclasses.replace(config, oracle_runtime=dataclasses.replace(config.oracle_runtime, **fields))


def benchmark_of(root: Path, **edits: object) -> Benchmark:
    """What the stages make of the pack at `root`."""
    config = run_config(root, **edits)
    pack = load_pack(config, project=root.parent)
    tools = {tool.name: tool for tool in pack.tools}
    wording = wording_of(pack.manifest, pack.tools, pack.manifest.default_language or "en", True)
    context = row_context(config, pack, "gold", wording.system_prompt)
    settings, sources = settings_of(config, pack.manifest), sources_of(pack)
    order = select(pack.templates, pack.held_out, sources, settings, settings.limit).order
    counts = Counter(template_id for template_id, _ in order)
    rows: list[ExportRow] = []
    with private_oracle(pack, config, jobs=2) as oracle:
        for template in pack.templates:
            drawn = outline(template, tools)
            tasks = expand_template(template, sources, settings, range(min(4, counts[template.template_id])))
            surfaces = render(template, drawn, tasks, wording)
            traces = derive_chunk(template, drawn, tasks, tools, oracle)
            checked = validate(template, drawn, tasks, traces, tools, pack.manifest.confirmation.parameter)
            verdicts = replay(tasks, traces, checked, oracle, wording.language)
            for task, surface, trace, verdict in zip(tasks, surfaces, traces, verdicts, strict=True):
                row = decode_row(assemble(task, surface, trace, verdict, context))
                assert isinstance(row, ExportRow), row
                rows.append(row)
    return Benchmark(pack=pack, config=config, rows=tuple(rows))


def studio_benchmark(root: Path, *edits: Edit, templates: Sequence[str] = ALL_POLICIES) -> Benchmark:
    """Of the pottery studio."""
    return benchmark_of(write_pack(root / "studio", *edits, templates=templates))


_numbers = itertools.count()


def other_pack(root: Path, *edits: Edit, templates: Sequence[str] = ALL_POLICIES) -> Pack:
    """The studio with edits, to answer in place of the one that the rows were made of."""
    directory = write_pack(root / f"other-{next(_numbers)}", *edits, templates=templates)
    return load_pack(run_config(directory), project=root)


def play_live(
    made: Benchmark,
    row: ExportRow,
    instead: Mapping[int, Answer] | None = None,
    *,
    pack: Pack | None = None,
    client: Answering | None = None,
    spec: TaskSpec | None = None,
    scoring: Scoring = SCORING,
    limits: Limits = LIMITS,
    **timeouts: float,
) -> EpisodeEvidence:
    """Drive one row against the oracle; the candidate does as expected but for the turns in `instead`."""
    script = read_script(row)
    asking = Asking(
        candidate=candidate(), client=client or answering(script, instead), mode="executable", clock=lambda: 0.0
    )

    async def play() -> EpisodeEvidence:
        async with open_desk(pack or made.pack, made.limited(**timeouts)) as desk:
            own = spec or made.spec(row)
            return await drive(script, asking, LiveResults(SessionAnswers(desk, own), own, scoring), scoring, limits)

    return asyncio.run(play())


def script_of(row: ExportRow) -> Script:
    return read_script(row)


def told(evidence: EpisodeEvidence) -> list[tuple[Any, ...]]:
    """(status, reason, commit) of every call made, in order."""
    return [(one.status, one.reason, one.commit) for turn in evidence.turns for one in turn.executions]
