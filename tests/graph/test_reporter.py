"""What the end of a run prints, and what a command line amounts to."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bfcl.graph.opening import Opening
from bfcl.graph.reporter import Reporter, effective_command
from tests.graph.projects import invoked, write_project

OPTIONS = {"show_out": True, "failure_verbosity": 0}


@pytest.fixture(autouse=True)
def without_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """No doit runs here, so there is no database of it."""
    monkeypatch.setattr("bfcl.graph.reporter.remember_this_run", lambda: None)


@pytest.mark.parametrize(
    ("selected", "command"),
    [
        (["generate"], "generate"),
        (["all"], "all"),
        (["all", "generate"], "all"),
        (["prepare"], "prepare"),
        (["config"], "prepare"),
        (["prepare", "config"], "prepare"),
        (["validate"], "prepare"),
        (["validate", "generate"], "generate"),
        (["prepare", "generate"], "generate"),
        (["expand"], "generate"),
        ([], "generate"),
    ],
)
def test_effective_command_follows_from_the_tasks_asked_for(selected: list[str], command: str) -> None:
    assert effective_command(selected) == command


def reported(project: Path, selected: list[str], *, fail: bool = False) -> tuple[Opening, str]:
    """A run of nothing over a publication that stands."""
    opening = Opening(invoked(project))
    opening.noop = True
    stream = io.StringIO()
    reporter = Reporter(stream, OPTIONS)
    task: Any = SimpleNamespace(meta={"opening": opening})
    reporter.initialize({"config": task}, selected)
    if fail:
        failure: Any = SimpleNamespace(report=False, get_name=lambda: "TaskFailed", get_msg=lambda: "")
        reporter.add_failure(SimpleNamespace(name="config", verbosity=0, executed=False), failure)
    reporter.complete_run()
    return opening, stream.getvalue()


@pytest.mark.parametrize("command", ["generate", "all"])
def test_path_of_the_benchmark_is_the_last_line(project: Path, command: str) -> None:
    opening, out = reported(project, [command])
    assert opening.command == command
    assert out.splitlines() == [
        "up to date: nothing changed since this release was published",
        str(project / "build" / "runs" / "trial" / "benchmark.parquet"),
    ]


def test_other_commands_name_no_benchmark(project: Path) -> None:
    assert reported(project, ["prepare"])[1] == ""


def test_refused_run_names_no_benchmark(project: Path) -> None:
    assert "benchmark.parquet" not in reported(project, ["generate"], fail=True)[1]


def test_session_is_closed_however_the_run_ended(project: Path) -> None:
    for fail in (False, True):
        opening = Opening(invoked(project))
        closed: list[bool] = []
        session: Any = SimpleNamespace(close=lambda closed=closed: closed.append(True))
        opening.session, opening.noop = session, True
        reporter = Reporter(io.StringIO(), OPTIONS)
        task: Any = SimpleNamespace(meta={"opening": opening})
        reporter.initialize({"config": task}, ["prepare" if fail else "generate"])
        reporter.complete_run()
        assert closed == [True]


def test_dodo_without_our_tasks_is_reported_as_doit_would() -> None:
    stream = io.StringIO()
    reporter = Reporter(stream, OPTIONS)
    reporter.initialize({}, ["generate"])
    reporter.complete_run()
    assert stream.getvalue() == ""


def test_path_that_the_terminal_cannot_show_is_spelt_out(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    opening = Opening(invoked(write_project(tmp_path / "b\u00e9")))
    opening.noop = True
    reporter = Reporter(stream, OPTIONS)
    task: Any = SimpleNamespace(meta={"opening": opening})
    reporter.initialize({"config": task}, ["generate"])
    reporter.complete_run()
    stream.flush()
    assert buffer.getvalue().splitlines()[-1].endswith(b"/b\\xe9/build/runs/trial/benchmark.parquet")


@pytest.mark.parametrize(("name", "fail"), [("eval", False), ("eval", True), ("prepare", False)])
def test_evaluation_with_which_nothing_is_to_be_done_says_so_and_where_it_lies(
    project: Path, tmp_path: Path, name: str, fail: bool
) -> None:
    entry = {"alias": "a", "task_count": 4, "successful_tasks": 2}
    (tmp_path / "eval_report.json").write_text(json.dumps({"candidates": [entry]}))
    stream = io.StringIO()
    reporter = Reporter(stream, OPTIONS)
    config: Any = SimpleNamespace(meta={"opening": Opening(invoked(project))})
    reporter.initialize({"config": config}, [name])
    standing: Any = SimpleNamespace(
        name=name, targets=[str(tmp_path / "eval_manifest.json")], title=lambda: name, actions=["a"]
    )
    reporter.skip_uptodate(standing)
    if fail:
        failure: Any = SimpleNamespace(report=False, get_name=lambda: "TaskFailed", get_msg=lambda: "")
        reporter.add_failure(SimpleNamespace(name="config", verbosity=0, executed=False), failure)
    reporter.complete_run()
    told = [line for line in stream.getvalue().splitlines() if not line.startswith("-- ")]
    if name == "eval" and not fail:
        assert told == [
            "up to date: nothing changed since this evaluation was finished, and nobody was asked",
            "a: 2 of 4 tasks, 50.0% (15.0% to 85.0%)",
            str(tmp_path / "eval_report.json"),
        ]
    else:
        assert not [line for line in told if "up to date" in line]
