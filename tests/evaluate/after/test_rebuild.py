"""The engine once more, with nobody to ask."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from bfcl.digest import sha256_file
from bfcl.evaluate.after.rebuild import rebuild, verified_offline
from bfcl.evaluate.after.recorded_settings import Whereabouts, recorded_settings
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


PACK = "the pack changed since the evaluation: restore it, or name a copy of the one that it was made of with --pack"


def test_rebuild_tells_a_reader_of_a_pack_that_changed_since_and_takes_a_copy(
    evaluated: Evaluated, tmp_path: Path
) -> None:
    edited = tmp_path / "edited"
    shutil.copytree(evaluated.site.pack, edited)
    was = sha256_file(edited / "backend.py")
    (edited / "backend.py").write_bytes((edited / "backend.py").read_bytes() + b"# a comment\n")
    (problem,) = refused(lambda: rebuild(evaluated.executable, Whereabouts(pack=edited)))
    assert str(problem) == (
        f"{edited}/backend.py: eval_source_oracle_pack_drift: `backend.py` has {sha256_file(edited / 'backend.py')}; "
        f"the evaluation was configured with {was} (gate ten, the oracle's pack)\n  fix: {PACK}"
    )
    shutil.copy(evaluated.site.pack / "backend.py", edited / "backend.py")
    (edited / "notes.txt").write_text("other")
    (problem,) = refused(lambda: rebuild(evaluated.executable, Whereabouts(pack=edited)))
    assert problem.message.startswith("tree/notes.txt was added since the benchmark was made")
    assert problem.fix == PACK
    (edited / "notes.txt").unlink()
    assert rebuild(evaluated.executable, Whereabouts(pack=edited)).result.eval_run_id == "run-executable"


def test_rebuild_keeps_the_fix_of_what_only_lies_in_the_pack(evaluated: Evaluated, tmp_path: Path) -> None:
    edited = tmp_path / "edited"
    shutil.copytree(evaluated.site.pack, edited)
    (edited / "__pycache__").mkdir()
    (problem,) = refused(lambda: rebuild(evaluated.executable, Whereabouts(pack=edited)))
    assert problem.fix == "delete it, and set PYTHONDONTWRITEBYTECODE=1 where you import the pack yourself"
