"""What categories offer, and a budget out of their reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.checks.budget import Offer, findings, offers
from bfcl.pack.load import load_pack
from bfcl.records.ids import TemplateId
from tests.checks.judged import judge
from tests.packs import BASE, Edit, add_template, held_out, put, put_template, run_config, text, write_pack

SIZES = {"kiln_status": 3, "start_confirmed": 4, "kiln_and_firing": 12, "out_of_scope": 2}


def test_offers_add_up_by_category_in_order_of_appearance(tmp_path: Path) -> None:
    templates = load_pack(run_config(write_pack(tmp_path / "pack")), project=tmp_path).templates
    sizes = {TemplateId(name): size for name, size in SIZES.items()}
    assert list(offers(templates, sizes)) == [
        Offer("kilns", 2, 15, whole=True),
        Offer("firings", 1, 4, whole=True),
        Offer("out_of_scope", 1, 2, whole=True),
    ]
    del sizes[TemplateId("kiln_status")]
    assert next(offers(templates, sizes)) == Offer("kilns", 2, 12, whole=False)


def test_validation_warns_of_a_budget_out_of_reach_and_passes(tmp_path: Path) -> None:
    edit = add_template("more", like="out_of_scope", category="talk")
    judged = judge(tmp_path, edit, task_generation__tasks_per_category=3)
    (check,) = [one for one in judged.verdict.checks if one.id == "7"]
    assert check.status == "pass"
    assert [(one.code, one.message, one.fix, one.setting) for one in check.warnings] == [
        (
            "category_budget_not_reachable",
            f"the templates of category `{category}` offer 2 tasks; its budget is 3",
            "add fixture rows or templates, or lower `task_generation.tasks_per_category`",
            "task_generation.tasks_per_category",
        )
        for category in ("out_of_scope", "talk")
    ]


@pytest.mark.parametrize(
    ("edits", "categories"),
    [
        ([], ["firings", "out_of_scope"]),
        ([put_template("start_confirmed", ("slots", "kiln_id", "filter"), 'zone == "moon"')], ["out_of_scope"]),
        (
            [
                put("manifest.yaml", ("held_out",), "held_out.yaml"),
                text("held_out.yaml", "version: '1'\nfixtures: {kilns: [K-2]}\ntemplates: [out_of_scope]\n"),
            ],
            [],
        ),
    ],
    ids=["good pack", "a template that binds nothing", "what a policy leaves short is no warning"],
)
def test_warnings_count_what_generation_may_bind(tmp_path: Path, edits: list[object], categories: list[str]) -> None:
    root = write_pack(tmp_path / "pack", *edits)  # type: ignore[arg-type]
    settings = run_config(root, task_generation__tasks_per_category=14)
    found = findings(load_pack(settings, project=tmp_path), settings).warnings
    assert [one.message.split("`")[1] for one in found] == categories


SHORT = "fix: add rows or templates, lower `task_generation.tasks_per_category`, or release ids"
KEEP = "fix: release one of them, or add a template that is not reserved"
K2 = '["kilns","K-2"]'
POLICIES: dict[str, tuple[list[Edit], int, list[str]]] = {
    "every template is reserved": (
        [held_out(templates=BASE)],
        2,
        [
            "7 pack/held_out.yaml:3: held_out_binding_starved: every template is reserved: template:kiln_status, "
            "template:start_confirmed, template:kiln_and_firing, template:out_of_scope; expected one to bind\n"
            f"  {KEEP}"
        ],
    ),
    "a category keeps no template": (
        [held_out(templates=["out_of_scope"])],
        2,
        [
            "7 pack/held_out.yaml:3: held_out_binding_starved: category `out_of_scope` keeps no template; reserved: "
            f"template:out_of_scope\n  {KEEP}"
        ],
    ),
    "a category that lost rows is short": (
        [held_out({"kilns": ["K-2"]})],
        3,
        [
            "7 pack/held_out.yaml:2: held_out_binding_starved: category `firings` binds 2 of 3 tasks, with reserved: "
            f"fixture:{K2}\n  {SHORT}"
        ],
    ),
    "a category that lost a template is short": (
        [add_template("other_scope", like="out_of_scope"), held_out(templates=["other_scope"])],
        3,
        [
            "7 pack/held_out.yaml:3: held_out_binding_starved: category `out_of_scope` binds 2 of 3 tasks, with "
            f"reserved: template:other_scope\n  {SHORT}"
        ],
    ),
    "what is left suffices": ([held_out({"kilns": ["K-2"]})], 2, []),
}


@pytest.mark.parametrize(("edits", "budget", "expected"), POLICIES.values(), ids=POLICIES)
def test_validation_refuses_a_policy_that_generation_would_starve_by(
    tmp_path: Path, edits: list[Edit], budget: int, expected: list[str]
) -> None:
    assert judge(tmp_path, *edits, task_generation__tasks_per_category=budget).failures() == expected
