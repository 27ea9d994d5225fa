"""Where in a file is a fault, and how is it told? Readers note every fault with its place and go on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bfcl.canonical import Json
from bfcl.errors import Problem, closest, meant
from bfcl.located import Document, canonical_word

Pointer = tuple[str | int, ...]


def dotted(pointer: Sequence[str | int]) -> str:
    """`slots.kiln.source`: how messages and `Problem.field` name a place inside a file."""
    return ".".join(str(part) for part in pointer)


class Shape:
    """Notes what is wrong with the values of one document.

    `None` stands for an absent optional field everywhere: YAML writes an empty value as null.
    """

    def __init__(self, document: Document, code: str, *, path: str | None = None) -> None:
        self.problems: list[Problem] = []
        self.unknown_keys: set[str] = set()
        """`field` of the problems that refuse a key, whatever its value."""
        self._document = document
        self._code = code
        self._path = document.path if path is None else path
        self._prefix: Pointer = ()
        self._label = ""

    def inside(self, prefix: Pointer, label: str = "") -> Shape:
        """A view whose pointers start at `prefix` and whose messages start with `label`; problems are shared."""
        view = Shape(self._document, self._code, path=self._path)
        view.problems = self.problems
        view.unknown_keys = self.unknown_keys
        view._prefix = self._prefix + prefix
        view._label = f"{label}: " if label else ""
        return view

    def problem(
        self,
        pointer: Pointer,
        message: str,
        fix: str | None = None,
        *,
        code: str | None = None,
        suggests: str | None = None,
    ) -> Problem:
        """A problem placed at `pointer`, not yet noted; its fix proposes the word it `suggests`, if there is one."""
        full = self._prefix + pointer
        place = self._document.place(full)
        return Problem(
            code=code or self._code,
            message=self._label + message,
            path=self._path,
            line=place.line,
            column=place.column,
            field=dotted(full) or None,
            fix=fix if suggests is None else meant(suggests),
            suggests=suggests,
        )

    def refuse(
        self,
        pointer: Pointer,
        message: str,
        fix: str | None = None,
        *,
        code: str | None = None,
        suggests: str | None = None,
    ) -> None:
        """Note a `problem` at `pointer`."""
        self.problems.append(self.problem(pointer, message, fix, code=code, suggests=suggests))

    def misfit(
        self, value: Json, pointer: Pointer, expected: str, fix: str | None = None, *, suggests: str | None = None
    ) -> None:
        """Note that `value` is not what its field asks for."""
        name = f"`{dotted(pointer)}`" if pointer else "the value"
        self.refuse(pointer, f"{name} is {canonical_word(value)}; expected {expected}", fix, suggests=suggests)

    def closed(self, value: Mapping[str, Json], pointer: Pointer, known: Collection[str]) -> None:
        """Refuse keys that are not `known`."""
        for key in value:
            if key not in known:
                self.unknown((*pointer, key), known, known)

    def unknown(self, pointer: Pointer, known: Collection[str], offered: Collection[str]) -> None:
        """Note that a mapping has a key that is not `known`; the fix proposes the closest, or any of `offered`."""
        key, where = str(pointer[-1]), pointer[:-1]
        self.unknown_keys.add(dotted(self._prefix + pointer))
        inside = f" in `{dotted(where)}`" if where else ""
        fix = f"use one of {', '.join(sorted(offered))}"
        self.refuse(pointer, f"unknown key `{key}`{inside}", fix, suggests=closest(key, known))

    def required_text(self, holder: Mapping[str, Json], pointer: Pointer, key: str) -> str:
        """Non-blank text under `key`, or the empty text after noting that it is missing or wrong."""
        value, place = holder.get(key), (*pointer, key)
        if value is None:
            self.missing(holder, pointer, key)
        elif not isinstance(value, str):
            scalar = isinstance(value, int | float)
            self.misfit(value, place, "text", "quote it to make it text" if scalar else None)
        elif not value.strip():
            self.misfit(value, place, "non-empty text")
        else:
            return value
        return ""

    def missing(self, holder: Mapping[str, Json], pointer: Pointer, key: str) -> None:
        """Note that a required key is absent, or that nothing stands behind it: YAML writes null so."""
        name = dotted((*pointer, key))
        if key in holder:
            fix = f"write its value; one on the lines below has to be indented further than `{key}`"
            self.refuse((*pointer, key), f"`{name}` is empty", fix)
        else:
            self.refuse(pointer, f"`{name}` is required", f"add `{key}`")


def path_component_fault(text: str) -> str | None:
    """What stops an id from being used as a path component, or None. Rule: pack.md §2 `pack_id`."""
    if text in (".", ".."):
        return f"`{text}` is a directory reference"
    for character in text:
        if character in "/\\":
            return f"it holds the separator `{character}`"
        if character.isspace():
            return "it holds white space"
        if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0:
            return "it holds a control character"
    return None
