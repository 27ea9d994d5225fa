"""What does a person have to change where a value does not conform to its schema file? The words are ours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bfcl.canonical import Json
from bfcl.errors import closest
from bfcl.located import canonical_word
from bfcl.pack.schema_check import ENTRY, ROOT, Fault, compiled, part_of
from bfcl.pack.shape import Pointer, Shape, dotted, path_component_fault


class Label(NamedTuple):
    """How messages name an entry: by the text under `key`, else by its index."""

    noun: str
    key: str

    def of(self, entry: Mapping[str, Json], index: int) -> str:
        """``case `pending` ``, or `case 3` where the entry has no usable id."""
        given = entry.get(self.key)
        return f"{self.noun} `{given}`" if isinstance(given, str) and given.strip() else f"{self.noun} {index}"


class Entry(NamedTuple):
    """One mapping of a file's list. `value` is typed `Any`: read more of it than its id only where it `fits`."""

    position: int
    value: Mapping[str, Any]
    fits: bool


def conforms(name: str, value: Json, shape: Shape, part: Pointer = ROOT) -> bool:
    """Whether `value` fits the part at `part` of schema `name`; every fault is noted in `shape`."""
    faults = compiled(name, part)(value)
    for fault in faults or ():
        _note(shape, fault)
    return faults is None


def conforming(name: str, value: Json, shape: Shape) -> Any:
    """`value` without what does not fit schema `name`; every fault is noted in `shape`. A root at fault leaves `{}`."""
    faults = compiled(name)(value) or ()
    for fault in faults:
        _note(shape, fault)
    return without(value, {fault.pointer for fault in faults})


def without(value: Json, pointers: Collection[Pointer], at: Pointer = ROOT) -> Any:
    """`value` less what stands at `pointers`, typed `Any` since the rest fits its schema.

    A list keeps its length, null in the place of what is left out; at the root, `{}` is.
    """
    if not pointers:
        return value
    match value:
        case _ if at in pointers:
            return None if at else {}
        case Mapping():
            kept = {key: item for key, item in value.items() if (*at, key) not in pointers}
            return {key: without(item, pointers, (*at, key)) for key, item in kept.items()}
        case list():
            return [without(item, pointers, (*at, index)) for index, item in enumerate(value)]
        case _:
            return value


def entries_that_conform(name: str, shape: Shape, entries: Sequence[Json], label: Label) -> Iterator[Entry]:
    """Each mapping of a list, and whether it fits; faults are noted, and so are entries that are no mappings."""
    check = compiled(name, ENTRY)
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            shape.misfit(entry, (index,), part_of(name, ENTRY)["x-expected"])
            continue
        faults = check(entry)
        if faults is not None:
            inner = shape.inside((index,), label.of(entry, index))
            for fault in faults:
                _note(inner, fault)
        yield Entry(index, entry, fits=faults is None)


_WORDS = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
}


def _note(shape: Shape, fault: Fault) -> None:
    pointer, keyword, value, part = fault
    match keyword:
        case "required":
            holder = value if isinstance(value, Mapping) else {}
            shape.missing(holder, pointer[:-1], str(pointer[-1]))
        case "additionalProperties":
            _unknown(shape, pointer, part)
        case "uniqueItems":
            message = f"`{dotted(pointer[:-1])}` lists {canonical_word(value)} twice"
            shape.refuse(pointer, message, "keep one of the two")
        case "oneOf":
            _unknown_kind(shape, pointer, value, part)
        case "pattern" | "propertyNames":
            _no_match(shape, fault)
        case "enum":
            words = [word for word in part.get("enum", ()) if isinstance(word, str)]
            meant = closest(value, words) if isinstance(value, str) else None
            shape.misfit(value, pointer, part.get("x-expected") or ", ".join(words), suggests=meant)
        case "minItems" | "minProperties":
            shape.misfit(value, pointer, part["x-fewest"])
        case _:
            shape.misfit(value, pointer, expected(part), _quoting(value, part))


def expected(part: Mapping[str, Any]) -> str:
    """What a part accepts, in words."""
    if "x-expected" in part:
        return str(part["x-expected"])
    kinds = [part["type"]] if isinstance(part["type"], str) else part["type"]
    least = f" of at least {part['minimum']}" if "minimum" in part else ""
    return " or ".join(_WORDS[kind] + (least if kind == "integer" else "") for kind in kinds if kind != "null")


def _quoting(value: Json, part: Mapping[str, Any]) -> str | None:
    wants_text = part.get("type") in ("string", ["string", "null"])
    return "quote it to make it text" if wants_text and isinstance(value, int | float) else None


def _unknown(shape: Shape, pointer: Pointer, part: Mapping[str, Any]) -> None:
    key, where = str(pointer[-1]), pointer[:-1]
    known = part["properties"]
    if key in part.get("x-elsewhere", {}):
        shape.refuse(pointer, f"`{dotted(pointer)}` is no key of `{dotted(where)}`", part["x-elsewhere"][key])
        return
    own = [name for name in known if not name.startswith("x-")] if "patternProperties" in part else known
    shape.unknown(pointer, known, own)


def _unknown_kind(shape: Shape, pointer: Pointer, value: Json, part: Mapping[str, Any]) -> None:
    kind = value.get("type") if isinstance(value, Mapping) else None
    at = pointer if isinstance(value, Mapping) and "type" in value else pointer[:-1]
    meant = closest(kind, part["enum"]) if isinstance(kind, str) else None
    message = f"`{dotted(pointer)}` is {canonical_word(kind)}; expected {', '.join(part['enum'])}"
    shape.refuse(at, message, suggests=meant)


def _no_match(shape: Shape, fault: Fault) -> None:
    text = str(fault.value)
    if fault.keyword == "propertyNames" and "x-rule" not in fault.part:
        shape.refuse(fault.pointer, f"`{dotted(fault.pointer[:-1])}` has an empty language code")
        return
    if not text.strip() and fault.keyword == "pattern":
        shape.misfit(fault.value, fault.pointer, "non-empty text")
        return
    message, fix = _RULES[fault.part["x-rule"]](dotted(fault.pointer), text)
    shape.refuse(fault.pointer, message, fix)


def _path_component(field: str, text: str) -> tuple[str, str | None]:
    fault = path_component_fault(text.strip() if field == "pack_id" else text)
    message = f"`{field}` is {canonical_word(text)}, but {fault}; task ids carry it as a path component"
    return message, "use letters, digits, `_` and `-`"


def _slot_name(_: str, text: str) -> tuple[str, str | None]:
    message = f"slot name {canonical_word(text)} is not an identifier, so no placeholder could name it"
    return message, "use letters, digits and `_`, not starting with a digit"


def _alias(field: str, text: str) -> tuple[str, str | None]:
    return f"`{field}` is {canonical_word(text)}; expected an identifier, since placeholders name it", None


def _tool_name(field: str, text: str) -> tuple[str, str | None]:
    return f"`{field}` is {canonical_word(text)}; expected a name without surrounding white space", None


_RULES: Mapping[str, Callable[[str, str], tuple[str, str | None]]] = {
    "path_component": _path_component,
    "slot_name": _slot_name,
    "alias": _alias,
    "tool_name": _tool_name,
}
