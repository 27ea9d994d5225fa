"""What does `manifest.yaml` declare? Rule: pack.md §2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bfcl.canonical import Json
from bfcl.errors import Problem, closest, did_you_mean
from bfcl.located import Document
from bfcl.pack.conform import conforming
from bfcl.pack.model import Confirmation, Manifest
from bfcl.pack.schema_check import fields
from bfcl.pack.shape import Shape

LONGEST_ID: Final = 100
"""Bytes of a pack id in UTF-8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """The manifest before its system prompt file is read."""

    manifest: Manifest
    """`system_prompt` is the inline text or None."""
    paths: Mapping[str, str]
    system_prompt_path: str | None
    held_out: str | None
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


def read_manifest(document: Document) -> Declared:
    """Read every key, collecting `manifest_invalid` problems and warnings; fields at fault hold their default."""
    shape = Shape(document, "manifest_invalid")
    root: Mapping[str, Any] = conforming("manifest", document.value, shape)
    _refuse_strange_default(root, shape)
    _refuse_long_id(root, shape)
    manifest = Manifest(
        pack_id=str(root.get("pack_id", "")).strip(),
        version=str(root.get("version", "")).strip(),
        languages=_names(root.get("languages")),
        default_language=root.get("default_language"),
        clock=root.get("clock"),
        primary_keys=root.get("primary_keys") or {},
        absent_ids={name: _absent(ids) for name, ids in (root.get("absent_ids") or {}).items()},
        system_prompt=(root.get("system_prompt") or "").strip() or None,
        assistant_turn_templates={
            kind: texts or {} for kind, texts in (root.get("assistant_turn_templates") or {}).items()
        },
        confirmation=_confirmation(root.get("confirmation") or {}),
        tool_names_exempt=_names((root.get("surface_guards") or {}).get("tool_names_exempt")),
        values={},
    )
    paths = {key: path for key, path in (root.get("paths") or {}).items() if path is not None}
    known = fields("manifest")
    extras = {key: value for key, value in root.items() if key not in known}
    rest = {"paths": paths, **{key: root.get(key) for key in ("description", "system_prompt_path")}}
    return Declared(
        manifest=_with_values(manifest, {**extras, **rest}),
        paths=paths,
        system_prompt_path=root.get("system_prompt_path"),
        held_out=root.get("held_out"),
        problems=tuple(shape.problems),
        warnings=tuple(_warnings(root, shape)),
    )


def with_system_prompt(manifest: Manifest, text: str) -> Manifest:
    """The manifest with a prompt file's trimmed text, unless an inline prompt wins."""
    if manifest.system_prompt is not None:
        return manifest
    values = {**manifest.values, "system_prompt": text}
    return replace(manifest, system_prompt=text, values=values)


def _with_values(manifest: Manifest, others: Mapping[str, Json]) -> Manifest:
    confirmation = manifest.confirmation
    values: dict[str, Json] = {
        **others,
        "pack_id": manifest.pack_id,
        "version": manifest.version,
        "languages": manifest.languages,
        "default_language": manifest.default_language,
        "clock": manifest.clock,
        "primary_keys": manifest.primary_keys,
        "absent_ids": manifest.absent_ids,
        "system_prompt": manifest.system_prompt,
        "assistant_turn_templates": manifest.assistant_turn_templates,
        "confirmation": {
            "parameter": confirmation.parameter,
            "status_field": confirmation.status_field,
            "pending_status": confirmation.pending_status,
        },
        "surface_guards": {"tool_names_exempt": manifest.tool_names_exempt},
    }
    return replace(manifest, values=values)


def _warnings(root: Mapping[str, Json], shape: Shape) -> list[Problem]:
    known = fields("manifest")
    found = [
        shape.problem(
            (key,),
            f"unknown key `{key}` is kept as the pack's own metadata and has no effect",
            did_you_mean(key, known) or f"name it `x-{key}` to mark it as yours",
            code="unknown_manifest_key",
        )
        for key in root
        if key not in known and not key.startswith("x-")
    ]
    version = root.get("version")
    if isinstance(version, float):
        message = f"`version` is an unquoted number and becomes {str(version)!r}, which may not be what was written"
        found.append(shape.problem(("version",), message, f'write `version: "{version}"`', code="unquoted_version"))
    return found


def _refuse_strange_default(root: Mapping[str, Any], shape: Shape) -> None:
    """No schema can say that the default is one of the languages."""
    languages, default = _names(root.get("languages")), root.get("default_language")
    if default is not None and languages and default not in languages:
        message = f"`default_language` is `{default}`; expected one of `languages`: {', '.join(languages)}"
        shape.refuse(("default_language",), message, f"add `{default}` there", suggests=closest(default, languages))


def _refuse_long_id(root: Mapping[str, Any], shape: Shape) -> None:
    """Directories are named by it, and a schema counts characters where a file system counts bytes."""
    pack_id = str(root.get("pack_id", "")).strip()
    size = len(pack_id.encode("utf-8", "surrogatepass"))
    if size > LONGEST_ID:
        message = f"`pack_id` has {size} bytes, but directories are named by it; expected at most {LONGEST_ID}"
        shape.refuse(("pack_id",), message, "shorten it")


def _names(listed: Sequence[str | None] | None) -> tuple[str, ...]:
    """A list's texts, without those at fault."""
    return tuple(one for one in listed or () if one is not None)


def _absent(ids: Any) -> tuple[Json, ...]:
    """The ids of one collection; one may stand without its list: generation.md §3.1."""
    return (ids,) if isinstance(ids, str) else tuple(one for one in ids or () if one is not None)


def _confirmation(block: Mapping[str, Any]) -> Confirmation:
    given = {key: block.get(key) for key in ("parameter", "status_field", "pending_status")}
    return Confirmation(**{key: value for key, value in given.items() if value is not None})
