"""How is a failed task told in the page, and how many of them fit? Rule: evaluation.md §16.3.

An entry is JSON for the page's own script, every value a text already: a browser would turn `1.0` into `1`. What a
model or a pack wrote is cut where it is too long, and says so; of too many entries the page holds a sample.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from bfcl.canonical import Json, canonical_json
from bfcl.digest import sha256_bytes
from bfcl.evaluate.after.call_diff import ArgumentDiff, CallDiff
from bfcl.evaluate.after.failures import Failure
from bfcl.evaluate.records import AssertionEvidence, Execution
from bfcl.evaluate.score.breakdowns import Kinds
from bfcl.release.document.packing import Packer, json_text

LIMIT_BYTES: Final = 32 << 20
"""JSON of all entries of a page. It lies in the page as gzip in base64: a page has at most 4/3 of this for them, and
usually a tenth."""

TEXT_LIMIT: Final = 4_000
"""Characters of one text."""
LIST_LIMIT: Final = 40
"""Messages of a conversation, calls of a reply, arguments of a call, assertions, state differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """`data` is gzip of `{rows, systems}`; `shown` counts what it holds, `failures` what there are."""

    data: bytes
    shown: int
    failures: int


def key(label: str, task_id: str) -> str:
    """A failed task's name in the page's address. No task id holds a blank."""
    return f"{label} {task_id}"


class Chosen:
    """Entries that fit into a number of bytes: all, or those first by the digests of their task ids.

    So candidates are shown on the same tasks, and the order in which entries come does not matter.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._held: list[tuple[bytes, int, bytes]] = []
        """A heap: the last by rank on top. Ranks are turned round for it; number, entry."""
        self._size = 0
        self._best_left_out: bytes | None = None
        self.seen = 0

    def add(self, rank: bytes, entry: bytes) -> None:
        """Take an entry in, and leave out what no longer fits."""
        number = self.seen
        self.seen += 1
        turned = bytes(255 - byte for byte in rank)
        if self._best_left_out is not None and turned <= self._best_left_out:
            return
        heappush(self._held, (turned, number, entry))
        self._size += len(entry)
        while self._size > self._limit:
            self._best_left_out, _, left_out = heappop(self._held)
            self._size -= len(left_out)

    def in_order(self) -> list[bytes]:
        """What is left, in the order it came."""
        return [entry for _, _, entry in sorted(self._held, key=lambda held: held[1])]


def pack(failures: Iterable[tuple[str, Kinds, Failure]], limit_bytes: int = LIMIT_BYTES) -> Packed:
    """Pack failed tasks, each with its candidate's label and its kinds, in their order."""
    chosen = Chosen(limit_bytes)
    for label, kinds, failure in failures:
        task_id = failure.episode.evidence.task_id
        rank = sha256_bytes(task_id.encode()) + sha256_bytes(label.encode())
        chosen.add(rank, canonical_json(entry_of(label, kinds, failure)))
    rows = chosen.in_order()
    packer = Packer()
    packer.add_encoded(rows)
    return Packed(data=packer.end(), shown=len(rows), failures=chosen.seen)


def entry_of(label: str, kinds: Kinds, failure: Failure) -> dict[str, Json]:
    """One failed task."""
    episode, turn, gate = failure.episode, failure.turn, failure.gate
    evidence = episode.evidence
    response = None if turn is None else turn.response
    told = failure.conversation
    return {
        "id": key(label, evidence.task_id),
        "candidate": label,
        "task": evidence.task_id,
        "template": kinds.template_id,
        "policy": kinds.turn_policy,
        "category": kinds.category,
        "difficulty": kinds.difficulty,
        "language": kinds.language,
        "gate": "assertions" if gate is None else gate.name,
        "reason": None if gate is None else gate.reason_code,
        "wrong": str(failure.went_wrong),
        "what": failure.went_wrong.what,
        "remark": failure.went_wrong.remark,
        "failed": [one.name for one in episode.score.gates if one.outcome == "failed"],
        "answerable": failure.answerable,
        "near": failure.near_miss,
        "status": evidence.status,
        "detail": None if evidence.detail is None else clipped(evidence.detail),
        "systems": [] if told is None else _said(told, "system"),
        "before": None if told is None else list(_conversation(told)),
        "turn": None if turn is None else turn.turn_index,
        "call_status": None if turn is None else turn.call_status,
        "last_attempt": None if failure.last_attempt is None else clipped(failure.last_attempt),
        "finish": None if response is None else response.finish_reason,
        "words_expected": turn is not None and not turn.gold,
        "expected_text": None if failure.expected_text is None else clipped(failure.expected_text),
        "content": None if response is None else _content(response.assistant_content),
        "calls": _listed([_call(one) for one in failure.calls]),
        "executions": [] if turn is None else _listed([_execution(one) for one in turn.executions]),
        "assertions": _listed([_assertion(one) for one in failure.assertions]),
        "state": _state(failure),
    }


def clipped(text: str) -> str:
    """The beginning of a text that is too long, and how much there is beside it."""
    left = len(text) - TEXT_LIMIT
    return text if left <= 0 else f"{text[:TEXT_LIMIT]}… ({left:,} more characters)"


def _listed(items: Sequence[Json]) -> list[Json]:
    """As many as fit; then their number, for the others."""
    left = len(items) - LIST_LIMIT
    return list(items) if left <= 0 else [*items[:LIST_LIMIT], left]


def _content(content: Json) -> str | None:
    if content is None:
        return None
    return clipped(content if isinstance(content, str) else json_text(content))


def _said(messages: Iterable[Mapping[str, Json]], role: str) -> list[Json]:
    return [_content(message.get("content")) or "" for message in messages if message.get("role") == role]


def _conversation(messages: Sequence[Mapping[str, Json]]) -> Iterator[Json]:
    """What is said as `[speaker, text]`; a batch of calls as `["calls", [[name, arguments, result]]]`. The end of it,
    where there is more than fits, after the number of messages before."""
    results = {str(message.get("tool_call_id")): message for message in messages if message.get("role") == "tool"}
    kept = [message for message in messages if message.get("role") in ("user", "assistant")]
    left = len(kept) - LIST_LIMIT
    if left > 0:
        yield left
    for message in kept[max(0, left) :]:
        calls = message.get("tool_calls")
        content = _content(message.get("content"))
        if content is not None or not calls:
            yield [str(message["role"]), content]
        if isinstance(calls, list | tuple) and calls:
            yield ["calls", _listed([_made(call, results) for call in calls])]


def _made(call: Json, results: Mapping[str, Mapping[str, Json]]) -> Json:
    """A call that was made before. Its arguments stand as they were sent."""
    call = call if isinstance(call, Mapping) else {}
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    result = results.get(str(call.get("id")))
    return [
        clipped(str(function.get("name"))),
        _content(function.get("arguments")),
        None if result is None else _content(result.get("content")),
    ]


def _call(diff: CallDiff) -> Json:
    return [
        diff.expected_tool,
        None if diff.actual_tool is None else clipped(diff.actual_tool),
        _listed([_argument(one) for one in diff.arguments]),
        list(diff.schema_reasons),
        None if diff.unreadable is None else _content(diff.unreadable),
        diff.fits,
    ]


def _argument(diff: ArgumentDiff) -> Json:
    expected, actual = (clipped(json_text(side[0])) if side else None for side in (diff.expected, diff.actual))
    return [clipped(diff.name), diff.verdict, expected, actual]


def _execution(one: Execution) -> Json:
    return [
        clipped(one.tool),
        one.status,
        one.reason,
        one.commit,
        None if one.result is None else clipped(json_text(json.loads(one.result))),
        None if one.detail is None else clipped(one.detail),
    ]


def _assertion(one: AssertionEvidence) -> Json:
    return [one.name, one.category, one.verdict, None if one.detail is None else clipped(one.detail)]


def _state(failure: Failure) -> Json:
    state = failure.state
    if state is None:
        return None
    shown: list[Json] = [[clipped(one.path), one.left, one.right] for one in state.differences[:LIST_LIMIT]]
    return [state.reference, state.count, shown]
