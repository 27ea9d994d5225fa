"""What an output directory says about its configuration."""

from __future__ import annotations

import json
from pathlib import Path

from bfcl.digest import sha256_json
from bfcl.evaluate.settings.resolved import resolved_eval_config, write_resolved
from tests.evaluate.settings.builder import beside, loaded, put, unpublished


def test_resolved_config_holds_payload_hash_and_paths_apart(tmp_path: Path) -> None:
    settings = loaded(tmp_path, beside(alias="a-first"), unpublished)
    (tmp_path / "out").mkdir()
    path = write_resolved(settings)
    assert path == tmp_path / "out" / "resolved_eval_config.json"
    told = json.loads(path.read_bytes())
    assert told == resolved_eval_config(settings)
    assert sha256_json(told["payload"]) == told["eval_config_hash"] == settings.eval_config_hash
    assert told["measurement_hash"] == settings.measurement_hash
    assert told["candidate_aliases"] == ["a-first", "potter"]
    assert (told["publication_allowed"], told["publication_scope"]) == (False, "trace_and_executable")
    assert told["non_publication_reasons"] == ["publication.requested"]
    assert told["resolved_paths"] == {
        "eval_config": str(tmp_path / "configs/eval.yaml"),
        "source_run_manifest": str(tmp_path / "run/run_manifest.json"),
        "benchmark": str(tmp_path / "run/benchmark.parquet"),
        "scoring_contract": str(tmp_path / "configs/contract.json"),
        "pack_manifest": str(tmp_path / "pack/manifest.yaml"),
        "oracle_resource": str(tmp_path / "pack/backend.py"),
        "output_dir": str(tmp_path / "out"),
        "resume_from": None,
    }


def test_resolved_config_names_the_run_that_is_gone_on_from_outside_the_hash(tmp_path: Path) -> None:
    settings = loaded(tmp_path)
    told = resolved_eval_config(settings, resume_from=tmp_path / "earlier")
    paths = told.pop("resolved_paths")
    assert isinstance(paths, dict)
    assert paths["resume_from"] == str(tmp_path / "earlier")
    assert told == {key: value for key, value in resolved_eval_config(settings).items() if key != "resolved_paths"}


def test_resolved_config_of_a_trace_names_no_oracle(tmp_path: Path) -> None:
    settings = loaded(tmp_path, put(("source_oracle",), None), put(("eval", "mode"), ["trace"]))
    paths = resolved_eval_config(settings)["resolved_paths"]
    assert isinstance(paths, dict)
    assert (paths["pack_manifest"], paths["oracle_resource"]) == (None, None)
