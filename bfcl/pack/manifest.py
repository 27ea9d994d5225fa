"""What does `manifest.yaml` declare? Rule: pack.md §2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bfcl.canonical import Json
from bfcl.errors import Problem, did_you_mean
from bfcl.located import Document
from bfcl.pack.conform import conforms
from bfcl.pack.model import Confirmation, Manifest
from bfcl.pack.schema_check import fields
from bfcl.pack.shape import Shape
from bfcl.records.ids import TEXT_MILESTONES


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
    noted = Shape(document, "manifest_invalid")
    conforms("manifest", document.value, noted)
    # The schema file has judged every field; from here on the rest of a manifest with a fault is read all the same.
    shape = Shape(document, "")
    root = document.value if isinstance(document.value, dict) else {}
    warnings = _warnings(root, noted)
    paths = _paths(root, shape)
    languages, default_language = _languages(root, shape, noted)
    guards = shape.mapping(root.get("surface_guards"), ("surface_guards",))
    manifest = Manifest(
        pack_id=_scalar(root, "pack_id"),
        version=_scalar(root, "version"),
        languages=languages,
        default_language=default_language,
        clock=shape.text(root.get("clock"), ("clock",)),
        primary_keys=_primary_keys(root, shape),
        absent_ids=_absent_ids(root, shape),
        system_prompt=_inline_prompt(root, shape),
        assistant_turn_templates=shape.typed_texts(
            root.get("assistant_turn_templates"), ("assistant_turn_templates",), TEXT_MILESTONES
        ),
        confirmation=_confirmation(root, shape),
        tool_names_exempt=shape.names(guards.get("tool_names_exempt"), ("surface_guards", "tool_names_exempt")),
        values={},
    )
    description = shape.text(root.get("description"), ("description",), blank=True)
    prompt_path = shape.text(root.get("system_prompt_path"), ("system_prompt_path",))
    known = fields("manifest")
    extras = {key: value for key, value in root.items() if key not in known}
    rest = {"paths": paths, "description": description, "system_prompt_path": prompt_path}
    return Declared(
        manifest=_with_values(manifest, {**extras, **rest}),
        paths=paths,
        system_prompt_path=prompt_path,
        held_out=shape.text(root.get("held_out"), ("held_out",)),
        problems=tuple(noted.problems),
        warnings=tuple(warnings),
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


def _scalar(root: Mapping[str, Json], key: str) -> str:
    """A text or number as text; empty where it is neither."""
    value = root.get(key)
    fits = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value).strip() if fits else ""


def _paths(root: Mapping[str, Json], shape: Shape) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for key, value in shape.mapping(root.get("paths"), ("paths",)).items():
        text = shape.text(value, ("paths", key))
        if text is not None and key in fields("manifest", ("properties", "paths")):
            found[key] = text
    return found


def _languages(root: Mapping[str, Json], shape: Shape, noted: Shape) -> tuple[tuple[str, ...], str | None]:
    languages = shape.names(root.get("languages"), ("languages",))
    default = shape.text(root.get("default_language"), ("default_language",))
    if default is not None and languages and default not in languages:
        message = f"`default_language` is `{default}`; expected one of `languages`: {', '.join(languages)}"
        noted.refuse(("default_language",), message, did_you_mean(default, languages) or f"add `{default}` there")
    return languages, default


def _primary_keys(root: Mapping[str, Json], shape: Shape) -> Mapping[str, str]:
    found = {}
    for name, value in shape.mapping(root.get("primary_keys"), ("primary_keys",)).items():
        key = shape.text(value, ("primary_keys", name))
        if key is not None:
            found[name] = key
    return found


def _absent_ids(root: Mapping[str, Json], shape: Shape) -> Mapping[str, tuple[Json, ...]]:
    found: dict[str, tuple[Json, ...]] = {}
    for name, value in shape.mapping(root.get("absent_ids"), ("absent_ids",)).items():
        if isinstance(value, str):  # One id may stand without its list: generation.md §3.1.
            found[name] = (value,)
            continue
        ids = shape.items(value, ("absent_ids", name))
        found[name] = tuple(one for one in ids if isinstance(one, str | int | float))
    return found


def _inline_prompt(root: Mapping[str, Json], shape: Shape) -> str | None:
    text = shape.text(root.get("system_prompt"), ("system_prompt",), blank=True)
    return (text or "").strip() or None


def _confirmation(root: Mapping[str, Json], shape: Shape) -> Confirmation:
    block = shape.mapping(root.get("confirmation"), ("confirmation",))
    defaults = Confirmation()
    return Confirmation(
        parameter=shape.text(block.get("parameter"), ("confirmation", "parameter")) or defaults.parameter,
        status_field=shape.text(block.get("status_field"), ("confirmation", "status_field")) or defaults.status_field,
        pending_status=shape.text(block.get("pending_status"), ("confirmation", "pending_status"))
        or defaults.pending_status,
    )
