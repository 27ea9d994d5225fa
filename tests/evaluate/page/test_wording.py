"""Intervals and p values in words."""

from __future__ import annotations

import dataclasses

from bfcl.evaluate.page.wording import resampled
from bfcl.evaluate.score.intervals import Bootstrap, Interval


def test_resampled_says_why_there_is_no_interval() -> None:
    whole = Bootstrap(interval=Interval(low=-0.25, high=0.5), clusters=3, resamples=10, seed=1)
    assert resampled(whole, signed=True) == "-25.0 to +50.0 points"
    assert resampled(dataclasses.replace(whole, interval=None, clusters=1)) == "– (one template)"
    assert resampled(dataclasses.replace(whole, interval=None, clusters=0)) == "–"
