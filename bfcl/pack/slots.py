"""Where does a slot's value come from? The five sources of `source`, parsed. Rule: pack.md §5.1."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from bfcl.canonical import Json
from bfcl.errors import PackError, Problem, did_you_mean
from bfcl.located import canonical_word, parse_flow

SourceKind: TypeAlias = Literal["fixture", "enum", "literal", "range", "absent"]
SOURCE_KINDS: tuple[SourceKind, ...] = get_args(SourceKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSource:
    """One parsed source; only the fields of its kind are set.

    `fixture`: collection, field. `enum`: tool, parameter. `literal`: values, types kept. `range`: minimum, maximum
    (both included), step. `absent`: collection.
    """

    kind: SourceKind
    collection: str | None = None
    field: str | None = None
    tool: str | None = None
    parameter: str | None = None
    values: tuple[Json, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None

    def integers(self) -> range:
        """The integers of a `range` source in their order; nothing is materialised."""
        if self.minimum is None or self.maximum is None or self.step is None:
            return range(0)
        return range(self.minimum, self.maximum + (1 if self.step > 0 else -1), self.step)


@functools.lru_cache(maxsize=16384)
def parse_source(text: str) -> SlotSource:
    """Parse `<kind>:<rest>`; text without a colon is a `fixture` source.

    Raises: PackError `unknown_slot_source` or `slot_source_malformed`.
    """
    kind, colon, rest = text.partition(":")
    if not colon:
        kind, rest = "fixture", text
    kind, rest = kind.strip(), rest.strip()
    if kind == "fixture":
        collection, field = _pair(text, *rest.partition("."), "fixture:<collection>.<field>")
        return SlotSource(kind="fixture", collection=collection, field=field)
    if kind == "enum":
        # A tool name may hold a dot, a parameter hardly ever does.
        tool, parameter = _pair(text, *rest.rpartition("."), "enum:<tool>.<parameter>")
        return SlotSource(kind="enum", tool=tool, parameter=parameter)
    if kind == "literal":
        return SlotSource(kind="literal", values=_literals(text, rest))
    if kind == "range":
        return _range(text, rest)
    if kind == "absent":
        if not rest:
            raise _malformed(text, "it names no collection", "write absent:<collection>")
        return SlotSource(kind="absent", collection=rest)
    raise PackError(
        Problem(
            code="unknown_slot_source",
            message=f"source {_shown(text)} has the kind {kind!r}; expected one of {', '.join(SOURCE_KINDS)}",
            field="source",
            fix=did_you_mean(kind, SOURCE_KINDS),
        )
    )


def _pair(text: str, first: str, dot: str, second: str, form: str) -> tuple[str, str]:
    first, second = first.strip(), second.strip()
    if not (dot and first and second):
        raise _malformed(text, "it does not name two parts joined by a dot", f"write {form}")
    return first, second


def _literals(text: str, rest: str) -> tuple[Json, ...]:
    value = _flow(text, rest)
    if isinstance(value, list):
        if not rest.startswith("["):
            raise _malformed(text, "a list is written in brackets", "write literal:[first, second]")
        if not value:
            raise _malformed(text, "its list is empty", "list at least one value")
    values = value if isinstance(value, list) else [value]
    for one in values:
        if one is None:
            raise _malformed(text, "it holds null, which cannot be bound", "give a value, or quote the word")
        if not isinstance(one, str | int | float):
            raise _malformed(text, f"{canonical_word(one)} is nested", "list scalars only, and quote text with `: `")
    return tuple(values)


def _range(text: str, rest: str) -> SlotSource:
    form = "write range:{min: 1, max: 9, step: 2}"
    value = _flow(text, rest)
    if not isinstance(value, Mapping):
        raise _malformed(text, f"{canonical_word(value)} is not a mapping", form)
    unknown = sorted(set(value) - {"min", "max", "step"})
    if unknown:
        raise _malformed(text, f"it has the unknown key {unknown[0]!r}", form)
    minimum = _bound(text, value, "min")
    maximum = _bound(text, value, "max")
    step = _bound(text, value, "step") if "step" in value else 1
    if step == 0:
        raise _malformed(text, "its step is 0", "give a step other than 0, or leave it out")
    if (maximum - minimum) * step < 0:
        raise _malformed(text, f"step {step} does not lead from {minimum} to {maximum}", "swap the sign of `step`")
    return SlotSource(kind="range", minimum=minimum, maximum=maximum, step=step)


def _bound(text: str, value: Mapping[str, Json], key: str) -> int:
    bound = value.get(key)
    if key not in value:
        raise _malformed(text, f"it has no `{key}`", "write range:{min: 1, max: 9, step: 2}")
    if not isinstance(bound, int) or isinstance(bound, bool):
        raise _malformed(
            text, f"`{key}` is {canonical_word(bound)}; expected an integer", f"give `{key}` a whole number"
        )
    return bound


def _flow(text: str, rest: str) -> Json:
    try:
        return parse_flow(rest)
    except ValueError as error:
        raise _malformed(text, f"{error}", "quote the text") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 120 else text[:117] + "...")


def _malformed(text: str, reason: str, fix: str) -> PackError:
    return PackError(
        Problem(code="slot_source_malformed", message=f"source {_shown(text)}: {reason}", field="source", fix=fix)
    )
