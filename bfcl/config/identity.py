"""Which configuration was this, on whatever machine it ran? Rule: generation.md §2.5.

Works on the mapping as read, so that a build with nothing to do never validates it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

from bfcl.canonical import Json
from bfcl.config.loaded import LoadedConfig
from bfcl.config.paths import Anchors, anchors
from bfcl.config.portable import portable
from bfcl.digest import Digest, sha256_json
from bfcl.records.ids import RunStage


def generation_config_hash(loaded: LoadedConfig, stage: RunStage) -> Digest:
    """Digest of the mapping as read, paths made portable, under the effective `stage`."""
    return sha256_json(portable(loaded.raw, config_path=loaded.path, project=loaded.project, stage=stage))


def resolved_config_hash(loaded: LoadedConfig, stage: RunStage) -> Digest:
    """Digest of the typed configuration, every default filled in, paths portable, under the effective `stage`."""
    return sha256_json(resolved(loaded, stage))


def resolved(loaded: LoadedConfig, stage: RunStage) -> dict[str, Json]:
    """What `resolved_config_hash` hashes."""
    names = anchors(loaded.raw, loaded.path.parent, loaded.project)
    plain = _plain(loaded.config, names)
    assert isinstance(plain, Mapping)
    return {**plain, "stage": stage}


def portable_path(loaded: LoadedConfig, path: Path) -> str:
    """How artifacts name a file: from the pack, the output directory, the project or an allowed root, else absolute."""
    return anchors(loaded.raw, loaded.path.parent, loaded.project).portable(path)


def _plain(value: object, names: Anchors) -> Json:
    """A typed value as JSON: records as objects, tuples as lists, paths portable."""
    if isinstance(value, Path):
        return names.portable(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name), names) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(child, names) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(child, names) for child in value]
    assert value is None or isinstance(value, bool | int | float | str)
    return value
