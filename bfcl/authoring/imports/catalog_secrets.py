"""Which credentials would an imported catalog carry, in defaults, examples, lists of values and prose? All left out.

An import is not refused for them: they are part of no meaning, and documentation is full of invented ones. Each leaves
a notice that says where and of which kind, never the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from bfcl.authoring.imports.credential_forms import is_secret_name, kind_within, secret_kind
from bfcl.authoring.imports.merge import Schema
from bfcl.canonical import Json

Tell: TypeAlias = Callable[[tuple[str, ...], str, str], None]
"""(names of the properties that lead there, keyword, words) of what was left out."""

_BY_NAME: Final = frozenset({"default", "examples"})
"""Keywords whose text is a credential already because the property's name says so."""
_BY_FORM: Final = frozenset({"const", "description", "enum", "pattern", "title", "$comment"})


def without_credentials(schema: Mapping[str, Json], tell: Tell, place: tuple[str, ...] = ()) -> Schema:
    """The schema without the keywords that hold a credential. Without its `enum` or `const` it accepts more."""
    kept: Schema = {}
    for keyword, value in schema.items():
        kind = None
        if keyword in _BY_NAME:
            kind = _kind(place[-1] if place else "", value)
        elif keyword in _BY_FORM:
            kind = kind_within(value)
        if kind is None:
            kept[keyword] = _inside(keyword, value, tell, place)
        else:
            where = f"`{keyword}` of `{'.'.join(place)}`" if place else f"`{keyword}`"
            tell(place, keyword, f"{where} holds {kind}")
    return kept


def _inside(keyword: str, value: Json, tell: Tell, place: tuple[str, ...]) -> Json:
    if keyword == "properties" and isinstance(value, Mapping):
        return {
            name: without_credentials(child, tell, (*place, name)) if isinstance(child, Mapping) else child
            for name, child in value.items()
        }
    if keyword in ("items", "additionalProperties") and isinstance(value, Mapping):
        return without_credentials(value, tell, place)
    if keyword == "allOf" and isinstance(value, list):
        return [without_credentials(part, tell, place) if isinstance(part, Mapping) else part for part in value]
    return value


def _kind(name: str, value: Json) -> str | None:
    """What a default or an example gives away, by its form or by the name it stands under."""
    if isinstance(value, Mapping):
        found = (secret_kind(key) or _kind(key, child) for key, child in value.items())
    elif isinstance(value, list):
        found = (_kind(name, child) for child in value)
    elif isinstance(value, str) and value:
        return secret_kind(value) or ("a value, and its name says credential" if is_secret_name(name) else None)
    else:
        return None
    return next((kind for kind in found if kind is not None), None)
