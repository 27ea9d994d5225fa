"""Markers left for a person's review."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.review_markers import findings
from bfcl.errors import DriftError
from bfcl.pack.load import load_pack
from tests.packs import Edit, append, run_config, text, write_pack


def found(tmp_path: Path, *edits: Edit) -> list[tuple[str | None, int | None, str, str]]:
    root = write_pack(tmp_path / "pack", *edits)
    pack = load_pack(run_config(root), project=tmp_path)
    return [(one.file, one.line, one.code, one.message) for one in findings(pack)]


def test_a_reviewed_pack_holds_no_marker(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_every_marked_line_of_every_file_is_listed(tmp_path: Path) -> None:
    edits = [append("backend.py", "\n# BFCL-TODO\n# BFCL-TODO: again, BFCL-TODO\n"), text("notes/a.md", "x\nBFCL-TODO")]
    assert found(tmp_path, *edits) == [
        ("backend.py", 80, "review_marker_present", "line 80 still holds `BFCL-TODO`"),
        ("backend.py", 81, "review_marker_present", "line 81 still holds `BFCL-TODO`"),
        ("notes/a.md", 2, "review_marker_present", "line 2 still holds `BFCL-TODO`"),
    ]


def test_binary_files_are_passed_over(tmp_path: Path) -> None:
    assert found(tmp_path, text("picture.png", b"\x89PNG\x00BFCL-TODO\n")) == []


@pytest.mark.parametrize("content", ["reviewed\n", None])
def test_file_that_moved_since_loading_is_not_judged(tmp_path: Path, content: str | None) -> None:
    root = write_pack(tmp_path / "pack", append("README.md", "BFCL-TODO\n"))
    pack = load_pack(run_config(root), project=tmp_path)
    page = root / "README.md"
    page.unlink() if content is None else page.write_text(content, encoding="utf-8")
    with pytest.raises(DriftError) as caught:
        findings(pack)
    assert str(caught.value) == (
        "pack_drift: tree/README.md: changed while the pack was being read\n"
        "  fix: run the same command again when nobody edits the pack"
    )
