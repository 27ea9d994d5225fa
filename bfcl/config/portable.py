"""What does a configuration say once the machine it stands on is left out? Rule: generation.md §2.5.

Works on the mapping as read, so that a build with nothing to do never validates it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bfcl.canonical import Json
from bfcl.config.credentials import is_secret_key, shape_of
from bfcl.config.paths import PATH_KEYS, Anchors, anchors, resolve
from bfcl.records.ids import RunStage

_NOT_IDENTITY = ("eval_config_path", "eval")
"""How a benchmark is scored later does not change which benchmark it is."""


def portable(raw: Mapping[str, Json], *, config_path: Path, project: Path, stage: RunStage) -> dict[str, Json]:
    """The mapping as read with portable paths, the effective `stage`, and without evaluation settings.

    Accepts any mapping: what is misshapen stays as it is, and a credential is replaced by its shape so that no digest
    of one is ever taken.
    """
    return {**portable_without_stage(raw, config_path=config_path, project=project), "stage": stage}


def portable_without_stage(raw: Mapping[str, Json], *, config_path: Path, project: Path) -> dict[str, Json]:
    """`portable` without `stage`: what all commands on one configuration share."""
    base = config_path.absolute().parent
    names = anchors(raw, base, project)
    kept = {key: value for key, value in raw.items() if key not in (*_NOT_IDENTITY, "stage")}
    plain = _redacted(kept)
    assert isinstance(plain, dict)
    for place in PATH_KEYS:
        _rename(plain, place, base, names)
    return plain


def _redacted(value: Json) -> Json:
    """A deep copy whose credentials are shapes."""
    if isinstance(value, Mapping):
        return {key: shape_of(child) if is_secret_key(key) else _redacted(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(child) for child in value]
    return value


def _rename(plain: dict[str, Json], place: Sequence[str], base: Path, names: Anchors) -> None:
    """Make the path, or the list of paths, at `place` portable; leave what is no path."""
    block: Json = plain
    for key in place[:-1]:
        block = block.get(key) if isinstance(block, dict) else None
    if isinstance(block, dict) and place[-1] in block:
        value = block[place[-1]]
        block[place[-1]] = (
            [_name(one, base, names) for one in value] if isinstance(value, list) else _name(value, base, names)
        )


def _name(value: Json, base: Path, names: Anchors) -> Json:
    path = resolve(value, base)
    return value if path is None else names.portable(path)
