"""Which operations does an OpenAPI file offer, and what is each one's tool called?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from bfcl.authoring.imports.decisions import distinct_name, portable_name
from bfcl.authoring.imports.references import References
from bfcl.authoring.imports.report import Faults, Notes, Pointer
from bfcl.canonical import Json
from bfcl.located import canonical_word

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
READING: Final = frozenset({"get", "head"})
"""Methods that change nothing unless the author says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path. `shared` are the parameters its path item declares for all methods."""

    method: str
    path: str
    name: str
    """Of its tool: portable and unique in the file."""
    operation_id: str | None
    value: Mapping[str, Json]
    at: Pointer
    shared: Json
    shared_at: Pointer

    @property
    def source(self) -> str:
        return f"{self.method.upper()} {self.path}"


@dataclass(frozen=True, slots=True)
class _Found:
    method: str
    path: str
    value: Mapping[str, Json]
    at: Pointer
    shared: Json
    shared_at: Pointer


class Offered(NamedTuple):
    """Every operation in file order. `unread` are the faults of paths whose operations cannot be told."""

    operations: list[Operation]
    unread: Faults


def operations_of(root: Mapping[str, Json], notes: Notes, faults: Faults) -> Offered:
    """What the file offers. A path that cannot be read matters only to who wants an operation of it.

    Names do not depend on which operations are imported. An `operationId` that is a portable name of its own keeps it;
    the others are adjusted, or made of method and path, and yield to those.
    """
    unread = Faults()
    found = list(_found(root, References(root, unread), faults, unread))
    if not found:
        faults.note(("paths",), "the file declares no operation", "name an OpenAPI file with `paths`")
    taken: set[str] = set()
    names: dict[Pointer, str] = {}
    for each in found:
        raw = _operation_id(each)
        if raw is not None and raw == portable_name(raw) and raw not in taken:
            names[each.at] = raw
            taken.add(raw)
    for each in found:
        if each.at not in names:
            names[each.at] = _adjusted(each, taken, notes)
            taken.add(names[each.at])
    operations = [
        Operation(
            method=each.method,
            path=each.path,
            name=names[each.at],
            operation_id=_operation_id(each),
            value=each.value,
            at=each.at,
            shared=each.shared,
            shared_at=each.shared_at,
        )
        for each in found
    ]
    return Offered(operations, unread)


def _found(root: Mapping[str, Json], references: References, faults: Faults, unread: Faults) -> Iterator[_Found]:
    paths = root.get("paths", {})
    if not isinstance(paths, Mapping):
        faults.note(("paths",), f"`paths` is {canonical_word(paths)}; expected an object")
        return
    for path, item in paths.items():
        if path.startswith("x-"):
            continue
        target = references.follow(item, ("paths", path))
        if target is None:
            continue
        if not isinstance(target.value, Mapping):
            unread.note(target.at, f"path {path!r} is {canonical_word(target.value)}; expected an object")
            continue
        for method, value in target.value.items():
            if method not in METHODS:
                continue
            at = (*target.at, method)
            if not isinstance(value, Mapping):
                unread.note(at, f"operation `{method}` is {canonical_word(value)}; expected an object")
                continue
            shared_at = (*target.at, "parameters")
            yield _Found(method, path, value, at, target.value.get("parameters", []), shared_at)


def _operation_id(found: _Found) -> str | None:
    value = found.value.get("operationId")
    return value if isinstance(value, str) and value else None


def _adjusted(found: _Found, taken: set[str], notes: Notes) -> str:
    raw = _operation_id(found)
    where: Pointer = (*found.at, "operationId")
    if raw is None:
        name = distinct_name(portable_name(f"{found.method} {found.path}"), taken)
        notes.of(name).note(where, "operationId", "added", f"none is given; the tool is called `{name}`")
        return name
    name = distinct_name(portable_name(raw), taken)
    why = "an earlier operation has that name" if portable_name(raw) == raw else "tool names are [A-Za-z0-9_-]{1,64}"
    notes.of(name).note(where, "operationId", "renamed", f"{raw!r} became `{name}`: {why}")
    return name
