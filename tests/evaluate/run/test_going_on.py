from __future__ import annotations

import errno
import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bfcl.errors import BfclError, DriftError, Problem, StageError
from bfcl.evaluate.run.evaluate import evaluate
from bfcl.evaluate.run.going_on import interrupted, way_on, with_way_on
from bfcl.evaluate.run.how import Headway, How, Silent
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.settings.model import EvalSettings
from tests.evaluate.arena import KEY, Arena, put, served
from tests.evaluate.settings.builder import loaded

RECORD, REPORT, PRIVATE = "candidate_io_cache.jsonl", "eval_report.json", "held_out_eval_report.json"
ELSEWHERE = "name another `outputs.output_dir` in configs/eval.yaml, and "
ONWARD = ELSEWHERE + "go on with `bfcl eval --config configs/run.yaml --resume-from {1}`"


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvalSettings:
    monkeypatch.chdir(tmp_path)
    found = loaded(tmp_path)
    found.outputs.output_dir.mkdir()
    return found


def asked(settings: EvalSettings, **choices: Any) -> Envelope:
    """An envelope beside the configuration."""
    path = settings.path.parent / "run.yaml"
    return Envelope(**{"path": path, "eval_config_path": settings.path, **choices})


def leave(settings: EvalSettings, *names: str) -> Path:
    for name in names:
        (settings.outputs.output_dir / name).write_bytes(b"")
    return settings.outputs.output_dir


@pytest.mark.parametrize(
    ("left", "told"),
    [
        ((), "no answer is on record; run the same command again"),
        (("resolved_eval_config.json",), "no answer is on record; run the same command again"),
        ((RECORD,), "what was answered is kept in {0}; " + ONWARD),
        (("tool_trace_cache.jsonl",), "what was answered is kept in {0}; " + ONWARD),
        (("eval_breakdowns.json",), "no answer is on record; " + ELSEWHERE + "run again"),
        ((RECORD, REPORT), "the result in {0} is as it was; run the same command again"),
    ],
)
def test_interrupt_tells_what_is_left_and_what_goes_on(
    settings: EvalSettings, left: tuple[str, ...], told: str
) -> None:
    directory = leave(settings, *left)
    assert interrupted(settings, asked(settings)) == "interrupted: " + told.format(directory, directory.name)


def test_way_on_is_told_in_the_words_of_the_command_that_was_run(settings: EvalSettings) -> None:
    directory = leave(settings, RECORD)
    assert way_on(settings, asked(settings, command="doit eval")) == (
        f"{ELSEWHERE}write `resume_from: {directory}` in configs/run.yaml, and go on with "
        "`doit eval config=configs/run.yaml`"
    )
    assert way_on(settings, asked(settings, command="doit eval", path=settings.path)) == (
        f"{ELSEWHERE}go on with `bfcl eval --config configs/eval.yaml --resume-from {directory.name}`; "
        "for `doit eval`, name it by `resume_from:` in an envelope around configs/eval.yaml"
    )


def test_command_to_go_on_with_can_be_pasted_whatever_the_names(settings: EvalSettings) -> None:
    leave(settings, RECORD)
    told = way_on(settings, asked(settings, path=settings.path.parent / "my run's.yaml"))
    assert shlex.split(told.split("`")[3]) == [
        *("bfcl", "eval", "--config", "configs/my run's.yaml"),
        *("--resume-from", settings.outputs.output_dir.name),
    ]


def test_interrupt_of_a_dry_run_speaks_of_no_answers(settings: EvalSettings) -> None:
    leave(settings, RECORD)
    assert interrupted(settings, asked(settings, dry_run=True)) == (
        "interrupted: the dry run asked nobody and wrote nothing; run the same command again"
    )


def test_report_of_private_tasks_alone_is_a_result(settings: EvalSettings) -> None:
    leave(settings, PRIVATE)
    assert way_on(settings, asked(settings)) == ELSEWHERE + "run again"
    assert way_on(replace(settings, modes=("held_out_eval",)), asked(settings)) == "run the same command again"


def test_advice_that_the_directory_would_refuse_is_put_right(settings: EvalSettings) -> None:
    free = Problem(code="storage_failed", message="x", fix="free space, then run the same command again")
    other = Problem(code="other", message="y")
    error = StageError([free, other])
    assert with_way_on(error, settings, asked(settings)) is error
    directory = leave(settings, RECORD)
    told = with_way_on(error, settings, asked(settings))
    assert type(told) is StageError
    assert told.problems == (
        replace(free, fix=f"free space, then {ONWARD.format(directory, directory.name)}"),
        other,
    )
    untouched = DriftError(other)
    assert with_way_on(untouched, settings, asked(settings)) is untouched


class _Filling(Silent):
    """The disk is full once an episode ended."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def show(self, standing: Headway) -> None:
        if standing.done:
            self._monkeypatch.setattr(os, "fsync", self._full)

    def _full(self, _: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_full_disk_is_told_with_what_goes_on_and_that_goes_on(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    one = put("limits", "max_parallel_tasks", value=1)
    with served(arena.rows()) as candidate:
        first, second = (arena.configure(name, candidate.base_url, one) for name in ("first", "second"))
        envelope = Envelope(path=first, eval_config_path=first)
        how = How(environment={KEY: "k"}, showing=_Filling(monkeypatch))
        monkeypatch.chdir(arena.root)
        with pytest.raises(BfclError) as refusal:
            evaluate(envelope, load_settings(first), how)
        monkeypatch.undo()
        monkeypatch.chdir(arena.root)
        (problem,) = refusal.value.problems
        assert (problem.code, problem.message) == ("storage_failed", "cannot write: No space left on device")
        assert problem.fix == (
            "free space or make the directory writable, then name another `outputs.output_dir` in configs/first.yaml, "
            "and go on with `bfcl eval --config configs/first.yaml --resume-from build/eval/first`"
        )
        asked = len(candidate.bodies)
        onward = Envelope(path=second, eval_config_path=second, resume_from=arena.out("first"))
        evaluate(onward, load_settings(second), How(environment={KEY: "k"}))
        turns = (arena.out("second") / RECORD).read_bytes().count(b'"record_type":"completion"')
        # The answer that found no room is the one that is asked for again.
        assert len(candidate.bodies) == turns + 1
        assert 1 < asked < turns
