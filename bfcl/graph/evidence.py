"""What each task did in one invocation: `build/log/<id>/<task>.json`. Rule: generation.md §9.7."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from bfcl.canonical import Json, readable_json
from bfcl.errors import StageError
from bfcl.files import write_atomic

Action = Literal["hit", "computed", "verified", "refused"]

KEPT_INVOCATIONS = 20

_STAMP: Final = "%Y%m%dT%H%M%S%f"
_NAME: Final = re.compile(r"(?P<number>[0-9]{6,})-(?P<stamp>[0-9]{8}T[0-9]{12})-[0-9]+")
"""`<number>-<UTC stamp>-<process>`: numbered, since a clock set back would make the newest pass for the oldest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One result looked up or made. `seconds` is wall time of ours, not part of any artifact."""

    task: str
    stage: str
    shard: str | None
    fp: str | None
    action: Action
    seconds: float

    def to_json(self) -> dict[str, Json]:
        return {
            "task": self.task,
            "stage": self.stage,
            "shard": self.shard,
            "fp": self.fp,
            "action": self.action,
            "seconds": round(self.seconds, 6),
        }


class Evidence:
    """Events of one invocation, written task by task below `build/log/<id>/`."""

    def __init__(self, log: Path) -> None:
        past = invocations(log)
        number = _number(past[-1].name) + 1 if past else 1
        self.directory = log / f"{number:06}-{datetime.now(UTC):{_STAMP}}-{os.getpid()}"
        self._events: dict[str, list[Event]] = {}
        self._started: dict[str, float] = {}

    def start(self, task: str) -> None:
        """Note that a task begins."""
        self._started[task] = time.monotonic()
        self._events.setdefault(task, [])

    def add(self, task: str, shard: str | None, fp: str | None, action: Action, seconds: float = 0.0) -> None:
        """Note one event."""
        self._events.setdefault(task, []).append(
            Event(task=task, stage=task, shard=shard, fp=fp, action=action, seconds=seconds)
        )

    def count(self, task: str, action: Action) -> int:
        """How many shards of a task ended so."""
        return sum(event.action == action and event.shard is not None for event in self._events.get(task, ()))

    def shards(self, task: str, action: Action) -> frozenset[str]:
        """The addresses of a task's shards that ended so."""
        events = self._events.get(task, ())
        return frozenset(
            event.fp for event in events if event.action == action and event.shard is not None and event.fp is not None
        )

    def tasks(self) -> list[str]:
        """Tasks with events."""
        return list(self._events)

    def write(self, task: str) -> None:
        """Write a task's events."""
        events = self._events.get(task, [])
        started = self._started.get(task)
        body: dict[str, Json] = {
            "task": task,
            "seconds": round(time.monotonic() - started, 6) if started is not None else None,
            "events": [event.to_json() for event in events],
        }
        write_atomic(self.directory / f"{task}.json", readable_json(body))

    def write_all(self) -> None:
        """Write every task's events, or none of them where the disk takes nothing.

        For a build with nothing to do, which may lie on a medium that nobody can write to.
        """
        with suppress(StageError):
            for task in self.tasks():
                self.write(task)

    def prune(self) -> None:
        """Keep the newest invocations only."""
        for old in invocations(self.directory.parent)[:-KEPT_INVOCATIONS]:
            shutil.rmtree(old, ignore_errors=True)


def invocations(log: Path) -> list[Path]:
    """Directories of past invocations, oldest first, whatever the clock said when they were made."""
    found = [path for path in log.iterdir() if path.is_dir()] if log.is_dir() else []
    return sorted(found, key=lambda path: (_number(path.name), path.name))


def started(name: str) -> datetime | None:
    """When an invocation began by its clock, as far as the name of its directory says."""
    named = _NAME.fullmatch(name)
    if named is None:
        return None
    try:
        return datetime.strptime(named["stamp"], _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def _number(name: str) -> int:
    named = _NAME.fullmatch(name)
    return int(named["number"]) if named is not None else 0


def read_invocation(directory: Path) -> dict[str, Json]:
    """Task name to its written body, by name."""
    return {path.stem: json.loads(path.read_bytes()) for path in sorted(directory.glob("*.json"))}
