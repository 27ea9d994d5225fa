"""What is one line of an append-only log, and which lines belong together? Rule: translation.md §13.6."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, TypeAlias

from bfcl.canonical import Json, canonical_json
from bfcl.digest import Digest, Sha256Stream, sha256_json
from bfcl.modelio.spliced import spliced

_HASH: Final = "record_hash"
_BEFORE_HASH: Final = b',"record_hash":"'
_HASH_SIZE: Final = len("sha256:") + 64


class UnfitError(ValueError):
    """A line or a unit that is none of the log's; says why, of the unit that `at` counts from its first line."""

    def __init__(self, message: str, *, at: int = 0) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecord:
    """One line. `index` counts the records of a type that a unit has several of, in a log with such a field."""

    record_type: str
    key: str
    index: int | None = None
    payload: Json
    spelled: bytes | None = None
    """The canonical JSON of the payload where it is made already: `payload` is not looked at then."""


Unit: TypeAlias = tuple[LogRecord, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogForm:
    """Which records a log has, under which names, and with which codes its faults are told.

    A unit begins with a record of a type in `begins`, ends with one of a type in `ends`, and is all of one key; between
    them stand those of `between`. A type that begins and ends makes a unit alone.
    """

    schema_version: str
    begins: frozenset[str]
    between: frozenset[str] = frozenset()
    ends: frozenset[str]
    key_field: str = "key"
    index_field: str | None = None
    invalid_code: str
    conflict_code: str

    @property
    def fields(self) -> tuple[str, ...]:
        """Of a record, in their order."""
        index = () if self.index_field is None else (self.index_field,)
        return tuple(sorted(("schema_version", "record_type", self.key_field, *index, "payload", _HASH)))

    def line(self, record: LogRecord) -> bytes:
        """The record as it is written."""
        head, tail = self._around_hash(record)
        return b"".join((head, _BEFORE_HASH, _digest(head, tail).encode(), b'"', tail, b"\n"))

    def digest(self, record: LogRecord) -> Digest:
        """The `record_hash` of its line."""
        return _digest(*self._around_hash(record))

    def digest_in(self, line: bytes) -> Digest | None:
        """The `record_hash` that a line states, None where it is not that of the rest of its bytes.

        What is canonical, as `line` writes it and `record` wants it, changes not a byte without this telling.
        """
        at = line.rfind(_BEFORE_HASH)
        begins = at + len(_BEFORE_HASH)
        ends = begins + _HASH_SIZE
        if at < 0 or line[ends : ends + 1] != b'"' or not line.endswith(b"\n"):
            return None
        found = _digest(line[:at], line[ends + 1 : -1])
        return found if found.encode() == line[begins:ends] else None

    def _around_hash(self, record: LogRecord) -> tuple[bytes, bytes]:
        """The record without its hash: what stands before that and what stands behind."""
        parts = {
            "schema_version": canonical_json(self.schema_version),
            "record_type": canonical_json(record.record_type),
            self.key_field: canonical_json(record.key),
            "payload": canonical_json(record.payload) if record.spelled is None else record.spelled,
        }
        if self.index_field is not None:
            parts[self.index_field] = canonical_json(record.index)
        head = spliced({name: part for name, part in parts.items() if name < _HASH})
        tail = spliced({name: part for name, part in parts.items() if name > _HASH})
        return head[:-1], b"," + tail[1:]

    def record(self, data: bytes, *, canonical: bool = False) -> LogRecord:
        """The record of a line, its digest recomputed; of its bytes alone where they are known to be `canonical`.

        Raises: UnfitError.
        """
        try:
            found = json.loads(data)
            if not isinstance(found, dict) or tuple(sorted(found)) != self.fields:
                raise UnfitError(f"has other fields than a record; expected {', '.join(self.fields)}")
            stated = found.pop(_HASH)
            if not (canonical and stated == self.digest_in(data)) and stated != sha256_json(found):
                raise UnfitError("`record_hash` is not that of the record")
        except UnfitError:
            raise
        except (ValueError, RecursionError):
            # Not chained: the parser's error holds the whole line.
            found = None
        if found is None:
            raise UnfitError("is no JSON" if data.strip() else "is blank")
        if found["schema_version"] != self.schema_version:
            raise UnfitError(f'`schema_version` is not "{self.schema_version}"')
        types = sorted(self.begins | self.between | self.ends)
        if found["record_type"] not in types:
            raise UnfitError(f"`record_type` is none of {', '.join(types)}")
        if not isinstance(found[self.key_field], str):
            raise UnfitError(f"`{self.key_field}` is no text")
        index = None if self.index_field is None else found[self.index_field]
        if index is not None and type(index) is not int:
            raise UnfitError(f"`{self.index_field}` is neither null nor a whole number")
        return LogRecord(
            record_type=found["record_type"], key=found[self.key_field], index=index, payload=found["payload"]
        )


def _digest(*pieces: bytes) -> Digest:
    stream = Sha256Stream()
    for piece in pieces:
        stream.update(piece)
    return stream.digest()
