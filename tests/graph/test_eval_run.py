from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from bfcl.errors import EvalError
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.graph.eval_run import run_envelope
from tests.evaluate.arena import KEY, Arena, publish_arena, put, served


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    return publish_arena(tmp_path_factory.mktemp("run") / "arena")


def test_lines_are_for_the_output_and_the_estimate_is_for_people(
    arena: Arena, capfd: pytest.CaptureFixture[str]
) -> None:
    path = arena.configure("dry", "http://127.0.0.1:9/v1", put("limits", "max_turns", value=1))
    lines = run_envelope(Envelope(path=path, eval_config_path=path, dry_run=True))
    assert lines[:2] == ['status: "preflight_passed"', 'scope: "trace"']
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("warning: turns_beyond_limit: ")
    assert "\nestimate: 4 turns, about " in err


def test_interrupted_run_says_what_is_kept_before_it_ends(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, "k")
    with served(arena.rows()) as candidate:
        path = arena.configure("cut", candidate.base_url, put("limits", "max_parallel_tasks", value=1))
        candidate.when = lambda number: os.kill(os.getpid(), signal.SIGTERM) if number == 4 else None
        with pytest.raises(KeyboardInterrupt):
            run_envelope(Envelope(path=path, eval_config_path=path))
    assert capfd.readouterr().err.splitlines()[-1] == (
        f"interrupted: what was answered is kept in {arena.out('cut')}; name another `outputs.output_dir`, and go on "
        f"with `bfcl eval --resume-from {arena.out('cut')}`"
    )


def test_interrupted_run_that_keeps_no_answers_promises_none(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, "k")
    off = put("outputs", "cache_candidate_responses", value=False)
    with served(arena.rows()) as candidate:
        path = arena.configure("bare", candidate.base_url, off)
        candidate.when = lambda number: os.kill(os.getpid(), signal.SIGTERM) if number == 4 else None
        with pytest.raises(KeyboardInterrupt):
            run_envelope(Envelope(path=path, eval_config_path=path))
    assert capfd.readouterr().err.splitlines()[-1] == (
        "interrupted: no answer is on record; run the same command again"
    )


def test_resuming_from_a_run_whose_source_is_gone_warns(arena: Arena, capfd: pytest.CaptureFixture[str]) -> None:
    path = arena.configure("later", "http://127.0.0.1:9/v1")
    second = arena.out("second")
    second.mkdir(parents=True)
    gone = Path("/nowhere/first")
    (second / "resolved_eval_config.json").write_text(f'{{"resolved_paths": {{"resume_from": "{gone}"}}}}')
    run_envelope(Envelope(path=path, eval_config_path=path, dry_run=True, resume_from=second))
    assert "warning: resumed_directory_gone: was going on from /nowhere/first, which is gone" in (
        capfd.readouterr().err.replace(f"{second}: ", "")
    )


def test_resuming_from_no_run_is_refused_before_anything_is_written(arena: Arena, tmp_path: Path) -> None:
    path = arena.configure("unmade", "http://127.0.0.1:9/v1")
    with pytest.raises(EvalError, match="resume_from holds neither"):
        run_envelope(Envelope(path=path, eval_config_path=path, resume_from=tmp_path))
    assert not [one.name for one in arena.out("unmade").glob("[!.]*")]


def test_what_came_out_is_told_with_its_interval(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, "k")
    with served(arena.rows()) as candidate:
        path = arena.configure("told", candidate.base_url)
        run_envelope(Envelope(path=path, eval_config_path=path))
    assert capfd.readouterr().err.splitlines()[-1].endswith(": 4 of 4 tasks, 100.0% (51.0% to 100.0%)")


def test_run_whose_endpoint_is_not_there_says_so_and_what_to_do(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, "k")
    path = arena.configure("gone", "http://127.0.0.1:9/v1", put("limits", "max_retries", value=0))
    run_envelope(Envelope(path=path, eval_config_path=path))
    *_, rate, warning, fix = capfd.readouterr().err.splitlines()
    alias = rate.partition(":")[0]
    assert rate == f"{alias}: 0 of 4 tasks, 0.0% (0.0% to 49.0%)"
    assert warning == (
        f"warning: 4 tasks of {alias} were stopped by the run and count as failed: eval_candidate_retry_exhausted 4"
    )
    assert fix == (
        "  fix: check endpoint http://127.0.0.1:9/v1 and the model's name there, then evaluate into another "
        "output_dir with `--resume-from` and this one: what was answered is not asked again"
    )
