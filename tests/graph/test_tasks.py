"""The task dictionaries doit gets: made on every command, so from names alone, and never refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from doit.exceptions import TaskFailed

from bfcl.errors import BfclError, ConfigError, Problem
from bfcl.graph import late as late_module
from bfcl.graph.checker import Blake3Checker
from bfcl.graph.late import TARGETS, late
from bfcl.graph.memory import ForgivingCodec
from bfcl.graph.opening import Opening
from bfcl.graph.refusal import refusing
from bfcl.graph.reporter import Reporter
from bfcl.graph.tasks import DOIT_CONFIG, pipeline
from bfcl.stages import STAGES, enabled_stages
from tests.graph.projects import invoked

ROOT = Path(__file__).resolve().parents[2]


def tasks(project: Path) -> dict[str, dict[str, Any]]:
    return {task["basename"]: task for task in pipeline(Opening(invoked(project)))}


def test_tasks_come_in_pipeline_order_without_those_of_bypassed_stages(project: Path) -> None:
    stages = [stage.name for stage in STAGES if stage.switch is None]
    names = ["config", "validate", "prepare", "gold_gate", *stages, "publish", "generate", "all", "eval"]
    assert list(tasks(project)) == names


def test_every_task_is_described_for_doit_list(project: Path) -> None:
    for name, task in tasks(project).items():
        assert task["doc"], name
        assert "\n" not in task["doc"]


def test_every_task_of_a_build_but_config_waits_for_it(project: Path) -> None:
    found = tasks(project)

    def waits(name: str) -> bool:
        return name == "config" or any(waits(one) for one in found[name].get("task_dep", ()))

    # An evaluation has a configuration of its own.
    assert [name for name in found if not waits(name)] == ["eval"]
    assert found["config"]["uptodate"] == [False]


def test_targets_are_pointers_and_file_deps_are_upstream_pointers(project: Path) -> None:
    found = tasks(project)
    invocation = invoked(project)
    config = str(invocation.config_path)

    def pointer(name: str) -> str:
        return str(invocation.tree.pointer(invocation.ck, name))

    for stage, before in zip(
        enabled_stages(()), ["gold_gate", *(stage.name for stage in enabled_stages(()))], strict=False
    ):
        assert found[stage.name]["targets"] == [pointer(stage.name)]
        assert found[stage.name]["file_dep"] == [config, *map(pointer, ("prepare", *stage.reads))]
        assert found[stage.name]["task_dep"] == [before]
    assert found["publish"]["file_dep"] == [pointer(stage.name) for stage in enabled_stages(())]
    assert found["prepare"]["file_dep"] == [config, *map(str, invocation.pack_files().values())]
    every = [target for task in found.values() for target in task.get("targets", ())]
    assert len(set(every)) == len(every)


def test_absent_configuration_is_no_file_dep(project: Path) -> None:
    (project / "configs" / "tiny.yaml").unlink()
    assert tasks(project)["prepare"]["file_dep"] == []


def test_making_tasks_writes_nothing(project: Path) -> None:
    before = sorted(project.rglob("*"))
    tasks(project)
    assert sorted(project.rglob("*")) == before


def test_what_doit_loads_holds_no_pipeline_and_no_heavy_library() -> None:
    code = (
        "import sys, bfcl.graph.tasks\n"
        "rooms = ('pack', 'checks', 'authoring', 'cli', 'translate', 'evaluate')\n"
        "own = [name.split('.') for name in sys.modules if name.startswith('bfcl.')]\n"
        "print(sorted('.'.join(name) for name in own if name[1] in rooms))\n"
        "print(sorted(name[2] for name in own if name[1] in ('stages', 'release', 'oracle') and len(name) > 2))\n"
        "print(sorted({'pyarrow', 'jsonschema', 'httpx', 'rich', 'click'} & sys.modules.keys()))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['artifacts', 'file_digests', 'read', 'stopping']", "[]"]


def test_doit_is_configured_as_the_build_needs() -> None:
    assert DOIT_CONFIG["default_tasks"] == ["generate"]
    assert DOIT_CONFIG["codec_cls"] is ForgivingCodec
    assert DOIT_CONFIG["par_type"] == "thread"
    assert DOIT_CONFIG["sort"] == "definition"
    assert DOIT_CONFIG["check_file_uptodate"] is Blake3Checker
    assert DOIT_CONFIG["reporter"] is Reporter


@pytest.mark.parametrize("name", TARGETS)
def test_every_late_name_is_a_function(name: str) -> None:
    assert callable(late(name))


def test_action_keeps_evidence_of_what_it_did(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = Opening(invoked(project))
    opening.session = cast("Any", object())
    seen: list[object] = []
    monkeypatch.setattr("bfcl.graph.run_stage.run_stage", lambda *arguments: seen.append(arguments[1:]))
    task = next(task for task in pipeline(opening) if task["basename"] == "render")
    assert task["actions"][0]() is True
    assert seen == [(next(stage for stage in STAGES if stage.name == "render"),)]
    assert (opening.evidence.directory / "render.json").is_file()


def test_action_of_a_build_with_nothing_to_do_does_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = Opening(invoked(project))
    opening.noop = True

    def fail(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(late_module, "late", fail)
    for task in pipeline(opening):
        if task["basename"] not in ("config", "validate", "generate", "all", "eval"):
            assert task["actions"][0]() is True
    assert not opening.evidence.directory.exists()


def test_refused_action_fails_quietly_with_its_problems_on_the_real_stderr(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise ConfigError([Problem(code="one", message="ONE", fix="mend"), Problem(code="two", message="TWO")])

    monkeypatch.setattr("bfcl.graph.prepare.gold_gate", refuse)
    opening = Opening(invoked(project))
    opening.session = cast("Any", object())
    task = next(task for task in pipeline(opening) if task["basename"] == "gold_gate")
    failed = task["actions"][0]()
    assert isinstance(failed, TaskFailed)
    assert not failed.report
    assert capfd.readouterr().err == "one: ONE\n  fix: mend\ntwo: TWO\n"
    assert [event.action for event in opening.evidence._events["gold_gate"]] == ["refused"]


def test_task_without_its_config_task_is_refused(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    task = next(task for task in pipeline(Opening(invoked(project))) if task["basename"] == "render")
    assert isinstance(task["actions"][0](), TaskFailed)
    assert capfd.readouterr().err == (
        "task_run_alone: render: the `config` task did not run before it, so nothing is known of this run\n"
        "  fix: run without `-s`\n"
    )


def test_validate_runs_always_and_waits_for_the_command_line_alone(project: Path) -> None:
    task = tasks(project)["validate"]
    assert task["uptodate"] == [False]
    assert task["task_dep"] == ["config"]
    assert not {"targets", "file_dep"} & task.keys()


def test_validate_needs_no_session_and_fails_quietly_below_gold(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    opening = Opening(invoked(project))
    opening.tasks = ("validate",)
    validate = next(task for task in pipeline(opening) if task["basename"] == "validate")
    config = next(task for task in pipeline(opening) if task["basename"] == "config")
    assert isinstance(validate["actions"][0](), TaskFailed)
    assert capfd.readouterr().err == (
        "task_run_alone: validate: the `config` task did not run before it, so nothing is known of this run\n"
        "  fix: run without `-s`\n"
    )
    assert config["actions"][0]() is True
    assert opening.session is None
    for gold in (True, False):
        monkeypatch.setattr("bfcl.graph.validation.validate", lambda _, gold=gold: gold)
        ended = validate["actions"][0]()
        assert (ended is True) is gold
        assert gold or (isinstance(ended, TaskFailed) and not ended.report)
    assert capfd.readouterr() == ("", "")


def test_bug_in_an_action_stays_a_bug() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        refusing(broken, {})()


def test_refusal_is_the_only_thing_that_is_quiet() -> None:
    def refuse() -> None:
        raise BfclError(Problem(code="one", message="ONE"))

    assert isinstance(refusing(refuse, {})(), TaskFailed)
    assert refusing(lambda: None, {})() is True
