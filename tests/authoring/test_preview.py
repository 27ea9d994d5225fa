"""What templates become, told without Gold and without writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.conversation_lines import conversation
from bfcl.authoring.preview import Previewed, Wanted, document, preview
from bfcl.authoring.preview_page import page
from bfcl.authoring.workbench import workbench
from bfcl.errors import ConfigError
from tests.packs import ALL_POLICIES, Edit, put_template, replace, write_pack


def shown(root: Path, wanted: Wanted) -> list[Previewed]:
    with workbench(root, jobs=1) as bench:
        return preview(bench, wanted)


def lines(tmp_path: Path, template: str, *edits: Edit) -> list[tuple[str, str]]:
    root = write_pack(tmp_path / "pack", *edits, templates=ALL_POLICIES)
    [one] = shown(root, Wanted(templates=(template,), count=1))
    return [tuple(line) for line in conversation(one.shown[0])]


def test_conversation_tells_turns_calls_results_and_outcome_in_order(tmp_path: Path) -> None:
    told = lines(tmp_path, "last_firing")
    assert [who for who, _ in told] == ["user", "call", "result", "call", "result", "assistant", "passed"]
    assert told[1][1].startswith('get_kiln(kiln_id="K-')
    assert told[3][1].startswith('get_firing(firing_id="F-')
    assert told[6] == ("passed", "assert_firing_from_kiln")


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


def test_template_a_stage_refuses_is_told_beside_the_others(tmp_path: Path) -> None:
    edit = put_template("kiln_status", ["slots", "kiln_id", "source"], "fixture:kiln.kiln_id")
    first, second, *_ = shown(write_pack(tmp_path / "pack", edit), Wanted(count=1))
    assert (first.good, len(first.shown), second.good) == (False, 0, True)
    assert [problem.code for problem in first.problems] == ["unknown_collection"]


def test_count_takes_the_first_instances_and_no_more_than_there_are(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack")
    [one] = shown(root, Wanted(templates=("kiln_status",), count=2))
    [all_] = shown(root, Wanted(templates=("kiln_status",), count=1000))
    assert len(all_.shown) == all_.bindings
    assert [each.task.task_id for each in one.shown] == [each.task.task_id for each in all_.shown][:2]


def test_one_template_of_each_policy(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", templates=ALL_POLICIES)
    found = shown(root, Wanted(count=1, one_per_policy=True))
    policies = [one.template.turn_policy for one in found]
    assert len(policies) == len(set(policies)) == 9
    assert all(one.good for one in found)


def test_unknown_template_is_refused_with_the_closest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        shown(write_pack(tmp_path / "pack"), Wanted(templates=("kiln_statsu",)))
    assert str(caught.value) == (
        "unknown_template: kiln_statsu: the pack has no such template; it has 4\n  fix: did you mean `kiln_status`?"
    )


def test_language_the_templates_lack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        shown(write_pack(tmp_path / "pack"), Wanted(language="fi"))
    assert caught.value.problems[0].code == "generation_config_invalid"


def test_document_says_what_would_be_published(tmp_path: Path) -> None:
    found = document(shown(write_pack(tmp_path / "pack"), Wanted(templates=("out_of_scope",), count=1)))
    assert isinstance(found, dict)
    assert (found["status"], found["schema_version"]) == ("pass", "1.0")
    [template] = found["templates"]
    [conversation_] = template["conversations"]
    assert conversation_["would_be_published"] is True
    assert [turn["kind"] for turn in conversation_["turns"]] == ["user", "assistant_text"]


def test_page_escapes_what_authors_wrote_and_is_reproducible(tmp_path: Path) -> None:
    edit = put_template("kiln_status", ["user_turn_templates", "en"], "<b>{kiln_id}</b> & \u200fمرحبا")
    root = write_pack(tmp_path / "pack", edit)
    found = shown(root, Wanted(count=1))
    first = page("a & b", found)
    assert first == page("a & b", shown(root, Wanted(count=1)))
    assert "<title>a &amp; b</title>" in first
    assert "<b>" not in first
    assert '<dd class="user" dir="auto">&lt;b&gt;K-' in first
    assert first.startswith('<!doctype html>\n<html lang="en">\n')
    assert "http" not in first


def test_preview_writes_nothing_into_the_pack(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack")
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    shown(root, Wanted(count=1))
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before
