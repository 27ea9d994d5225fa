"""Does a value have the type its field asks for? Readers collect every misfit with its place and go on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from bfcl.canonical import Json
from bfcl.errors import Problem, did_you_mean
from bfcl.located import Document, canonical_word
from bfcl.records.template import Texts

Pointer = tuple[str | int, ...]
_T = TypeVar("_T")


def dotted(pointer: Sequence[str | int]) -> str:
    """`slots.kiln.source`: how messages and `Problem.field` name a place inside a file."""
    return ".".join(str(part) for part in pointer)


class Shape:
    """Reads typed values out of one document.

    A reader returns the value, or a harmless empty one after noting a problem, so the walk always reaches the end.
    `None` stands for an absent optional field everywhere: YAML writes an empty value as null.
    """

    def __init__(self, document: Document, code: str, *, path: str | None = None) -> None:
        self.problems: list[Problem] = []
        self._document = document
        self._code = code
        self._path = document.path if path is None else path
        self._prefix: Pointer = ()
        self._label = ""

    def inside(self, prefix: Pointer, label: str = "") -> Shape:
        """A view whose pointers start at `prefix` and whose messages start with `label`; problems are shared."""
        view = Shape(self._document, self._code, path=self._path)
        view.problems = self.problems
        view._prefix = self._prefix + prefix
        view._label = f"{label}: " if label else ""
        return view

    def problem(self, pointer: Pointer, message: str, fix: str | None = None, *, code: str | None = None) -> Problem:
        """A problem placed at `pointer`, not yet noted."""
        full = self._prefix + pointer
        place = self._document.place(full)
        return Problem(
            code=code or self._code,
            message=self._label + message,
            path=self._path,
            line=place.line,
            column=place.column,
            field=dotted(full) or None,
            fix=fix,
        )

    def refuse(self, pointer: Pointer, message: str, fix: str | None = None, *, code: str | None = None) -> None:
        """Note a problem at `pointer`."""
        self.problems.append(self.problem(pointer, message, fix, code=code))

    def misfit(self, value: Json, pointer: Pointer, expected: str, fix: str | None = None) -> None:
        """Note that `value` is not what its field asks for."""
        name = f"`{dotted(pointer)}`" if pointer else "the value"
        self.refuse(pointer, f"{name} is {canonical_word(value)}; expected {expected}", fix)

    def closed(self, value: Mapping[str, Json], pointer: Pointer, known: Collection[str]) -> None:
        """Refuse keys that are not `known`."""
        for key in value:
            if key not in known:
                where = f" in `{dotted(pointer)}`" if pointer else ""
                fix = did_you_mean(key, known) or f"use one of {', '.join(sorted(known))}"
                self.refuse((*pointer, key), f"unknown key `{key}`{where}", fix)

    def mapping(self, value: Json, pointer: Pointer) -> Mapping[str, Json]:
        """A mapping; absent is empty."""
        return self._container(value, pointer, dict, "a mapping", {})

    def items(self, value: Json, pointer: Pointer) -> Sequence[Json]:
        """A list; absent is empty."""
        return self._container(value, pointer, list, "a list", [])

    def _container(self, value: Json, pointer: Pointer, kind: type[_T], expected: str, empty: _T) -> _T:
        if value is None:
            return empty
        if isinstance(value, kind):
            return value
        self.misfit(value, pointer, expected)
        return empty

    def text(self, value: Json, pointer: Pointer, *, blank: bool = False) -> str | None:
        """Text, non-blank unless `blank`; absent is None."""
        if value is None:
            return None
        if isinstance(value, str):
            if blank or value.strip():
                return value
            self.misfit(value, pointer, "non-empty text")
            return None
        scalar = isinstance(value, int | float)
        self.misfit(value, pointer, "text", "quote it to make it text" if scalar else None)
        return None

    def required_text(self, holder: Mapping[str, Json], pointer: Pointer, key: str) -> str:
        """Non-blank text under `key`, or the empty text after noting that it is missing or wrong."""
        value = holder.get(key)
        if value is None:
            self.missing(holder, pointer, key)
            return ""
        return self.text(value, (*pointer, key)) or ""

    def missing(self, holder: Mapping[str, Json], pointer: Pointer, key: str) -> None:
        """Note that a required key is absent (or null)."""
        name = dotted((*pointer, key))
        self.refuse((*pointer, key) if key in holder else pointer, f"`{name}` is required", f"add `{key}`")

    def texts(self, value: Json, pointer: Pointer) -> Texts:
        """Language code to text; absent is empty. Blank text passes: rendering refuses an empty turn."""
        found: dict[str, str] = {}
        for language, content in self.mapping(value, pointer).items():
            if not language.strip():
                self.refuse((*pointer, language), f"`{dotted(pointer)}` has an empty language code")
            elif isinstance(content, str):
                found[language] = content
            else:
                self.misfit(content, (*pointer, language), "text")
        return found

    def typed_texts(self, value: Json, pointer: Pointer, types: Collection[str]) -> Mapping[str, Texts]:
        """Milestone type to language to text, types limited to `types`."""
        blocks = self.mapping(value, pointer)
        self.closed(blocks, pointer, types)
        return {key: self.texts(block, (*pointer, key)) for key, block in blocks.items() if key in types}

    def names(self, value: Json, pointer: Pointer) -> tuple[str, ...]:
        """A list of distinct non-blank texts; absent is empty."""
        found: dict[str, None] = {}
        for index, item in enumerate(self.items(value, pointer)):
            place = (*pointer, index)
            if not isinstance(item, str) or not item.strip():
                self.misfit(item, place, "non-empty text")
            elif item in found:
                self.refuse(place, f"`{dotted(pointer)}` lists {canonical_word(item)} twice", "keep one of the two")
            else:
                found[item] = None
        return tuple(found)


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
