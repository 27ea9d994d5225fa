"""Are the pinned reference samples the ones named, well formed, and free of oracle truth? Rule: generation.md §2.2."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from bfcl.canonical import Json
from bfcl.config.loaded import LoadedConfig
from bfcl.config.paths import allowed_roots, is_within, shown_path
from bfcl.config.view import REFERENCE, View, dotted
from bfcl.digest import sha256_json, sha256_of
from bfcl.errors import BfclError, ConfigError, Problem, raise_all
from bfcl.located import canonical_word, parse_json

FORBIDDEN = frozenset(
    {
        "assertion",
        "assertions",
        "assertion_verdict",
        "backend_state",
        "expected_result",
        "expected_tool_calls",
        "oracle_state",
        "success_assertions",
        "tool_calls",
        "tools",
    }
)
"""Keys that would carry oracle truth into wording, refused at any depth."""

_ROLES = ("system", "user", "assistant")
_HASH = re.compile(r"sha256:[0-9a-f]{64}\Z")
_PLACE = ("reference_benchmark", "samples_path")


Sample: TypeAlias = Mapping[str, Json]
"""A row of `reference_samples`: `sample_id`, `language` (trimmed, case-folded), `messages`, `tags` (maybe empty),
`source_hash` (of the sample as written, in canonical JSON)."""


def reference_samples(loaded: LoadedConfig) -> list[Sample]:
    """The samples in file order; [] where no benchmark is pinned.

    Raises: ConfigError `reference_benchmark_invalid` if the file no longer is what the configuration pinned.
    """
    benchmark = loaded.config.reference_benchmark
    if benchmark is None:
        return []
    shown = shown_path(benchmark.samples_path, loaded.project)
    try:
        data = benchmark.samples_path.read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise ConfigError(Problem(code=REFERENCE, path=shown, message=message)) from None
    actual = sha256_of(data)
    if actual != benchmark.content_hash:
        message = _moved(actual, benchmark.content_hash)
        raise ConfigError(Problem(code=REFERENCE, path=shown, message=message, fix="restore the file, or pin it anew"))
    reading = _Reading(shown=shown)
    samples = list(reading.samples(data))
    raise_all(ConfigError, reading.problems)
    return samples


def reference_problems(view: View) -> Iterator[Problem]:
    """Place, digest and content of the samples file. Nothing is opened outside the allowed roots."""
    path = view.path(*_PLACE)
    if path is None:
        return
    roots = allowed_roots(view.raw, view.base, view.project)
    if not any(is_within(path, root) for root in roots):
        named = ", ".join(f"`{root}`" for root in roots)
        message = f"is {path}, outside the allowed roots; expected a file below {named}"
        yield view.problem(REFERENCE, _PLACE, message, "move the file, or extend `oracle_runtime.allowed_roots`")
        return
    try:
        # A pipe would keep its reader waiting, so the kind comes first.
        fault = None if stat.S_ISREG(path.stat().st_mode) else "is not a regular file"
        data = b"" if fault else path.read_bytes()
    except OSError as error:
        fault = f"cannot be read: {error.strerror}"
    if fault:
        yield view.problem(REFERENCE, _PLACE, f"names {path}, which {fault}; expected a JSON Lines file")
        return
    pinned = view.text("reference_benchmark", "content_hash")
    actual = sha256_of(data)
    if pinned is not None and _HASH.match(pinned) and pinned != actual:
        place = ("reference_benchmark", "content_hash")
        fix = f"check the file, then pin `{actual}`"
        yield view.problem(REFERENCE, place, f"does not fit: the file {_moved(actual, pinned)}", fix)
    reading = _Reading(shown=shown_path(path, view.project))
    count = sum(1 for _ in reading.samples(data))
    yield from reading.problems
    if not count and not reading.problems:
        yield view.problem(REFERENCE, _PLACE, f"names {path}, which holds no sample; expected at least one")


def _moved(actual: str, pinned: str) -> str:
    return f"hashes to {actual}; expected the pinned {pinned}"


class _Fault(NamedTuple):
    """One thing wrong with a sample. `pointer` is inside the sample."""

    pointer: tuple[str | int, ...]
    message: str
    fix: str | None = None


class _Reading:
    """Lines to samples, collecting every problem."""

    def __init__(self, *, shown: str) -> None:
        self.problems: list[Problem] = []
        self._shown = shown
        self._ids: dict[str, int] = {}

    def samples(self, data: bytes) -> Iterator[Sample]:
        """The well-formed samples in file order."""
        # Only \n ends a line: the other separators `splitlines` knows are legal inside JSON strings.
        for number, line in enumerate(data.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                value = parse_json(line, path=self._shown, code=REFERENCE).value
            except BfclError as error:
                self.problems += [replace(problem, line=number) for problem in error.problems]
                continue
            faults = list(_faults(value, self._ids))
            self.problems += [self._problem(number, fault) for fault in faults]
            if isinstance(value, Mapping):
                sample_id = value.get("sample_id")
                if isinstance(sample_id, str):
                    self._ids.setdefault(sample_id, number)
                if not faults:
                    yield _sample(value)

    def _problem(self, line: int, fault: _Fault) -> Problem:
        field = dotted(fault.pointer) if fault.pointer else None
        message = f"{field or 'the line'} {fault.message}"
        return Problem(code=REFERENCE, path=self._shown, line=line, field=field, message=message, fix=fault.fix)


def _sample(value: Mapping[str, Json]) -> Sample:
    return {
        "sample_id": value["sample_id"],
        "language": str(value["language"]).strip().casefold(),
        "messages": value["messages"],
        "tags": value.get("tags", []),
        "source_hash": sha256_json(value),
    }


def _faults(value: Json, taken: Mapping[str, int]) -> Iterator[_Fault]:
    if not isinstance(value, Mapping):
        yield _Fault((), f"is {_kind(value)}; expected an object with `sample_id`, `language` and `messages`")
        return
    for pointer in _forbidden(value):
        yield _Fault(pointer, "would carry oracle truth into wording; expected wording alone", "remove the key")
    for key in ("sample_id", "language"):
        if not _is_text(value.get(key)):
            yield _Fault((key,), f"{_state(value, key)}; expected non-empty text")
    sample_id = value.get("sample_id")
    if isinstance(sample_id, str) and sample_id in taken:
        message = (
            f"is {canonical_word(sample_id)}, taken by line {taken[sample_id]}; expected a different id per sample"
        )
        yield _Fault(("sample_id",), message)
    messages = value.get("messages")
    if not isinstance(messages, list) or not messages:
        yield _Fault(("messages",), f"{_state(value, 'messages')}; expected a non-empty list of messages")
    else:
        for index, message in enumerate(messages):
            yield from _message_faults(message, ("messages", index))
    tags = value.get("tags", [])
    if not isinstance(tags, list) or not all(_is_text(tag) for tag in tags):
        yield _Fault(("tags",), "is not a list of non-empty texts; expected one, or no `tags` at all")


def _message_faults(message: Json, pointer: tuple[str | int, ...]) -> Iterator[_Fault]:
    if not isinstance(message, Mapping):
        yield _Fault(pointer, f"is {_kind(message)}; expected an object with `role` and `content`")
        return
    if message.get("role") not in _ROLES:
        said = _state(message, "role")
        yield _Fault((*pointer, "role"), f"{said}; expected one of `system`, `user`, `assistant`")
    if not isinstance(message.get("content"), str):
        yield _Fault((*pointer, "content"), f"{_state(message, 'content')}; expected text")
    for key in message:
        if key not in ("role", "content") and key not in FORBIDDEN:
            yield _Fault((*pointer, key), "is not a key of a message; expected `role` and `content`", "remove the key")


def _forbidden(value: Json, pointer: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, Mapping):
        for key, child in value.items():
            if key in FORBIDDEN:
                yield (*pointer, key)
            else:
                yield from _forbidden(child, (*pointer, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _forbidden(child, (*pointer, index))


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _state(value: Mapping[str, Json], key: str) -> str:
    if key not in value:
        return "is missing"
    inner = value[key]
    return f"is {_kind(inner) if isinstance(inner, Mapping | list) else canonical_word(inner)}"


def _kind(value: Json) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return canonical_word(value)
