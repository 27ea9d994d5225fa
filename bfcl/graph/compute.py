"""What one shard of each stage is computed from and by: rows in, stage function, rows out.

The stage functions are pure; this module only decodes their inputs, calls them and encodes what they return.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bfcl.graph.executor import Job
from bfcl.oracle.protocol import Oracle
from bfcl.records.task import Task
from bfcl.records.tool import Tool
from bfcl.stages.bindings import Sources
from bfcl.stages.executable_replay import replay
from bfcl.stages.expand import ExpandSettings, expand_template
from bfcl.stages.expected_trace import derive_chunk
from bfcl.stages.render import render
from bfcl.stages.schema_validation import validate
from bfcl.stages.state_machine import outline, plans
from bfcl.stages.wording import Wording
from bfcl.tables.codec import PLANS, REPLAY_VERDICTS, SCHEMA_VERDICTS, SURFACES, TASKS, TRACES


@dataclass(frozen=True, slots=True, kw_only=True)
class StageContext:
    """What the shards of a run share."""

    sources: Sources
    expand: ExpandSettings
    wording: Wording
    catalog: Mapping[str, Tool]
    confirmation_parameter: str
    language: str
    oracle: Oracle
    elsewhere: list[Mapping[str, Any]] = field(default_factory=list)
    """Isolation levels that workers of a cluster reached; none where all shards were computed here."""


Rows = list[list[bytes]]
"""Per job, its lines."""


def compute_expand(jobs: Sequence[Job], context: StageContext) -> Rows:
    return [
        [
            TASKS.encode(task)
            for task in expand_template(
                job.template, context.sources, context.expand, range(job.chunk.start, job.chunk.stop)
            )
        ]
        for job in jobs
    ]


def compute_state_machine(jobs: Sequence[Job], _: StageContext) -> Rows:
    return [[PLANS.encode(plan) for plan in plans(outline(job.template), _tasks(job))] for job in jobs]


def compute_render(jobs: Sequence[Job], context: StageContext) -> Rows:
    return [
        [
            SURFACES.encode(surface)
            for surface in render(job.template, outline(job.template), _tasks(job), context.wording)
        ]
        for job in jobs
    ]


def compute_expected_trace(jobs: Sequence[Job], context: StageContext) -> Rows:
    return [
        [
            TRACES.encode(trace)
            for trace in derive_chunk(job.template, outline(job.template), _tasks(job), context.catalog, context.oracle)
        ]
        for job in jobs
    ]


def compute_schema_validation(jobs: Sequence[Job], context: StageContext) -> Rows:
    return [
        [
            SCHEMA_VERDICTS.encode(verdict)
            for verdict in validate(
                job.template,
                outline(job.template),
                _tasks(job),
                [TRACES.decode(line) for line in job.rows["expected_trace"]],
                context.catalog,
                context.confirmation_parameter,
            )
        ]
        for job in jobs
    ]


def compute_executable_replay(jobs: Sequence[Job], context: StageContext) -> Rows:
    """All jobs' tasks go to the oracle together, so that many small templates keep its workers as busy as one large."""
    tasks = [task for job in jobs for task in _tasks(job)]
    traces = [TRACES.decode(line) for job in jobs for line in job.rows["expected_trace"]]
    schemas = [SCHEMA_VERDICTS.decode(line) for job in jobs for line in job.rows["schema_validation"]]
    lines = [
        REPLAY_VERDICTS.encode(verdict) for verdict in replay(tasks, traces, schemas, context.oracle, context.language)
    ]
    rows: Rows = []
    start = 0
    for job in jobs:
        rows.append(lines[start : start + job.tasks])
        start += job.tasks
    return rows


COMPUTE: Final[Mapping[str, Callable[[Sequence[Job], StageContext], Rows]]] = {
    "expand": compute_expand,
    "state_machine": compute_state_machine,
    "render": compute_render,
    "expected_trace": compute_expected_trace,
    "schema_validation": compute_schema_validation,
    "executable_replay": compute_executable_replay,
}


def _tasks(job: Job) -> list[Task]:
    return [TASKS.decode(line) for line in job.rows["expand"]]
