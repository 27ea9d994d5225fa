"""Is a value that pack code handed over exact JSON, and what is its canonical text? Rule: pack.md §6.

Runs in the world beside pack code: standard library only. The text equals `bfcl.canonical.canonical_json` byte for
byte. Methods are bound here, before any pack is imported, so that a pack replacing `json.JSONEncoder.default` to
swallow sets does not change what counts as JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

_DEPTH = 200
_PATH_LIMIT = 120


class NotJson(Exception):
    """`path` is where (`$.rows[2].when`), `reason` what stands there."""

    def __init__(self, path: str, reason: str) -> None:
        shown = path if len(path) <= _PATH_LIMIT else f"{path[: _PATH_LIMIT // 2]}…{path[-_PATH_LIMIT // 2 :]}"
        super().__init__(f"{shown}: {reason}")
        self.path, self.reason = path, reason


class _Encoder(json.JSONEncoder):
    encode = json.JSONEncoder.encode
    iterencode = json.JSONEncoder.iterencode

    def default(self, o: Any) -> NoReturn:
        raise TypeError(type(o).__name__)


_encode = _Encoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
decode = json.JSONDecoder().decode
"""JSON text to fresh values."""


def exact_json(value: Any) -> bytes:
    """Canonical UTF-8 of a JSON value; objects, lists, texts and numbers may be subclasses. Raises NotJson.

    Nothing nests deeper than 200 levels: what reads this text with other values around it must not run out of stack.
    """
    return exact_pair(value)[0]


def exact_pair(value: Any) -> tuple[bytes, Any]:
    """The same with the value as it reads back from that text, which nobody else holds. Raises NotJson."""
    return exact_within(value, 0)


def exact_within(value: Any, depth: int = 1) -> tuple[bytes, Any]:
    """The same for a value that stands `depth` levels deep in another. Raises NotJson, with the path from the value."""
    try:
        text = _encode(value)
        # Tuples and non-text keys encode without complaint: only what reads back equal is the value itself.
        plain = decode(text)
        deepest = _DEPTH - depth
        if plain == value and not (text.count("[") + text.count("{") > deepest and _too_deep(plain, deepest)):
            return text.encode(), plain
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError, AttributeError):
        pass
    _find_defect(value, "$", depth)
    raise NotJson("$", f"{type(value).__name__} does not read back as it was written")


def _too_deep(plain: Any, deepest: int) -> bool:
    level = [plain]
    for _ in range(deepest):
        level = [item for holder in level for item in _items(holder) if isinstance(item, (dict, list))]
        if not level:
            return False
    return True


def _items(holder: Any) -> Iterable[Any]:
    return holder.values() if isinstance(holder, dict) else holder


def _find_defect(value: Any, path: str, depth: int) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, int):
        _check_integer(value, path)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise NotJson(path, f"{float(value)!r} is not a finite number")
    elif depth >= _DEPTH and isinstance(value, (dict, list)):
        raise NotJson(path, f"nested deeper than {_DEPTH} levels")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJson(path, f"has a key of type {type(key).__name__}, expected text keys")
            _check_text(key, path)
            _find_defect(item, _step(path, key), depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _find_defect(item, f"{path}[{index}]", depth + 1)
    else:
        raise NotJson(path, f"is a {type(value).__name__}, which JSON does not have")


def _step(path: str, key: str) -> str:
    return f"{path}.{key}" if key.isidentifier() else f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def _check_text(value: str, path: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotJson(path, "holds a lone surrogate, which UTF-8 cannot carry") from None


def _check_integer(value: int, path: str) -> None:
    try:
        int.__repr__(value)
    except ValueError:
        raise NotJson(path, "is an integer with too many digits to write down") from None
