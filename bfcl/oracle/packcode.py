"""How is the pack's code imported, and where in it did something happen? Rule: pack.md §7.2.

Runs in the world: standard library only. Modules are loaded by path under the names `backend` and `assertions`, so
that the pack's helpers may import them.
"""

# pathlib and what it imports would make every fork dearer.
from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader
from types import FrameType, ModuleType, TracebackType
from typing import Any

from bfcl.oracle import deadlines
from bfcl.oracle.scratch import IMPORT

MODULES = ("backend", "assertions")
_TEXT_LIMIT = 2000


class Locator:
    """Names places in the pack, and takes this machine's paths out of texts."""

    def __init__(self, view: str, files: Sequence[str], private: str) -> None:
        """`view` is the pack's root; `files` are its modules, wherever they lie."""
        self._view = view.rstrip("/") + "/"
        self._outside = {path: os.path.basename(path) for path in files if not path.startswith(self._view)}
        machine = [(path, "<python>/") for path in {sys.prefix, sys.base_prefix}]
        private_names = [(private.rstrip("/") + "/", "<private>/"), (private.rstrip("/"), "<private>")]
        outside = [(os.path.dirname(path) + "/", "") for path in self._outside]
        pairs = [(self._view, ""), (self._view[:-1], "<pack>"), *outside, *private_names]
        pairs += [(path.rstrip("/") + "/", shown) for path, shown in machine if path != "/"]
        self._shown = sorted(pairs, key=lambda pair: -len(pair[0]))

    def scrub(self, text: str) -> str:
        """The text with pack files relative to the pack, and no path of this run."""
        for path, shown in self._shown:
            text = text.replace(path, shown)
        return text if len(text) <= _TEXT_LIMIT else text[:_TEXT_LIMIT] + "…"

    def relative(self, file: str) -> str | None:
        """The pack-relative name of a source file, or None where it is not the pack's."""
        if file.startswith(self._view):
            return file[len(self._view) :]
        return self._outside.get(file)

    def of_frame(self, frame: FrameType | None) -> str | None:
        """`file:line` of the innermost pack frame, seen from `frame` outwards."""
        while frame is not None:
            name = self.relative(frame.f_code.co_filename)
            if name is not None:
                return f"{name}:{frame.f_lineno}"
            frame = frame.f_back
        return None

    def of_error(self, error: BaseException) -> str | None:
        """`file:line` of the innermost pack line that an exception passed."""
        if isinstance(error, SyntaxError) and error.filename is not None:
            name = self.relative(error.filename)
            if name is not None:
                return f"{name}:{error.lineno}"
        found, step = None, error.__traceback__
        while isinstance(step, TracebackType):
            name = self.relative(step.tb_frame.f_code.co_filename)
            if name is not None:
                found = f"{name}:{step.tb_lineno}"
            step = step.tb_next
        return found

    def told(self, error: BaseException) -> str:
        """`Type: text` of an exception, scrubbed."""
        try:
            text = str(error.msg if isinstance(error, SyntaxError) else error)
        except BaseException:  # noqa: BLE001 - an exception class of the pack may break in its own __str__
            text = "(its text cannot be read)"
        kind = type(error).__name__
        return self.scrub(f"{kind}: {text}" if text else kind)


def search_path(own: str, view: str, interpreter: Sequence[str]) -> list[str]:
    """`sys.path` while a module of the pack is imported: its own directory, the pack root, the interpreter's."""
    return list(dict.fromkeys([os.path.dirname(own), view, *interpreter]))


class _SourceOnly(SourceFileLoader):
    """Compiles pack code from source always: bytecode beside it is neither read nor written."""

    def path_stats(self, path: Any) -> Any:
        raise OSError(f"{path}: no bytecode")


def read_no_bytecode(directories: Sequence[str]) -> None:
    """From here on modules below these directories come from source; the interpreter's own keep their bytecode."""
    loaders = ((ExtensionFileLoader, EXTENSION_SUFFIXES), (_SourceOnly, SOURCE_SUFFIXES))
    roots = tuple(dict.fromkeys(directories))

    def finder(path: str) -> FileFinder:
        if path not in roots and not path.startswith(tuple(f"{root}/" for root in roots)):
            raise ImportError(f"{path} is not the pack's")
        return FileFinder(path, *loaders)

    sys.path_hooks.insert(0, finder)
    sys.path_importer_cache.clear()


def import_module(name: str, path: str) -> ModuleType:
    """Execute a file as a module. Raises whatever its code raises; a failed module is not left behind."""
    spec = importlib.util.spec_from_file_location(name, path, loader=_SourceOnly(name, path))
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def import_pack_module(
    name: str, path: str, locator: Locator, violations: list[tuple[str, str | None]]
) -> tuple[ModuleType | None, dict[str, Any] | None]:
    """A module of the pack, or the breakdown that tells why there is none."""
    module, failure = None, None
    try:
        module = import_module(name, path)
    except BaseException as error:  # noqa: BLE001 - pack code may raise anything, SystemExit included
        message = locator.told(error)
        failure = deadlines.breakdown(f"{name}_import_failed", message, IMPORT, where=locator.of_error(error))
    if violations:
        what, where = violations[0]
        violations.clear()
        return None, deadlines.breakdown("ambient_access", f"importing it {locator.scrub(what)}", IMPORT, where=where)
    return module, failure


def exported_assertions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Name to callable: entries of `ASSERTIONS` if it exists, else functions named `assert_*`. Rule: pack.md §9."""
    table = getattr(module, "ASSERTIONS", None)
    if hasattr(module, "ASSERTIONS"):
        items = table.items() if isinstance(table, dict) else ()
        return {name: entry for name, entry in items if isinstance(name, str) and callable(entry)}
    return {name: entry for name, entry in vars(module).items() if name.startswith("assert_") and callable(entry)}
