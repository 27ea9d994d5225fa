"""What the checks add up to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.judged import judge
from tests.packs import Edit, drop, put, put_template, text

NO_TOOLS = [
    put("tools.json", (), []),
    put("task_templates.yaml", (), []),
    put("validation_cases.yaml", (), []),
    text("backend.py", "def list_tools(): return []\ndef reset(*, ctx, fixtures=None): pass\n"
         "def call_tool(name, arguments, *, ctx): return {}\ndef get_state(): return {}\n"),
]  # fmt: skip
CASES: dict[str, tuple[list[Edit], str, tuple[str, ...]]] = {
    "every check passes": ([], "gold", ()),
    "one probe fails": (
        [put("validation_cases.yaml", (1, "expect", "error_code"), "gone")],
        "silver",
        ("5: error_code_mismatch",),
    ),
    "the same code fails twice": (
        [put("validation_cases.yaml", (index, "expect", "error_code"), "gone") for index in (1, 2)],
        "silver",
        ("5: error_code_mismatch",),
    ),
    "a check is skipped": (
        [put_template("kiln_status", ("turn_policy",), "chat")],
        "silver",
        ("1: unknown_turn_policy", "7: skipped"),
    ),
    "there is no template": ([put("task_templates.yaml", (), [])], "prototype", ("tier: no_templates",)),
    "there is no tool": (NO_TOOLS, "prototype", ("5: validation_cases_empty", "tier: no_tools", "tier: no_templates")),
    "no assertion is exported": (
        [text("assertions.py", ""), put("task_templates.yaml", (), [])],
        "prototype",
        ("tier: no_templates", "tier: no_assertions_exported"),
    ),
    "a template without a fixture needs none": (
        [drop("task_templates.yaml", (index,)) for index in (2, 1, 0)],
        "gold",
        (),
    ),
}


@pytest.mark.parametrize(("edits", "tier", "reasons"), CASES.values(), ids=CASES)
def test_tier_follows_from_the_checks_alone(
    tmp_path: Path, edits: list[Edit], tier: str, reasons: tuple[str, ...]
) -> None:
    verdict = judge(tmp_path, *edits).verdict
    assert (verdict.tier, verdict.reasons, verdict.gold_eligible) == (tier, reasons, tier == "gold")


def test_tier_of_a_worker_thread_is_at_most_silver(tmp_path: Path) -> None:
    verdict = judge(tmp_path, oracle_runtime__worker="thread").verdict
    assert (verdict.tier, verdict.reasons) == ("silver", ("T1: skipped", "I1: worker_not_process"))


def test_tier_does_not_change_with_the_lineage_policy(tmp_path: Path) -> None:
    assert judge(tmp_path, lineage__policy="smoke_no_publication").verdict.tier == "gold"
