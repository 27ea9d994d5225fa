"""A small good configuration in a project of its own, and edits of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bfcl.config.load import LoadedConfig, load_config
from bfcl.errors import ConfigError
from bfcl.records.ids import RunStage

GOOD: Mapping[str, Any] = {
    "family": "bfcl",
    "expt_name": "trial",
    "output_dir": "../build/runs",
    "oracle_pack": {"manifest_path": "../packs/sample/manifest.yaml"},
    "oracle_runtime": {"clock": "2026-03-02T09:00:00+00:00"},
    "lineage": {"policy": "smoke_no_publication"},
}
"""Dumped one key a line: `oracle_pack` is line 4, `lineage` line 8, what an edit adds to the top starts at line 10."""

MODEL = {"alias": "m", "provider": "p", "model": "m-1", "canonical_id": "p/m-1"}

REMOVED = object()


def edited(edits: Mapping[str, object], source: Mapping[str, Any] = GOOD) -> dict[str, Any]:
    """`source` with each dotted key set, its blocks made where absent; `REMOVED` deletes the key."""
    raw: dict[str, Any] = copy.deepcopy(dict(source))
    for dotted, value in edits.items():
        *blocks, key = dotted.split(".")
        block = raw
        for name in blocks:
            block = block.setdefault(name, {})
        if value is REMOVED:
            del block[key]
        else:
            block[key] = copy.deepcopy(value)
    return raw


def write(project: Path, raw: object) -> Path:
    """The configuration `configs/run.yaml` of `project`; text is written as it is, anything else dumped."""
    path = project / "configs" / "run.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    (project / "packs" / "sample").mkdir(parents=True, exist_ok=True)
    text = raw if isinstance(raw, str) else yaml.safe_dump(raw, sort_keys=False)
    path.write_text(text, encoding="utf-8")
    return path


def load(project: Path, raw: object, command: RunStage = "all") -> LoadedConfig:
    """Write and load."""
    return load_config(write(project, raw), project=project, command=command)


def complaints(project: Path, raw: object, command: RunStage = "all") -> list[str]:
    """The printed problems of a configuration, the project's own path shown as `~`; [] where it loads."""
    try:
        load(project, raw, command)
    except ConfigError as error:
        return [str(problem).replace(str(project), "~") for problem in error.problems]
    return []
