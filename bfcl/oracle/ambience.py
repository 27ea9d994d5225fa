"""In what do the two worlds differ? Everything ambient, so that whatever leaks into an answer diverges. Rule: ruling 6.

World A shows the run's clock in UTC. World B shows another year, month, day, weekday, hour and minute, in UTC as well
as in the local time of either world, another time zone, hash seed, host name, directories, later ticks, and a copy of
the pack: other paths, inodes and times of files.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

_ZONE_B = "BFC-05:45"  # POSIX notation: 5 h 45 min east of Greenwich, needs no time zone data
_OFFSET_B = timedelta(hours=5, minutes=45)
_STEP = timedelta(days=1, hours=7, minutes=13, seconds=17)
_START = timedelta(days=2 * 365 + 75)
_TICK_SHIFT_S = 7_654_321.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambience:
    """One world's surroundings. `timestamp` is the instant its wall clock shows, seconds since the epoch."""

    name: str
    hash_seed: int
    timestamp: float
    zone: str
    host_name: str
    directory_prefix: str
    """Of different length, so that even a length that leaks diverges."""
    view_name: str | None
    """What a copy of the oracle view is called that the pack is imported from; None for the view itself."""
    tick_shift_s: float

    def environment(self, private: str) -> dict[str, str]:
        """The whole environment of the world: built from nothing. Rule: pack.md §7.4."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TZ": self.zone,
            "PYTHONHASHSEED": str(self.hash_seed),
            "HOME": private,
            "TMPDIR": private,
        }


def ambiences(clock: str) -> dict[str, Ambience]:
    """Worlds `a` and `b` for a run's clock (ISO-8601 with offset). Raises ValueError on a clock that is none."""
    shown = datetime.fromisoformat(clock)
    if shown.utcoffset() is None:
        raise ValueError(f"clock {clock!r} has no offset from UTC")
    other = _another(shown)
    return {
        "a": Ambience(
            name="a",
            hash_seed=1,
            timestamp=shown.timestamp(),
            zone="UTC",
            host_name="world-a",
            directory_prefix="a-",
            view_name=None,
            tick_shift_s=0.0,
        ),
        "b": Ambience(
            name="b",
            hash_seed=1_905_316_420,
            timestamp=other.timestamp(),
            zone=_ZONE_B,
            host_name="the-other-world-b",
            directory_prefix="other-b-",
            view_name="pack-as-the-other-world-sees-it",
            tick_shift_s=_TICK_SHIFT_S,
        ),
    }


def _another(shown: datetime) -> datetime:
    """The nearest instant, some two years on, whose every calendar field stays apart while both clocks tick."""
    sign = 1 if shown.year < 9990 else -1
    other = shown.astimezone(UTC) + sign * _START
    offset = shown.utcoffset() or timedelta()
    while not _far_apart(shown, other, offset):
        other += sign * _STEP
    return other


def _far_apart(shown: datetime, other: datetime, offset: timedelta) -> bool:
    here = [shown.astimezone(zone) for zone in (UTC, timezone(offset))]
    there = [other.astimezone(zone) for zone in (UTC, timezone(offset), timezone(_OFFSET_B))]
    return all(_fields_differ(one, two) for one in here for two in there)


def _fields_differ(one: datetime, two: datetime) -> bool:
    pairs = (
        (one.month, two.month, 12),
        (one.day, two.day, 31),
        (one.weekday(), two.weekday(), 7),
        (one.hour, two.hour, 24),
        (one.minute, two.minute, 60),
    )
    return abs(one.year - two.year) >= 2 and all(min((x - y) % size, (y - x) % size) >= 2 for x, y, size in pairs)
