"""How well shut in were the worlds that a release's results come from, those taken from the store included?

Rule: spec README, ruling 7 (`runtime.isolation`). The level is stored beside each result of the oracle and is no part
of what the result depends on: a stronger machine takes over what a weaker one replayed, and claims no more than that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from bfcl.canonical import canonical_json
from bfcl.graph.shards import template_of
from bfcl.graph.store import LEVEL_FILE
from bfcl.records.ids import TemplateId

if TYPE_CHECKING:
    from bfcl.graph.session import Session
    from bfcl.records.template import Template

ORACLE_STAGES: Final = frozenset({"executable_replay"})
"""Stages whose shards wait for the oracle rather than for this process."""


def asks_oracle(stage: str, template: Template) -> bool:
    """Whether the oracle has a part in a stage's shards of a template: every replay, and dependent arguments."""
    return stage in ORACLE_STAGES or (stage == "expected_trace" and template.turn_policy == "dependent_call")


def level_file(level: Mapping[str, Any]) -> dict[str, bytes]:
    """What is stored beside a result: the level that the worlds of its run had reached at least."""
    return {LEVEL_FILE: canonical_json(dict(level))}


def weakest(levels: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The level that every world of a run reached at least, of the levels of each place they ran in.

    A part that one place is without is false or None, a number is the smallest.
    """
    told = list(levels)
    names = sorted({name for level in told for name in level})
    return {name: min((level.get(name) for level in told), key=lambda value: value or 0) for name in names}


def released_level(session: Session) -> dict[str, Any]:
    """The level that every world reached at least whose results are released; a part is None where one is unknown."""
    return weakest([session.isolation, *_stored(session)])


def _stored(session: Session) -> Iterator[Mapping[str, Any]]:
    """The different levels of the results that the oracle had a part in and that this run took from the store."""
    seen: set[bytes] = set()
    for stage in session.stages:
        own = session.evidence.shards(stage.name, "computed")
        for shard in session.result(stage.name).shards:
            template = session.templates.get(TemplateId(template_of(shard.label)))
            if shard.fp in own or template is None or not asks_oracle(stage.name, template):
                continue
            entry = session.store.get(shard.fp)
            seen.add(entry.file(LEVEL_FILE).read_bytes() if LEVEL_FILE in entry.files else b"{}")
    for data in sorted(seen):
        yield json.loads(data)
