"""What do the checkpoints beside a release say of the run that made it? Rule: generation.md §5.

They are no part of a publication: where somebody took them away, what only they could tell goes unheld.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bfcl.canonical import Json
from bfcl.stages import STAGES

Claims = dict[tuple[str, ...], Json]
"""Path in a manifest to the value that stands there."""

_CHECKPOINTS: Final = "stage_cache/checkpoints"
_SOURCE: Final = re.compile(r"build/([0-9a-f]{64})/[^/]+")


def chain_claims(run_dir: Path) -> Claims:
    """Path in the manifest to its value, as far as there are checkpoints that say it."""
    claims: Claims = {}
    for stage in STAGES:
        manifest = _document(run_dir / _CHECKPOINTS / stage.name / "manifest.json")
        state = _document(run_dir / _CHECKPOINTS / stage.name / "state.json")
        if manifest is None or state is None:
            continue
        claims |= _identity(manifest)
        claims |= _result(stage.name, state)
        if manifest.get("parent") is None:
            claims |= _prepared(manifest)
    return claims


def _identity(manifest: Mapping[str, Json]) -> Claims:
    identity = _object(manifest, "identity")
    pipeline = _object(identity, "pipeline")
    places: dict[tuple[str, ...], tuple[Mapping[str, Json], str]] = {
        ("generation_config_hash",): (identity, "generation_config_hash"),
        ("runtime", "pipeline_source_hash"): (pipeline, "source_hash"),
        ("runtime", "dependency_lock_hash"): (pipeline, "dependency_lock_hash"),
        ("runtime", "worker_image_digest"): (pipeline, "worker_image_digest"),
    }
    return {path: holder[name] for path, (holder, name) in places.items() if name in holder}


def _result(stage: str, state: Mapping[str, Json]) -> Claims:
    pointer = _object(_object(state, "payload"), "pointer")
    listed = pointer.get("shards")
    if "fp" not in pointer or not isinstance(listed, list):
        return {}
    shards = {str(one.get("label")): one.get("fp") for one in listed if isinstance(one, Mapping)}
    place = ("build", "stages", stage)
    return {(*place, "fp"): pointer["fp"], (*place, "shards"): shards}


def _prepared(manifest: Mapping[str, Json]) -> Claims:
    """The stored result of `prepare`, which has no checkpoint: the first stage says where its inputs lie."""
    for facts in _object(manifest, "input_artifacts").values():
        source = facts.get("source") if isinstance(facts, Mapping) else None
        found = _SOURCE.fullmatch(source) if isinstance(source, str) else None
        if found is not None:
            return {("build", "stages", "prepare", "fp"): found[1], ("build", "stages", "prepare", "shards"): {}}
    return {}


def _document(path: Path) -> Mapping[str, Json] | None:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _object(holder: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    value = holder.get(name)
    return value if isinstance(value, Mapping) else {}
