"""Which file plays which part in a pack, who said so, and may it be used? Rule: pack.md §1."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from bfcl.config.model import RunConfig
from bfcl.errors import PackError, Problem
from bfcl.located import Document
from bfcl.pack.manifest import Declared
from bfcl.pack.model import PackFile, Role
from bfcl.pack.shape import Shape

Origin = Literal["config", "manifest", "canonical"]


class _Part(NamedTuple):
    role: Role
    canonical: str
    override: str | None = None
    """Its key in `oracle_pack`."""
    required: bool = True


_PARTS = (
    _Part("tools", "tools.json"),
    _Part("templates", "task_templates.yaml", "task_templates_path"),
    _Part("assertions", "assertions.py", "assertions_path"),
    _Part("validation_cases", "validation_cases.yaml", "validation_cases_path"),
    _Part("fixtures", "fixtures.json", "fixtures_path", required=False),
)
_HELD_OUT: Final = "held_out.yaml"
_BACKEND = _Part("backend", "backend.py", "backend_path")
_ENDPOINT = _Part("endpoint", "endpoint_config.yaml", "endpoint_config_path")


class Layout(NamedTuple):
    """The usable files, and every problem with the others."""

    files: Mapping[Role, PackFile]
    problems: list[Problem]
    displaced: Mapping[Role, tuple[str, ...]] = MappingProxyType({})
    """Role to logical names of files in the pack that would play it, were it not for one that goes before them."""


class _Claim(NamedTuple):
    """A path and where it was given; `place` is a problem still without code and message."""

    path: Path
    origin: Origin
    key: str
    place: Problem


def shown(path: Path) -> str:
    """How messages name a file: relative to the current directory where it lies inside, else absolute."""
    try:
        relative = path.relative_to(Path.cwd())
    except ValueError:
        relative = path
    return str(relative).encode("utf-8", "backslashreplace").decode()


def logical_name(path: Path, root: Path, key: str) -> str:
    """`tree/<relative path>` below the pack root, `declared/<key>` outside. Rule: pack.md §12."""
    if path.is_relative_to(root):
        return "tree/" + unicodedata.normalize("NFC", path.relative_to(root).as_posix())
    return f"declared/{key}"


def pack_root(config: RunConfig) -> Path:
    """The real path of the manifest's directory."""
    return Path(os.path.realpath(config.pack_root))


def allowed_roots(config: RunConfig, project: Path) -> tuple[Path, ...]:
    """Real paths of the directories a pack's files may lie in; the project's `packs/` where none is given."""
    given = config.oracle_runtime.allowed_roots or (project / "packs",)
    return tuple(Path(os.path.realpath(root)) for root in given)


def manifest_file(config: RunConfig, roots: Sequence[Path]) -> PackFile:
    """The manifest, on which every other place depends.

    Raises: PackError `pack_outside_allowlist`, `pack_file_missing`.
    """
    path = config.oracle_pack.manifest_path
    claim = _Claim(path, "config", "manifest", Problem(code="", message="", subject="oracle_pack.manifest_path"))
    file, problems = _admit(claim, "manifest", pack_root(config), roots)
    if file is None:
        raise PackError(problems)
    return file


def locate(config: RunConfig, declared: Declared, document: Document, roots: Sequence[Path]) -> Layout:
    """Find every other file by precedence: configuration, then `manifest.paths`, then the canonical name.

    Problems: `pack_outside_allowlist`, `pack_file_missing`, `oracle_ambiguous`, `oracle_missing`, `output_inside_pack`.
    """
    finder = _Finder(config, declared, Shape(document, ""))
    problems = finder.oracle()
    files: dict[Role, PackFile] = {}
    for part in (*_PARTS, *([finder.transport] if finder.transport else [])):
        claim = finder.claim(part)
        if claim is None:
            continue
        file, own = _admit(claim, part.role, finder.root, roots)
        problems += own
        if file is not None:
            files[part.role] = file
    named: tuple[tuple[Role, str, str | None], ...] = (
        ("system_prompt", "system_prompt_path", declared.system_prompt_path),
        ("held_out", "held_out", declared.held_out),
    )
    for role, key, path in named:
        if path is None:
            continue
        file, own = _admit(finder.declared_claim(key, (key,), path), role, finder.root, roots)
        problems += own
        if file is not None:
            files[role] = file
    return Layout(files, problems + _output_problems(config, finder.root), finder.displaced(files))


def beside(file: PackFile, path: str, place: Problem, root: Path, roots: Sequence[Path]) -> Layout:
    """The CA bundle that an endpoint's file names from its own directory; `place` is where it does so.

    Problems: `pack_outside_allowlist`, `pack_file_missing`.
    """
    claim = _Claim(file.path.parent / path, file.origin, "tls.ca_bundle_path", place)
    bundle, problems = _admit(claim, "ca_bundle", root, roots)
    return Layout({} if bundle is None else {"ca_bundle": bundle}, problems)


class _Finder:
    """Where each part is said to be."""

    def __init__(self, config: RunConfig, declared: Declared, shape: Shape) -> None:
        self.root = pack_root(config)
        self.transport: _Part | None = _BACKEND
        """The part that is the oracle; None where there is none. Two leave the backend's, to be read all the same."""
        self._config = config
        self._declared = declared
        self._shape = shape

    def claim(self, part: _Part) -> _Claim | None:
        """Who names this part's file, or None where an optional one is absent."""
        override = getattr(self._config.oracle_pack, part.override) if part.override else None
        if override is not None:
            key = f"oracle_pack.{part.override}"
            return _Claim(override, "config", part.role, Problem(code="", message="", subject=key))
        if part.role in self._declared.paths:
            return self.declared_claim(part.role, ("paths", part.role), self._declared.paths[part.role])
        path = self.root / part.canonical
        if not part.required and not os.path.lexists(path):
            return None
        return _Claim(path, "canonical", part.role, Problem(code="", message="", path=shown(path)))

    def declared_claim(self, key: str, pointer: tuple[str, ...], path: str) -> _Claim:
        """A path that the manifest gives, from the pack root."""
        return _Claim(self.root / path, "manifest", key, self._shape.problem(pointer, ""))

    def displaced(self, files: Mapping[Role, PackFile]) -> Mapping[Role, tuple[str, ...]]:
        """The files that other rules would have named for a role, those in use left out."""
        used = {file.logical for file in files.values()}
        named: dict[Role, list[str]] = {"held_out": [_HELD_OUT]}
        for part in _PARTS:
            declared = self._declared.paths.get(part.role, part.canonical)
            # What names no file is refused elsewhere, where it counts.
            named[part.role] = [part.canonical] if "\0" in declared else [part.canonical, declared]
        found = {role: {self._logical(name, role) for name in names} - used for role, names in named.items()}
        inside = {role: sorted(one for one in logicals if one.startswith("tree/")) for role, logicals in found.items()}
        return {role: tuple(logicals) for role, logicals in inside.items() if logicals}

    def _logical(self, name: str, role: Role) -> str:
        return logical_name(Path(os.path.realpath(self.root / name)), self.root, role)

    def oracle(self) -> list[Problem]:
        """Exactly one transport among override, manifest and canonical files; no precedence resolves two."""
        python = self._named("backend_path", "backend", _BACKEND.canonical)
        endpoint = self._named("endpoint_config_path", "endpoint", _ENDPOINT.canonical)
        if python and endpoint:
            message = f"two kinds of oracle: {python[0]} and {endpoint[0]}; expected one"
            fix = "remove one of them: the declaration and the file"
            return [self._oracle_problem("oracle_ambiguous", message, fix)]
        if endpoint:
            self.transport = _ENDPOINT
        elif not python:
            self.transport = None
            message = "the pack names no oracle; expected `backend.py`, `paths.backend` or `oracle_pack.backend_path`"
            return [self._oracle_problem("oracle_missing", message, "add `backend.py` to the pack root")]
        return []

    def _named(self, override: str, key: str, canonical: str) -> list[str]:
        found = []
        if getattr(self._config.oracle_pack, override) is not None:
            found.append(f"`oracle_pack.{override}` of the configuration")
        if key in self._declared.paths:
            found.append(f"`paths.{key}` of the manifest")
        if (self.root / canonical).is_file():
            found.append(f"`{canonical}` in the pack root")
        return found

    def _oracle_problem(self, code: str, message: str, fix: str) -> Problem:
        return Problem(code=code, path=shown(self.root), message=message, fix=fix)


def _admit(claim: _Claim, role: Role, root: Path, roots: Sequence[Path]) -> tuple[PackFile | None, list[Problem]]:
    """The file behind a claim, if it lies inside the roots and is a readable regular file."""
    try:
        path = Path(os.path.realpath(claim.path))
        outside = not any(path.is_relative_to(allowed) for allowed in roots)
        fault = None if outside else _file_fault(path)
    except ValueError:
        return None, [_told(claim, "pack_file_missing", f"`{shown(claim.path)}` is no usable path")]
    if outside:
        listed = ", ".join(f"`{allowed}`" for allowed in roots)
        message = f"`{path}` lies outside the allowed roots {listed}"
        fix = "move the file, or add its directory to `oracle_runtime.allowed_roots`"
        return None, [_told(claim, "pack_outside_allowlist", message, fix)]
    if fault is not None:
        message = f"`{shown(path)}` {fault}"
        return None, [_told(claim, "pack_file_missing", message, "add the file or correct the path")]
    return PackFile(role=role, path=path, logical=logical_name(path, root, role), origin=claim.origin), []


def _told(claim: _Claim, code: str, message: str, fix: str | None = None) -> Problem:
    return replace(claim.place, code=code, message=f"`{claim.key}`: {message}", fix=fix)


def _file_fault(path: Path) -> str | None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISDIR(mode):
        return "is a directory; expected a regular file"
    if not stat.S_ISREG(mode):
        return "is not a regular file"
    return None if os.access(path, os.R_OK) else "is not readable"


def _output_problems(config: RunConfig, root: Path) -> list[Problem]:
    run_dir = Path(os.path.realpath(config.run_dir))
    if not run_dir.is_relative_to(root):
        return []
    message = f"results would go to `{run_dir}`, inside the pack `{root}`, and change its fingerprint"
    return [
        Problem(
            code="output_inside_pack",
            subject="output_dir",
            message=message,
            fix="choose an `output_dir` outside the pack",
        )
    ]
