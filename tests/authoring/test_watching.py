from __future__ import annotations

import os
from pathlib import Path

from bfcl.authoring.diagnostics.diagnostic import Checked, Diagnostic
from bfcl.authoring.watching import SEPARATOR, change, stamps, told

OLD = Diagnostic(severity="error", code="old", message="was wrong", path="p/a.yaml", line=1, column=1)
KEPT = Diagnostic(severity="error", code="kept", message="is wrong", path="p/a.yaml", line=5, column=1)
MOVED = Diagnostic(severity="error", code="kept", message="is wrong", path="p/a.yaml", line=9, column=1)
NEW = Diagnostic(severity="warning", code="new", message="looks odd", path="p/a.yaml", line=2, column=3)


def _checked(*diagnostics: Diagnostic) -> Checked:
    return Checked(pack="p", loads=True, diagnostics=diagnostics)


def test_change_names_what_went_and_what_came_but_not_what_only_moved() -> None:
    assert change(_checked(OLD, KEPT), _checked(NEW, MOVED)) == ((OLD,), (NEW,))


def test_told_separates_checks_and_ends_with_the_counts() -> None:
    assert told(_checked(OLD, KEPT), _checked(NEW, MOVED)) == (
        f"{SEPARATOR}\n"
        "- p/a.yaml:1:1: error old: was wrong\n"
        "+ p/a.yaml:2:3: warning new: looks odd\n"
        "p: 1 error, 1 warning\n"
    )


def test_stamps_differ_after_a_save_in_place_and_after_a_replacement(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "a.yaml"
    file.write_text("a", encoding="utf-8")
    first = stamps(tmp_path)
    assert list(first) == [file]
    file.write_text("ab", encoding="utf-8")
    second = stamps(tmp_path)
    other = tmp_path / "b"
    other.write_text("ab", encoding="utf-8")
    os.utime(other, ns=(0, file.stat().st_mtime_ns))
    other.replace(file)
    third = stamps(tmp_path)
    assert first != second != third


def test_stamps_pass_over_hidden_directories_and_a_directory_that_is_away(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_text("x", encoding="utf-8")
    assert stamps(tmp_path) == {}
    assert stamps(tmp_path / "away") == {}
