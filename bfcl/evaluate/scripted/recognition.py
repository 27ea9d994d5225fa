"""Which task of a benchmark is a conversation of? Told by what a candidate is sent, never by an id.

Tasks may begin alike. Then what is said later tells them apart, and until something does they ask for the same; where
they do not, no candidate could be right in both, which `contradictions` says.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bfcl.canonical import Json, canonical_text
from bfcl.digest import Digest, sha256_json
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.records import Script, ScriptTurn
from bfcl.evaluate.scripted.heard import Heard, Mark, Message, heard
from bfcl.exports.row import ExportRow
from bfcl.modelio.chat_reply import strict_json

_ALL, _NAMES, _NONE = 2, 1, 0
"""How much of a task's tools a request offers: exactly these, others of the same names, others."""

Shown: TypeAlias = tuple[Digest, int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task as a conversation can show it."""

    task_id: str
    script: Script
    dependent: bool
    """Whether later calls take values out of earlier results."""
    marks: tuple[Mark, ...]
    """The whole recorded conversation behind the seed."""
    tools: Digest
    tool_names: frozenset[Json]

    @property
    def from_user(self) -> list[str]:
        """What the user says after the seed."""
        return [text for role, text in self.marks if role == "user"]


class Recognition:
    """The tasks of a benchmark, found by their conversations. Of tasks that show the same one, the first is kept."""

    def __init__(self, rows: Iterable[ExportRow]) -> None:
        """Raises: EvalError `eval_conversation_script_invalid`."""
        self._by_seed: dict[Digest, list[Task]] = defaultdict(list)
        self._shown: set[Digest] = set()
        """Of all that each task shows a candidate that is right."""
        self.size = 0
        for row in rows:
            self._take(row)
            self.size += 1

    def _take(self, row: ExportRow) -> None:
        script = read_script(row)
        whole = heard(row.messages)
        seed = _seed(whole)
        tools = _tools_of(row.published["tools"])
        shown = sha256_json([whole.seed, whole.said, tools])
        if shown in self._shown:
            return
        self._shown.add(shown)
        self._by_seed[seed].append(
            Task(
                task_id=row.task_id,
                script=script,
                dependent=row.published["turn_policy"] == "dependent_call",
                marks=whole.said,
                tools=tools,
                tool_names=frozenset(row.published["tools_present"]),
            )
        )

    def find(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Json]]) -> Task | None:
        """The task, or None where no conversation of the benchmark has come to this.

        Of several that have, the one whose record agrees with most of what was said; then the first published.
        """
        told = heard(messages)
        begun = self._by_seed.get(_seed(told), [])
        if len(begun) > 1:
            begun = _offering(begun, tools)
        spoken = told.from_user
        open_ = [task for task in begun if task.from_user[: len(spoken)] == spoken]
        return max(open_, key=lambda task: _agreement(task, told), default=None)

    def contradictions(self) -> list[tuple[str, ...]]:
        """Ids of tasks that ask for different things at a point where nothing has told them apart yet."""
        found: list[tuple[str, ...]] = []
        for alike in self._by_seed.values():
            asked: dict[Shown, dict[str, str]] = defaultdict(dict)
            for task in alike if len(alike) > 1 else ():
                for shown, asks in _points(task):
                    asked[shown].setdefault(asks, task.task_id)
            found += [tuple(answers.values()) for answers in asked.values() if len(answers) > 1]
        return found


def _seed(told: Heard) -> Digest:
    return sha256_json(told.seed)


@functools.lru_cache(maxsize=256)
def _tools_of(column: str) -> Digest:
    return sha256_json(strict_json(column))


def _offering(tasks: Sequence[Task], tools: Sequence[Mapping[str, Json]]) -> list[Task]:
    """The tasks whose tools come closest to what is offered."""
    offered = sha256_json(tools)
    functions = [tool.get("function") for tool in tools]
    names = {function.get("name") for function in functions if isinstance(function, Mapping)}
    closeness = [_ALL if task.tools == offered else _NAMES if task.tool_names == names else _NONE for task in tasks]
    best = max(closeness)
    return [task for task, close in zip(tasks, closeness, strict=True) if close == best]


def _agreement(task: Task, told: Heard) -> int:
    return sum(one == other for one, other in zip(task.marks, told.said, strict=False))


def _points(task: Task) -> Iterator[tuple[Shown, str]]:
    """For every turn: what a candidate that is right has been shown before it, and what the turn asks for."""
    at = 0
    for turn in task.script.turns:
        shown = sha256_json([one for one in task.marks[:at] if one[0] != "assistant"])
        yield (task.tools, turn.index, shown), _asks(turn)
        at += 1 + len(turn.calls) + (turn.user_after is not None)


def _asks(turn: ScriptTurn) -> str:
    """Words may be any, so that all text turns ask for the same."""
    return canonical_text([[call.tool, call.arguments] for call in turn.calls])
