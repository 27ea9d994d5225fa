"""A good evaluation on disk, and the one edit that breaks it.

    load_settings(write_evaluation(tmp_path, put(("limits", "max_turns"), 0)))

The tree holds `run/` (a published run as far as a configuration reads it), `pack/` and `configs/eval.yaml`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from bfcl.digest import sha256_of
from bfcl.evaluate.settings.load import load_settings
from bfcl.evaluate.settings.model import EvalSettings
from tests.evaluate.refusals import refused

Data = dict[str, Any]
Edit = Callable[[Data], None]

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TABLE = b"rows"
MANIFEST: Data = {
    "schema_version": "1.1",
    "run_id": "kilns-1",
    "lineage_policy": "strict_separation",
    "gold_eligible": True,
    "oracle": {"kind": "python", "endpoint_metadata": None},
    "pack": {"pack_id": "kiln_studio", "version": "1.0"},
    "artifacts": {"benchmark_parquet": {"content_hash": sha256_of(TABLE)}},
    "publication": {"published": {"file": "benchmark.parquet"}},
}
CANDIDATE: Data = {
    "alias": "potter",
    "model": "potter-7b",
    "provider": "vendor",
    "provider_api_version": "v1",
    "api": {"base_url": "https://models.example.org/v1/", "api_key_env": "VENDOR_KEY"},
    "model_identity": {"source": "hub", "model": "Org/Potter-7B", "revision": COMMIT},
    "inference": {"temperature": 0, "top_p": 1, "max_tokens": 256, "seed": 3, "tool_choice": "auto"},
}
CONFIG: Data = {
    "schema_version": "1.2",
    "config_status": "resolved",
    "source_run_manifest": "../run/run_manifest.json",
    "source_oracle": {"kind": "python", "pack_manifest": "../pack/manifest.yaml", "resource": "../pack/backend.py"},
    "translation_manifest": None,
    "eval": {"mode": ["trace", "executable"]},
    "scoring": {
        "contract": "contract.json",
        "argument_matching": "schema_then_canonical",
        "insert_declared_defaults": True,
        "respect_call_order": True,
        "respect_call_group": True,
        "allow_llm_repair": False,
        "task_success": "all_applicable_gates",
    },
    "limits": {
        "max_turns": 12,
        "max_parallel_tasks": 4,
        "max_retries": 2,
        "tool_timeout_s": 5,
        "candidate_timeout_s": 30.0,
        "episode_timeout_s": 60,
    },
    "candidates": [CANDIDATE],
    "contamination": {"enforce": True, "on_violation": "fail_run", "comparison_set": "common_intersection"},
    "publication": {"requested": True, "require_same_task_ids": True},
    "outputs": {
        "output_dir": "../out",
        "write_task_results": True,
        "write_eval_manifest": True,
        "cache_candidate_responses": True,
        "cache_tool_results": True,
    },
}
HELD_OUT: Data = {
    "policy_hash": sha256_of(b"policy"),
    "fixture_refs": ['["kilns","K-1"]'],
    "template_ids": [],
    "seed": 0,
    "pack_version": "1.0",
    "max_tasks_per_template": 2,
}


def put(place: tuple[str | int, ...], value: Any) -> Edit:
    """Set a value of the configuration."""

    def edit(config: Data) -> None:
        holder: Any = config
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = value

    return edit


def drop(*place: str | int) -> Edit:
    """Take a key out of the configuration."""

    def edit(config: Data) -> None:
        holder: Any = config
        for key in place[:-1]:
            holder = holder[key]
        del holder[place[-1]]

    return edit


def candidate(**changes: Any) -> Data:
    """Another candidate with weights of its own; `changes` replace keys."""
    other = copy.deepcopy(CANDIDATE)
    other["alias"] = "second"
    other["model_identity"]["model"] = "Org/Second"
    return {**other, **changes}


def beside(**changes: Any) -> Edit:
    """Add `candidate(**changes)` to the candidates."""
    return lambda config: config["candidates"].append(candidate(**changes))


def unpublished(config: Data) -> None:
    """Ask for no publication, so that weak gates are no fault."""
    config["publication"]["requested"] = False


def held_out(config: Data) -> None:
    """Ask for a held-out evaluation alone, unpublished."""
    config["eval"]["mode"] = ["held_out_eval"]
    config["held_out_eval"] = copy.deepcopy(HELD_OUT)
    unpublished(config)
    for key in ("write_task_results", "cache_candidate_responses", "cache_tool_results"):
        config["outputs"][key] = False


def write_evaluation(root: Path, *edits: Edit, manifest: Data | None = None, contract: bytes = b"{}\n") -> Path:
    """Write the tree below `root`; returns the path of the configuration."""
    for name in ("run", "pack", "configs"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "run" / "benchmark.parquet").write_bytes(TABLE)
    text = json.dumps(MANIFEST if manifest is None else manifest)
    (root / "run" / "run_manifest.json").write_text(text, encoding="utf-8")
    (root / "pack" / "manifest.yaml").write_text('pack_id: kiln_studio\nversion: "1.0"\n', encoding="utf-8")
    (root / "pack" / "backend.py").write_text("TOOLS = {}\n", encoding="utf-8")
    (root / "configs" / "contract.json").write_bytes(contract)
    config = copy.deepcopy(CONFIG)
    for edit in edits:
        edit(config)
    path = root / "configs" / "eval.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def loaded(root: Path, *edits: Edit, **kwargs: Any) -> EvalSettings:
    """The settings of an edited configuration."""
    return load_settings(write_evaluation(root, *edits, **kwargs))


def faults(root: Path, *edits: Edit, **kwargs: Any) -> list[tuple[str, str | None]]:
    """Code and field of every problem of an edited configuration, in the order told."""
    path = write_evaluation(root, *edits, **kwargs)
    return [(problem.code, problem.field) for problem in refused(lambda: load_settings(path))]


def told(root: Path, *edits: Edit, **kwargs: Any) -> list[str]:
    """Every problem of an edited configuration as people see it, paths cut down to those below `root`."""
    path = write_evaluation(root, *edits, **kwargs)
    found = (str(one) for one in refused(lambda: load_settings(path)))
    return [one.replace(f"{path}:", "eval.yaml:").replace(f"`{root}/", "`") for one in found]
