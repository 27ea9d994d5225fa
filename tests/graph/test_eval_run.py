from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from bfcl.errors import EvalError
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.graph.eval_run import gap_lines, run_envelope
from bfcl.pack.layout import shown
from tests.evaluate.arena import KEY, Arena, publish_arena, put, served


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Arena:
    return publish_arena(tmp_path_factory.mktemp("run") / "arena")


def ran(envelope: Envelope) -> list[str]:
    """Run it; what it tells for the output."""
    lines: list[str] = []
    run_envelope(envelope, lines.extend)
    return lines


def test_lines_are_for_the_output_and_the_estimate_is_for_people(
    arena: Arena, capfd: pytest.CaptureFixture[str]
) -> None:
    path = arena.configure("dry", "http://127.0.0.1:9/v1", put("limits", "max_turns", value=1))
    lines = ran(Envelope(path=path, eval_config_path=path, dry_run=True))
    assert lines[:2] == ['status: "preflight_passed"', 'scope: "trace"']
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("warning: turns_beyond_limit: ")
    assert "\nestimate: 4 turns, about " in err


def test_dry_run_tells_that_a_key_is_not_set_and_passes(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = arena.configure("unset", "http://127.0.0.1:9/v1")
    envelope = Envelope(path=path, eval_config_path=path, dry_run=True)
    monkeypatch.delenv(KEY, raising=False)
    assert ran(envelope)[0] == 'status: "preflight_passed"'
    told = capfd.readouterr().err
    assert told.startswith(
        f"warning: eval_candidate_credentials_missing: scripted: the environment variable {KEY} is not set, and the "
        "run would stop at its first request\n"
    )
    monkeypatch.setenv(KEY, "k")
    ran(envelope)
    assert "eval_candidate_credentials_missing" not in capfd.readouterr().err


def test_interrupted_run_says_what_is_kept_before_it_ends(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, "k")
    with served(arena.rows()) as candidate:
        path = arena.configure("cut", candidate.base_url, put("limits", "max_parallel_tasks", value=1))
        candidate.when = lambda number: os.kill(os.getpid(), signal.SIGTERM) if number == 4 else None
        with pytest.raises(KeyboardInterrupt):
            ran(Envelope(path=path, eval_config_path=path))
    assert capfd.readouterr().err.splitlines()[-1] == (
        f"interrupted: what was answered is kept in {arena.out('cut')}; name another `outputs.output_dir` in "
        f"{path}, and go on with `bfcl eval --config {path} --resume-from {arena.out('cut')}`"
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
            ran(Envelope(path=path, eval_config_path=path))
    assert capfd.readouterr().err.splitlines()[-1] == (
        "interrupted: no answer is on record; run the same command again"
    )


def test_resuming_from_a_run_whose_source_is_gone_warns(arena: Arena, capfd: pytest.CaptureFixture[str]) -> None:
    path = arena.configure("later", "http://127.0.0.1:9/v1")
    second = arena.out("second")
    second.mkdir(parents=True)
    gone = Path("/nowhere/first")
    (second / "resolved_eval_config.json").write_text(f'{{"resolved_paths": {{"resume_from": "{gone}"}}}}')
    ran(Envelope(path=path, eval_config_path=path, dry_run=True, resume_from=second))
    assert "warning: resumed_directory_gone: was going on from /nowhere/first, which is gone" in (
        capfd.readouterr().err.replace(f"{second}: ", "")
    )


def test_resuming_from_no_run_is_refused_before_anything_is_written(arena: Arena, tmp_path: Path) -> None:
    path = arena.configure("unmade", "http://127.0.0.1:9/v1")
    with pytest.raises(EvalError, match="resume_from holds neither"):
        ran(Envelope(path=path, eval_config_path=path, resume_from=tmp_path))
    assert not [one.name for one in arena.out("unmade").glob("[!.]*")]


def test_what_came_out_is_told_with_its_interval(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, "k")
    with served(arena.rows()) as candidate:
        path = arena.configure("told", candidate.base_url)
        ran(Envelope(path=path, eval_config_path=path))
    assert capfd.readouterr().err.splitlines()[-1].endswith(": 4 of 4 tasks, 100.0% (51.0% to 100.0%)")


def test_run_of_which_nothing_was_measured_is_written_and_told_and_then_refused_as_is_its_replay(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, "k")
    path = arena.configure("gone", "http://127.0.0.1:9/v1", put("limits", "max_retries", value=0))
    files: list[dict[str, bytes]] = []
    for _ in range(2):
        lines: list[str] = []
        with pytest.raises(EvalError) as refusal:
            run_envelope(Envelope(path=path, eval_config_path=path), lines.extend)
        (problem,) = refusal.value.problems
        assert str(problem) == (
            "eval_nothing_measured: scripted: all 4 tasks ended for reasons that are not the candidate's, so that its "
            "rate of 0 is no score: transport_error (Connection refused), 4 times\n"
            "  fix: check that a server runs at http://127.0.0.1:9/v1, then evaluate into another output_dir: no "
            "answer is on record here to go on from"
        )
        assert lines[0] == 'status: "completed"'
        *_, calls, rate = capfd.readouterr().err.splitlines()
        assert calls.startswith("calls: ")
        assert rate == "scripted: 0 of 4 tasks, 0.0% (0.0% to 49.0%)"
        files.append(arena.files("gone"))
    assert files[0] == files[1]
    assert "eval_manifest.json" in files[0]


def test_run_that_was_stopped_in_part_warns_and_passes(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, "k")
    with served(arena.rows()) as candidate:
        limits = put("limits", "max_turns", value=1)
        path = arena.configure("short", candidate.base_url, limits)
        lines = ran(Envelope(path=path, eval_config_path=path))
    assert lines[0] == 'status: "completed"'
    warning, fix = capfd.readouterr().err.splitlines()[-2:]
    assert warning == (
        "warning: tasks_stopped: scripted: 3 of 4 tasks were stopped by the run and count as failed: "
        "max_turns_exceeded, 3 times"
    )
    assert fix == (
        "  fix: raise `limits.max_turns`, then evaluate into another output_dir with `--resume-from "
        f"{shown(arena.out('short'))}` (`resume_from`): what was answered is not asked again"
    )


def test_replayed_run_says_that_nobody_was_asked(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, "k")
    with served(arena.rows()) as candidate:
        path = arena.configure("paid", candidate.base_url)
        turns = [line.removeprefix("calls: ") for line in _calls(path, capfd)]
        asked = len(candidate.bodies)
    monkeypatch.delenv(KEY)
    assert turns == [f"{asked} asked"]
    before = arena.files("paid")
    assert _calls(path, capfd) == [
        f"calls: none asked, {asked} replayed from the record in this directory, which a run had finished before"
    ]
    assert arena.files("paid") == before
    dry = Envelope(path=path, eval_config_path=path, dry_run=True)
    ran(dry)
    # Who replays needs no key, nor does who finds every answer on another run's record.
    path = arena.configure("free", candidate.base_url)
    ran(Envelope(path=path, eval_config_path=path, dry_run=True, resume_from=arena.out("paid")))
    assert "eval_candidate_credentials_missing" not in capfd.readouterr().err
    ran(Envelope(path=path, eval_config_path=path, resume_from=arena.out("paid")))
    assert f"calls: none asked, {asked} taken over from an earlier run" in capfd.readouterr().err


def _calls(path: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    ran(Envelope(path=path, eval_config_path=path))
    return [line for line in capfd.readouterr().err.splitlines() if line.startswith("calls: ")]


def test_gap_is_told_after_what_was_stopped_on_either_side() -> None:
    def side(successes: int, tasks: int, stops: int) -> dict[str, int]:
        return {"successes": successes, "tasks": tasks, "non_candidate_stops": stops}

    gap = {"value": 0.5, "interval": {"low": -0.25, "high": 1.0}}
    entries = [
        {"alias": "a", "seen": side(4, 4, 0), "held_out": side(1, 2, 1), "gap": gap},
        {"alias": "b", "seen": side(4, 4, 0), "held_out": side(0, 2, 2), "gap": None},
    ]
    report = {"candidates": [{**entry, "gap_excluding_non_candidate_stops": None} for entry in entries]}
    assert list(gap_lines(report)) == [
        "a: 4 of 4 public tasks (0 stopped by the run), 1 of 2 held-out tasks (1 stopped by the run): gap +50.0% "
        "(-25.0% to +100.0%), without stops not measured",
        "b: 4 of 4 public tasks (0 stopped by the run), 0 of 2 held-out tasks (2 stopped by the run): gap not "
        "measured, without stops not measured",
    ]
    assert list(gap_lines({})) == []
