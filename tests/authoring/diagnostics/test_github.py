from __future__ import annotations

from bfcl.authoring.diagnostics.github import document
from tests.authoring.diagnostics.samples import CHECKED


def test_github_commands_escape_what_the_runner_would_read() -> None:
    assert document(CHECKED) == (
        "::error file=packs/my pack/a%2Cb%3Ac.yaml,line=3,col=7,title=unknown_tool::calls `get_kilm`, 100%25 wrong"
        "%0Afix: did you mean `get_kiln`?%0Abecause of tools_catalog_invalid at packs/my pack/tools.json:2\n"
        "::warning file=packs/é.py,line=4,title=odd::two%0Alines\n"
        "::error title=category_budget_too_small::too small\n"
    )
