"""Is a source package fit to be probed, as far as reading it tells? Rule: authoring.md §7.

Nothing is run or imported. Two kinds of fault are kept apart by what the author can still be told:

refusal (PackError)   `backend.py` or the catalog is absent, or a file cannot be parsed or read: `reviewed_schema_*`,
                      `source_package_invalid`, `source_encoding_invalid`, `source_syntax_invalid`,
                      `fixture_metadata_invalid`, `dependency_lock_invalid` for a lock that is not JSON. Every such file
                      is named at once
finding               everything else, all of it at once, `dependency_lock_invalid` for a misshapen lock included. An
                      absent lock is advisory: it records the imports of a backend that is finished
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar

from bfcl.authoring.source.catalog import CATALOG, open_catalog, read_catalog
from bfcl.authoring.source.closure import Closure, read_closure
from bfcl.authoring.source.dependency_lock import DEPENDENCY_LOCK, read_lock
from bfcl.authoring.source.execution_policy import policy_findings
from bfcl.authoring.source.findings import SourceFinding, blocking_codes, in_order
from bfcl.authoring.source.fixture_rows import FIXTURES, look_at_fixtures
from bfcl.authoring.source.published import REQUIRED_SYMBOLS, backend_findings
from bfcl.authoring.source.tree import SourceTree
from bfcl.canonical import Json
from bfcl.errors import BfclError, PackError, Problem, raise_all
from bfcl.records.tool import Tool

REVIEW_MARKER: Final = "BFCL-TODO"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceVerdict:
    """What reading a source package told. `tools` and `collections` are names in order, `findings` by file and line."""

    source: str
    tools: tuple[str, ...]
    collections: tuple[str, ...]
    findings: tuple[SourceFinding, ...]
    blocking: tuple[str, ...]
    """Codes that stop the package."""

    def document(self) -> dict[str, Json]:
        """The document of `check-source-package`."""
        return {
            "status": "blocked" if self.blocking else "pass",
            "source": self.source,
            "tools": self.tools,
            "required_symbols": REQUIRED_SYMBOLS,
            "fixture_collections": self.collections,
            "findings": [finding.document() for finding in self.findings],
            "blocking": self.blocking,
        }


def check_source(tree: SourceTree, *, catalog: Path | None = None, strict: bool = False) -> SourceVerdict:
    """Read a source package and say what would stop it. `catalog` stands in for its own `tools.json`.

    `strict` makes every finding stop it. Raises: PackError as the module says.
    """
    if not tree.root.is_dir() and not tree.planned:
        message = "is not a directory" if tree.root.exists() else "does not exist"
        fix = "name the directory that holds `backend.py`"
        raise PackError(Problem(code="source_package_invalid", path=tree.label, message=message, fix=fix))
    reading = _Reading()
    data = reading.take(lambda: open_catalog(catalog or tree.root / CATALOG, _shown_catalog(tree, catalog)))
    tools = reading.take(lambda: read_catalog(data, _shown_catalog(tree, catalog))) if data is not None else None
    lock = reading.take(lambda: read_lock(tree))
    fixtures = reading.take(lambda: look_at_fixtures(tree))
    declared = lock.imports if lock is not None else frozenset[str]()
    closure = reading.take(lambda: read_closure(tree, declared))
    raise_all(PackError, reading.problems)
    if data is None or tools is None or lock is None or fixtures is None or closure is None:
        raise AssertionError("what could not be read left no problem")
    found = [*lock.findings, *fixtures.findings, *_code_findings(closure, tools)]
    found += _markers(tree, closure, _inside(tree, catalog), data)
    found += _links(tree, catalog)
    findings = in_order(found)
    return SourceVerdict(
        source=tree.label,
        tools=tuple(tool.name for tool in tools),
        collections=fixtures.collections,
        findings=findings,
        blocking=blocking_codes(findings, strict=strict),
    )


class _Reading:
    """Takes what can be read and keeps the problems of what cannot."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def take(self, read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except BfclError as error:
            self.problems.extend(error.problems)
            return None


def _shown_catalog(tree: SourceTree, catalog: Path | None) -> str:
    return tree.shown(CATALOG) if catalog is None else str(catalog)


def _inside(tree: SourceTree, catalog: Path | None) -> str:
    """How a finding names the catalog: relative to the source, wherever it lies."""
    if catalog is None:
        return CATALOG
    return Path(os.path.relpath(catalog.resolve(), tree.root.resolve())).as_posix()


def _code_findings(closure: Closure, tools: Sequence[Tool]) -> Iterator[SourceFinding]:
    yield from closure.findings
    local = {PurePosixPath(module.name).with_suffix("").parts[0] for module in closure.modules}
    for module in closure.modules:
        yield from policy_findings(module, local)
    yield from backend_findings(closure, [tool.name for tool in tools])


def _markers(tree: SourceTree, closure: Closure, catalog: str, data: bytes) -> Iterator[SourceFinding]:
    """One finding a file that still holds the marker, naming every line."""
    files = {module.name: module.data for module in closure.modules}
    files |= {FIXTURES: tree.read(FIXTURES) or b"", catalog: data}
    for name, content in files.items():
        lines = [at for at, line in enumerate(content.splitlines(), start=1) if REVIEW_MARKER.encode() in line]
        if lines:
            listed = ", ".join(map(str, lines))
            holds = f"line {listed} still holds" if len(lines) == 1 else f"lines {listed} still hold"
            detail = f"{holds} `{REVIEW_MARKER}`; decide what each says, then remove the marker"
            yield SourceFinding(code="review_marker_present", detail=detail, file=name, line=lines[0])


def _links(tree: SourceTree, catalog: Path | None) -> Iterator[SourceFinding]:
    """Data files behind symbolic links. Links on the way to Python files are found with the closure."""
    own = (FIXTURES, DEPENDENCY_LOCK) if catalog is not None else (CATALOG, FIXTURES, DEPENDENCY_LOCK)
    for name in own:
        if tree.link(name) is not None:
            detail = f"`{name}` is a symbolic link; a source package holds its own files: copy the file here"
            yield SourceFinding(code="source_path_escape", detail=detail, file=name)
