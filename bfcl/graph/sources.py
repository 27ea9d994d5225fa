"""Which of our own code a result depends on: the `code` part of a store key. Rule: generation.md §9.2.

Each kind of result names its root modules; the rest follows from their imports, read as text because this happens in
every run. A test compares it with the syntax tree's imports.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from bfcl.digest import Fingerprint, blake3_file, blake3_json

PACKAGE: Final = Path(__file__).resolve().parent.parent

STARTER: Final = PACKAGE / "cli" / "starter"

CONTRACT_VERSION: Final = "1"
"""Raised when the meaning of stored rows changes without a source change."""

_ORACLE: Final = ("bfcl.oracle.worker", "bfcl.oracle.child")

ROOTS: Final[dict[str, tuple[str, ...]]] = {
    "prepare": ("bfcl.pack.load", "bfcl.pack.normalise"),
    "oracle_view": ("bfcl.graph.view", "bfcl.oracle.view"),
    "reference_profile": ("bfcl.stages.reference_profile", "bfcl.tables.parquet"),
    "expand": ("bfcl.stages.expand", "bfcl.tables.codec"),
    "state_machine": ("bfcl.stages.state_machine", "bfcl.tables.codec"),
    "render": ("bfcl.stages.render", "bfcl.stages.state_machine", "bfcl.tables.codec"),
    "expected_trace": ("bfcl.stages.expected_trace", "bfcl.stages.state_machine", "bfcl.tables.codec", *_ORACLE),
    "schema_validation": ("bfcl.stages.schema_validation", "bfcl.stages.state_machine", "bfcl.tables.codec"),
    "executable_replay": ("bfcl.stages.executable_replay", "bfcl.tables.codec", *_ORACLE),
    "surface_quality": ("bfcl.stages.surface_quality", "bfcl.tables.codec", "bfcl.tables.parquet"),
    "dedup_balancing": (
        "bfcl.stages.dedup_balancing",
        "bfcl.stages.balancing.finders",
        "bfcl.stages.balancing.embedding",
        "bfcl.modelio.embeddings",
        "bfcl.stages.balancing.partition",
        "bfcl.stages.balancing.survivor",
        "bfcl.stages.state_machine",
        "bfcl.tables.codec",
        "bfcl.tables.parquet",
    ),
    "merge": ("bfcl.tables.parquet",),
    "validation": ("bfcl.checks.validate", "bfcl.pack.load", "bfcl.oracle.private", *_ORACLE),
    "final_output": (
        "bfcl.stages.final_output",
        "bfcl.stages.held_out_scan",
        "bfcl.stages.publication_plan",
        "bfcl.stages.tally",
        "bfcl.tables.benchmark",
        "bfcl.tables.shelf",
        "bfcl.tables.codec",
    ),
}
"""The modules each kind of result is made by, followed through their imports."""

_SHARD: Final = ("bfcl.graph.compute", "bfcl.graph.shards")

ALONE: Final[dict[str, tuple[str, ...]]] = {
    "prepare": ("bfcl.graph.prepare",),
    "oracle_view": (),
    "reference_profile": ("bfcl.graph.unsharded",),
    **dict.fromkeys(
        ("expand", "state_machine", "render", "expected_trace", "schema_validation", "executable_replay"), _SHARD
    ),
    "merge": ("bfcl.graph.runner", "bfcl.graph.shards"),
    "validation": ("bfcl.graph.validation_run", "bfcl.graph.validation_oracle", "bfcl.graph.validation_parts"),
    "surface_quality": ("bfcl.graph.quality", "bfcl.graph.unsharded", "bfcl.graph.shards"),
    "dedup_balancing": ("bfcl.graph.balancing", "bfcl.graph.unsharded", "bfcl.graph.shards"),
    "final_output": (
        "bfcl.graph.assembled",
        "bfcl.graph.final_rows",
        "bfcl.graph.publish",
        "bfcl.graph.shards",
        "bfcl.graph.unsharded",
    ),
}
"""Modules of ours that hand rows over: they count themselves, while following them would count every stage."""

_IMPORT = re.compile(r"^(?:from (bfcl[\w.]*) import (\([^)]*\)|[^\n]*)|import (bfcl[\w.]*))", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")
_NAME = re.compile(r"(\w+)(?: as \w+)?")


@functools.cache
def code_digest(kind: str) -> Fingerprint:
    """BLAKE3 over the contract version, every module a kind of result depends on, and the schemas of their rooms."""
    modules = (*closure(ROOTS[kind]), *ALONE[kind])
    digests = {name: blake3_file(_path(name)) for name in modules}
    schemas = {path.relative_to(PACKAGE).as_posix(): blake3_file(path) for path in schema_files(modules)}
    return blake3_json({"version": CONTRACT_VERSION, "modules": digests, "schemas": schemas})


def schema_files(modules: Iterable[str]) -> list[Path]:
    """The JSON below `schemas/` of each room that one of the modules belongs to, sorted: it decides what loads."""
    rooms = {module.split(".")[1] for module in modules if module.count(".") > 1}
    return sorted(path for room in rooms for path in (PACKAGE / room / "schemas").rglob("*.json"))


@functools.cache
def package_digests() -> dict[str, Fingerprint]:
    """BLAKE3 of every source and schema file of the package, by its path below it."""
    return {path.relative_to(PACKAGE).as_posix(): blake3_file(path) for path in package_files()}


def package_digest() -> Fingerprint:
    """BLAKE3 over all of them: part of the publication key."""
    return blake3_json(package_digests())


@functools.cache
def package_files() -> tuple[Path, ...]:
    """Sources and schemas, sorted; not the starter project that only an installed package carries."""
    found: list[Path] = []
    for directory, below, names in os.walk(PACKAGE):
        here = Path(directory)
        below[:] = [name for name in below if name != "__pycache__" and here / name != STARTER]
        found += [here / name for name in names if name.endswith((".py", ".json"))]
    return tuple(sorted(found))


def closure(roots: tuple[str, ...]) -> list[str]:
    """The roots and all own modules they import, directly or not; sorted."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += imported(module)
    return sorted(found)


@functools.cache
def imported(module: str) -> tuple[str, ...]:
    """The own modules one module imports; a name imported from a room's package is that room's module."""
    return tuple(dict.fromkeys(_imports(_path(module).read_text(encoding="utf-8"))))


def _imports(source: str) -> Iterator[str]:
    for package, names, whole in _IMPORT.findall(source):
        if whole:
            yield whole
            continue
        for name in _NAME.findall(_COMMENT.sub("", names).strip("()")):
            inner = f"{package}.{name}"
            yield inner if _path(inner).is_file() else package


def _path(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
