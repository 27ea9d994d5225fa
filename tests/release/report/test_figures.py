"""Figures: when a chart has nothing to compare."""

from __future__ import annotations

import pytest

from bfcl.release.report.facts import Timing
from bfcl.release.report.figures import same_time


@pytest.mark.parametrize(
    ("seconds", "same"),
    [
        ({}, None),
        ({"a": 0.25}, None),
        ({"a": 0.25, "b": 0.25}, "0.250 s"),
        ({"a": 0.1 + 0.2, "b": 0.3}, "0.300 s"),
        ({"a": 0.0004, "b": 0.0005}, None),
        ({"a": 0.25, "b": 0.25, "c": 0.5}, None),
    ],
)
def test_time_is_the_same_where_all_of_several_templates_have_it(seconds: dict[str, float], same: str | None) -> None:
    assert same_time(Timing(seconds=seconds, templates=4)) == same
