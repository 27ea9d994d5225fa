"""Which patterns some text may keep busy for ever."""

from __future__ import annotations

import pytest

from bfcl.pack.endless_patterns import may_not_end

ENDLESS = [
    r"^(a+)+$",
    r"(x+x+)+y",
    r"^(\w+\s?)*$",
    r"^(a|a)*$",
    r"^(a|aa)+$",
    r"^([a-z]+)*$",
    r"(.*)*x",
    r"^(\d{1,3},?)+$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"^(a*b*)*$",
    r"((a+)+b)*c",
    r"^(?:[^,]+,?)+;$",
    r"^(.|\s)*$x",
    r"^([a-z0-9]+-?)+$",
    r"(?i)^(a+)+$",
    r"^(a+?)+$",
    r"^(?P<x>a+)+$",
    r"^([\w.-]+)+@x$",
    r"^(x(a*)?y)+$",
    r"^(x(a?|b?)y)+$",
    r"^(x(|)y)+$",
    r"^(x(a*)+y)+$",
]
ENDING = [
    r"^(\w|\d)+x+$",
    r"^(xa?y)+$",
    r"^(x(?:a|b)?y)+$",
    r"^([a-z0-9]+\.)+[a-z]{2,}$",
    r"^[a-z]+(-[a-z]+)*$",
    r"^\d{4}-\d{2}-\d{2}$",
    r"^[A-Z]{2}\d{2}(\s?[0-9A-Z]{4})+$",
    r"^BK-[0-9]{3}$",
    r"^([0-9]{3})+$",
    r"^(\d{3},)*\d{3}$",
    r"^[^@\s]+@[^@\s]+\.[^@\s]+$",
    r"^\s*\w+\s*$",
    r"^(a|b)*$",
    r"^(ab|cd)+$",
    r"^(foo|fob)+$",
    r"(a+)+",
    r".*",
    r"^.*foo.*$",
    r"^[a-z]{1,64}$",
    r"^(?:[a-z0-9]{1,63}\.){1,8}[a-z]+$",
    r"^(?!x)[a-z]+$",
    r"^\+?[0-9 ()-]{7,20}$",
    r"^([01]?\d|2[0-3]):[0-5]\d$",
    r"^(\d+|\d+\.\d+)$",
    r"^(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}$",
    r"^[\p",
    r"^\w+( \w+)*$",
    r'^("[^"]*"|[a-z]+)(, ?("[^"]*"|[a-z]+))*$',
    r"^/([^/]+/)*[^/]*$",
    r"^(a{0,500}b)*$",
    r'^(\\.|[^\\"])*$',
    r"^((a+)",
    r"^(?:a{0,5000}b)*$",
]


@pytest.mark.parametrize("pattern", ENDLESS)
def test_repetition_that_reads_a_text_in_many_ways_may_not_end(pattern: str) -> None:
    assert may_not_end(pattern)


@pytest.mark.parametrize("pattern", ENDING)
def test_pattern_that_reads_a_text_in_one_way_is_not_reported(pattern: str) -> None:
    assert not may_not_end(pattern)
