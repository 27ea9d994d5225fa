"""Where does a `$ref` of an OpenAPI file lead? Only inside the same file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from bfcl.authoring.imports.report import Faults, Pointer
from bfcl.canonical import Json
from bfcl.errors import did_you_mean
from bfcl.located import canonical_word
from bfcl.pack.json_pointer import pointer_parts


class Target(NamedTuple):
    """A value and where it really stands."""

    value: Json
    at: Pointer


class References:
    """Resolves references against one document and notes those that lead nowhere."""

    def __init__(self, root: Json, faults: Faults) -> None:
        self._root = root
        self._faults = faults

    def target(self, ref: Json, at: Pointer) -> Target | None:
        """What the reference that stands at `at` names, one step far; None after noting a fault."""
        here = (*at, "$ref")
        if not isinstance(ref, str):
            self._faults.note(here, f"`$ref` is {canonical_word(ref)}; expected text")
            return None
        if not ref.startswith("#"):
            message = f"`$ref` leads to {ref!r}, outside this file"
            self._faults.note(here, message, "bundle the files into one, or leave the operation out")
            return None
        if ref != "#" and not ref.startswith("#/"):
            message = f"`$ref` is {ref!r}, a name instead of a path"
            self._faults.note(here, message, "write the path: `#/components/schemas/...`")
            return None
        value = self._root
        found: Pointer = ()
        for part in pointer_parts(unquote(ref[1:])):
            step = _step(value, part)
            if step is None:
                known = [str(key) for key in value] if isinstance(value, Mapping) else []
                self._faults.note(here, f"`$ref` leads to {ref!r}, which does not exist", did_you_mean(part, known))
                return None
            value, found = step.value, (*found, *step.at)
        return Target(value, found)

    def follow(self, value: Json, at: Pointer) -> Target | None:
        """The value at the end of a chain of references; None after noting a fault."""
        seen: set[Pointer] = {at}
        while isinstance(value, Mapping) and "$ref" in value:
            target = self.target(value["$ref"], at)
            if target is None:
                return None
            if target.at in seen:
                self._faults.note((*at, "$ref"), f"`$ref` {value['$ref']!r} leads back to itself")
                return None
            seen.add(target.at)
            value, at = target
        return Target(value, at)


def _step(value: Json, part: str) -> Target | None:
    if isinstance(value, Mapping) and part in value:
        return Target(value[part], (part,))
    if isinstance(value, list) and part.isdecimal() and part.isascii() and int(part) < len(value):
        return Target(value[int(part)], (int(part),))
    return None
