"""The one-way law: a room imports only rooms above it, and no own-package import hides in a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "bfcl"

ORDER = [
    "canonical",
    "errors",
    "digest",
    "files",
    "located",
    "records",
    "tables",
    "config",
    "pack",
    "oracle",
    "modelio",
    "stages",
    "checks",
    "exports",
    "release",
    "translate",
    "evaluate",
    "authoring",
    "graph",
    "cli",
]
EVALUATE = [
    "records",
    "statuses",
    "settings",
    "compare",
    "source",
    "drive",
    "score",
    "artifacts",
    "held_out",
    "run",
    "after",
    "page",
    "scripted",
    "inspect_exchange",
    "inspect_episodes",
    "inspect_bridge",
]
"""The rooms inside the wing of that name, in an order of their own."""
WINGS = {"translate", "evaluate", "authoring"}
ROOT_FILES = {"__init__.py", "__main__.py", "canonical.py", "digest.py", "errors.py", "files.py", "located.py"}
BUNDLED_WORDS = ("tiny_library", "checkout_book", "patron", "BK-", "banking", "tai_khoan")

BROAD = {
    # Pack code may raise anything, and a world has to say so.
    "oracle/child.py",
    "oracle/describing.py",
    "oracle/episode.py",
    "oracle/packcode.py",
    # Every filesystem behind fsspec raises errors of its own kind, and none of them may stop a run.
    "graph/remote_cache.py",
    # What another thread raised is raised again in the one that waits for it.
    "oracle/aside.py",
}
"""The modules that may end any exception: decision 0012. Whoever only looks at one and raises it again ends none."""

MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def inner_room_of(path: Path) -> str:
    """Of a module of `evaluate`."""
    relative = path.relative_to(PACKAGE / "evaluate")
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def own_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bfcl":
            for alias in node.names:
                yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "bfcl":
                    yield alias.name


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that an import names, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


class Facts(NamedTuple):
    """What the laws ask of a module."""

    own: tuple[str, ...]
    hidden: tuple[tuple[str, list[str]], ...]
    """Functions that import from the package, with what."""
    imported: frozenset[str]
    ends_any: bool


@cache
def facts(path: Path) -> Facts:
    """Parsed once for all laws."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    inside = ((function.name, list(own_imports(function))) for function in functions)
    return Facts(
        tuple(own_imports(tree)),
        tuple((name, names) for name, names in inside if names),
        frozenset(imported(tree)),
        ends_any_exception(tree),
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_imports_only_rooms_above_it(path: Path) -> None:
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return
    for name in facts(path).own:
        other = name.split(".")[1]
        assert ORDER.index(other) <= ORDER.index(room), f"{path} imports {name}, which stands below it"
        assert other == room or not (room in WINGS and other in WINGS), f"wing {room} imports wing {other}"


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if room_of(path) == "evaluate"],
    ids=lambda path: str(path.relative_to(PACKAGE / "evaluate")),
)
def test_module_of_evaluate_imports_only_its_rooms_above_it(path: Path) -> None:
    room = inner_room_of(path)
    for name in facts(path).own:
        if room != "__init__" and name.startswith("bfcl.evaluate."):
            other = name.split(".")[2]
            assert EVALUATE.index(other) <= EVALUATE.index(room), f"{path} imports {name}, which stands below it"


def test_every_room_of_evaluate_is_in_its_plan() -> None:
    rooms = {inner_room_of(path) for path in (PACKAGE / "evaluate").rglob("*.py")}
    assert rooms == {*EVALUATE, "__init__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_hides_no_own_import_in_a_function(path: Path) -> None:
    for function, hidden in facts(path).hidden:
        assert hidden == [], f"{path}: {function} imports {hidden}"


def test_package_root_is_closed() -> None:
    assert {path.name for path in PACKAGE.glob("*.py")} == ROOT_FILES


def test_every_room_is_in_the_plan() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(ORDER)


def test_only_digest_imports_hash_functions() -> None:
    importers = {
        path.relative_to(PACKAGE).as_posix() for path in MODULES if facts(path).imported & {"hashlib", "blake3"}
    }
    assert importers == {"digest.py"}


@pytest.mark.parametrize("word", BUNDLED_WORDS)
def test_no_word_of_a_bundled_pack_is_in_the_package(word: str) -> None:
    found = [path for path in MODULES if word in path.read_text(encoding="utf-8")]
    assert found == []


def test_pyarrow_is_imported_inside_functions_of_tables_only() -> None:
    importers = {
        room_of(path) for path in MODULES if any(name.split(".")[0] == "pyarrow" for name in facts(path).imported)
    }
    assert importers <= {"tables"}


def names_any_exception(node: ast.expr | None) -> bool:
    """Whether an `except` or a `suppress` with it ends whatever comes."""
    if isinstance(node, ast.Tuple):
        return any(names_any_exception(one) for one in node.elts)
    return node is None or (isinstance(node, ast.Name) and node.id in ("Exception", "BaseException"))


def ends_any_exception(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and names_any_exception(node.type):
            last = node.body[-1]
            if not (isinstance(last, ast.Raise) and last.exc is None):
                return True
        suppressed = (
            node.args if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "suppress" else []
        )
        if any(names_any_exception(one) for one in suppressed):
            return True
    return False


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("try: f()\nexcept Exception: pass", True),
        ("try: f()\nexcept: pass", True),
        ("try: f()\nexcept (OSError, BaseException) as error: print(error)", True),
        ("try: f()\nexcept Exception as error: raise OSError from error", True),
        ("with contextlib.suppress(Exception): f()", True),
        ("try: f()\nexcept BaseException:\n  undo()\n  raise", False),
        ("try: f()\nexcept OSError: pass", False),
        ("with suppress(OSError): f()", False),
    ],
)
def test_ending_any_exception_is_recognised(text: str, ends: bool) -> None:
    assert ends_any_exception(ast.parse(text)) is ends


def test_only_named_modules_end_any_exception() -> None:
    found = {path.relative_to(PACKAGE).as_posix() for path in MODULES if facts(path).ends_any}
    assert found == BROAD
