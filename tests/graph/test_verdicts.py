"""How a verdict is told: summary, what was reused, findings with their place, failing checks last."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.config.load import LoadedConfig, load_config
from bfcl.errors import GateError
from bfcl.graph.verdicts import listing, require_gold, reuse_line, verdict_line
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from bfcl.records.verdict import CheckResult, Finding, PackVerdict


@pytest.fixture
def loaded(project: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedConfig:
    monkeypatch.chdir(project)
    return load_config(project / "configs" / "tiny.yaml", project=project, command="prepare")


@pytest.fixture
def pack(loaded: LoadedConfig) -> Pack:
    return load_pack(loaded.config, project=loaded.project)


def passed(*ids: str) -> tuple[CheckResult, ...]:
    return tuple(CheckResult(id=id_, name=f"check_{id_}", status="pass") for id_ in ids)


GOLD = PackVerdict(tier="gold", reasons=(), checks=passed("1", "2", "7"))

SILVER = PackVerdict(
    tier="silver",
    reasons=("3: unknown_thing", "3: broken", "7: category_budget_too_small", "8: skipped", "tier: no_tools"),
    checks=(
        CheckResult(
            id="1",
            name="first",
            status="pass",
            warnings=(Finding(code="odd", message="looks odd", file="tools.json", line=4),),
        ),
        CheckResult(
            id="3",
            name="third",
            status="fail",
            failures=(
                Finding(code="unknown_thing", message="ONE", file="tools.json", line=2, fix="mend it"),
                Finding(code="unknown_thing", message="TWO", file="tools.json", line=2),
                Finding(code="broken", message="THREE", file="backend.py"),
                Finding(code="broken", message="FOUR", tool="get_kiln"),
            ),
        ),
        CheckResult(
            id="7",
            name="seventh",
            status="fail",
            failures=(
                Finding(
                    code="category_budget_too_small",
                    message="too small",
                    setting="task_generation.tasks_per_category",
                ),
            ),
        ),
        CheckResult(id="8", name="eighth", status="skipped", skipped_because="check 3 did not pass"),
    ),
)


def test_summary_names_tier_failed_checks_and_report_where_there_is_one() -> None:
    assert verdict_line("validate", GOLD, None) == "validate: gold; failed checks: none"
    assert verdict_line("prepare", SILVER, "build/report.json") == (
        "prepare: silver; failed checks: 3 third, 7 seventh, 8 eighth; report: build/report.json"
    )


def test_listing_tells_warnings_failures_summary_and_failing_checks_in_that_order(
    loaded: LoadedConfig, pack: Pack
) -> None:
    lines = listing(loaded, pack, SILVER, ["SUMMARY"])
    line = loaded.document.line(("task_generation", "tasks_per_category"))
    assert lines == [
        "warning: packs/studio/tools.json:4: odd: looks odd",
        "packs/studio/tools.json:2: unknown_thing: ONE\n  fix: mend it",
        "packs/studio/tools.json:2: unknown_thing: TWO",
        "packs/studio/backend.py: broken: THREE",
        "broken: get_kiln: FOUR",
        f"configs/tiny.yaml:{line}: category_budget_too_small: too small",
        "SUMMARY",
        "  3 third: unknown_thing at packs/studio/tools.json:2",
        "  3 third: broken at packs/studio/backend.py",
        "  3 third: broken in get_kiln",
        f"  7 seventh: category_budget_too_small at configs/tiny.yaml:{line}",
        "  8 eighth: skipped, check 3 did not pass",
        "  tier: no_tools",
    ]


def test_listing_of_a_gold_pack_is_the_summary(loaded: LoadedConfig, pack: Pack) -> None:
    assert listing(loaded, pack, GOLD, ["one", "two"]) == ["one", "two"]


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ({}, "checks: 0 reused, 3 run (1, 2, 7)"),
        ({"1": True, "2": True, "exports": False}, "checks: 2 reused, 1 run (7)"),
        ({"1": True, "2": False, "7/a": True, "7/b": True}, "checks: 2 reused, 1 run (2)"),
        (
            {"1": True, "2": True, "7/a": True, "7/b": False, "7/c": True},
            "checks: 2 reused, 1 run (7 for 1 of 3 templates)",
        ),
        ({"1": True, "2": True, "7/a": True}, "checks: 3 reused, 0 run"),
    ],
)
def test_line_of_what_ran_names_the_checks(asked: dict[str, bool], line: str) -> None:
    assert reuse_line(GOLD, asked) == line


def test_skipped_check_neither_ran_nor_was_reused() -> None:
    assert reuse_line(SILVER, {"1": True, "8": True}) == "checks: 1 reused, 2 run (3, 7)"


def test_gate_names_tier_and_reasons(loaded: LoadedConfig, pack: Pack) -> None:
    require_gold(loaded, pack, GOLD)
    with pytest.raises(GateError) as caught:
        require_gold(loaded, pack, SILVER)
    assert str(caught.value.problems[0]).startswith(
        "non_gold_pack: kiln_studio: tier silver, gold is needed; failing: 3: unknown_thing, 3: broken, "
    )
    assert len(caught.value.problems) == 6
