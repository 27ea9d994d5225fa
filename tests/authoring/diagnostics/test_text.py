from __future__ import annotations

import dataclasses

from bfcl.authoring.diagnostics.text import document
from tests.authoring.diagnostics.samples import CHECKED


def test_text_has_a_line_for_each_diagnostic_and_a_summary() -> None:
    assert document(CHECKED) == (
        "packs/my pack/a,b:c.yaml:3:7: error unknown_tool: calls `get_kilm`, 100% wrong (did you mean `get_kiln`?) "
        "because of tools_catalog_invalid at packs/my pack/tools.json:2\n"
        "packs/é.py:4: warning odd: two\\nlines\n"
        "error category_budget_too_small: too small\n"
        "packs/my pack: 2 errors, 1 warning; the pack does not load, so not everything was checked\n"
    )


def test_summary_is_one_line_whatever_the_pack_is_called() -> None:
    named = dataclasses.replace(CHECKED, pack="a\nb\r", diagnostics=(), loads=True)
    assert document(named) == "a\\nb\\x0d: 0 errors, 0 warnings\n"
