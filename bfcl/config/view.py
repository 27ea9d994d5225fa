"""How do rules read a configuration that may be misshapen, and say where it is wrong?

A rule asks for what it needs and skips what has another shape: that fault is the schema's to report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bfcl.canonical import Json
from bfcl.config.credentials import shape_of
from bfcl.config.paths import resolve
from bfcl.errors import Problem, did_you_mean
from bfcl.located import Document, canonical_word

INVALID = "generation_config_invalid"
UNSUPPORTED = "unsupported_config_feature"
LINEAGE = "model_lineage_invalid"
REFERENCE = "reference_benchmark_invalid"

Pointer = tuple[str | int, ...]

ROLES = ("profile", "paraphrase", "surface_judge")

_LISTED_KEYS = 12
_PLAIN_KEY = re.compile(r"[\w+-]+\Z")


def dotted(pointer: Pointer) -> str:
    """`a.b[2]`; a key that would read as something else is quoted: `a["b.c"]`."""
    text = ""
    for part in pointer:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.match(part):
            text += f".{part}" if text else part
        else:
            text += f"[{canonical_word(part)}]"
    return text or "the configuration"


def seen(value: Json, pointer: Pointer) -> str:
    """A value as messages show it: containers by shape, and so everything that may hold a credential."""
    may_hide_credential = pointer[:2] == ("lineage", "roles") and pointer[-1] != "enabled"
    if may_hide_credential or isinstance(value, Mapping | list | tuple):
        return shape_of(value)
    return canonical_word(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A configuration as read. `base` is its directory; `data` its bytes."""

    document: Document
    raw: Mapping[str, Json]
    data: bytes
    base: Path
    project: Path

    def has(self, *pointer: str) -> bool:
        """Whether the key is there, whatever its value."""
        parent = self.at(*pointer[:-1])
        return isinstance(parent, Mapping) and pointer[-1] in parent

    def at(self, *pointer: str) -> Json:
        """The value, None where it is absent."""
        value: Json = self.raw
        for key in pointer:
            if not isinstance(value, Mapping):
                return None
            value = value.get(key)
        return value

    def block(self, *pointer: str) -> Mapping[str, Json]:
        """The mapping, empty where it is absent or misshapen."""
        value = self.at(*pointer)
        return value if isinstance(value, Mapping) else {}

    def text(self, *pointer: str) -> str | None:
        """The text, None where it is absent, blank or misshapen."""
        value = self.at(*pointer)
        return value if isinstance(value, str) and value.strip() else None

    def flag(self, *pointer: str) -> bool | None:
        """The boolean; False where it is absent, as all switches default to; None where it or a block is misshapen."""
        value: Json = self.raw
        for key in pointer:
            if not isinstance(value, Mapping):
                return None
            if key not in value:
                return False
            value = value[key]
        return value if isinstance(value, bool) else None

    def whole(self, *pointer: str, default: int) -> int | None:
        """The integer, `default` where it is absent, None where it is misshapen."""
        if not self.has(*pointer):
            return default
        value = self.at(*pointer)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def path(self, *pointer: str) -> Path | None:
        """The path resolved from the configuration's directory, None where it is absent or misshapen."""
        return resolve(self.at(*pointer), self.base)

    def unknown(self, code: str, pointer: Pointer, known: Iterable[str], message: str) -> Problem:
        """A problem of the unknown key at `pointer`, whose fix names the closest known key, or the few there are."""
        names = list(known)
        listed = f"; known here: {', '.join(f'`{name}`' for name in names)}" if len(names) <= _LISTED_KEYS else ""
        return self.problem(code, pointer, message, did_you_mean(str(pointer[-1]), names) or f"remove it{listed}")

    def problem(self, code: str, pointer: Pointer, message: str, fix: str | None = None) -> Problem:
        """A problem placed at `pointer`. `message` follows the dotted name and starts with a verb."""
        line, column = self.document.place(pointer)
        field = dotted(pointer)
        return Problem(
            code=code,
            path=self.document.path,
            line=line,
            column=column,
            field=field,
            message=f"{field} {message}",
            fix=fix,
        )
