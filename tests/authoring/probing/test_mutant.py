"""How mutants are named."""

from __future__ import annotations

from bfcl.authoring.probing.mutant import KINDS, named


def test_call_is_named_by_its_place_and_its_tool(play):
    expected = play("kiln_and_firing").expected
    assert [named(expected, index) for index in range(2)] == ["call 0 `get_kiln`", "call 1 `get_firing`"]


def test_kinds_that_leave_out_the_call_come_first_and_the_order_of_a_list_last():
    assert KINDS[0] == "drop_call"
    assert KINDS[-1] == "reorder_list"
    assert len(set(KINDS)) == len(KINDS)
