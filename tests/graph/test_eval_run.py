from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bfcl.errors import EvalError
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.graph.eval_run import result_lines, run_envelope
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


def test_dry_run_tells_that_a_key_is_not_set_and_passes(
    arena: Arena, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = arena.configure("unset", "http://127.0.0.1:9/v1")
    envelope = Envelope(path=path, eval_config_path=path, dry_run=True)
    monkeypatch.delenv(KEY, raising=False)
    assert run_envelope(envelope)[0] == 'status: "preflight_passed"'
    told = capfd.readouterr().err
    assert told.startswith(
        f"warning: eval_candidate_credentials_missing: scripted: the environment variable {KEY} is not set, and the "
        "run would stop at its first request\n"
    )
    monkeypatch.setenv(KEY, "k")
    run_envelope(envelope)
    assert "eval_candidate_credentials_missing" not in capfd.readouterr().err


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
        f"warning: 4 tasks of {alias} were stopped by the run and count as failed: eval_candidate_retry_exhausted 4 "
        "(at last: transport_error (Connection refused), 4 times)"
    )
    assert fix == (
        "  fix: check endpoint http://127.0.0.1:9/v1 and the model's name there, then evaluate into another "
        "output_dir with `--resume-from` and this one: what was answered is not asked again"
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
    run_envelope(dry)
    # Who replays needs no key.
    assert "eval_candidate_credentials_missing" not in capfd.readouterr().err


def _calls(path: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    run_envelope(Envelope(path=path, eval_config_path=path))
    return [line for line in capfd.readouterr().err.splitlines() if line.startswith("calls: ")]


REPORT: dict[str, Any] = {
    "candidates": [{"alias": "a", "task_count": 9, "successful_tasks": 0, "non_candidate_stops": 9}],
    "provider_rejections": {"a": {"404": 1}},
    "candidate_call_failures": {"a": {"eval_candidate_retry_exhausted": 8}},
}


def test_server_that_fails_by_itself_is_told_by_its_last_status() -> None:
    causes = {"HTTP 500 Internal Server Error": 5, "HTTP 503 Service Unavailable": 3}
    _, warning = result_lines(REPORT, {"a": "http://x/v1"}, {"a": causes})
    assert warning == (
        "warning: 9 tasks of a were stopped by the run and count as failed: HTTP 404 1, eval_candidate_retry_exhausted "
        "8 (at last: HTTP 500 Internal Server Error, 5 times; HTTP 503 Service Unavailable, 3 times)\n"
        "  fix: look into the log of the server at http://x/v1, which answered that it cannot, then evaluate into "
        "another output_dir with `--resume-from` and this one: what was answered is not asked again"
    )


def test_only_the_most_frequent_causes_are_listed() -> None:
    _, warning = result_lines(REPORT, {}, {"a": {"HTTP 500": 1, "timeout": 4, "HTTP 502": 2, "HTTP 503": 1, "x": 1}})
    assert "(at last: timeout, 4 times; HTTP 502, 2 times; HTTP 500; 2 others)" in warning
    assert "  fix: check endpoint " in warning
