"""A published benchmark as an Inspect task: by the same answers, the same score of every task as without Inspect."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import pytest
import yaml

from bfcl.canonical import Json, canonical_text
from bfcl.evaluate.drive.answers import SessionAnswers
from bfcl.evaluate.drive.asking import Asking
from bfcl.evaluate.drive.desk import open_desk
from bfcl.evaluate.drive.episode import drive
from bfcl.evaluate.drive.live import LiveResults
from bfcl.evaluate.drive.results import RecordedResults, Results
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.drive.task_spec import published_specs
from bfcl.evaluate.records import TaskScore
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.how import How
from bfcl.evaluate.run.outcome import Completed
from bfcl.evaluate.score.episode import score_episode
from bfcl.evaluate.scripted.candidate import ScriptedCandidate
from bfcl.evaluate.scripted.server import Conduct
from bfcl.evaluate.settings.envelope import load_envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.source.verify import verify_source
from bfcl.modelio.chat_request import body_of
from bfcl.modelio.exchange import ChatRequest
from bfcl.tables.task_results import read_task_results
from tests.evaluate.driven import Answer, Answering
from tests.evaluate.scripted.served import served
from tests.evaluate.settings.builder import CANDIDATE, CONFIG
from tests.packs import ALL_POLICIES
from tests.system.package_venv import package_venv
from tests.system.project import REPOSITORY, Project, write_project

PACKAGES = ["inspect-ai==0.3.285", "openai==3.57.0"]
MODELS = REPOSITORY / "tests" / "evaluate" / "inspect_models.py"
TASK = """\
from inspect_ai import task
from bfcl.evaluate.inspect_bridge import bfcl_task


@task
def mine(config: str):
    return bfcl_task(config)
"""
BEHAVIOURS = (
    "scripted-gold",
    "scripted-silent",
    "scripted-undeclared-tool",
    "scripted-wrong-value",
    "scripted-explicit-default",
    "scripted-missing-call",
    "scripted-permuted",
    "scripted-split-group",
    "scripted-call-on-text-turn",
    "scripted-duplicate-ids",
    "scripted-missing-ids",
    "scripted-invalid-json",
    "scripted-flaky-0.5",
)
"""Every kind of reply that a message of Inspect can hold."""

DRIVEN = (
    "scripted-gold",
    "scripted-explicit-default",
    "scripted-wrong-value",
    "scripted-extra-call",
    "scripted-early-confirmation",
    "scripted-missing-ids",
    "scripted-truncated",
    "scripted-flaky-0.5",
)
"""Those that the oracle tells apart."""

Mode = Literal["trace", "executable"]
CHOSEN: Mapping[Mode, Sequence[str]] = {"trace": BEHAVIOURS, "executable": DRIVEN}


class Sample(NamedTuple):
    """What one task came to."""

    score_hash: str
    status: str
    success: bool
    stopped: bool
    """Not by the candidate."""
    failed: tuple[str, ...]
    codes: tuple[str, ...]


Scores = dict[str, dict[str, Sample]]
"""By behaviour and task id."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A published Gold benchmark with every turn policy."""
    made = write_project(
        tmp_path_factory.mktemp("inspect") / "project",
        templates=ALL_POLICIES,
        task_generation__tasks_per_category=7,
    )
    made.generate()
    return made


def write_scoring(project: Project, mode: Mode, **edits: Any) -> Path:
    """A scoring configuration beside the project."""
    config: dict[str, Any] = copy.deepcopy(CONFIG)
    config["source_run_manifest"] = str(project.run_dir / "run_manifest.json")
    config["source_oracle"] = {
        "kind": "python",
        "pack_manifest": str(project.pack / "manifest.yaml"),
        "resource": str(project.pack / "backend.py"),
    }
    config["eval"]["mode"] = [mode]
    config["scoring"]["contract"] = "bundled"
    config["outputs"]["output_dir"] = str(project.root.parent / f"out-{mode}")
    config["publication"]["requested"] = False
    config |= edits
    path = project.root.parent / f"{mode}{len(edits)}.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


# --- without Inspect ----------------------------------------------------------------------------------------------


def sample_of(score: TaskScore) -> Sample:
    failed = tuple(gate.name for gate in score.gates if gate.outcome == "failed")
    codes = tuple(record.code for record in score.failures)
    return Sample(score.score_hash, score.episode_status, score.task_success, score.non_candidate_stop, failed, codes)


def scored_here(config: Path, mode: Mode, behaviours: Sequence[str]) -> Scores:
    """The scores by the driver of an evaluation."""
    settings = load_settings(config)
    verified = verify_source(settings, probe_oracle=True)
    scripted = ScriptedCandidate(verified.rows)
    (candidate,) = settings.candidates
    assert verified.oracle is not None
    specs = published_specs(verified.oracle.pack, verified.manifest, verified.rows)

    def answer(behaviour: str, request: ChatRequest) -> Answer:
        body = cast("Mapping[str, Any]", request.body)
        reply: Any = scripted.reply(behaviour, body["messages"], body["tools"])
        told: dict[str, Json] = dict(reply["choices"][0]["message"])
        return {**told, "finish_reason": reply["choices"][0]["finish_reason"]}

    async def play() -> Scores:
        found: Scores = {}
        assert verified.oracle is not None
        async with open_desk(verified.oracle.pack, verified.oracle.config) as desk:
            for behaviour in behaviours:
                client = Answering(lambda request, named=behaviour: answer(named, request))  # type: ignore[misc]
                asking = Asking(candidate=candidate, client=client, mode=mode)
                for row in verified.rows:
                    script = read_script(row)
                    results: Results = RecordedResults()
                    if mode == "executable":
                        results = LiveResults(SessionAnswers(desk, specs.of(row)), specs.of(row), settings.scoring)
                    evidence = await drive(script, asking, results, settings.scoring, settings.limits)
                    score = score_episode(script, evidence, settings.scoring)
                    found.setdefault(behaviour, {})[row.task_id] = sample_of(score)
        return found

    return asyncio.run(play())


def evaluated(project: Project, mode: Mode, behaviour: str) -> dict[str, tuple[str, bool, bool, list[str]]]:
    """What an evaluation writes of every task when this candidate is asked over the network."""
    served_rows = verify_source(load_settings(write_scoring(project, mode)), probe_oracle=True).rows
    with served(served_rows) as serving:
        api = {**CANDIDATE["api"], "base_url": serving.base_url}
        config = write_scoring(project, mode, candidates=[{**CANDIDATE, "model": behaviour, "api": api}])
        outcome = evaluate(load_envelope(config), load_settings(config), How(environment={"VENDOR_KEY": "none"}))
    assert isinstance(outcome, Completed)
    assert outcome.task_results_path is not None
    return {
        row["task_id"]: (row["episode_status"], row["task_success"], row["non_candidate_stop"], row["failure_codes"])
        for row in read_task_results(outcome.task_results_path)
    }


# --- with Inspect -------------------------------------------------------------------------------------------------


class Log(NamedTuple):
    """What Inspect wrote of one model."""

    mean: float
    samples: dict[str, Sample]
    metadata: dict[str, Any]


@pytest.fixture(scope="module")
def python() -> Path:
    known = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return package_venv("inspect-bridge", [*PACKAGES, *known])


def scored_by_inspect(
    python: Path, project: Project, config: Path, models: Sequence[str], *options: str, **variables: str
) -> dict[str, Log]:
    """One run of `inspect eval`, its logs by the last part of the model's name."""
    directory = project.root.parent / f"inspect-{config.stem}"
    directory.mkdir()
    (directory / "task.py").write_text(TASK, encoding="utf-8")
    home = str(directory / "home")
    done = subprocess.run(
        [
            *(python, MODELS, "eval", "task.py", "-T", f"config={config}", "--model", ",".join(models)),
            *("--log-dir", "logs", "--log-format", "json", "--display", "none", "--no-log-realtime"),
            *options,
        ],
        cwd=directory,
        env={
            "PATH": os.environ["PATH"],
            **dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), home),
            "PYTHONPATH": str(REPOSITORY),
            "BFCL_TEST_RUN": str(project.run_dir),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return dict(read_log(path) for path in sorted((directory / "logs").glob("*.json")))


def read_log(path: Path) -> tuple[str, Log]:
    log = json.loads(path.read_text(encoding="utf-8"))
    assert log["status"] == "success", log["error"]["message"]
    (results,) = log["results"]["scores"]
    scores = {sample["id"]: sample["scores"]["task_success"] for sample in log["samples"]}
    return log["eval"]["model"].rpartition("/")[2], Log(
        results["metrics"]["mean"]["value"],
        {
            task_id: Sample(
                score["metadata"]["score_hash"],
                score["metadata"]["episode_status"],
                score["value"] == 1.0,
                score["metadata"]["non_candidate_stop"],
                tuple(name for name, gate in score["metadata"]["gates"].items() if gate["outcome"] == "failed"),
                tuple(record["code"] for record in score["metadata"]["failure_records"]),
            )
            for task_id, score in scores.items()
        },
        log["eval"]["metadata"],
    )


@pytest.mark.parametrize("mode", [pytest.param("trace", marks=pytest.mark.slow), "executable"])
def test_inspect_gives_every_task_the_score_that_it_has_without(mode: Mode, python: Path, project: Project) -> None:
    config = write_scoring(project, mode)
    expected = scored_here(config, mode, CHOSEN[mode])
    logs = scored_by_inspect(python, project, config, [f"scripted/{name}" for name in CHOSEN[mode]])
    assert {name: log.samples for name, log in logs.items()} == expected
    # The comparison would hold for a bridge that fails everything.
    assert (logs["scripted-gold"].mean, logs["scripted-explicit-default"].mean) == (1, 1)
    assert all(0 < logs[name].mean < 1 for name in ("scripted-wrong-value", "scripted-flaky-0.5"))
    wrong = {failed for sample in logs["scripted-wrong-value"].samples.values() for failed in sample.failed}
    assert {"arguments", "trace_completion"} <= wrong
    assert not load_settings(config).outputs.output_dir.exists()
    assert evaluated(project, mode, "scripted-flaky-0.5") == {
        task_id: (sample.status, sample.success, sample.stopped, list(sample.codes))
        for task_id, sample in logs["scripted-flaky-0.5"].samples.items()
    }
    settings = load_settings(config)
    about = logs["scripted-gold"].metadata
    assert (about["mode"], about["measurement_hash"]) == (mode, settings.measurement_hash)


def as_inspect_sends(tools: Json) -> Json:
    """Tools as its provider for OpenAI-compatible endpoints has them, of the keywords in this pack."""
    told: Any = json.loads(canonical_text(tools))
    for tool in told:
        tool["function"]["strict"] = False
        for schema in tool["function"]["parameters"]["properties"].values():
            schema.pop("minimum", None)
            schema.pop("maximum", None)
    whole: Json = told
    return whole


def test_inspect_with_its_own_client_sends_an_evaluations_requests_but_for_the_tools(
    python: Path, project: Project
) -> None:
    config = write_scoring(project, "trace", publication={"requested": False, "require_same_task_ids": True})
    settings = load_settings(config)
    verified = verify_source(settings, probe_oracle=False)
    (candidate,) = settings.candidates
    bodies: list[Json] = []
    with served(verified.rows, conduct=Conduct(record=bodies.append)) as serving:
        logs = scored_by_inspect(
            *(python, project, config, ["openai-api/studio/scripted-gold"], "-M", "strict_tools=false"),
            STUDIO_API_KEY="none",
            STUDIO_BASE_URL=serving.base_url,
        )
    assert logs["scripted-gold"].mean == 1
    firsts = [
        body_of(candidate, script.seed_messages, script.tools) | {"model": "scripted-gold"}
        for script in map(read_script, verified.rows)
    ]
    firsts = [{**first, "tools": as_inspect_sends(first["tools"])} for first in firsts]
    sent = {canonical_text(body) for body in bodies}
    assert [first for first in firsts if canonical_text(first) not in sent] == []


STATUSES = {
    "stuck": ("candidate_call_failed", True),
    "too_long": ("candidate_call_failed", True),
    "refused": ("candidate_call_failed", True),
    "two_choices": ("malformed_response", False),
    "no_choice": ("malformed_response", False),
    "no_number": ("candidate_mismatch", False),
}


def test_what_only_a_provider_of_inspect_gives_ends_as_the_same_would_on_the_wire(
    python: Path, project: Project
) -> None:
    limits = {**CONFIG["limits"], "candidate_timeout_s": 3.0}
    config = write_scoring(project, "trace", limits=limits, schema_version="1.2")
    logs = scored_by_inspect(python, project, config, [f"odd/{name}" for name in STATUSES], "--limit", "1")
    found = {name: next(iter(log.samples.values())) for name, log in logs.items()}
    assert {name: (sample.status, sample.stopped) for name, sample in found.items()} == STATUSES
    assert "schema_valid" in found["no_number"].failed
