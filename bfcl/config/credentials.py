"""Does a configuration carry a secret, and how is it told without showing it? Rule: generation.md §2.2, role rule 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bfcl.canonical import Json

_NAMES = frozenset(
    {
        "api_key",
        "apikey",
        "authorization",
        "bearer_token",
        "password",
        "secret",
        "token",
        "access_token",
        "auth_token",
    }
)
_ENDINGS = ("_api_key", "_password", "_secret", "_access_token", "_auth_token")


def is_secret_key(key: str) -> bool:
    """Whether a key by its name holds a credential. `api_key_env` does not: it names a variable."""
    plain = key.lower().replace("-", "_")
    return plain in _NAMES or plain.endswith(_ENDINGS)


def secret_places(value: Json, pointer: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """(pointer, value) of every credential at any depth, in file order."""
    if isinstance(value, Mapping):
        for key, child in value.items():
            if is_secret_key(key):
                yield (*pointer, key), child
            else:
                yield from secret_places(child, (*pointer, key))
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            yield from secret_places(child, (*pointer, index))


def shape_of(value: Json) -> str:
    """A value by its kind and size alone: `<str, 32>`, `<mapping, 2>`, `<list, 0>`, `<int>`, `<null>`."""
    match value:
        case None:
            return "<null>"
        case str():
            return f"<str, {len(value)}>"
        case Mapping():
            return f"<mapping, {len(value)}>"
        case list() | tuple():
            return f"<list, {len(value)}>"
    return f"<{type(value).__name__}>"
