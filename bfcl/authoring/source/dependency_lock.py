"""Which third-party modules does a source package declare? Reading `dependency-lock.json`. Rule: authoring.md §5."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from bfcl.authoring.source.findings import SourceFinding
from bfcl.authoring.source.tree import SourceTree
from bfcl.canonical import Json, canonical_text, readable_json
from bfcl.errors import Problem
from bfcl.located import Document, parse_json
from bfcl.pack.shape import Shape

DEPENDENCY_LOCK: Final = "dependency-lock.json"
LOCK_SCHEMA: Final = "bfcl-python-dependency-lock-v1"
_EMPTY: Final[Json] = {"schema_version": LOCK_SCHEMA, "dependencies": []}
EMPTY_LOCK: Final = readable_json(_EMPTY)

_INVALID: Final = "dependency_lock_invalid"
_ENTRY_KEYS: Final = ("import_name", "distribution", "version", "artifact_digest")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")


class Lock(NamedTuple):
    """`imports` are the declared import names; a lock that is absent or at fault declares what can be read of it."""

    imports: frozenset[str]
    findings: tuple[SourceFinding, ...]


def read_lock(tree: SourceTree) -> Lock:
    """The lock of a source package.

    An absent lock is the finding `dependency_lock_missing`, a misshapen one `dependency_lock_invalid`.
    Raises: BfclError `dependency_lock_invalid` where the file is not JSON; PackError where it cannot be read.
    """
    data = tree.read(DEPENDENCY_LOCK)
    if data is None:
        detail = (
            "there is no dependency lock, and intake asks for one; "
            f"without third-party modules it is {canonical_text(_EMPTY)}"
        )
        missing = SourceFinding(code="dependency_lock_missing", detail=detail, file=DEPENDENCY_LOCK)
        return Lock(frozenset(), (missing,))
    document = parse_json(data, path=tree.shown(DEPENDENCY_LOCK), code=_INVALID)
    shape = Shape(document, _INVALID)
    names = list(_entries(document, shape))
    _ordered(names, shape)
    return Lock(frozenset(name for _, name in names), tuple(map(_finding, shape.problems)))


def _entries(document: Document, shape: Shape) -> Iterator[tuple[int, str]]:
    """Index and import name of every readable entry."""
    lock = document.value
    if not isinstance(lock, dict):
        shape.misfit(lock, (), "an object with `schema_version` and `dependencies`")
        return
    shape.closed(lock, (), ("schema_version", "dependencies"))
    if lock.get("schema_version") != LOCK_SCHEMA:
        shape.misfit(lock.get("schema_version"), ("schema_version",), f'"{LOCK_SCHEMA}"')
    entries = lock.get("dependencies")
    if not isinstance(entries, list):
        shape.misfit(entries, ("dependencies",), "a list")
        return
    for index, entry in enumerate(entries):
        name = _entry(entry, shape.inside(("dependencies", index), f"dependency {index}"))
        if name:
            yield index, name


def _entry(entry: Json, shape: Shape) -> str | None:
    if not isinstance(entry, dict):
        shape.misfit(entry, (), "an object")
        return None
    shape.closed(entry, (), _ENTRY_KEYS)
    texts = {key: shape.required_text(entry, (), key) for key in _ENTRY_KEYS}
    if texts["artifact_digest"] and not _DIGEST.match(texts["artifact_digest"]):
        shape.misfit(entry["artifact_digest"], ("artifact_digest",), "`sha256:` and 64 lower-case hex digits")
    if texts["import_name"] and not texts["import_name"].isidentifier():
        shape.misfit(entry["import_name"], ("import_name",), "the name of a top-level module")
    return texts["import_name"]


def _ordered(names: list[tuple[int, str]], shape: Shape) -> None:
    for (_, before), (index, name) in itertools.pairwise(names):
        if name <= before:
            message = f"dependency {index}: `import_name` {name!r} follows {before!r}; expected sorted, unique names"
            shape.refuse(("dependencies", index, "import_name"), message)


def _finding(problem: Problem) -> SourceFinding:
    detail = problem.message if problem.fix is None else f"{problem.message}; {problem.fix}"
    return SourceFinding(code=problem.code, detail=detail, file=DEPENDENCY_LOCK, line=problem.line)
