"""What did models answer before? The append-only recorded replies of one role. Rule: translation.md §13.5.

One JSON line a reply. Several processes may append: each holds a lock file beside it and first reads what others added.
A process killed while it appends leaves a last line that ends early: readers pass it over, the next append removes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from bfcl.canonical import Json, canonical_json
from bfcl.digest import Digest, sha256_json
from bfcl.errors import ModelError, Problem, raise_all
from bfcl.modelio.line_file import LineFile, Place
from bfcl.modelio.own_file import OwnFile
from bfcl.modelio.request import SCHEMA_VERSION, RoleRequest

_FIELDS: Final = ("input_hash", "model_canonical", "request_hash", "response", "response_hash", "schema_version")
_INVALID: Final = "model_io_cache_invalid"
_REMEDY: Final = "restore the file from a copy, or delete the line to have it asked for again"


class _Known(NamedTuple):
    """A record: replies are large, so they are read when they are wanted."""

    place: Place
    response_hash: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tail:
    """What stands after the last line feed."""

    is_record: bool
    """Whole, but for its line feed."""


class RoleCache:
    """The recorded replies of one file, as far as read: at the start, and again before each append."""

    def __init__(self, path: Path) -> None:
        """Read the file, which may be absent.

        Raises: ModelError `model_io_cache_invalid`, `model_io_cache_conflict`, each problem with its line.
        """
        self.path = path
        self._file = OwnFile(path=path, error=ModelError, code=_INVALID, remedy=_REMEDY)
        self._lines = LineFile(self._file)
        self._known: dict[str, _Known] = {}
        with self._lines.reading() as descriptor:
            if descriptor is not None:
                self._read_on(descriptor)

    def __len__(self) -> int:
        return len(self._known)

    def response_hash(self, request: RoleRequest) -> Digest | None:
        """Of the request's recorded reply, None where there is none."""
        known = self._known.get(request.request_hash)
        return None if known is None else known.response_hash

    def reply(self, request: RoleRequest) -> Json:
        """The recorded reply to a request that has one.

        Raises: ModelError `model_io_cache_invalid` where the file changed, or speaks of another model or input.
        """
        known = self._known[request.request_hash]
        record = self._record(known)
        for name, wanted in (("model_canonical", request.model_canonical), ("input_hash", request.input_hash)):
            if record[name] != wanted:
                raise ModelError(
                    self._file.problem(known.place.line, f"`{name}` is not that of the request it is recorded for")
                )
        response: Json = record["response"]
        return response

    def put(self, replies: Sequence[tuple[RoleRequest, Json]]) -> None:
        """Append replies that passed their role's contract, in one write that has reached the disk on return.

        A reply that is recorded already is passed over. Raises: ModelError `model_io_cache_conflict` for one that is
        recorded otherwise, and as on reading; StageError `storage_failed`. Nothing is appended then.
        """
        with self._lines.appending() as descriptor:
            tail = self._read_on(descriptor)
            lines = [line for request, response in replies if (line := self._line_of(request, response))]
            if lines:
                self._append(descriptor, b"\n" if tail is not None and tail.is_record else b"", b"".join(lines))

    # --- reading ---

    def _read_on(self, descriptor: int) -> _Tail | None:
        """Take in every line behind those known; what stands behind the last line feed, None for nothing."""
        problems: list[Problem] = []
        tail = None
        for data in self._lines.fresh(descriptor):
            if not data.endswith(b"\n"):
                tail = self._read_tail(data, problems)
                break
            problems += self._take(data, self._lines.count(data))
        raise_all(ModelError, problems)
        return tail

    def _read_tail(self, data: bytes, problems: list[Problem]) -> _Tail:
        try:
            json.loads(data)
        except json.JSONDecodeError as error:
            if error.msg == "Extra data":
                problems.append(self._file.problem(self._lines.place(data).line, "something follows a whole record"))
            return _Tail(is_record=False)
        except (ValueError, RecursionError):
            return _Tail(is_record=False)
        problems += self._take(data, self._lines.place(data))
        return _Tail(is_record=True)

    def _take(self, data: bytes, place: Place) -> Iterator[Problem]:
        """Note where a record stands; blank lines and a record that is there already pass."""
        if not data.strip():
            return
        try:
            record = _checked(data)
        except (ValueError, RecursionError) as error:
            yield self._file.problem(place.line, str(error) if isinstance(error, _Unfit) else "is no JSON")
            return
        known = _Known(place, record["response_hash"])
        before = self._known.setdefault(record["request_hash"], known)
        if before != known and self._record(before) != record:
            yield self._conflict(record["request_hash"], before.place.line, place.line)

    def _record(self, known: _Known) -> dict[str, Any]:
        try:
            record = _checked(self._lines.bytes_at(known.place))
        except (ValueError, RecursionError):
            record = {}
        if record.get("response_hash") != known.response_hash:
            raise ModelError(self._file.problem(known.place.line, "changed while it was in use"))
        return record

    # --- writing ---

    def _line_of(self, request: RoleRequest, response: Json) -> bytes | None:
        """The line to append, None where it is there. Raises: ModelError `model_io_cache_conflict`."""
        response_hash = sha256_json(response)
        known = self._known.get(request.request_hash)
        if known is None:
            record: dict[str, Json] = {
                "schema_version": SCHEMA_VERSION,
                "request_hash": request.request_hash,
                "model_canonical": request.model_canonical,
                "input_hash": request.input_hash,
                "response_hash": response_hash,
                "response": response,
            }
            return canonical_json(record) + b"\n"
        if known.response_hash != response_hash:
            raise ModelError(self._conflict(request.request_hash, known.place.line, None))
        return None

    def _append(self, descriptor: int, joint: bytes, data: bytes) -> None:
        if not joint:
            # What a killed process left unfinished; it holds the lock no more.
            self._lines.cut(descriptor)
        self._lines.append(descriptor, joint + data)
        self._read_on(descriptor)

    # --- refusals ---

    def _conflict(self, request_hash: str, before: int, line: int | None) -> Problem:
        where = "a reply that came now" if line is None else "this line"
        return Problem(
            code="model_io_cache_conflict",
            path=str(self.path),
            line=before if line is None else line,
            message=f"line {before} records another reply to {request_hash} than {where}",
            fix="keep the one that your publication was made with; a recorded reply is never replaced",
        )


class _Unfit(ValueError):
    """JSON, but no record of ours; says why."""


def _checked(data: bytes) -> dict[str, Any]:
    """The record of a line. Raises ValueError, and RecursionError for what is nested too deeply."""
    record = json.loads(data)
    if not isinstance(record, dict) or sorted(record) != list(_FIELDS):
        raise _Unfit(f"has other fields than a record; expected {', '.join(_FIELDS)}")
    if record["schema_version"] != SCHEMA_VERSION:
        raise _Unfit(f'`schema_version` is not "{SCHEMA_VERSION}"')
    for name in ("input_hash", "model_canonical", "request_hash"):
        if not isinstance(record[name], str):
            raise _Unfit(f"`{name}` is no text")
    if record["response_hash"] != sha256_json(record["response"]):
        raise _Unfit("`response_hash` is not that of the response")
    return record
