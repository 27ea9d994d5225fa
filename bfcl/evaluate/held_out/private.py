"""Which private tasks stand up to everything that a published one has to? Made in memory, told to nobody.

The stages of generation make them; two unlike worlds replay each. Rule: evaluation.md §2, generation.md §3.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeVar

from bfcl.canonical import Json
from bfcl.config.model import Lineage, RunConfig
from bfcl.errors import EvalError, Problem, StageError, raise_all
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.held_out.choice import Chosen, chosen
from bfcl.evaluate.held_out.withheld import withheld
from bfcl.evaluate.records import Script
from bfcl.evaluate.score.episode import policy_problems
from bfcl.evaluate.settings.model import EvalSettings
from bfcl.evaluate.source.verified import VerifiedSource
from bfcl.exports.decode_row import decode_row
from bfcl.exports.row import ExportRow
from bfcl.oracle.aside import Crew
from bfcl.oracle.private import private_oracle
from bfcl.oracle.protocol import Oracle
from bfcl.oracle.worker import LocalOracle
from bfcl.pack.model import Pack
from bfcl.records.surface import Surface
from bfcl.records.task import Task
from bfcl.records.trace import Trace
from bfcl.records.verdict import SchemaVerdict
from bfcl.stages.executable_replay import replay
from bfcl.stages.expected_trace import derive_chunk
from bfcl.stages.final_output import assemble, row_context
from bfcl.stages.render import render
from bfcl.stages.schema_validation import validate
from bfcl.stages.state_machine import outline
from bfcl.stages.wording import wording_of

UNSUPPORTED_MODE: Final = "unsupported_eval_mode"

T = TypeVar("T")


class PrivateTask(NamedTuple):
    """One private task: as published ones are told, and as it was bound."""

    row: ExportRow
    script: Script
    task: Task


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTasks:
    """What a candidate is asked in private. Tells of itself how many, and nothing else."""

    tasks: tuple[PrivateTask, ...] = field(repr=False)
    """At least one; in pack order of their templates."""
    refused: int
    """Bound, but not standing up to a check that published tasks pass."""


async def private_tasks(settings: EvalSettings, verified: VerifiedSource, *, jobs: int = 2) -> PrivateTasks:
    """Make the private tasks of a verified source. No request is sent and nothing is written.

    `jobs` are the oracle's worker processes. Raises: EvalError `unsupported_eval_mode` where there is none,
    `eval_executable_scoring_policy_unsupported` and `eval_trace_scoring_policy_unsupported` where the policy cannot
    judge one, `eval_oracle_session_failed` where no episode can run.
    """
    section, checked = settings.held_out, verified.oracle
    if section is None or checked is None:
        raise ValueError("the source was verified for another mode")
    bound = chosen(checked.pack, section, _run_seed(verified.manifest))
    maker = _Maker(checked.pack, _as_generated(checked.config, verified), _language(verified))
    made = _Made([], 0)
    if bound:
        with withheld("the private tasks could not be made"), contextlib.ExitStack() as stack:
            oracle = stack.enter_context(private_oracle(checked.pack, checked.config, jobs=jobs))
            made = await _aside(oracle, lambda: maker.made(bound, oracle))
    if not made.tasks:
        raise EvalError(_nothing(settings, made.refused))
    raise_all(EvalError, _unjudged(settings, made.tasks))
    return PrivateTasks(tasks=tuple(made.tasks), refused=made.refused)


def mode_of(settings: EvalSettings) -> Literal["trace", "executable"]:
    """How tasks are driven: as the public run drives them, and where there is none, against the oracle."""
    return "trace" if "trace" in settings.modes and not settings.executable else "executable"


class _Made(NamedTuple):
    tasks: list[PrivateTask]
    refused: int


class _Traced(NamedTuple):
    """A task on its way, until it is replayed."""

    task: Task
    surface: Surface
    trace: Trace
    schema: SchemaVerdict


class _Maker:
    """Takes bound tasks through the stages."""

    def __init__(self, pack: Pack, config: RunConfig, language: str) -> None:
        self._pack = pack
        self._tools = {tool.name: tool for tool in pack.tools}
        # As strict as a run is unless it says otherwise, which no manifest tells.
        self._wording = wording_of(pack.manifest, pack.tools, language, prevent_tool_name_leakage=True)
        self._context = row_context(config, pack, "gold", self._wording.system_prompt)

    def made(self, bound: Sequence[Chosen], oracle: Oracle) -> _Made:
        """Those that come through. Raises: OracleError."""
        traced = [one for each in bound for one in self._traced(each, oracle)]
        verdicts = replay(
            [one.task for one in traced],
            [one.trace for one in traced],
            [one.schema for one in traced],
            oracle,
            self._wording.language,
        )
        found: list[PrivateTask] = []
        for one, verdict in zip(traced, verdicts, strict=True):
            if verdict.valid and one.surface.accepted:
                row = decode_row(assemble(one.task, one.surface, one.trace, verdict, self._context))
                task = _projected(row, one.task) if isinstance(row, ExportRow) else None
                found += [] if task is None else [task]
        return _Made(found, sum(len(each.tasks) for each in bound) - len(found))

    def _traced(self, each: Chosen, oracle: Oracle) -> list[_Traced]:
        """Worded, traced and held against the schemas; none of a template that a stage refuses altogether."""
        template, tasks = each.template, each.tasks
        try:
            drawn = outline(template, self._tools)
            surfaces = render(template, drawn, tasks, self._wording)
            traces = derive_chunk(template, drawn, tasks, self._tools, oracle)
        except StageError:
            return []
        parameter = self._pack.manifest.confirmation.parameter
        schemas = validate(template, drawn, tasks, traces, self._tools, parameter)
        return [_Traced(*one) for one in zip(tasks, surfaces, traces, schemas, strict=True)]


def _projected(row: ExportRow, task: Task) -> PrivateTask | None:
    try:
        return PrivateTask(row, read_script(row), task)
    except EvalError:
        return None


async def _aside(oracle: LocalOracle, work: Callable[[], T]) -> T:
    """Let another thread do it, so that the event loop stays open to signals; cancelled, the oracle stops at once."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    crew = Crew()

    def serve() -> T:
        try:
            return work()
        finally:
            # A loop that was closed meanwhile has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(done.set)

    later = crew.begin(serve)
    try:
        await done.wait()
    except BaseException:
        oracle.stop()
        raise
    finally:
        crew.close()
    return later.result()


# --- of the run that made the benchmark -----------------------------------------------------------------------------


def _run_seed(manifest: Mapping[str, Json]) -> int:
    seeds = manifest.get("seeds")
    seed = seeds.get("global") if isinstance(seeds, Mapping) else None
    return seed if isinstance(seed, int) else 0


def _language(verified: VerifiedSource) -> str:
    """A run speaks one language, which each of its rows states."""
    return str(verified.rows[0].metadata["language"])


def _as_generated(config: RunConfig, verified: VerifiedSource) -> RunConfig:
    """Rows say that they are Gold where the public ones do: the mode asks for a Gold release."""
    name = str(verified.rows[0].metadata["expt_name"])
    return dataclasses.replace(config, expt_name=name, lineage=Lineage(policy="strict_separation"))


# --- refusals -------------------------------------------------------------------------------------------------------


def _nothing(settings: EvalSettings, refused: int) -> Problem:
    lost = f"; {refused} that it binds do not pass the checks of generation" if refused else ""
    return Problem(
        code=UNSUPPORTED_MODE,
        path=str(settings.path),
        field="eval.mode",
        message=f"asks for `held_out_eval`, and the pack's policy gives no private task{lost}; expected one at least",
        fix="leave `held_out_eval` out, or have the pack hold out a template that binds other rows, or rows that other "
        "templates bind and its oracle keeps (`fixtures_in_backend_state: true`)",
    )


def _unjudged(settings: EvalSettings, tasks: Sequence[PrivateTask]) -> list[Problem]:
    """What the scoring policy cannot judge, told once before anybody is asked."""
    mode = mode_of(settings)
    for one in tasks:
        asserts = bool(one.row.published["success_assertions"]) and mode == "executable"
        problems = policy_problems(settings.scoring, mode, task_id="a private task", asserts=asserts)
        if problems:
            return [dataclasses.replace(problem, path=str(settings.path), subject=None) for problem in problems]
    return []
