"""Which settings are paths, where do they lead, what are they called anywhere? Rules: generation.md §2.1, §2.5."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bfcl.canonical import Json

OVERRIDES = (
    "backend_path",
    "endpoint_config_path",
    "fixtures_path",
    "task_templates_path",
    "assertions_path",
    "validation_cases_path",
)
PATH_KEYS: tuple[tuple[str, ...], ...] = (
    ("output_dir",),
    ("oracle_pack", "manifest_path"),
    *(("oracle_pack", key) for key in OVERRIDES),
    ("oracle_runtime", "allowed_roots"),
    ("reference_benchmark", "samples_path"),
)
"""Every setting that holds a path, or a list of them."""


def resolve(value: Json, base: Path) -> Path | None:
    """`value` from `base`, absolute with symlinks resolved; None where it cannot name a file."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        return None
    return Path(os.path.realpath(base / value))


def default_roots(project: Path) -> tuple[Path, ...]:
    """The allowed roots of a configuration that names none."""
    return (Path(os.path.realpath(project / "packs")),)


def allowed_roots(raw: Mapping[str, Json], base: Path, project: Path) -> tuple[Path, ...]:
    """The allowed roots in the order given; misshapen entries are left out."""
    runtime = raw.get("oracle_runtime")
    named = runtime.get("allowed_roots") if isinstance(runtime, Mapping) else None
    if not isinstance(named, list | tuple):
        return default_roots(project)
    roots = tuple(path for path in (resolve(value, base) for value in named) if path is not None)
    return roots or default_roots(project)


def shown_path(path: Path, project: Path | None) -> str:
    """How messages name a file: from the project where it lies inside, else as given."""
    if project is not None:
        for root in (project.absolute(), Path(os.path.realpath(project))):
            if is_within(path.absolute(), root):
                return path.absolute().relative_to(root).as_posix()
    return str(path)


def is_within(path: Path, root: Path) -> bool:
    """Whether `path` is `root` or below it, component by component."""
    return path == root or root in path.parents


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchors:
    """The directories a portable path is told from; the first that holds a path names it."""

    pack: Path | None
    output: Path | None
    project: Path
    roots: tuple[Path, ...]
    """Every allowed root; those the earlier anchors hold are not counted."""

    def portable(self, path: Path) -> str:
        """`<token>/rest`, the bare token for an anchor itself, or the absolute path outside all of them."""
        for token, root in self._tokens():
            if is_within(path, root):
                rest = path.relative_to(root).as_posix()
                return token if rest == "." else f"{token}/{rest}"
        return path.as_posix()

    def _tokens(self) -> Iterator[tuple[str, Path]]:
        named = [("<pack>", self.pack), ("<output>", self.output), ("<project>", self.project)]
        first = [(token, root) for token, root in named if root is not None]
        yield from first
        others = [root for root in self.roots if not any(is_within(root, known) for _, known in first)]
        for index, root in enumerate(others):
            yield f"<allowed_root_{index}>", root


def anchors(raw: Mapping[str, Json], base: Path, project: Path) -> Anchors:
    """The anchors a raw mapping implies; what is absent or misshapen anchors nothing."""
    pack = raw.get("oracle_pack")
    manifest = resolve(pack.get("manifest_path"), base) if isinstance(pack, Mapping) else None
    return Anchors(
        pack=None if manifest is None else manifest.parent,
        output=resolve(raw.get("output_dir"), base),
        project=Path(os.path.realpath(project)),
        roots=allowed_roots(raw, base, project),
    )
