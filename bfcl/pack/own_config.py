"""Which configuration is a pack validated under when nobody names one? Rule: pack.md §13, `pack=<dir>`."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from bfcl.canonical import Json, readable_json
from bfcl.config.load import load_config_from_here
from bfcl.config.loaded import LoadedConfig
from bfcl.config.model import RunConfig
from bfcl.errors import BfclError, PackError, Problem
from bfcl.located import parse_yaml
from bfcl.pack.layout import shown
from bfcl.pack.load import load_configured
from bfcl.pack.model import Pack

OWN_CONFIG: Final = "validate.yaml"
MANIFEST: Final = "manifest.yaml"
DEFAULT_CLOCK: Final = "2026-01-01T00:00:00+00:00"


class OwnPack(NamedTuple):
    """A pack and the configuration it brings along or is given."""

    loaded: LoadedConfig
    pack: Pack


def load_own(root: Path, *, project: Path | None = None) -> OwnPack:
    """Load the pack at `root` under its `validate.yaml`, or under defaults that suit it where it has none.

    `project` is the pack's parent directory where it is not given.
    Problems name files as seen from the current directory.
    Raises: ConfigError, PackError with every problem; `pack_file_missing` where `root` holds no manifest.
    """
    loaded = own_config(root, project=project)
    pack = load_configured(loaded)
    if not (root / OWN_CONFIG).is_file():
        loaded = dataclasses.replace(loaded, config=wide_enough(loaded.config, pack))
    return OwnPack(loaded, pack)


def own_config(root: Path, *, project: Path | None = None) -> LoadedConfig:
    """The pack's `validate.yaml`; without one, defaults with a budget of one task, which `load_own` widens.

    Raises: ConfigError, PackError.
    """
    # Not resolved: messages name the pack as the caller does.
    directory = Path(os.path.normpath(root.absolute()))
    own = directory / OWN_CONFIG
    project = project or directory.parent
    if own.is_file():
        return load_config_from_here(own, project=project, command="prepare")
    return default_config(directory, project=project)


def default_config(root: Path, *, project: Path | None = None) -> LoadedConfig:
    """What a pack without `validate.yaml` is validated under. Raises PackError where there is no manifest."""
    directory = Path(os.path.normpath(root.absolute()))
    own = directory / OWN_CONFIG
    project = project or directory.parent
    if not (directory / MANIFEST).is_file():
        message = f"`{shown(directory)}` holds no {MANIFEST}; expected an oracle pack"
        fix = "name the directory of a pack, or write one with `bfcl scaffold-oracle-pack`"
        raise PackError(Problem(code="pack_file_missing", path=shown(directory), message=message, fix=fix))
    data = readable_json(_defaults(directory))
    loaded = load_config_from_here(own, project=project, command="prepare", data=data)
    return dataclasses.replace(loaded, written=False)


def _defaults(directory: Path) -> dict[str, Json]:
    return {
        "family": "bfcl",
        "expt_name": "validate",
        "output_dir": f"../{directory.name}_runs",
        "stage": "prepare",
        "random_seed": 7,
        "config_status": "resolved",
        "oracle_pack": {"manifest_path": MANIFEST},
        "oracle_runtime": {"clock": _clock(directory), "worker": "process", "allowed_roots": ["."]},
        "lineage": {"policy": "smoke_no_publication"},
        "task_generation": {"tasks_per_category": 1},
    }


def _clock(directory: Path) -> str:
    """The manifest's clock where it is a time with an offset. A manifest that does not parse is told at loading."""
    try:
        value = parse_yaml((directory / MANIFEST).read_bytes(), path=MANIFEST, code="pack_parse_error").value
    except (BfclError, OSError):
        return DEFAULT_CLOCK
    clock = value.get("clock") if isinstance(value, dict) else None
    if not isinstance(clock, str):
        return DEFAULT_CLOCK
    try:
        has_offset = datetime.fromisoformat(clock).tzinfo is not None
    except ValueError:
        return DEFAULT_CLOCK
    return clock if has_offset else DEFAULT_CLOCK


def wide_enough(config: RunConfig, pack: Pack) -> RunConfig:
    """The configuration with a budget of one task for each template of the widest category."""
    widest = max(Counter(template.category for template in pack.templates).values(), default=1)
    budget = dataclasses.replace(config.task_generation, tasks_per_category=widest, candidate_tasks_per_category=widest)
    return dataclasses.replace(config, task_generation=budget)
