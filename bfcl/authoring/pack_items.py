"""What differs between two packs, item by item: tools, templates, probes, assertions, rows? Rule: authoring.md §15.

Loaded records are compared, so a comment, another layout or a default written out is no difference.
"""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.errors import BfclError
from bfcl.pack.fixtures import collection_rows, primary_key
from bfcl.pack.model import Case, Pack
from bfcl.records.template import Template
from bfcl.records.tool import Tool
from bfcl.stages.divergence import differences

Change: TypeAlias = Literal["added", "removed", "changed"]

SECTIONS: Final = (
    "manifest",
    "tools",
    "templates",
    "validation_cases",
    "assertions",
    "backend",
    "modules",
    "fixtures",
    "held_out",
)
MODULE: Final = "(module)"
"""Statements of a Python file that are neither a function nor give one name a value."""
ORDER: Final = "(order)"
"""The same items in another order."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that differs. `group` is the collection of a fixture row; `details` say what changed inside."""

    change: Change
    name: str
    group: str | None = None
    details: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """A loaded pack with the text of its Python files."""

    pack: Pack
    assertions: bytes
    backend: bytes
    modules: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    """Further Python files below the root, by their path there: what the two may import."""


def items(a: Sources, b: Sources) -> dict[str, list[Item]]:
    """By section, in `SECTIONS` order, what differs from `a` to `b`; sections without a difference are left out."""
    found: dict[str, list[Item]] = {
        "manifest": list(_manifest(a.pack, b.pack)),
        "tools": list(_tools(a.pack.tools, b.pack.tools)),
        "templates": list(_templates(a.pack.templates, b.pack.templates)),
        "validation_cases": list(_cases(a.pack, b.pack)),
        "assertions": list(functions(a.assertions, b.assertions)),
        "backend": list(functions(a.backend, b.backend)),
        "modules": list(_modules(a.modules, b.modules)),
        "fixtures": list(_fixtures(a.pack, b.pack)),
        "held_out": list(_held_out(a.pack, b.pack)),
    }
    return {section: found[section] for section in SECTIONS if found[section]}


def _manifest(a: Pack, b: Pack) -> Iterator[Item]:
    left, right = a.manifest.values, b.manifest.values
    for name in sorted({*left, *right}):
        if name not in left or name not in right:
            yield Item(change="removed" if name in left else "added", name=name)
        elif canonical_text(left[name]) != canonical_text(right[name]):
            yield Item(change="changed", name=name, details=_inside(left[name], right[name]))


def _held_out(a: Pack, b: Pack) -> Iterator[Item]:
    left, right = (None if one.held_out is None else dataclasses.asdict(one.held_out) for one in (a, b))
    if left is None or right is None:
        if left is not right:
            yield Item(change="added" if left is None else "removed", name="policy")
        return
    for name in left:
        if canonical_text(left[name]) != canonical_text(right[name]):
            yield Item(change="changed", name=name, details=_inside(left[name], right[name]))


def _inside(left: Json, right: Json, root: str = "") -> tuple[str, ...]:
    found = differences(left, right, root)
    return tuple(f"{one.path}: {one.left} -> {one.right}".removeprefix(": ") for one in found)


# --- tools, templates, probes ---------------------------------------------------------------------------------------


def _keyed(left: Mapping[str, object], right: Mapping[str, object]) -> Iterator[Item]:
    """Names that came and went, and that those in both stand in another order."""
    yield from (Item(change="removed", name=name) for name in left if name not in right)
    yield from (Item(change="added", name=name) for name in right if name not in left)
    if [name for name in left if name in right] != [name for name in right if name in left]:
        yield Item(change="changed", name=ORDER)


def _tools(a: Sequence[Tool], b: Sequence[Tool]) -> Iterator[Item]:
    left, right = ({tool.name: tool for tool in tools} for tools in (a, b))
    yield from _keyed(left, right)
    for name in left:
        if name in right:
            details = (*_fields(left[name], right[name], leave_out="parameters"), *_parameters(left[name], right[name]))
            if details:
                yield Item(change="changed", name=name, details=details)


def _parameters(left: Tool, right: Tool) -> Iterator[str]:
    if (left.parameters is None) is not (right.parameters is None):
        yield "parameters"
    before, after = left.parameters or {}, right.parameters or {}
    was, now = (_properties(schema) for schema in (before, after))
    yield from (f"parameter `{name}` removed" for name in was if name not in now)
    yield from (f"parameter `{name}` added" for name in now if name not in was)
    for name in was:
        if name in now and canonical_text(was[name]) != canonical_text(now[name]):
            inside = "; ".join(f"{one.path} {one.left} -> {one.right}" for one in differences(was[name], now[name]))
            yield f"parameter `{name}` changed: {inside}"
    rest = [{key: value for key, value in schema.items() if key != "properties"} for schema in (before, after)]
    yield from _inside(rest[0], rest[1], "parameters")


def _properties(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _templates(a: Sequence[Template], b: Sequence[Template]) -> Iterator[Item]:
    left: dict[str, Template] = {one.template_id: one for one in a}
    right: dict[str, Template] = {one.template_id: one for one in b}
    yield from _keyed(left, right)
    for name in left:
        details = tuple(_fields(left[name], right[name])) if name in right else ()
        if details:
            yield Item(change="changed", name=name, details=details)


def _cases(a: Pack, b: Pack) -> Iterator[Item]:
    left, right = ({one.id: one for one in pack.cases} for pack in (a, b))
    yield from _keyed(left, right)
    was, now = _notes(a), _notes(b)
    for name in left:
        if name in right:
            notes = ("notes",) if was.get(name) != now.get(name) else ()
            details = (*_fields(left[name], right[name]), *notes)
            if details:
                yield Item(change="changed", name=name, details=details)


def _notes(pack: Pack) -> dict[str, str]:
    """Case id to its notes, which loading leaves out, as JSON."""
    written = pack.documents["validation_cases"].value
    entries = written if isinstance(written, list) else []
    return {
        str(entry.get("id")): canonical_text(entry["notes"])
        for entry in entries
        if isinstance(entry, Mapping) and "notes" in entry
    }


def _fields(left: Tool | Template | Case, right: Tool | Template | Case, leave_out: str = "") -> Iterator[str]:
    """Names of the fields that differ, in the order of the record."""
    before, after = _plain(left), _plain(right)
    yield from (name for name in before if name != leave_out and before[name] != after[name])


def _plain(record: Tool | Template | Case) -> dict[str, str]:
    """Each field as JSON, for Python takes `true`, `1` and `1.0` for equal. The order of slots is one of their values.

    `json` rather than the canonical form for slots: the order in which they stand decides what is drawn first.
    """
    values = dataclasses.asdict(record)
    texts = {name: canonical_text(value) for name, value in values.items()}
    if "slots" in values:
        texts["slots"] = json.dumps([[name, canonical_text(slot)] for name, slot in values["slots"].items()])
    return texts


# --- Python files ---------------------------------------------------------------------------------------------------


def functions(a: bytes, b: bytes) -> Iterator[Item]:
    """Functions and constants that came, went or say other than before; what uses a changed one is told as such.

    Comments, layout and docstrings are no difference. A file that does not parse is compared as a whole.
    """
    left, right = _code(a), _code(b)
    if left is None or right is None:
        if a != b:
            yield Item(change="changed", name=MODULE, details=("does not parse",))
        return
    yield from (Item(change="removed", name=name) for name in left if name not in right)
    yield from (Item(change="added", name=name) for name in right if name not in left)
    changed = [name for name in left if name in right and _dumped(left[name]) != _dumped(right[name])]
    for name in changed:
        yield Item(change="changed", name=name)
    kept = [name for name in left if name in right and name not in changed]
    if _sequence(a, kept) != _sequence(b, kept):
        yield Item(change="changed", name=ORDER)
    moved = {*changed, *(left.keys() ^ right.keys())} - {MODULE}
    for name in right:
        through = sorted(_reaches(right, name) & moved)
        if name in left and name not in changed and name != MODULE and through:
            yield Item(change="changed", name=name, details=(f"through {', '.join(through)}",))


def _code(source: bytes) -> dict[str, list[ast.stmt]] | None:
    """Name of a function or constant to its statements, the rest under `MODULE`; docstrings removed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    found: dict[str, list[ast.stmt]] = {}
    for statement in _without_docstring(tree.body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            statement.body = _without_docstring(statement.body)
        found.setdefault(_name(statement), []).append(statement)
    return found


def _sequence(source: bytes, names: Sequence[str]) -> list[str]:
    """The names of the module's statements in their order, those of `names` only."""
    told = [_name(statement) for statement in _without_docstring(ast.parse(source).body)]
    return [name for name in told if name in names]


def _name(statement: ast.stmt) -> str:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return statement.name
    return _constant(statement) or MODULE


def _constant(statement: ast.stmt) -> str | None:
    """The one name that a statement gives a value to, if it does."""
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body


def _dumped(statements: Sequence[ast.stmt]) -> list[str]:
    return [ast.dump(statement) for statement in statements]


def _reaches(code: Mapping[str, list[ast.stmt]], name: str) -> set[str]:
    """What a function mentions, directly or through others."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for statement in code.get(waiting.pop(), ()):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id not in found and node.id != name:
                    found.add(node.id)
                    waiting.append(node.id)
    return found


def _modules(a: Mapping[str, bytes], b: Mapping[str, bytes]) -> Iterator[Item]:
    """Python files beside the two, by path; what changed inside stands in the details."""
    yield from (Item(change="removed", name=path) for path in sorted(a) if path not in b)
    yield from (Item(change="added", name=path) for path in sorted(b) if path not in a)
    for path in sorted(a.keys() & b.keys()):
        inside = tuple(" ".join((f"{one.name} {one.change}", *one.details)) for one in functions(a[path], b[path]))
        if inside:
            yield Item(change="changed", name=path, details=inside)


# --- fixtures -------------------------------------------------------------------------------------------------------


def _fixtures(a: Pack, b: Pack) -> Iterator[Item]:
    for name in sorted({*a.fixtures, *b.fixtures}):
        if name not in a.fixtures or name not in b.fixtures:
            yield Item(change="removed" if name in a.fixtures else "added", name=name)
        elif canonical_text(a.fixtures[name]) != canonical_text(b.fixtures[name]):
            yield from _collection(a, b, name)


def _collection(a: Pack, b: Pack, name: str) -> Iterator[Item]:
    left, right = _rows(a, name), _rows(b, name)
    if left is None or right is None:
        yield Item(change="changed", name=name, details=_inside(a.fixtures[name], b.fixtures[name]))
        return
    for one in _keyed(left, right):
        yield dataclasses.replace(one, group=name)
    for key in left:
        if key in right and canonical_text(left[key]) != canonical_text(right[key]):
            yield Item(change="changed", name=key, group=name, details=_inside(left[key], right[key]))


def _rows(pack: Pack, name: str) -> Mapping[str, Json] | None:
    """Primary key to row, in file order; None where the value is no collection or its key is not known."""
    rows = collection_rows(pack.fixtures, name)
    if rows is None:
        return None
    if not rows:
        return {}
    try:
        key = primary_key(name, rows, pack.manifest)
    except BfclError:
        return None
    return {str(row[key]): row for row in rows}
