"""A preview as a page of its own."""

from __future__ import annotations

from pathlib import Path

from bfcl.authoring.preview import Previewed, Wanted, preview
from bfcl.authoring.preview_page import page
from bfcl.authoring.workbench import workbench
from tests.packs import put_template, write_pack


def shown(root: Path, wanted: Wanted) -> list[Previewed]:
    with workbench(root, jobs=1) as bench:
        return preview(bench, wanted)


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


def test_page_of_nothing_is_a_whole_document() -> None:
    assert page("none", []).endswith("<body>\n<h1>none</h1>\n\n</body>\n</html>\n")


def test_page_tells_what_a_stage_refused_and_marks_right_from_wrong(tmp_path: Path) -> None:
    edits = [
        put_template("kiln_status", ["slots", "kiln_id", "source"], "fixture:kiln.kiln_id"),
        put_template("out_of_scope", ["success_assertions"], ["assert_kiln_read"]),
    ]
    told = page("pack", shown(write_pack(tmp_path / "pack", *edits), Wanted(count=1)))
    assert '<p class="problem">unknown_collection: kiln_status: ' in told
    assert '<dt>failed</dt><dd class="failed" dir="auto">assert_kiln_read: ' in told
    assert '<dt>passed</dt><dd class="passed" dir="auto">assert_started_as_asked</dd>' in told
