"""Is `oracle_runtime.clock` one instant that every reader of the file understands alike? Rule: generation.md §2.2."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import yaml

from bfcl.config.view import INVALID, View
from bfcl.errors import Problem
from bfcl.located import canonical_word

_PLACE = ("oracle_runtime", "clock")
_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_YEARS = range(1900, 9991)
"""Replays shift the clock by months; outside these years a shifted clock leaves what dates can hold."""

_EXPECTED = 'expected a quoted ISO-8601 time with `T` and a UTC offset, as "2026-03-02T09:00:00+00:00"'


def clock_problems(view: View) -> Iterator[Problem]:
    """At most one problem: not a time, no offset, out of range, or an unquoted YAML timestamp."""
    value = view.at(*_PLACE)
    if not isinstance(value, str):
        return
    said = f"is {canonical_word(value)}"
    moment = _moment(value)
    if moment is None:
        yield view.problem(INVALID, _PLACE, f"{said}; {_EXPECTED}")
    elif moment.utcoffset() is None:
        yield view.problem(INVALID, _PLACE, f"{said}, which has no UTC offset; {_EXPECTED}", "append the offset")
    elif not _in_range(moment):
        yield view.problem(INVALID, _PLACE, f"{said}; expected a year from {_YEARS[0]} to {_YEARS[-1]}")
    elif _is_timestamp(view.data):
        message = f"is {value} without quotes, which YAML readers turn into their own date type; expected quoted text"
        yield view.problem(INVALID, _PLACE, message, f'write `clock: "{value}"`')


def _moment(value: str) -> datetime | None:
    # Python takes any character between date and time; the standard takes `T`.
    if "T" not in value:
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return None


def _in_range(moment: datetime) -> bool:
    try:
        return moment.year in _YEARS and moment.astimezone(UTC).year in _YEARS
    except OverflowError:
        return False


def _is_timestamp(data: bytes) -> bool:
    """Whether a standard YAML reader would not read the clock as text."""
    node: Any = yaml.compose(data, Loader=yaml.CSafeLoader)
    for key in _PLACE:
        if not isinstance(node, yaml.MappingNode):
            return False
        node = next((value for name, value in node.value if name.value == key), None)
    return isinstance(node, yaml.ScalarNode) and node.tag == _TIMESTAMP
