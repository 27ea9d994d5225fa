"""What is one line of an append-only log, and which lines belong together? Rule: translation.md §13.6."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.digest import sha256_json, sha256_of
from bfcl.modelio.spliced import spliced


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
        return tuple(sorted(("schema_version", "record_type", self.key_field, *index, "payload", "record_hash")))

    def line(self, record: LogRecord) -> bytes:
        """The record as it is written."""
        parts = {
            "schema_version": canonical_text(self.schema_version),
            "record_type": canonical_text(record.record_type),
            self.key_field: canonical_text(record.key),
            "payload": canonical_text(record.payload),
        }
        if self.index_field is not None:
            parts[self.index_field] = canonical_text(record.index)
        digest = sha256_of(spliced(parts))
        return spliced({**parts, "record_hash": canonical_text(digest)}) + b"\n"

    def record(self, data: bytes) -> LogRecord:
        """The record of a line, its digest recomputed. Raises: UnfitError."""
        try:
            found = json.loads(data)
            if not isinstance(found, dict) or tuple(sorted(found)) != self.fields:
                raise UnfitError(f"has other fields than a record; expected {', '.join(self.fields)}")
            if found.pop("record_hash") != sha256_json(found):
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
        known = sorted(self.begins | self.between | self.ends)
        if found["record_type"] not in known:
            raise UnfitError(f"`record_type` is none of {', '.join(known)}")
        if not isinstance(found[self.key_field], str):
            raise UnfitError(f"`{self.key_field}` is no text")
        index = None if self.index_field is None else found[self.index_field]
        if index is not None and type(index) is not int:
            raise UnfitError(f"`{self.index_field}` is neither null nor a whole number")
        return LogRecord(
            record_type=found["record_type"], key=found[self.key_field], index=index, payload=found["payload"]
        )
