"""What is known when doit loads: project, variables, configuration as read, and the files it points at.

Cheap by design: people run `doit list` all day. Nothing here refuses; trouble is kept for the `config` task.
Rule: generation.md §9.3.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bfcl.canonical import Json
from bfcl.config.paths import PATH_KEYS, allowed_roots, is_within, resolve
from bfcl.config.portable import portable, portable_without_stage
from bfcl.config.reading import parse_config, read_bytes
from bfcl.digest import blake3_file, blake3_json
from bfcl.errors import BfclError
from bfcl.graph.host import pyarrow_version, python_minor
from bfcl.graph.layout import BuildTree, RunTree
from bfcl.graph.sources import package_digests
from bfcl.located import parse_yaml
from bfcl.records.ids import RunStage
from bfcl.stages import SWITCHES, Stage, enabled_stages

DEFAULT_CONFIG = "configs/tiny.yaml"
PUBLICATION_CONTRACT = "bfcl-publication/1"
_UNREADABLE = "unreadable"
_REFUSED_FOLDERS = frozenset({"__pycache__", ".git", ".hg", ".svn"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One doit command line, before anything ran."""

    project: Path
    given: Mapping[str, str]
    """Variables as given."""
    config_path: Path
    raw: Mapping[str, Json]
    """The configuration as read; empty where it could not be."""
    data: bytes
    """The configuration's bytes: read once, so that what is keyed is what runs."""
    ck: str
    """Names this configuration's pointers: 16 hex digits of BLAKE3 of its portable form without `stage`."""
    trouble: BfclError | None
    """Why the configuration could not be read."""
    named_pack: Path | None = None
    """The pack that `pack=` names, absolute: it brings its own configuration."""

    @property
    def tree(self) -> BuildTree:
        return BuildTree(self.project)

    @property
    def run(self) -> RunTree | None:
        """The run tree the configuration names, None where it names none."""
        output = resolve(self.raw.get("output_dir"), self.config_path.parent)
        name = self.raw.get("expt_name")
        if output is None or not isinstance(name, str) or not name:
            return None
        return RunTree(output / name)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages this configuration has; those it does not enable are none of its tasks."""
        return enabled_stages([switch for switch in SWITCHES if self._at((switch, "enabled")) is True])

    @property
    def pack_is_allowed(self) -> bool:
        """Whether the pack really lies where the configuration lets packs lie."""
        root = self._pack_root()
        roots = allowed_roots(self.raw, self.config_path.parent, self.project)
        return root is not None and any(is_within(root, allowed) for allowed in roots)

    @property
    def pack_around_build(self) -> Path | None:
        """The pack that the build directory would lie in and change; None where it lies outside, as it should."""
        named = self.named_pack
        root = self._pack_root() if named is None else Path(os.path.realpath(named))
        build = Path(os.path.realpath(self.tree.root))
        return root if root is not None and is_within(build, root) else None

    @property
    def own_directories(self) -> dict[str, Path]:
        """What this invocation reads or writes as a whole, by what people call it; symlinks resolved."""
        pack, run = self._pack_root(), self.run
        found = {"the pack": pack, "the run directory": None if run is None else run.root, "`build/`": self.tree.root}
        return {name: Path(os.path.realpath(path)) for name, path in found.items() if path is not None}

    def pack_files(self) -> dict[str, Path]:
        """Regular files the pack is made of: relative name below its root, `declared/<path>` for those outside."""
        root = self._pack_root()
        if root is None or not root.is_dir():
            return {}
        files: dict[str, Path] = {}
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = Path(folder) / name
                if path.is_file() and not path.is_symlink():
                    files[f"tree/{_name(path.relative_to(root))}"] = path
        for path in self._declared_outside(root):
            files[f"declared/{_name(os.path.relpath(path, root))}"] = path
        return files

    def _oddities(self) -> list[str]:
        """What lies below the pack root and is no regular file, or a directory that a pack may not hold."""
        root = self._pack_root()
        if root is None:
            return []
        found: list[str] = []
        for folder, folders, names in os.walk(root):
            paths = [Path(folder) / name for name in (*folders, *names)]
            found += [
                _name(path.relative_to(root))
                for path in paths
                if path.is_symlink() or not (path.is_file() or path.is_dir()) or path.name.lower() in _REFUSED_FOLDERS
            ]
        return sorted(found)

    def root_inputs(self, stage: RunStage) -> dict[str, Json]:
        """What a release depends on, all known before any stage runs. Rule: generation.md §9.5."""
        samples = self._samples()
        return {
            "contract": PUBLICATION_CONTRACT,
            "config": portable(self.raw, config_path=self.config_path, project=self.project, stage=stage),
            "pack": {name: blake3_file(path) for name, path in self.pack_files().items()},
            "pack_oddities": self._oddities(),
            "package": package_digests(),
            "python": python_minor(),
            "pyarrow": pyarrow_version(),
            "reference_samples": blake3_file(samples) if samples is not None and samples.is_file() else None,
        }

    def publication_key(self, stage: RunStage) -> str:
        """BLAKE3 over the root inputs of a release."""
        return publication_key(self.root_inputs(stage))

    def _at(self, key: tuple[str, ...]) -> Json:
        value: Json = self.raw
        for part in key:
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    def _pack_root(self) -> Path | None:
        manifest = resolve(self._at(("oracle_pack", "manifest_path")), self.config_path.parent)
        return None if manifest is None else manifest.parent

    def _samples(self) -> Path | None:
        return resolve(self._at(("reference_benchmark", "samples_path")), self.config_path.parent)

    def _declared_outside(self, root: Path) -> list[Path]:
        """Existing files that configuration or manifest name outside the pack root."""
        base = self.config_path.parent
        named = [resolve(self._at(key), base) for key in PATH_KEYS if key[0] == "oracle_pack"]
        manifest = named[0]
        if manifest is not None and manifest.is_file():
            named += named_by_manifest(manifest, root)
        outside = {path for path in named if path is not None and root not in path.parents and path.is_file()}
        return sorted(outside)


def publication_key(root_inputs: Mapping[str, Json]) -> str:
    """BLAKE3 over what `Invocation.root_inputs` gives."""
    return blake3_json({**root_inputs, "package": blake3_json(root_inputs["package"])})


def _name(path: Path | str) -> str:
    """A relative path as text, whatever bytes it is made of."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def named_by_manifest(manifest: Path, root: Path) -> list[Path | None]:
    try:
        value = parse_yaml(manifest.read_bytes(), path=str(manifest), code="pack_parse_error").value
    except (BfclError, OSError):
        return []
    if not isinstance(value, Mapping):
        return []
    paths = value.get("paths")
    named = list(paths.values()) if isinstance(paths, Mapping) else []
    return [resolve(one, root) for one in [*named, value.get("system_prompt_path"), value.get("held_out")]]


def invocation(project: Path, directory: Path, given: Mapping[str, str]) -> Invocation:
    """Read what a command line names; `config=` and `pack=` resolve against `directory`, the shell's own."""
    named = given.get("config")
    pack = given.get("pack")
    path = Path(os.path.realpath(project / DEFAULT_CONFIG if named is None else directory / named))
    raw: Mapping[str, Json] = {}
    data = b""
    trouble: BfclError | None = None
    try:
        data = read_bytes(path, project)
        value = parse_config(data, path, project).value
        if isinstance(value, Mapping):
            raw = value
    except BfclError as error:
        trouble = error
    ck = _UNREADABLE
    if trouble is None:
        ck = blake3_json(portable_without_stage(raw, config_path=path, project=project))[:16]
    return Invocation(
        project=project,
        given=dict(given),
        config_path=path,
        raw=raw,
        data=data,
        ck=ck,
        trouble=trouble,
        named_pack=None if pack is None else Path(os.path.normpath(directory / pack)),
    )
