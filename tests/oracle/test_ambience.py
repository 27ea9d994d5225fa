"""The two worlds differ in every calendar field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.oracle.ambience import ambiences

ZONE_B = timezone(timedelta(hours=5, minutes=45))
CLOCKS = st.builds(datetime.fromtimestamp, st.integers(315_532_800, 7_258_118_400), st.sampled_from([UTC, ZONE_B]))


@given(CLOCKS)
def test_world_b_shows_another_year_month_day_weekday_hour_and_minute_in_either_local_time(clock):
    worlds = ambiences(clock.isoformat())
    a = datetime.fromtimestamp(worlds["a"].timestamp, UTC)
    for zone in (UTC, ZONE_B):
        b = datetime.fromtimestamp(worlds["b"].timestamp, zone)
        for field in ("year", "month", "day", "hour", "minute"):
            assert getattr(a, field) != getattr(b, field), field
        assert a.weekday() != b.weekday()


def test_world_a_shows_the_clock_of_the_run():
    world = ambiences("2026-03-02T10:00:00+07:00")["a"]
    assert datetime.fromtimestamp(world.timestamp, UTC) == datetime(2026, 3, 2, 3, tzinfo=UTC)


def test_worlds_differ_in_everything_the_environment_shows():
    worlds = ambiences("2026-03-02T10:00:00+07:00")
    a, b = worlds["a"].environment("/x/a"), worlds["b"].environment("/x/b")
    assert a == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "1",
        "HOME": "/x/a",
        "TMPDIR": "/x/a",
    }
    assert {name for name in a if a[name] != b[name]} == {"TZ", "PYTHONHASHSEED", "HOME", "TMPDIR"}


def test_a_clock_late_in_the_calendar_puts_world_b_before_it():
    worlds = ambiences("9998-06-01T00:00:00+00:00")
    assert worlds["b"].timestamp < worlds["a"].timestamp


def test_a_clock_without_offset_is_refused():
    with pytest.raises(ValueError, match="clock '2026-03-02T10:00:00' has no offset from UTC"):
        ambiences("2026-03-02T10:00:00")
