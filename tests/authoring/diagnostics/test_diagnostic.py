from __future__ import annotations

import dataclasses

from bfcl.authoring.diagnostics.diagnostic import Checked, Diagnostic, in_file_order
from tests.authoring.diagnostics.samples import CHECKED, LINES


def _at(path: str | None, line: int | None = None, column: int | None = None) -> Diagnostic:
    return Diagnostic(severity="error", code="c", message="m", path=path, line=line, column=column)


def test_diagnostics_stand_in_the_order_of_the_files_then_of_lines_and_columns() -> None:
    found = [_at("z", 1), _at("b", 2), _at("a", 9), _at("b", 1, 5), _at("b", 1, 2), _at(None), _at("y", 1)]
    assert in_file_order(found, ["b", "a"]) == (
        _at("b", 1, 2),
        _at("b", 1, 5),
        _at("b", 2),
        _at("a", 9),
        _at(None),
        _at("y", 1),
        _at("z", 1),
    )


def test_warnings_leave_a_check_clean_and_errors_do_not() -> None:
    assert dataclasses.replace(CHECKED, diagnostics=(LINES,)).clean
    assert not CHECKED.clean
    assert (CHECKED.count("error"), CHECKED.count("warning")) == (2, 1)
    assert Checked(pack="p", loads=True, diagnostics=()).clean
