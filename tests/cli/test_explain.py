from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from bfcl.authoring.catalogue import catalogue


def test_explain_tells_cause_fix_and_example(bfcl: Callable[..., Any]) -> None:
    ended = bfcl("explain", "fixtures_invalid", "--format", "text")
    assert ended == (
        0,
        "fixtures_invalid (Loading a pack)\n"
        "  cause:   The root of `fixtures.json` is no object\n"
        "  fix:     Map collection names to arrays\n"
        "  example: `the value is []; expected an object mapping collection names to arrays of rows`\n",
        "",
    )


def test_explain_takes_several_codes_in_the_order_given(bfcl: Callable[..., Any]) -> None:
    document = json.loads(bfcl("explain", "unknown_tool", "fixtures_invalid").out)
    assert [one["code"] for one in document["codes"]] == ["unknown_tool", "fixtures_invalid"]
    assert list(document["codes"][0]) == ["cause", "code", "example", "fix", "kind"]


def test_explain_refuses_an_unknown_code_with_the_closest(bfcl: Callable[..., Any]) -> None:
    ended = bfcl("explain", "unknown_tol")
    assert ended == (1, "", "unknown_code: unknown_tol: no such code\n  fix: did you mean `unknown_tool`?\n")


def test_explain_lists_every_code_under_its_heading(bfcl: Callable[..., Any]) -> None:
    out = bfcl("explain", "--list", "--format", "text").out
    assert [line.strip() for line in out.splitlines() if re.match(r"  \S", line)] == list(catalogue())
    assert "\nChecks of a pack\n  non_gold_pack\n" in out


def test_explain_without_a_code_is_a_usage_error(bfcl: Callable[..., Any]) -> None:
    for arguments in ([], ["--list", "unknown_tool"]):
        ended = bfcl("explain", *arguments)
        assert (ended.status, ended.out) == (1, "")
        assert "give codes to explain, or --list" in ended.err
