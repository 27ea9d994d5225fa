from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bfcl.digest import sha256_of
from bfcl.evaluate.artifacts.result import Imported
from bfcl.evaluate.run.records import open_records
from bfcl.evaluate.settings.envelope import Envelope
from bfcl.evaluate.settings.model import EvalSettings
from tests.evaluate.refusals import refused
from tests.evaluate.settings.builder import loaded


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvalSettings:
    monkeypatch.chdir(tmp_path)
    return loaded(tmp_path)


def envelope(resume_from: Path | None = None) -> Envelope:
    path = Path.cwd() / "run.yaml"
    return Envelope(path=path, eval_config_path=path, resume_from=resume_from)


def test_records_follow_the_switches(settings: EvalSettings) -> None:
    records = open_records(envelope(), settings)
    assert records.calls is not None
    assert records.episodes is not None
    assert (records.earlier_calls, records.earlier_episodes, records.imported) == (None, None, None)
    off = replace(settings.outputs, cache_candidate_responses=False, cache_tool_results=False)
    records = open_records(envelope(), replace(settings, outputs=off))
    assert (records.calls, records.episodes) == (None, None)


def test_records_of_another_run_are_named_by_their_content(settings: EvalSettings, tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    (earlier / "candidate_io_cache.jsonl").write_bytes(b"")
    records = open_records(envelope(earlier), settings)
    assert records.imported == Imported(candidate_io_cache=sha256_of(b""), tool_trace_cache=None)
    assert records.earlier_calls is not None
    assert records.earlier_episodes is not None


def test_directory_of_a_run_that_was_stopped_before_its_first_answer_will_do(
    settings: EvalSettings, tmp_path: Path
) -> None:
    (tmp_path / "resolved_eval_config.json").write_bytes(b"{}")
    assert open_records(envelope(tmp_path), settings).imported == Imported(
        candidate_io_cache=None, tool_trace_cache=None
    )


def test_directory_of_no_run_is_refused(settings: EvalSettings, tmp_path: Path) -> None:
    (problem,) = refused(lambda: open_records(envelope(tmp_path / "run"), settings))
    assert str(problem) == (
        "run.yaml: eval_cli_invalid: resume_from holds neither resolved_eval_config.json nor candidate_io_cache.jsonl; "
        "expected an output directory\n"
        "  fix: name the directory of the run to go on with, or leave `resume_from` out"
    )


def test_output_directory_itself_is_refused(settings: EvalSettings) -> None:
    (problem,) = refused(lambda: open_records(envelope(settings.outputs.output_dir), settings))
    assert problem.field == "resume_from"
    assert "is the output directory itself; expected that of an earlier run, which stays as it is" in problem.message


def test_run_that_concluded_nothing_takes_begun_episodes_away(settings: EvalSettings) -> None:
    settings.outputs.output_dir.mkdir()
    records = open_records(envelope(), settings)
    begun = settings.outputs.output_dir / "tool_trace_cache.jsonl"
    begun.write_bytes(b"begun\n")
    records.withdraw()
    assert not begun.exists()
