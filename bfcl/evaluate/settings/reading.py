"""What does a section of an evaluation's file say, and which of its values are at fault? Rule: evaluation.md §2.

Readers note every fault with its place and go on with a default, so that one pass finds them all; nobody may use what
was read before `raise_all` let it pass.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from bfcl.canonical import Json
from bfcl.config.paths import shown_path
from bfcl.config.view import Pointer, dotted
from bfcl.digest import Digest, sha256_file
from bfcl.errors import BfclError, EvalError, Problem, closest, did_you_mean, meant
from bfcl.evaluate.settings.credentials import (
    PLACEHOLDER,
    REDACTED,
    looks_secret,
    placeholders_in,
    redacted,
    scrubbed,
    secrets_in,
)
from bfcl.located import Document, parse_yaml

W = TypeVar("W", bound=str)

SMALLEST: Final = math.ulp(0.0)
"""The bound of what has to be above 0."""

SECRET: Final = "secret_in_eval_config"
_SHORTEST: Final = 3
"""Of a word that is cut short."""
_LONGEST_PATH: Final = 200
"""Of one that a message shows."""
ALIAS: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_SUFFIX: Final = re.compile(r"\.[a-z][a-z0-9]{0,7}$")
DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


def open_file(path: Path, *, code: str, unreadable: str) -> Reading:
    """Parse a file and look for credentials and template values before anything else sees it.

    Raises: EvalError `unreadable` where there is no such file, `code` where it is no YAML mapping.
    """
    name = shown_path(path, Path.cwd())
    try:
        document = parse_yaml(path.read_bytes(), path=name, code=code)
    except OSError as error:
        message, fix = f"cannot be read: {error.strerror}", "give the path of a file that is there and can be read"
        raise EvalError(Problem(code=unreadable, path=name, message=message, fix=fix)) from None
    except BfclError as error:
        raise EvalError([_told(problem) for problem in error.problems]) from None
    if not isinstance(document.value, Mapping):
        message = f"the file is {redacted(document.value)}; expected a mapping"
        raise EvalError(
            Problem(code=code, path=name, line=document.line(), message=message, fix="write `key: value` lines")
        )
    return Reading(document, document.value, path, code)


def _told(problem: Problem) -> Problem:
    return Problem(
        code=problem.code,
        path=problem.path,
        line=problem.line,
        column=problem.column,
        message=scrubbed(problem.message),
        fix=scrubbed(problem.fix or "mend the file's YAML at that place"),
    )


class Reading:
    """Notes what is wrong with one file."""

    def __init__(self, document: Document, raw: Mapping[str, Json], path: Path, code: str) -> None:
        self.raw = raw
        self.path = path
        self._document = document
        self._code = code
        self._problems: list[Problem] = []
        self._faulty: set[Pointer] = set()
        for secret in secrets_in(raw):
            fix = "write the name of an environment variable under `api_key_env`; revoke what stood here if it is a key"
            self.refuse(secret.pointer, f"is {REDACTED}: it {secret.why}; expected no credential", fix, code=SECRET)
        for pointer in placeholders_in(raw):
            if pointer not in self._faulty:
                message = f"still holds `{PLACEHOLDER}`; expected a value of your own"
                self.refuse(pointer, message, "replace it by what the comment beside it asks for")

    @property
    def clean(self) -> bool:
        """Whether no fault was found so far."""
        return not self._problems

    def excuse(self, pointer: Pointer) -> None:
        """Count a value as absent without a word: another fault tells of it."""
        self._faulty.add(pointer)

    def is_faulty(self, pointer: Pointer) -> bool:
        """Whether the value at a place, or one around it, is absent or refused already."""
        return any(pointer[:depth] in self._faulty for depth in range(1, len(pointer) + 1))

    def is_sound(self, pointer: Pointer) -> bool:
        """Whether nothing at a place, around it or inside it is absent or refused."""
        inside = any(faulty[: len(pointer)] == pointer for faulty in self._faulty)
        return not inside and not self.is_faulty(pointer)

    def refuse(self, pointer: Pointer, message: str, fix: str, *, code: str | None = None) -> None:
        """Note a fault. `message` follows the field's name and starts with a verb."""
        place = self._document.place(pointer)
        field = dotted(tuple(REDACTED if isinstance(part, str) and looks_secret(part) else part for part in pointer))
        self._faulty.add(pointer)
        self._problems.append(
            Problem(
                code=code or self._code,
                path=self._document.path,
                line=place.line,
                column=place.column,
                field=field,
                message=f"{field} {message}",
                fix=fix,
            )
        )

    def root(
        self, required: Sequence[str], optional: Sequence[str] = (), *, fixes: Mapping[str, str] | None = None
    ) -> Section:
        """The whole file as a section; `fixes` tells by key what to do about some that are not known."""
        return Section(self, (), self.raw).closed(required, optional, fixes=fixes)

    def resolved(self, value: str) -> Path:
        """A path of the file, absolute; what it names is left as it is where it is a link itself."""
        path = self.path.parent / value
        return Path(os.path.realpath(path.parent)) / path.name if path.name != ".." else Path(os.path.realpath(path))

    def raise_all(self) -> None:
        """Raise: EvalError with every fault, in file order."""
        if self._problems:
            raise EvalError(sorted(self._problems, key=lambda problem: (problem.line or 0, problem.column or 0)))


class Section:
    """One mapping of a file. Values at fault read as a default of their type."""

    def __init__(self, reading: Reading, pointer: Pointer, values: Mapping[str, Json]) -> None:
        self.reading = reading
        self.pointer = pointer
        self._values = values

    def closed(
        self, required: Sequence[str], optional: Sequence[str] = (), *, fixes: Mapping[str, str] | None = None
    ) -> Section:
        """The section, after noting every key that is not known and every required one that is absent."""
        known = (*required, *optional)
        where = f"`{dotted(self.pointer)}`" if self.pointer else "this file"
        meant_keys: set[str] = set()
        for key in self._values:
            place = self.at(key)
            if key not in known and not self.reading.is_faulty(place):
                listed = ", ".join(f"`{one}`" for one in known)
                own, guess = (fixes or {}).get(key), closest(key, known)
                if own is None and guess is not None:
                    meant_keys.add(guess)
                fix = own or (meant(guess) if guess else f"remove it; known here: {listed}")
                self.reading.refuse(place, f"is no key of {where}", fix)
        for key in required:
            if key in self._values:
                continue
            # A misspelt key is one fault, not an unknown one and an absent one.
            if key in meant_keys:
                self.reading.excuse(self.at(key))
            else:
                self.reading.refuse(self.at(key), f"is missing; every key of {where} has to be written", f"add `{key}`")
        return self

    def at(self, *keys: str | int) -> Pointer:
        """The place of a value of this section."""
        return (*self.pointer, *keys)

    def has(self, key: str) -> bool:
        """Whether the key is there with a value of any kind that is not refused yet."""
        return key in self._values and not self.reading.is_faulty(self.at(key))

    def sound(self, *keys: str) -> bool:
        """Whether all these are there and nothing is wrong with them."""
        return all(self.has(key) for key in keys)

    def value(self, key: str) -> Json:
        """The value as read, None where it is absent or at fault."""
        return self._values[key] if self.has(key) else None

    def wrong(self, key: str, expected: str, fix: str | None = None, *, code: str | None = None) -> None:
        """Note that the value of a key is not what is expected; of text only the length is shown."""
        value = self._values.get(key)
        fix = fix or f"set `{key}` to {expected}"
        self.reading.refuse(self.at(key), f"is {redacted(value)}; expected {expected}", fix, code=code)

    def section(self, key: str, required: Sequence[str], optional: Sequence[str] = ()) -> Section:
        """The closed mapping under a key; one without any value, and without further faults, where it is at fault."""
        value = self.value(key)
        if isinstance(value, Mapping):
            return Section(self.reading, self.at(key), value).closed(required, optional)
        if self.has(key):
            self.wrong(key, f"a mapping with {', '.join(f'`{one}`' for one in required)}")
        return Section(self.reading, self.at(key), {})

    def text(self, key: str, *, pattern: re.Pattern[str] | None = None, expected: str = "", default: str = "") -> str:
        """Printable text, trimmed and not empty, that a pattern matches as a whole."""
        if not self.has(key):
            return default
        value = self.value(key)
        expected = expected or "non-empty text without control characters"
        if isinstance(value, str):
            trimmed = value.strip()
            if trimmed and trimmed.isprintable() and (pattern is None or pattern.fullmatch(trimmed)):
                return trimmed
        quote = isinstance(value, int | float) and not isinstance(value, bool)
        self.wrong(key, expected, "quote it to make it text" if quote else None)
        return default

    def word(self, key: str, words: Sequence[W], *, default: W | None = None, fix: str | None = None) -> W:
        """One word of a closed vocabulary; the default, or the first, where it is absent or at fault."""
        value = self.value(key)
        for word in words:
            if word == value:
                return word
        if self.has(key):
            expected = " or ".join(f"`{word}`" for word in words)
            guess = meant_word(value, words)
            quote = f'quote it: `"{value}"`' if isinstance(value, float) and str(value) in words else None
            self.wrong(key, expected, fix or guess or quote)
        return words[0] if default is None else default

    def flag(self, key: str, *, default: bool = False) -> bool:
        """A real boolean."""
        value = self.value(key)
        if isinstance(value, bool):
            return value
        if self.has(key):
            self.wrong(key, "true or false", "write true or false, without quotes")
        return default

    def whole(self, key: str, *, least: int | None = None) -> int:
        """A real integer, not below `least`."""
        value = self.value(key)
        if isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least):
            return value
        if self.has(key):
            self.wrong(key, f"an integer{'' if least is None else f' of at least {least}'}", _number_fix(value))
        return 0 if least is None else least

    def whole_or_null(self, key: str, *, least: int | None = None) -> int | None:
        """A real integer, None where it is null or absent."""
        return None if self.value(key) is None else self.whole(key, least=least)

    def number(self, key: str, *, expected: str, least: float = 0.0, most: float = math.inf) -> float:
        """A finite number within both bounds; an integer counts as the number it is."""
        value = self.value(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = _as_float(value)
            if math.isfinite(number) and least <= number <= most:
                # Zero has two spellings, and they must hash the same.
                return number + 0.0
        if self.has(key):
            self.wrong(key, expected, _number_fix(value))
        return 0.0

    def text_or_null(self, key: str, *, pattern: re.Pattern[str] | None = None, expected: str = "") -> str | None:
        """Text as `text` reads it, None where it is null or absent."""
        return None if self.value(key) is None else self.text(key, pattern=pattern, expected=expected) or None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of different non-empty texts."""
        value = self.value(key)
        if isinstance(value, list | tuple):
            found = tuple(item for item in value if isinstance(item, str) and item.strip())
            if len(found) == len(value) == len(set(found)):
                return found
        if self.has(key):
            self.wrong(key, "a list of texts, none of them twice")
        return ()


def meant_word(value: Json, words: Sequence[str]) -> str | None:
    """The fix line for a misspelt or shortened word of a vocabulary, None where nothing is close."""
    if not isinstance(value, str):
        return None
    begun = [word for word in words if len(value) >= _SHORTEST and word.startswith(value.lower())]
    return meant(begun[0]) if len(begun) == 1 else did_you_mean(value, words)


def led_to(path: Path, given: str = "") -> str:
    """Where a path of the file leads, as far as that is there, and what is missing from there on.

    What is on the disk is no secret, nor is what has a path's form in the file, where it stands as `given`. A word
    without `/` and suffix may be a password in the wrong place; a token is one anywhere, as what a URL holds may be.
    """
    there = next(one for one in (path, *path.parents) if os.path.lexists(one))
    told = f"it leads to `{shown_path(there, Path.cwd())}`"
    if there == path:
        return told
    missing = path.relative_to(there).as_posix()
    is_path = "/" in given or "/" in missing or _SUFFIX.search(missing) is not None
    plain = is_path and len(missing) <= _LONGEST_PATH and missing.isprintable() and not _hides(f"{given}/{missing}")
    return f"{told}, and {f'`{missing}`' if plain else redacted(missing)} is not in it"


def _hides(text: str) -> bool:
    return ":/" in text or any(looks_secret(part) for part in text.split("/"))


def content_hash(path: Path) -> Digest | None:
    """Of a regular file, None where there is none that can be read."""
    try:
        return sha256_file(path) if path.is_file() else None
    except OSError:
        return None


def _number_fix(value: Json) -> str | None:
    return "write the number, without quotes" if isinstance(value, str) else None


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
