"""What does a checked mapping mean once every default is filled in? Rule: generation.md §2.2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from bfcl.canonical import Json
from bfcl.config.axes import STYLE_AXES
from bfcl.config.model import (
    Exports,
    Lineage,
    ModelRole,
    OraclePackPaths,
    OracleRuntime,
    ReferenceBenchmark,
    RunConfig,
    SemanticDeduplication,
    SurfaceGeneration,
    SurfaceQuality,
    TaskGeneration,
)
from bfcl.config.paths import OVERRIDES, allowed_roots, resolve
from bfcl.config.view import ROLES

_Block = TypeVar("_Block")


def typed(raw: Mapping[str, Json], *, base: Path, project: Path) -> RunConfig:
    """The typed configuration of a mapping without problems. Keys nothing honours are left out."""
    generation = _section(raw, "task_generation")
    surface = _section(raw, "surface_generation")
    axes = surface.get("surface_style_axes")
    benchmark = raw.get("reference_benchmark")
    return _block(
        RunConfig,
        raw,
        output_dir=resolve(raw["output_dir"], base),
        oracle_pack=_paths(_section(raw, "oracle_pack"), base),
        oracle_runtime=_block(
            OracleRuntime, _section(raw, "oracle_runtime"), allowed_roots=allowed_roots(raw, base, project)
        ),
        lineage=_lineage(_section(raw, "lineage")),
        reference_benchmark=_benchmark(benchmark, base) if isinstance(benchmark, Mapping) else None,
        surface_generation=_block(
            SurfaceGeneration, surface, surface_style_axes=tuple(axes) if isinstance(axes, list) else STYLE_AXES
        ),
        surface_quality_validation=_block(SurfaceQuality, _section(raw, "surface_quality_validation")),
        task_generation=_block(
            TaskGeneration,
            generation,
            candidate_tasks_per_category=generation.get(
                "candidate_tasks_per_category", generation.get("tasks_per_category", 1)
            ),
        ),
        semantic_deduplication_config=_block(SemanticDeduplication, _section(raw, "semantic_deduplication_config")),
        exports=_block(Exports, _section(raw, "exports")),
    )


def _section(raw: Mapping[str, Json], key: str) -> Mapping[str, Json]:
    value = raw.get(key, {})
    assert isinstance(value, Mapping)
    return value


def _block(kind: type[_Block], section: Mapping[str, Json], **converted: object) -> _Block:
    """`kind` with the keys `section` gives, `converted` in place of their raw values, and defaults for the rest."""
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in converted:
            values[field.name] = converted[field.name]
        elif field.name in section:
            values[field.name] = _value(section[field.name], str(field.type))
    return kind(**values)


def _value(value: Json, annotation: str) -> object:
    """A raw value under a field's annotation: floats are floats however they were written, lists are tuples."""
    if isinstance(value, list):
        return tuple(value)
    if annotation.startswith("float") and isinstance(value, int):
        return float(value)
    if annotation.startswith("Mapping[str, float]") and isinstance(value, Mapping):
        return {key: float(share) for key, share in value.items() if isinstance(share, int | float)}
    return value


def _paths(section: Mapping[str, Json], base: Path) -> OraclePackPaths:
    overrides = {key: resolve(section.get(key), base) for key in OVERRIDES}
    return _block(OraclePackPaths, {}, manifest_path=resolve(section["manifest_path"], base), **overrides)


def _lineage(section: Mapping[str, Json]) -> Lineage:
    named = _section(section, "roles")
    return _block(Lineage, section, roles={role: _block(ModelRole, _section(named, role)) for role in ROLES})


def _benchmark(section: Mapping[str, Json], base: Path) -> ReferenceBenchmark:
    return _block(ReferenceBenchmark, section, samples_path=resolve(section["samples_path"], base))
