"""Which gates stand before the first request, and how does one refuse? Rule: evaluation.md §3."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Final

from bfcl.errors import Problem
from bfcl.pack.layout import shown

REGENERATE: Final = "generate the benchmark again; published files are never edited"
SHOWN: Final = 20
"""How many rows, ids or files one refusal tells of."""


class SourceGate(Enum):
    """The gates of this room, in the order in which they are passed; each has its number in words and its subject."""

    MANIFEST = "gate three, the manifest's structure"
    DRIFT = "gate four, the manifest as configured"
    PUBLICATION = "gate five, the publication block"
    BYTES = "gate six, the bytes of both tables"
    SCHEMA = "gate seven, schema and decoding of the rows"
    ROWS = "gate eight, published against raw rows"
    TASK_IDS = "gate nine, the task ids"
    PACK = "gate ten, the oracle's pack"
    PROBE = "gate eleven, the oracle's callables"
    GOLD = "gate twelve, Gold eligibility"
    TRANSLATION = "gate thirteen, translation lineage"
    EXPOSURE = "gate fourteen, the inventory of models"
    CONTAMINATION = "gate fifteen, contamination"
    RECHECK = "gate sixteen, the source before a request"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a refusal is about: a file, a dotted field of it, or something without a file."""

    file: Path | None = None
    line: int | None = None
    field: str | None = None
    subject: str | None = None


def refusal(gate: SourceGate, code: str, message: str, *, place: Place, fix: str = REGENERATE) -> Problem:
    """The problem of one gate. `message` tells what was seen and what was expected."""
    return Problem(
        code=code,
        path=None if place.file is None else shown(place.file),
        line=place.line,
        field=place.field,
        subject=place.subject,
        message=f"{message} ({gate.value})",
        fix=fix,
    )


def retold(gate: SourceGate, code: str, problems: Iterable[Problem], *, file: Path | None = None) -> list[Problem]:
    """Problems of another room as refusals of a gate; those without a place are about `file`."""
    return [
        dataclasses.replace(
            one,
            code=code,
            path=one.path if one.path is not None or file is None else shown(file),
            subject=None,
            message=f"{one.message if one.subject is None else f'{one.subject}: {one.message}'} ({gate.value})",
            fix=one.fix or REGENERATE,
        )
        for one in problems
    ]
