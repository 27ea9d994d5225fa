from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bfcl.digest import sha256_of
from bfcl.evaluate.artifacts.manifest import imported_json
from bfcl.evaluate.artifacts.result import Imported
from bfcl.evaluate.run.earlier import Earlier
from bfcl.evaluate.run.records import open_records
from bfcl.evaluate.settings.model import EvalSettings
from tests.evaluate.settings.builder import loaded


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EvalSettings:
    monkeypatch.chdir(tmp_path)
    return loaded(tmp_path)


def test_records_follow_the_switches(settings: EvalSettings) -> None:
    records = open_records(settings)
    assert records.calls is not None
    assert records.episodes is not None
    assert (records.earlier_calls, records.earlier_episodes, records.imported) == (None, None, None)
    off = replace(settings.outputs, cache_candidate_responses=False, cache_tool_results=False)
    records = open_records(replace(settings, outputs=off))
    assert (records.calls, records.episodes) == (None, None)


def test_records_of_another_run_are_named_by_their_content(settings: EvalSettings, tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    (earlier / "candidate_io_cache.jsonl").write_bytes(b"")
    records = open_records(settings, Earlier((earlier,), None))
    assert records.imported == Imported(candidate_io_cache=sha256_of(b""), tool_trace_cache=None)
    assert records.earlier_calls is not None
    assert records.earlier_episodes is not None


def test_records_of_a_chain_of_runs_are_named_one_within_the_other(settings: EvalSettings, tmp_path: Path) -> None:
    directories = tmp_path / "b", tmp_path / "a"
    for directory in directories:
        directory.mkdir()
    (tmp_path / "a" / "candidate_io_cache.jsonl").write_bytes(b"")
    records = open_records(settings, Earlier(directories, None))
    assert imported_json(records.imported) == {
        "candidate_io_cache": {"content_hash": None},
        "tool_trace_cache": {"content_hash": None},
        "resumed_from": {
            "candidate_io_cache": {"content_hash": sha256_of(b"")},
            "tool_trace_cache": {"content_hash": None},
        },
    }


def test_run_that_concluded_nothing_takes_begun_episodes_away(settings: EvalSettings) -> None:
    settings.outputs.output_dir.mkdir()
    records = open_records(settings)
    begun = settings.outputs.output_dir / "tool_trace_cache.jsonl"
    begun.write_bytes(b"begun\n")
    records.withdraw()
    assert not begun.exists()
