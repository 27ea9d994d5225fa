"""Published benchmarks that can be executed, and `bfcl eval` over them in processes of its own.

with served(bench.candidate) as serving:
    measured = bench.evaluation(tmp_path, serving.base_url, ["scripted-gold"])
    measured.succeed()
    measured.failed_gates()
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bfcl.canonical import Json
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.records import Script
from bfcl.evaluate.scripted.candidate import ScriptedCandidate
from bfcl.evaluate.scripted.load import published_rows
from bfcl.evaluate.settings.model import Mode
from bfcl.exports.row import ExportRow
from bfcl.release.read import open_release
from bfcl.tables.task_results import TaskResultRow, read_task_results
from tests.packs import ALL_POLICIES, Edit, add_template, put, put_template
from tests.system.project import REPOSITORY, Ended, Project, Running, run_to_end, started, write_project

KEY_VARIABLE = "ACCEPTANCE_KEY"
KEY = "canary-5c1f08b2e7"
RUN_ID = "acceptance-run"
TRACE: tuple[Mode, ...] = ("trace",)
EXECUTABLE: tuple[Mode, ...] = ("trace", "executable")

FINISHED = ("eval_report.json", "eval_breakdowns.json", "eval_task_results.parquet", "eval_manifest.json")
CALLS = "candidate_io_cache.jsonl"
EPISODES = "tool_trace_cache.jsonl"

Data = dict[str, Any]
Edits = Mapping[tuple[str | int, ...], Any]


class Told(NamedTuple):
    """One failure record of a task."""

    layer: str
    code: str
    attribution: str
    subject: str


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A published project of one pack, whose rows may be executed."""

    project: Project
    pack: Path
    run_dir: Path
    rows: tuple[ExportRow, ...] = field(repr=False)
    candidate: ScriptedCandidate = field(repr=False)
    scripts: Mapping[str, Script] = field(repr=False)

    def copy(self, root: Path) -> Bench:
        """The same published project elsewhere."""
        return opened(self.project.copy(root), self.pack.name, self.run_dir.name)

    def evaluation(
        self,
        directory: Path,
        base_url: str,
        models: Sequence[str],
        modes: Sequence[Mode] = EXECUTABLE,
        edits: Edits | None = None,
    ) -> Evaluation:
        """Write a scoring configuration into a directory; nothing runs yet. `edits` set values by their place."""
        directory.mkdir(parents=True, exist_ok=True)
        config = scoring(self, directory, base_url, models, modes)
        for place, value in (edits or {}).items():
            holder: Any = config
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = value
        path = directory / "eval.yaml"
        path.write_text(json.dumps(config, indent=1), encoding="utf-8")
        return Evaluation(config=path)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A scoring configuration on disk and its output directory, `out` beside it."""

    config: Path
    key: str | None = KEY
    program: tuple[str, ...] = ("-m", "bfcl")
    """What the interpreter runs."""

    @property
    def out(self) -> Path:
        return self.config.with_name("out")

    # --- running ---

    def command(self, *arguments: str, run_id: str | None = RUN_ID) -> list[str]:
        given = () if run_id is None else ("--eval-run-id", run_id)
        return [sys.executable, *self.program, "eval", "--config", str(self.config), *given, *arguments]

    def environment(self, **variables: str) -> dict[str, str]:
        """A small one, so that nothing of the test's own environment decides a result."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        key = {} if self.key is None else {KEY_VARIABLE: self.key}
        temporary = self.config.with_name("tmp")
        temporary.mkdir(exist_ok=True)
        return {
            **kept,
            **key,
            "PYTHONPATH": str(REPOSITORY),
            "LANG": "C.UTF-8",
            "TMPDIR": str(temporary),
            **variables,
        }

    def run(self, *arguments: str, run_id: str | None = RUN_ID, **variables: str) -> Ended:
        """Run it to its end, however that is; in a new interpreter where variables of its environment are given."""
        command, environment = self.command(*arguments, run_id=run_id), self.environment(**variables)
        return run_to_end(command, self.config.parent, environment, anew=bool(variables))

    def succeed(self, *arguments: str, run_id: str | None = RUN_ID, **variables: str) -> Ended:
        """Run it to its end, which must be status 0."""
        ended = self.run(*arguments, run_id=run_id, **variables)
        assert ended.status == 0, ended.out + ended.err
        return ended

    def measure_nothing(self) -> Ended:
        """Run it to its end, which must be that all tasks of a candidate were stopped for reasons not its own."""
        ended = self.run()
        assert ended.status == 3, ended.out + ended.err
        assert "eval_nothing_measured" in ended.err
        return ended

    def start(self, *arguments: str, run_id: str | None = RUN_ID) -> Running:
        """Start it and return while it runs."""
        return started(self.command(*arguments, run_id=run_id), self.config.parent, self.environment())

    def measured(self, *arguments: str) -> tuple[Ended, int]:
        """Run it to its end; also the most memory its own process ever held, in KiB."""
        with subprocess.Popen(
            self.command(*arguments),
            cwd=self.config.parent,
            env=self.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stderr is not None
            told = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return Ended(process.returncode, "", told), usage.ru_maxrss

    # --- what it left ---

    def report(self) -> Data:
        return dict(json.loads((self.out / "eval_report.json").read_bytes()))

    def results(self, alias: str | None = None) -> list[TaskResultRow]:
        """Rows of the table of task results, of one candidate if it is named."""
        rows = read_task_results(self.out / "eval_task_results.parquet")
        return [row for row in rows if alias in (None, row["candidate_alias"])]

    def failures(self) -> dict[tuple[str, str], list[Told]]:
        """Failure records by candidate and task."""
        return {
            (row["candidate_alias"], row["task_id"]): [Told(**record) for record in row["failure_records"]]
            for row in self.results()
        }

    def failed_gates(self) -> dict[tuple[str, str], frozenset[str]]:
        """Gates that failed, by candidate and task."""
        return {
            key: frozenset(record.subject for record in records if record.layer == "gate")
            for key, records in self.failures().items()
        }

    def bytes(self, *names: str) -> dict[str, bytes]:
        """Files of the output directory by name, the finished ones unless others are named."""
        return {name: (self.out / name).read_bytes() for name in names or FINISHED}

    def records(self, name: str = CALLS) -> list[Data]:
        """Lines of a cache that are whole."""
        path = self.out / name
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def completions(self) -> list[str]:
        """Request hashes of the calls that are concluded on record."""
        return [one["request_hash"] for one in self.records() if one["record_type"] == "completion"]


def scoring(
    bench: Bench, directory: Path, base_url: str, models: Sequence[str], modes: Sequence[Mode] = EXECUTABLE
) -> Data:
    """A scoring configuration; paths count from `directory`, where it is going to lie."""

    def seen(path: Path) -> str:
        return os.path.relpath(path, directory.resolve())

    oracle = {
        "kind": "python",
        "pack_manifest": seen(bench.pack / "manifest.yaml"),
        "resource": seen(bench.pack / "backend.py"),
    }
    return {
        "schema_version": "1.2",
        "config_status": "resolved",
        "source_run_manifest": seen(bench.run_dir / "run_manifest.json"),
        "source_oracle": oracle if "executable" in modes else None,
        "translation_manifest": None,
        "eval": {"mode": list(modes)},
        "scoring": {
            "contract": "bundled",
            "argument_matching": "schema_then_canonical",
            "insert_declared_defaults": True,
            "respect_call_order": True,
            "respect_call_group": True,
            "allow_llm_repair": False,
            "task_success": "all_applicable_gates",
        },
        "limits": {
            "max_turns": 16,
            "max_parallel_tasks": 16,
            "max_retries": 1,
            "tool_timeout_s": 20.0,
            "candidate_timeout_s": 60.0,
            "episode_timeout_s": 120.0,
        },
        "candidates": [candidate(model, base_url) for model in models],
        "contamination": {"enforce": True, "on_violation": "fail_run", "comparison_set": "common_intersection"},
        "publication": {"requested": False, "require_same_task_ids": True},
        "outputs": {
            "output_dir": "out",
            "write_task_results": True,
            "write_eval_manifest": True,
            "cache_candidate_responses": True,
            "cache_tool_results": True,
        },
    }


def candidate(model: str, base_url: str) -> Data:
    """A candidate that goes by its model's name."""
    return {
        "alias": model,
        "model": model,
        "provider": "scripted",
        "provider_api_version": "v1",
        "api": {"base_url": base_url, "api_key_env": KEY_VARIABLE},
        "model_identity": {"source": "scripted", "model": model},
        "inference": {"temperature": 0.0, "top_p": None, "max_tokens": 512, "tool_choice": "auto"},
    }


def bundled(root: Path, pack: str, name: str) -> None:
    """Publish a bundled pack, built with its smallest configuration, but for rows that may be executed."""
    project = Project(root)
    project.root.mkdir(parents=True)
    shutil.copyfile(REPOSITORY / "dodo.py", project.root / "dodo.py")
    shutil.copytree(
        REPOSITORY / "packs" / pack, project.root / "packs" / pack, ignore=shutil.ignore_patterns("__pycache__")
    )
    text = (REPOSITORY / "configs" / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.count("smoke_no_publication") == 1
    config = project.root / "configs" / f"{name}.yaml"
    config.parent.mkdir()
    config.write_text(text.replace("smoke_no_publication", "strict_separation"), encoding="utf-8")
    project.generate(f"config=configs/{name}.yaml", anew=True)


def opened(project: Project, pack: str, name: str) -> Bench:
    """A published project as a benchmark."""
    run_dir = project.build / "runs" / name
    rows = tuple(published_rows(open_release(run_dir)))
    return Bench(
        project=project,
        pack=project.root / "packs" / pack,
        run_dir=run_dir,
        rows=rows,
        candidate=ScriptedCandidate(rows),
        scripts={row.task_id: read_script(row) for row in rows},
    )


class Log:
    """Bodies of the requests that a server was sent, in order of arrival."""

    def __init__(self) -> None:
        self.bodies: list[Mapping[str, Json]] = []

    def __call__(self, body: Mapping[str, Json]) -> None:
        self.bodies.append(body)


def studio(root: Path) -> None:
    """Publish the test pack with what the bundled ones lack: a group under each order policy, a required default."""
    detail = {"type": "string", "enum": ["short", "long"], "default": "short"}
    firing = ("tools.json", (1, "function", "parameters"))
    project = write_project(
        root,
        put(firing[0], (*firing[1], "properties", "detail"), detail),
        put(firing[0], (*firing[1], "required"), ["firing_id", "detail"]),
        put("validation_cases.yaml", (3, "arguments", "detail"), "short"),
        put("validation_cases.yaml", (4, "arguments", "detail"), "short"),
        put_template("kiln_and_firing", ("assistant_milestones", 1, "args", "detail"), "short"),
        put_template("last_firing", ("assistant_milestones", 1, "args", "detail"), "short"),
        *_like_kiln_and_firing("both_strict", call_order="strict"),
        *_like_kiln_and_firing("both_prefix", call_order="prefix", call_order_prefix=2),
        templates=ALL_POLICIES,
        task_generation__tasks_per_category=10,
    )
    project.generate(anew=True)


def _like_kiln_and_firing(template_id: str, **fields: object) -> tuple[Edit, Edit]:
    wording = {"en": f"({template_id}) How is kiln {{kiln_id}} doing, and what became of firing {{firing_id}}?"}
    return (
        add_template(template_id, "kiln_and_firing", **fields, user_turn_templates=wording),
        put_template(template_id, ("assistant_milestones", 1, "args", "detail"), "short"),
    )
