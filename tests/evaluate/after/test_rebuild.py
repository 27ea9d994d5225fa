"""The engine once more, with nobody to ask."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.evaluate.after.rebuild import rebuild, verified_offline
from bfcl.evaluate.after.recorded_settings import recorded_settings
from bfcl.evaluate.records import EpisodeEvidence, Script
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.source.verify import verify_source
from tests.evaluate.after.finishing import KEY, Evaluated
from tests.evaluate.refusals import refused

Copied = Callable[[Path], Path]


def test_rebuild_shows_every_episode_once(evaluated: Evaluated) -> None:
    seen: Counter[tuple[str, str, int]] = Counter()

    def see(script: Script, evidence: EpisodeEvidence) -> None:
        seen[evidence.candidate_alias, script.task_id, evidence.trial] += 1

    rebuild(evaluated.repeated, seen=see)
    assert len(seen) == 2 * 10 * 3
    assert set(seen.values()) == {1}


def test_rebuild_needs_no_key(evaluated: Evaluated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VENDOR_KEY", raising=False)
    assert rebuild(evaluated.trace).result.eval_run_id == "run-trace"
    assert KEY not in os.environ.values()


def test_rebuild_refuses_a_result_without_the_record_of_its_calls(evaluated: Evaluated, copied: Copied) -> None:
    directory = copied(evaluated.executable)
    (directory / "candidate_io_cache.jsonl").unlink()
    (directory / "tool_trace_cache.jsonl").unlink()
    fix = "restore the file from a copy, or evaluate into another `outputs.output_dir`; results are never mended"
    assert [str(problem) for problem in refused(lambda: rebuild(directory))] == [
        f"{directory}/{name}: eval_artifact_invalid: is not there; expected the record that the scores are made of\n"
        f"  fix: {fix}"
        for name in ("candidate_io_cache.jsonl", "tool_trace_cache.jsonl")
    ]


def test_verified_offline_gives_the_identities_of_the_gates_without_running_the_pack(evaluated: Evaluated) -> None:
    offline = verified_offline(recorded_settings(evaluated.executable))
    probed = verify_source(load_settings(evaluated.site.root / "executable.yaml"), probe_oracle=True)
    assert offline.source_identity == probed.source_identity
    assert offline.verification_identity == probed.verification_identity
    assert offline.oracle is not None
    assert not offline.oracle.probed
