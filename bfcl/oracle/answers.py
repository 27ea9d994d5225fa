"""What do requests and answers of a world mean in records of the protocol? The parent's side of `wire`."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bfcl.canonical import Json, canonical_json, canonical_text
from bfcl.oracle import deadlines, wire
from bfcl.oracle.protocol import AssertionInfo, Breakdown, Description, Episode, EpisodeResult, PlannedCall
from bfcl.oracle.scratch import CALL
from bfcl.records.verdict import AssertionOutcome

_STATUSES = ("passed", "failed", "not_applicable", "error")
DESCRIBE = b'{"kind":"describe"}'


def request_of(episode: Episode) -> bytes:
    """The request that asks a world for this episode."""
    # Absent where they say nothing: most requests are of generation, which knows neither.
    extra: dict[str, Json] = {
        name: sorted(value) for name in ("watched", "withheld") if (value := getattr(episode, name))
    }
    return canonical_json(
        {
            **extra,
            "kind": "episode",
            "task_id": episode.task_id,
            "seed": episode.seed,
            "calls": _calls(episode.calls),
            "assertions": episode.assertions,
            "task": None if episode.task is None else canonical_text(episode.task),
            "observe": episode.observe,
            "also": [_calls(calls) for calls in episode.also],
            "given": None if episode.given is None else (episode.given.trace, episode.given.state),
        }
    )


def _calls(calls: Sequence[PlannedCall]) -> Json:
    return [
        (
            call.tool,
            call.turn_index,
            canonical_text(call.arguments),
            {name: (source.call, source.path) for name, source in call.from_results.items()},
            call.task_id,
        )
        for call in calls
    ]


def breakdown_answer(breakdown: Mapping[str, Any]) -> wire.Answer:
    """An answer that holds nothing but a breakdown, for episodes no world could answer."""
    return ((wire.BREAKDOWN, canonical_json(breakdown)),)


_state_text = functools.lru_cache(maxsize=16)(bytes.decode)
"""States are large and most of them come again."""


def result_of(episode: Episode, answer: wire.Answer, told: Callable[[str], str]) -> EpisodeResult:
    """The result an answer holds, its JSON texts as `told`. An answer that is none, say a forged one, is a crash."""
    try:
        runs: list[list[tuple[bytes, str]]] = [[]]
        for kind, data in answer:
            if kind == wire.ALSO:
                runs.append([])
            else:
                text = _state_text(data) if kind == wire.STATE else data.decode()
                runs[-1].append((kind, told(text)))
        also = tuple(_run_of(calls, records) for calls, records in zip(episode.also, runs[1:], strict=False))
        return replace(_run_of(episode.calls, runs[0]), also=also)
    except (ValueError, KeyError, TypeError):
        garbled = deadlines.breakdown("worker_crashed", "the process left an answer that cannot be read", CALL)
        return EpisodeResult(results=(), arguments=(), states=(), assertions=(), breakdown=Breakdown(**garbled))


def _run_of(calls: Sequence[PlannedCall], records: Sequence[tuple[bytes, str]]) -> EpisodeResult:
    results: list[str] = []
    arguments: list[str] = []
    states: list[str] = []
    assertions: list[AssertionOutcome] = []
    breakdown, filled = None, None
    for kind, text in records:
        if kind == wire.RESULT:
            planned = calls[len(results)].arguments if len(results) < len(calls) else {}
            arguments.append(canonical_text(planned) if filled is None else filled)
            results.append(text)
            filled = None
        elif kind == wire.ARGUMENTS:
            filled = text
        elif kind == wire.STATE:
            states.append(text)
        elif kind == wire.ASSERTION:
            name, status, detail = json.loads(text)
            if status not in _STATUSES:
                raise ValueError(f"no such assertion status: {status!r}")
            assertions.append(AssertionOutcome(name=name, status=status, detail=detail))
        elif kind == wire.BREAKDOWN:
            # The first: a state that is read after it may hang, which breaks what is broken already.
            breakdown = breakdown or Breakdown(**json.loads(text))
        else:
            raise ValueError(f"no such record: {kind!r}")
    return EpisodeResult(
        results=tuple(results),
        arguments=tuple(arguments),
        states=tuple(states),
        assertions=tuple(assertions),
        breakdown=breakdown,
    )


def description_of(answer: wire.Answer, imports: Mapping[str, Breakdown | None]) -> Description:
    """The description an answer holds, with what the imports came to."""
    told: dict[str, Any] = {"missing": [], "tools": None, "tools_breakdown": None, "assertions": []}
    broken = None
    for kind, text in answer:
        if kind == wire.DESCRIPTION:
            told |= json.loads(text)
        elif kind == wire.BREAKDOWN:
            broken = json.loads(text)
        else:
            raise ValueError(f"no such record: {kind!r}")
    tools_breakdown = told["tools_breakdown"] or broken
    return Description(
        backend_breakdown=imports["backend"],
        missing_callables=tuple(told["missing"]),
        tools=None if told["tools"] is None else tuple(told["tools"]),
        tools_breakdown=None if tools_breakdown is None else Breakdown(**tools_breakdown),
        assertions_breakdown=imports["assertions"],
        assertions=tuple(
            AssertionInfo(name=name, signature_problem=problem, line=line) for name, problem, line in told["assertions"]
        ),
    )
