"""Small records, rows and releases that the tests of publication share."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bfcl.canonical import Json, readable_json
from bfcl.config.model import Lineage, OraclePackPaths, OracleRuntime, RunConfig
from bfcl.digest import Digest, sha256_file, sha256_of
from bfcl.exports.report import exports_block
from bfcl.graph.publish import ReleaseRequest, StagedTables, publish, stage_release
from bfcl.pack.fingerprint import fingerprint
from bfcl.pack.model import Manifest, Pack
from bfcl.records.ids import TaskId, TemplateId, Tier
from bfcl.records.plan import Plan
from bfcl.records.surface import Surface, Turn, Violation
from bfcl.records.task import Task
from bfcl.records.template import Milestone, Paraphrase, Slot, Template
from bfcl.records.tool import Tool
from bfcl.records.trace import Call, Trace
from bfcl.records.verdict import AssertionOutcome, ReplayVerdict, SchemaVerdict, ToolResult
from bfcl.stages.artifacts import stage_artifacts
from bfcl.stages.final_output import RowContext, assemble, row_context
from bfcl.stages.publication_plan import Gates, PublicationPlan, publication_plan
from bfcl.stages.run_manifest import ManifestInputs, Runtime, run_manifest
from bfcl.stages.tally import tally
from bfcl.stages.task_identity import identity_of
from bfcl.tables.benchmark import BenchmarkRow, encode_row
from bfcl.tables.codec import PLANS, REPLAY_VERDICTS, SCHEMA_VERDICTS, SURFACES, TASKS, TRACES, Codec
from bfcl.tables.columns import COLUMNS
from bfcl.tables.decisions import Decision
from bfcl.tables.parquet import TableWriter

PACK_FILES = {"tree/manifest.yaml": sha256_of(b"manifest"), "tree/tools.json": sha256_of(b"tools")}
PROMPT = "You operate the valves."
PROMPT_ID = "sha256:0123456789abcdef"
SEED = 7
"""Of the run."""

CODECS: Mapping[str, Codec[Any]] = {
    codec.artifact: codec for codec in (TASKS, PLANS, SURFACES, TRACES, SCHEMA_VERDICTS, REPLAY_VERDICTS)
}

READ = Tool(
    name="read_valve",
    description="Reads a valve",
    parameters={"type": "object", "properties": {"valve": {"type": "string"}}, "required": ["valve"]},
)
SET = Tool(
    name="set_valve",
    description="Sets a valve",
    parameters={
        "type": "object",
        "properties": {"valve": {"type": "string"}, "bar": {"type": "integer"}},
        "required": ["bar", "valve"],
    },
    mutates=True,
    extensions={"x-note": "internal"},
)
NOOP = Tool(name="list_alarms", parameters={"type": "object", "properties": {}})


def template(template_id: str = "read_then_set") -> Template:
    """Reads twice in one batch, then sets after a confirmation: U C(2) A U C A."""
    return Template(
        template_id=TemplateId(template_id),
        intent="adjust",
        category="valves",
        difficulty="easy",
        turn_policy="confirmation",
        mutates=True,
        call_order="strict",
        call_order_prefix=None,
        required_tools=("set_valve", "read_valve"),
        tools_present=("read_valve", "set_valve", "list_alarms"),
        slots={name: Slot(name=name, source="literal:[1]", visible_in_first_turn=True) for name in ("valve", "bar")},
        success_assertions=("assert_set",),
        user_turn_templates={"en": "Check {valve}, then set it to {bar}."},
        assistant_milestones=(
            Milestone(type="tool_call", id="a", tool="read_valve", args={"valve": "{valve}"}, call_group=0),
            Milestone(type="tool_call", id="b", tool="read_valve", args={"valve": "V-0"}, call_group=0),
            Milestone(type="ask_confirm", id="c"),
            Milestone(type="tool_call", id="d", tool="set_valve", args={"valve": "{valve}"}),
            Milestone(type="final_answer", id="e"),
        ),
        user_simulator_turns=(),
        assistant_turn_templates={},
        paraphrase=Paraphrase(),
        edge_signatures=(),
    )


def task(number: int = 1, template_id: str = "read_then_set") -> Task:
    name = TaskId(f"plant__{template_id}__{number:016x}")
    return Task(
        task_id=name,
        base_task_id=name,
        template_id=TemplateId(template_id),
        pack_id="plant",
        pack_version="1.0",
        intent="adjust",
        category="valves",
        difficulty="easy",
        turn_policy="confirmation",
        call_order="strict",
        call_order_prefix=None,
        variant_index=0,
        seed=2**64 - number,
        mutates=True,
        required_tools=("set_valve", "read_valve"),
        tools_present=("read_valve", "set_valve", "list_alarms"),
        success_assertions=("assert_set",),
        edge_signatures=(),
        fixture_refs=(f'["valves","V-{number}"]',),
        slots={"valve": f"V-{number}", "bar": number},
        slots_initial={"valve": f"V-{number}", "bar": number},
        slot_updates=(),
    )


def surface(of: Task, violations: Sequence[Violation] = ()) -> Surface:
    number = of.slots["bar"]
    return Surface(
        task_id=of.task_id,
        base_task_id=of.base_task_id,
        variant_index=0,
        source="template",
        language="en",
        system_prompt_id=PROMPT_ID,
        paraphrase_model=None,
        paraphrase_model_canonical=None,
        profile_hash=None,
        num_user_turns=2,
        accepted=not violations,
        guard_violations=tuple(violations),
        turns=(
            Turn(kind="user", content=f"Check V-{number}, then set it to {number} bär."),
            Turn(kind="calls", call_group=0),
            Turn(kind="assistant_text", content=f"Set V-{number} to {number}?"),
            Turn(kind="user", content="Yes."),
            Turn(kind="calls", call_group=1),
            Turn(kind="assistant_text", content="Done."),
        ),
    )


def trace(of: Task) -> Trace:
    valve = of.slots["valve"]

    def call(turn: int, group: int, position: int, name: str, arguments: Mapping[str, Json]) -> Call:
        return Call(
            turn_index=turn, call_group=group, position_in_group=position, function_name=name, arguments=arguments
        )

    return Trace(
        task_id=of.task_id,
        template_id=of.template_id,
        turn_policy=of.turn_policy,
        derived=True,
        drop_reason=None,
        calls=(
            call(0, 0, 0, "read_valve", {"valve": valve}),
            call(0, 0, 1, "read_valve", {"valve": "V-0"}),
            call(2, 1, 0, "set_valve", {"bar": of.slots["bar"], "valve": valve}),
        ),
    )


def replay(of: Task, reason: str | None = None) -> ReplayVerdict:
    results = tuple(
        ToolResult(
            turn_index=call.turn_index,
            call_group=call.call_group,
            position_in_group=call.position_in_group,
            tool=call.function_name,
            arguments=call.arguments,
            result={"valve": call.arguments["valve"], "status": "ok", "grade": "ä"},
        )
        for call in trace(of).calls
    )
    return ReplayVerdict(
        task_id=of.task_id,
        template_id=of.template_id,
        valid=reason is None,
        reason=reason,
        detail=None,
        tool_results=results if reason is None else (),
        assertions=(AssertionOutcome(name="assert_set", status="passed"),) if reason is None else (),
    )


def schema(of: Task, *, valid: bool = True) -> SchemaVerdict:
    return SchemaVerdict(
        task_id=of.task_id,
        template_id=of.template_id,
        valid=valid,
        reject_reason=None if valid else "expected_trace_schema_mismatch",
        failures=(),
    )


def config(run_dir: Path = Path("/runs/demo"), policy: str = "strict_separation") -> RunConfig:
    return RunConfig(
        family="bfcl",
        expt_name=run_dir.name,
        output_dir=run_dir.parent,
        oracle_pack=OraclePackPaths(manifest_path=Path("/packs/plant/manifest.yaml")),
        oracle_runtime=OracleRuntime(clock="2026-01-01T00:00:00+00:00"),
        lineage=Lineage(policy=policy),  # type: ignore[arg-type]
        random_seed=SEED,
    )


def pack() -> Pack:
    return Pack(
        root=Path("/packs/plant"),
        files={},
        manifest=Manifest(
            pack_id="plant",
            version="1.0",
            languages=("en",),
            default_language="en",
            clock=None,
            primary_keys={},
            absent_ids={},
            system_prompt=PROMPT,
            assistant_turn_templates={},
            confirmation=None,  # type: ignore[arg-type]
            tool_names_exempt=(),
            values={},
        ),
        tools=(READ, SET, NOOP),
        fixtures={},
        has_fixtures=False,
        templates=(template(),),
        cases=(),
        fingerprint=fingerprint(PACK_FILES),
        entries=PACK_FILES,
        paths={},
        code={},
        documents={},
    )


def context(tier: Tier = "gold", policy: str = "strict_separation") -> RowContext:
    return row_context(config(policy=policy), pack(), tier, PROMPT)


def row(number: int = 1) -> BenchmarkRow:
    one = task(number)
    return assemble(one, surface(one), trace(one), replay(one), context())


def rows(count: int) -> list[BenchmarkRow]:
    return [row(number) for number in range(1, count + 1)]


def decision(number: int, *, guards: tuple[str, ...] = (), reason: str | None = None) -> Decision:
    """Of a derived, schema-valid canonical task."""
    one = task(number)
    return Decision(
        task_id=one.task_id,
        template_id=one.template_id,
        turn_policy=one.turn_policy,
        canonical=True,
        has_distractor=True,
        guards=guards,
        trace_drop_reason=None,
        schema_valid=True,
        replay_valid=reason is None,
        replay_reason=reason,
    )


def decisions(count: int, *, rejected: Sequence[int] = ()) -> list[Decision]:
    """Replay-valid tasks 1..count, those `rejected` breaking a guard."""
    return [decision(number, guards=("must_omit",) if number in rejected else ()) for number in range(1, count + 1)]


def plan(of: Task) -> Plan:
    return Plan(
        task_id=of.task_id,
        template_id=of.template_id,
        turn_policy=of.turn_policy,
        num_user_turns=2,
        num_tool_calls=3,
        is_multi_turn=True,
        has_user_confirmation=True,
        has_slot_correction=False,
        steps=({"kind": "user", "source": "first_turn"},),
    )


def expanded(of: Task) -> Task:
    """The task with the seed that follows from what it binds, as stage tables hold it."""
    return dataclasses.replace(of, seed=identity_of(of).seed(SEED))


def records(of: Task, **edits: Any) -> dict[str, Any]:
    """Artifact name to the record of a task that passes every stage; `edits` replace records, None leaves one out."""
    good = {
        "task_instances": of,
        "conversation_plans": plan(of),
        "rendered_conversations": surface(of),
        "expected_traces": trace(of),
        "schema_validated_traces": schema(of),
        "replay_validated_tasks": replay(of),
    }
    assert edits.keys() <= good.keys()
    return {**good, **edits}


def decided(of: Decision) -> dict[str, Any]:
    """The records of a task of which the stages decided so."""
    one = task(int(of.task_id[-16:], 16))
    violations = [Violation(guard=guard, key="slot", value="bar") for guard in of.guards]  # type: ignore[arg-type]
    return records(
        one,
        task_instances=expanded(one),
        rendered_conversations=surface(one, violations),
        replay_validated_tasks=replay(one, of.replay_reason),
    )


def write_table(path: Path, artifact: str, lines: Sequence[bytes]) -> None:
    """A stage table of these rows."""
    with TableWriter(path, artifact) as table:
        table.write(lines)
        table.close()


def write_artifacts(run_dir: Path, made: Sequence[Decision]) -> dict[str, Digest]:
    """What the stages leave in `stage_cache/`: tables and reports as verified, else a line in place of a document."""
    reports: dict[str, Json] = {
        "oracle_validation_report": {
            "tier": "gold",
            "pack_id": pack().manifest.pack_id,
            "version": pack().manifest.version,
            "pack_fingerprint": pack().fingerprint,
            "oracle_kind": "python",
        },
        "reference_profile": {"reference_content_hash": None},
    }
    each = [decided(one) for one in made]
    hashes = {}
    for name, relative in stage_artifacts(()).items():
        path = run_dir / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        if name in CODECS:
            write_table(path, name, [CODECS[name].encode(one[name]) for one in each])
        elif name in COLUMNS:
            write_table(path, name, [])
        else:
            path.write_bytes(readable_json(reports[name]) if name in reports else f"{name}\n".encode())
        hashes[name] = sha256_file(path)
    return hashes


def inputs(
    run_dir: Path, made: Sequence[Decision], tables: StagedTables, artifacts: Mapping[str, Digest]
) -> ManifestInputs:
    return ManifestInputs(
        run_id="demo-20260102T030405678901Z-0123456789ab-" + "f" * 32,
        created_at="2026-01-02T03:04:05.678901+00:00",
        pipeline_version="0.1.0",
        generation_config_hash=sha256_of(b"generation"),
        resolved_config_hash=sha256_of(b"resolved"),
        runtime=Runtime(
            python="3.11.9", platform="linux", machine="x86_64", pyarrow="26.0.1", isolation={"landlock": 4}
        ),
        config=config(run_dir),
        pack=pack(),
        tier="gold",
        prompt_bundle_hash=sha256_of(PROMPT.encode()),
        tally=tally(made, publication_plan(made, Gates()).published),
        raw=tables.raw,
        published=tables.published,
        artifacts=artifacts,
        holding=frozenset(),
        exports=exports_block(None, tables.published),
        build={"contract": "bfcl-build/1", "publication_key": "0" * 64, "stages": {}},
    )


def request(run_dir: Path, made: Sequence[Decision]) -> ReleaseRequest:
    """A release of the decided tasks, its artifacts on disk."""
    artifacts = write_artifacts(run_dir, made)
    planned: PublicationPlan = publication_plan(made, Gates())
    raw = [row(int(name[-16:], 16)) for name in planned.raw]
    return ReleaseRequest(
        plan=planned,
        fill=lambda staging: stage_release(staging, lambda: map(encode_row, raw), planned),
        export=lambda staging, tables: None,
        recheck=lambda: None,
        manifest=lambda tables: readable_json(run_manifest(inputs(run_dir, made, tables, artifacts))),
    )


def published(run_dir: Path, count: int = 5, *, rejected: Sequence[int] = (2,)) -> Path:
    """A whole release of `count` raw rows, those `rejected` not published."""
    publish(run_dir, request(run_dir, decisions(count, rejected=rejected)))
    return run_dir
