"""Which files does `backend.py` bring along, and can that be told without running it? Rule: authoring.md §5.

The closure is `backend.py`, every module of the package it reaches by static imports, and every `__init__.py` Python
would run on the way. Imports inside functions and under `if` count: they may run. What is reached twice is read once.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from bfcl.authoring.source.findings import SourceFinding
from bfcl.authoring.source.parsing import Module, builtin_uses, parse_module
from bfcl.authoring.source.tree import SourceTree
from bfcl.errors import PackError, Problem, raise_all

BACKEND: Final = "backend.py"

_DYNAMIC: Final = ("__import__", "compile", "eval", "exec")
_INIT: Final = "__init__.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """`modules` by file name; `findings` in the order met."""

    modules: tuple[Module, ...]
    findings: tuple[SourceFinding, ...]

    def module(self, name: str) -> Module:
        return next(module for module in self.modules if module.name == name)


def read_closure(tree: SourceTree, declared: Collection[str]) -> Closure:
    """The import closure of a source package. `declared` are the import names of its dependency lock.

    Raises: PackError `source_package_invalid` where `backend.py` is absent or a file cannot be read,
    `source_encoding_invalid`, `source_syntax_invalid`, all files at once. Every other fault is a finding.
    """
    if not tree.is_file(BACKEND):
        message = "does not exist; a source package has its four functions there"
        fix = "write it, or let `bfcl scaffold-source-package` write a skeleton"
        raise PackError(Problem(code="source_package_invalid", path=tree.shown(BACKEND), message=message, fix=fix))
    return _Walk(tree, declared).closure()


class _Walk:
    """Modules still to look through, what was found on the way."""

    def __init__(self, tree: SourceTree, declared: Collection[str]) -> None:
        self._tree = tree
        self._declared = declared
        self._modules: dict[str, Module | None] = {}
        self._todo: list[Module] = []
        self._findings: list[SourceFinding] = []
        self._problems: list[Problem] = []

    def closure(self) -> Closure:
        self._read(BACKEND)
        while self._todo:
            module = self._todo.pop()
            self._dynamic(module)
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Import):
                    for alias in node.names:
                        self._import(_Site(module.name, node.lineno), alias.name.split("."))
                elif isinstance(node, ast.ImportFrom):
                    self._import_from(_Site(module.name, node.lineno), node)
        raise_all(PackError, self._problems)
        modules = [module for _, module in sorted(self._modules.items()) if module is not None]
        return Closure(modules=tuple(modules), findings=tuple(self._findings))

    def _read(self, name: str) -> Module | None:
        """The module of a file, parsed once; None where it cannot be parsed."""
        if name in self._modules:
            return self._modules[name]
        module = None
        link = self._tree.link(name)
        if link is not None:
            detail = f"`{link}` is a symbolic link; a source package holds its own files: copy the file here"
            self._findings.append(SourceFinding(code="source_path_escape", detail=detail, file=name))
        try:
            module = parse_module(name, self._tree.read(name) or b"", self._tree.shown(name))
            self._todo.append(module)
        except PackError as error:
            self._problems.extend(error.problems)
        self._modules[name] = module
        return module

    # --- statements -----------------------------------------------------------------------------------------------

    def _dynamic(self, module: Module) -> None:
        for use in builtin_uses(module, _DYNAMIC):
            if use.name not in module.bound:
                detail = f"`{use.name}` may bring in code that no reader of the file sees; write that code out"
                self._find("dynamic_import", _Site(module.name, use.line), detail)

    def _import(self, site: _Site, parts: Sequence[str]) -> None:
        """`import a.b.c`: every part is a module."""
        if self._outside(site, parts):
            return
        directory: str | None = ""
        for index in range(len(parts)):
            dotted = ".".join(parts[: index + 1])
            found = None if directory is None else self._step(site, directory, parts[index])
            if found is None:
                self._find("undeclared_import", site, f"`{dotted}` is not a module of this source package")
                return
            directory = found.directory

    def _import_from(self, site: _Site, node: ast.ImportFrom) -> None:
        """`from a.b import c`: `a` and `b` are modules, `c` may be one."""
        dotted = "." * node.level + (node.module or "")
        parts = node.module.split(".") if node.module else []
        start = self._start(site, node.level, dotted) if node.level else ""
        if start is None or (not node.level and self._outside(site, parts)):
            return
        found: _Found | None = _Found(start, self._modules.get(_join(start, _INIT)))
        for part in parts:
            found = None if found is None or found.directory is None else self._step(site, found.directory, part)
        if found is None:
            self._find("undeclared_import", site, f"`{dotted}` is not a module of this source package")
        elif found.directory is not None:
            for name in self._names(site, node, found.module):
                if self._is_there(found.directory, name):
                    self._step(site, found.directory, name)

    def _start(self, site: _Site, level: int, dotted: str) -> str | None:
        """The directory that `level` dots lead to, or None where that is no package of this source."""
        package = PurePosixPath(site.file).parent.parts
        if level > len(package):
            detail = f"`{dotted}` leads out of the source package; import by full name"
            self._find("source_path_escape", site, detail)
            return None
        return "/".join(package[: len(package) - level + 1])

    def _names(self, site: _Site, node: ast.ImportFrom, init: Module | None) -> Iterator[str]:
        """What `from a import ...` may load as modules of `a`; a star takes the names that `a` lists."""
        for alias in node.names:
            if alias.name != "*":
                yield alias.name
            elif init is not None:
                listed = _listed(init)
                if listed is None:
                    self._find("dynamic_import", site, f"`__all__` of `{init.name}` is computed; name what is imported")
                yield from listed or ()

    def _outside(self, site: _Site, parts: Sequence[str]) -> bool:
        """Whether an absolute import leaves the package; notes what is wrong with its first name."""
        top = parts[0]
        known = "the standard library" if top in sys.stdlib_module_names else None
        known = known or ("the dependency lock" if top in self._declared else None)
        if top == "importlib":
            detail = "`importlib` imports what no reader of the file sees; write the import out"
            self._find("dynamic_import", site, detail)
        if self._is_there("", top, weak=known is not None):
            if known is not None:
                detail = f"`{top}` is a module of this source package and of {known}; rename the file"
                self._find("import_path_ambiguous", site, detail)
            return False
        if known is None:
            detail = (
                f"`{top}` is neither in this source package nor in the standard library, and the dependency lock does "
                "not name it; add the module, or do without"
            )
            self._find("undeclared_import", site, detail)
        return True

    # --- files ----------------------------------------------------------------------------------------------------

    def _is_there(self, directory: str, part: str, *, weak: bool = False) -> bool:
        """Whether a name is a module here. A directory without Python gives way (`weak`) to a module elsewhere."""
        path = _join(directory, part)
        if self._tree.is_file(f"{path}.py") or self._tree.is_file(_join(path, _INIT)):
            return True
        return self._tree.is_dir(path) and not (weak and not self._tree.holds_python(path))

    def _step(self, site: _Site, directory: str, part: str) -> _Found | None:
        """The module `part` of a directory, or None where there is none."""
        path = _join(directory, part)
        file, package = self._tree.is_file(f"{path}.py"), self._tree.is_file(_join(path, _INIT))
        if file and (package or (self._tree.is_dir(path) and self._tree.holds_python(path))):
            detail = f"`{path}.py` and the directory `{path}` both answer to `{part}`; rename one of them"
            self._find("import_path_ambiguous", site, detail)
        if package:
            return _Found(path, self._read(_join(path, _INIT)))
        if file:
            return _Found(None, self._read(f"{path}.py"))
        if not self._tree.is_dir(path):
            return None
        detail = f"the directory `{path}` has no `{_INIT}`, so other directories may add to it; add an empty one"
        self._find("namespace_package_ambiguous", site, detail)
        return _Found(path, None)

    def _find(self, code: str, site: _Site, detail: str) -> None:
        self._findings.append(SourceFinding(code=code, detail=detail, file=site.file, line=site.line))


@dataclass(frozen=True, slots=True)
class _Site:
    """Where an import stands."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class _Found:
    """A resolved module; `directory` is set where it may have modules below it."""

    directory: str | None
    module: Module | None


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _listed(module: Module) -> tuple[str, ...] | None:
    """The names in `__all__`; empty where there is none, None where it is not simply written out."""
    uses = [node for node in ast.walk(module.tree) if isinstance(node, ast.Name) and node.id == "__all__"]
    if not uses:
        return ()
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign) and statement.targets == uses:
            items = statement.value.elts if isinstance(statement.value, ast.List | ast.Tuple) else [None]
            names = [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            return tuple(names) if len(names) == len(items) else None
    return None
