"""A previewed task, line by line."""

from __future__ import annotations

from pathlib import Path

from bfcl.authoring.conversation_lines import conversation
from bfcl.authoring.preview import Wanted, preview
from bfcl.authoring.workbench import workbench
from tests.packs import ALL_POLICIES, ROW_LINKS, Edit, put_template, replace, write_pack


def lines(tmp_path: Path, template: str, *edits: Edit) -> list[tuple[str, str]]:
    root = write_pack(tmp_path / "pack", *edits, templates=(*ALL_POLICIES, *ROW_LINKS))
    with workbench(root, jobs=1) as bench:
        [one] = preview(bench, Wanted(templates=(template,), count=1))
    return [tuple(line) for line in conversation(one.shown[0])]


def test_conversation_tells_turns_calls_results_and_outcome_in_order(tmp_path: Path) -> None:
    told = lines(tmp_path, "last_firing")
    assert [who for who, _ in told] == ["user", "call", "result", "call", "result", "assistant", "passed"]
    assert told[1][1].startswith('get_kiln(kiln_id="K-')
    assert told[3][1].startswith('get_firing(firing_id="F-')
    assert told[6] == ("passed", "assert_firing_from_kiln")


def test_conversation_shows_what_a_corrected_row_gives(tmp_path: Path) -> None:
    told = lines(tmp_path, "firing_corrected")
    assert [who for who, _ in told] == ["user", "assistant", "user", "call", "result", "assistant", "passed"]
    assert told[2] == ("user", "Sorry, I meant F-11, at cone 6.")
    assert told[3] == ("call", 'get_kiln(kiln_id="K-1")')


def test_conversation_tells_a_broken_guard(tmp_path: Path) -> None:
    edit = put_template("kiln_status", ["user_turn_templates", "en"], "Is my kiln free?")
    assert lines(tmp_path, "kiln_status", edit)[-2:] == [
        ("guard", "must_preserve: slot `kiln_id`"),
        ("passed", "assert_kiln_read"),
    ]


def test_conversation_tells_a_failed_assertion_once(tmp_path: Path) -> None:
    edit = put_template("kiln_status", ["success_assertions"], ["assert_no_tool_called"])
    told = lines(tmp_path, "kiln_status", edit)
    assert [who for who, _ in told if who == "failed"] == ["failed"]
    assert told[-1][1].startswith("assert_no_tool_called: ")


def test_conversation_tells_why_a_call_broke(tmp_path: Path) -> None:
    told = lines(tmp_path, "kiln_status", replace("backend.py", "def _get_kiln(kiln_id):", "def _get_kiln(kiln):"))
    assert told[-1][0] == "failed"
    assert told[-1][1].startswith("executable_replay_failed: tool_raised: ")
