"""Which scripts cannot be played to their end is told before the first request."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.evaluate.drive.preflight_turns import preflight_turns
from bfcl.evaluate.drive.script import read_script
from bfcl.evaluate.records import Script
from tests.evaluate.driven import one_group, script
from tests.evaluate.settings.builder import loaded, put
from tests.exports.staged import decoded, plain_row

SCRIPTS = [one_group(), script(), read_script(decoded(plain_row()))]


def warned(root: Path, scripts: list[Script], *, turns: int = 4, choice: str = "auto") -> list[str]:
    edits = (put(("limits", "max_turns"), turns), put(("candidates", 0, "inference", "tool_choice"), choice))
    return [str(problem) for problem in preflight_turns(scripts, loaded(root, *edits))]


def test_preflight_is_silent_where_every_script_can_be_played(tmp_path: Path) -> None:
    assert warned(tmp_path, SCRIPTS) == []


def test_preflight_names_the_longest_script_that_needs_more_turns(tmp_path: Path) -> None:
    assert warned(tmp_path, SCRIPTS, turns=1) == [
        "turns_beyond_limit: `max_turns` is 1, but 2 of 3 tasks need more turns; "
        "plant__read_then_set__0000000000000001 needs 4\n  fix: set `limits.max_turns: 4`"
    ]


@pytest.mark.parametrize(("choice", "kind", "count"), [("required", "text", 3), ("none", "call", 2)])
def test_preflight_warns_of_a_tool_choice_that_bars_turns(tmp_path: Path, choice: str, kind: str, count: int) -> None:
    assert warned(tmp_path, SCRIPTS, choice=choice) == [
        f"tool_choice_bars_turns: candidates[potter].inference.tool_choice: `{choice}` bars every {kind} turn, and "
        f"{count} of 3 tasks have one\n  fix: set `tool_choice: auto`; those tasks cannot be completed otherwise"
    ]


def test_preflight_does_not_mind_a_tool_choice_that_bars_nothing(tmp_path: Path) -> None:
    assert warned(tmp_path, SCRIPTS[2:], choice="none") == []


def test_preflight_without_tasks_has_nothing_to_warn_of(tmp_path: Path) -> None:
    assert warned(tmp_path, [], turns=1, choice="required") == []
