"""Pointers as text and as parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bfcl.pack.json_pointer import pointer_parts, pointer_text


def test_pointer_text_escapes_tilde_before_slash() -> None:
    assert pointer_text(("a/b", 0, "m~n", "~1", "")) == "/a~1b/0/m~0n/~01/"
    assert pointer_text(()) == ""


def test_pointer_parts_pass_over_what_leads() -> None:
    assert pointer_parts("#/$defs/a~1b") == ["$defs", "a/b"]
    assert pointer_parts("") == pointer_parts("#") == []


@given(st.lists(st.text(st.sampled_from("ab~/01"))))
def test_pointer_parts_read_what_pointer_text_writes(parts: list[str]) -> None:
    assert pointer_parts(pointer_text(parts)) == parts
