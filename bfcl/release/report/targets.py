"""What was balancing asked for, what did it select, and which targets did it miss? Rule: generation.md §3.8.9."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bfcl.canonical import Json
from bfcl.release.document.panels import SHOWN, Table, shown

MISSED_HEAD: Final = ("dimension", "bucket", "target", "actual", "inventory", "reason")

REASONS: Final[Mapping[str, str]] = {
    "insufficient_candidate_inventory": "there are fewer candidates than rows asked for",
    "category_cap_limits_inventory": "the cap on rows of a category leaves fewer rows than asked for",
    "insufficient_surface_diversity": "too few different wordings for the limits on their reuse",
    "intent_cap_limits_inventory": "the cap on rows of an intent leaves fewer rows than asked for",
    "execution_case_cap_limits_inventory": "the cap on rows of an execution case leaves fewer rows than asked for",
    "declared_mix_exceeds_inventory": "the number was lowered until there were enough rows for every "
    "share of the mixes",
    "coverage_requires_more_than_declared_target": "a row for every coverage bucket takes more rows than asked for",
    "coverage_constraint": "a row for every coverage bucket leaves this bucket no other number",
    "insufficient_inventory": "there are fewer rows of this bucket than its share asks for",
    "coverage_or_cross_dimension_constraint": "this share does not go together with the other mixes, caps and coverage",
    "intent_share_exceeded": "an intent has a larger share of its category's rows than it may have",
}
"""Reason code of a missed target to what it means."""

_TOLD: Final = ("actual_counts", "inventory_counts", "target_counts", "unmet_targets")
_AT_MOST: Final = ("category", "intent")
_WITHIN: Final = "intent within its category"
_SETS: Final = ("required_tools", "tools_present")
_SELECTED: Final = "publication_count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Of one run. `asked` and `missing` are for the head of the page, None where there is nothing to say."""

    asked: str | None
    """Selected rows against `target_published_tasks`."""
    missing: str | None
    """Dimensions with a missed target, and how many of their buckets."""
    missed: Table
    """Every missed target, in the report's order."""
    counts: tuple[Table, ...]
    """A table a dimension: rows asked for, selected, and there to select from."""


def targets(report: Json) -> Targets:
    """What `dedup_balancing_report.json` says of targets; nothing where there is no report."""
    missed = [each for each in _list(_member(report, "unmet_targets")) if isinstance(each, Mapping)]
    wanted = _member(_member(report, "target_counts"), _SELECTED)
    selected = _member(_member(report, "counts"), "selected")
    buckets = Counter(str(each.get("dimension")) for each in missed)
    told = (_plain(name) + (f" ({count:,})" if count > 1 else "") for name, count in buckets.items())
    return Targets(
        asked=None if wanted is None else f"{_number(selected)} of {_number(wanted)} asked for",
        missing=", ".join(told) or None,
        missed=_table("Missed targets", MISSED_HEAD, [_missed(each) for each in missed]),
        counts=tuple(_counts(report)),
    )


def untold(report: Mapping[str, Json]) -> dict[str, Json]:
    """The report without what `targets` tells of it."""
    rest = {name: value for name, value in report.items() if name not in _TOLD}
    wanted = {name: value for name, value in _object(report.get("target_counts")).items() if not _object(value)}
    return {**rest, "target_counts": wanted} if wanted else rest


def _missed(target: Mapping[str, Json]) -> tuple[str, ...]:
    dimension, reason = str(target.get("dimension")), str(target.get("reason"))
    words = f"{REASONS[reason]} ({reason})" if reason in REASONS else reason
    return (
        _plain(dimension),
        _bucket(dimension, str(target.get("bucket"))),
        _limit(dimension, target.get("target")),
        *(_number(target.get(key)) for key in ("actual", "inventory")),
        words,
    )


def _counts(report: Json) -> Iterator[Table]:
    """Dimensions by name. Intents are counted over all categories, yet limited within each: that is a table more."""
    wanted, actual, stock = (
        {name: each for name, each in _object(_member(report, key)).items() if isinstance(each, Mapping)}
        for key in ("target_counts", "actual_counts", "inventory_counts")
    )
    limits = wanted.pop("intent", {})
    for name in sorted({*wanted, *actual, *stock}):
        of = (wanted.get(name, {}), actual.get(name, {}), stock.get(name, {}))
        rows = [
            (
                _bucket(name, bucket),
                _limit(name, of[0].get(bucket)),
                _number(of[1].get(bucket, 0)),
                _number(of[2].get(bucket, 0)),
            )
            for bucket in sorted({bucket for each in of for bucket in each})
        ]
        yield _table(_plain(name), (_plain(name), "target", "actual", "inventory"), rows)
    if limits:
        yield _table(
            _WITHIN, (_WITHIN, "target"), [(bucket, _limit("intent", limits[bucket])) for bucket in sorted(limits)]
        )


def _table(title: str, head: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table(path=title, columns=tuple(head), rows=tuple(rows[:SHOWN]), more=max(0, len(rows) - SHOWN))


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _bucket(dimension: str, bucket: str) -> str:
    """As people read it: a set of tools is written as JSON."""
    if dimension not in _SETS:
        return bucket
    try:
        tools: Json = json.loads(bucket)
    except ValueError:
        return bucket
    return "none" if tools == [] else shown(tools)


def _limit(dimension: str, target: Json) -> str:
    return f"at most {_number(target)}" if dimension in _AT_MOST and target is not None else _number(target)


def _number(value: Json) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else shown(value)


def _member(block: Json, key: str) -> Json:
    return block.get(key) if isinstance(block, Mapping) else None


def _object(block: Json) -> Mapping[str, Json]:
    return block if isinstance(block, Mapping) else {}


def _list(block: Json) -> Sequence[Json]:
    return block if isinstance(block, list | tuple) else ()
