"""Searches that come to an end, and one that is stopped."""

from __future__ import annotations

import signal

import pytest

from bfcl.pack import pattern_search
from bfcl.pack.pattern_search import pattern_matches
from bfcl.pack.schema_subset import schema_problems


@pytest.mark.parametrize(
    ("pattern", "text", "found"), [("b+", "abc", True), ("^b", "abc", False), ("^(a+)+$", "aa", True)]
)
def test_pattern_is_found_anywhere_in_the_text(pattern: str, text: str, *, found: bool) -> None:
    assert pattern_matches(pattern, text) is found


def test_search_that_does_not_end_is_stopped_and_leaves_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_search, "LIMIT_S", 0.05)
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeoutError):
        pattern_matches("^(a+)+$", "a" * 40 + "!")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) == before


def test_default_on_which_its_pattern_does_not_end_breaks_its_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_search, "LIMIT_S", 0.05)
    word = {"type": "string", "pattern": "^(a+)+$", "default": "a" * 40 + "!"}
    assert [
        (one.pointer, one.problem) for one in schema_problems({"type": "object", "properties": {"word": word}})
    ] == [("/properties/word/default", "default_violates_schema")]
