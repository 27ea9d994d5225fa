"""Every field of every record of an episode is read for what it may hold. More of it is in test_tool_trace_cache.py."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest

from bfcl.canonical import canonical_json
from bfcl.evaluate.drive.evidence_json import (
    UnreadableEvidenceError,
    evidence_json,
    evidence_text,
    read_evidence,
    reader_of,
)
from bfcl.evaluate.records import (
    AssertionEvidence,
    CallMatch,
    EpisodeEvidence,
    Execution,
    GoldCall,
    Resolution,
    TurnEvidence,
)
from bfcl.modelio.exchange import ChatResponse, ToolCall
from tests.evaluate.drive.benchmark import Benchmark, play_live

RECORDS = (
    AssertionEvidence,
    CallMatch,
    ChatResponse,
    EpisodeEvidence,
    Execution,
    GoldCall,
    Resolution,
    ToolCall,
    TurnEvidence,
)
ANYTHING = {(ChatResponse, "assistant_content"), (Resolution, "value"), (ToolCall, "raw_arguments")}
"""Fields in which any JSON belongs."""
STRANGER = 0.5
"""No other field holds such a value."""


@pytest.fixture(scope="module")
def written(studio: Benchmark) -> dict[str, Any]:
    """An episode with every record in it."""
    evidence = play_live(studio, studio.row("last_firing"))
    whole = dataclasses.replace(evidence, unresolved=evidence.turns[1].resolutions)
    told: dict[str, Any] = json.loads(json.dumps(evidence_json(whole)))
    return told


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object inside, the whole first."""
    if isinstance(value, dict):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(one)


def test_text_of_an_episode_is_its_canonical_json(studio: Benchmark) -> None:
    evidence = play_live(studio, studio.row("last_firing"))
    assert evidence.final_state is not None
    for state in (evidence.final_state, None, '{"größe":"\\u0001\\""}'):
        one = dataclasses.replace(evidence, final_state=state)
        assert evidence_text(one) == canonical_json(evidence_json(one))


FIELDS = [(kind, field.name) for kind in RECORDS for field in dataclasses.fields(kind)]


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=[f"{kind.__name__}.{name}" for kind, name in FIELDS])
def test_field_that_holds_what_it_may_not_is_unreadable(written: dict[str, Any], kind: Any, name: str) -> None:
    changed = copy.deepcopy(written)
    fields = {field.name for field in dataclasses.fields(kind)}
    held = next(one for one in objects(changed) if one.keys() == fields)
    held[name] = STRANGER
    if (kind, name) in ANYTHING:
        assert evidence_json(read_evidence(changed)) == changed
    else:
        with pytest.raises(UnreadableEvidenceError):
            read_evidence(changed)


def test_field_of_which_nothing_says_what_it_may_hold_is_a_fault_of_ours() -> None:
    @dataclasses.dataclass
    class Weighed:
        name: str
        weight: float

    with pytest.raises(LookupError, match=r"^nothing says what Weighed\.weight may hold, a float$"):
        reader_of(Weighed)
    read = reader_of(Weighed, weight=lambda value: value)
    assert read({"name": "a", "weight": 0.5}) == Weighed("a", 0.5)
