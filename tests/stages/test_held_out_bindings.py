"""What a policy keeps from being bound, and when too little is left: the four ways to starve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bfcl.errors import StageError
from bfcl.pack.held_out import policy_summary
from bfcl.pack.load import load_pack
from bfcl.pack.model import Pack
from bfcl.records.ids import TemplateId
from bfcl.stages.bindings import sources_of
from bfcl.stages.expand import Selection, budget_problems, expand_template, select, settings_of
from bfcl.stages.held_out_bindings import bindable_templates, held_out_bindings, lost
from tests.packs import BASE, ROW_LINKS, Edit, add_template, held_out, run_config, write_pack

K1, K2, K3 = (f'["kilns","K-{number}"]' for number in (1, 2, 3))
STARVED = "held_out_binding_starved: held_out.yaml: "
FIX = "\n  fix: add rows or templates, lower `task_generation.tasks_per_category`, or release ids"
KEEP_ONE = "\n  fix: release one of them, or add a template that is not reserved"


def loaded(tmp_path: Path, *edits: Edit, templates: tuple[str, ...] = BASE) -> Pack:
    root = write_pack(tmp_path / "pack", *edits, templates=templates)
    return load_pack(run_config(root), project=tmp_path)


def selected(pack: Pack, wanted: int = 2, limit: int = 6) -> Selection:
    config = run_config(pack.root, task_generation__candidate_tasks_per_category=limit)
    settings = settings_of(config, pack.manifest)
    return select(pack.templates, pack.held_out, sources_of(pack), settings, wanted)


def refusals(pack: Pack, wanted: int = 2) -> list[str]:
    with pytest.raises(StageError) as caught:
        selected(pack, wanted)
    return [str(problem) for problem in caught.value.problems]


# --- what is bound --------------------------------------------------------------------------------------------------


def test_without_policy_every_template_is_bound_and_no_category_is_short(tmp_path: Path) -> None:
    selection = selected(loaded(tmp_path), wanted=1000)
    assert [one.template_id for one in selection.templates] == list(BASE)
    assert {template_id for template_id, _ in selection.order} == set(BASE)


def test_reserved_template_is_never_bound(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out(templates=["kiln_status"]))
    selection = selected(pack)
    assert [one.template_id for one in selection.templates] == [name for name in BASE if name != "kiln_status"]
    assert "kiln_status" not in {template_id for template_id, _ in selection.order}


def test_reserved_row_is_never_bound(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out({"kilns": ["K-3"]}))
    sources, settings = sources_of(pack), settings_of(run_config(pack.root), pack.manifest)
    selection = selected(pack)
    tasks = [
        task
        for template in selection.templates
        for task in expand_template(
            template, sources, settings, range(sum(one == template.template_id for one, _ in selection.order))
        )
    ]
    assert {ref for task in tasks for ref in task.fixture_refs} >= {K1, K2}
    assert not any(K3 in task.fixture_refs for task in tasks)


def test_category_that_binds_enough_without_its_reserved_part_is_fine(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out({"kilns": ["K-3"]}, ["kiln_status"]))
    assert len(selected(pack, wanted=2).order) == 6 + 4 + 2


def test_budget_counts_the_templates_that_may_be_bound(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out(templates=["kiln_status"]))
    assert [one.code for one in budget_problems(pack.templates, 1)] == ["category_budget_too_small"]
    assert budget_problems(bindable_templates(pack.templates, pack.held_out), 1) == []


# --- starvation -----------------------------------------------------------------------------------------------------


def test_slot_that_loses_every_matching_row_starves(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out({"kilns": ["K-1", "K-2"]}))
    assert refusals(pack, wanted=1) == [
        "held_out_binding_starved: start_confirmed: slot `kiln_id`: every row of `kilns` that offers `kiln_id` under "
        f'filter `status == "idle"` is reserved: fixture:{K1}, fixture:{K2}\n'
        "  fix: release one of them, or add a row to `kilns` that matches"
    ]


def test_category_that_keeps_no_template_starves(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out(templates=["out_of_scope", "kiln_status", "kiln_and_firing"]))
    assert refusals(pack) == [
        f"{STARVED}category `kilns` keeps no template; reserved: template:kiln_status, "
        f"template:kiln_and_firing{KEEP_ONE}",
        f"{STARVED}category `out_of_scope` keeps no template; reserved: template:out_of_scope{KEEP_ONE}",
    ]


def test_pack_with_every_template_reserved_starves(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out(templates=BASE))
    assert refusals(pack) == [
        f"{STARVED}every template is reserved: template:kiln_status, template:start_confirmed, "
        f"template:kiln_and_firing, template:out_of_scope; expected one to bind{KEEP_ONE}"
    ]


def test_category_that_lost_rows_and_binds_too_few_starves(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out({"kilns": ["K-2"]}))
    assert refusals(pack, wanted=3) == [
        f"{STARVED}category `firings` binds 2 of 3 tasks, with reserved: fixture:{K2}{FIX}"
    ]


def test_category_that_lost_a_template_and_binds_too_few_starves(tmp_path: Path) -> None:
    second = add_template("other_scope", like="out_of_scope")
    pack = loaded(tmp_path, second, held_out(templates=["other_scope"]))
    assert refusals(pack, wanted=3) == [
        f"{STARVED}category `out_of_scope` binds 2 of 3 tasks, with reserved: template:other_scope{FIX}"
    ]


def test_category_that_lost_nothing_may_bind_too_few(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out({"firings": ["F-13"]}), templates=("kiln_status", "out_of_scope"))
    assert len(selected(pack, wanted=6).order) == 5


def test_every_way_to_starve_is_told_at_once(tmp_path: Path) -> None:
    pack = loaded(
        tmp_path,
        add_template("busy_kiln", like="kiln_status", category="busy"),
        held_out({"kilns": ["K-1", "K-2"]}, ["out_of_scope"]),
    )
    assert [one.partition(" under ")[0].partition(";")[0] for one in refusals(pack, wanted=5)] == [
        "held_out_binding_starved: start_confirmed: slot `kiln_id`: every row of `kilns` that offers `kiln_id`",
        f"{STARVED}category `out_of_scope` keeps no template",
        f"{STARVED}category `busy` binds 1 of 5 tasks, with reserved: fixture:{K1}, fixture:{K2}{FIX}".partition(";")[
            0
        ],
    ]


# --- held_out_bindings.json -----------------------------------------------------------------------------------------


def test_document_lists_what_was_blocked_and_counts_what_was_examined(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out({"kilns": ["K-3"], "firings": ["F-10"]}, ["kiln_and_firing"]))
    assert pack.held_out is not None
    document = held_out_bindings(pack.held_out, pack.templates, sources_of(pack), 8)
    assert document == {
        "contract_version": "1.0",
        "policy": policy_summary(pack.held_out),
        "blocked_templates": ["kiln_and_firing"],
        # F-10 is drawn by the reserved template alone, and that one is not bound.
        "blocked_fixture_refs": [K3],
        "counts": {
            # kiln_status: 3 kilns; start_confirmed: 2 idle kilns, 2 cones; out_of_scope: 2 topics.
            "bind_attempts": 3 + 2 + 2 + 2,
            "templates_blocked": 1,
            "fixture_refs_blocked": 1,
            "tasks_expanded": 8,
        },
    }


def test_corrections_are_examined_too(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out({"kilns": ["K-3"]}), templates=("kiln_corrected",))
    found: Any = lost(pack.templates, sources_of(pack))
    assert (found.attempts, found.refs) == (1 + 3, {K3})


def test_reserved_row_gives_nothing_to_slots_and_arguments_that_share_it(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out({"kilns": ["K-2"], "firings": ["F-10", "F-11"]}), templates=ROW_LINKS)
    sources, settings = sources_of(pack), settings_of(run_config(pack.root), pack.manifest)
    tasks = {
        template.template_id: expand_template(template, sources, settings, range(2))
        for template in pack.templates
        if template.template_id != "firing_corrected"
    }
    assert [dict(task.slots) for task in tasks[TemplateId("kiln_in_zone")]] == [
        {"kiln_id": "K-1", "zone": "north"},
        {"kiln_id": "K-3", "zone": "south"},
    ]
    # A reserved kiln is hidden where it is bound, not where a free row names it.
    assert [dict(task.slots) for task in tasks[TemplateId("kiln_of_firing")]] == [
        {"firing_id": "F-12", "firing_id.kiln_id": "K-2"},
        {"firing_id": "F-13", "firing_id.kiln_id": "K-3"},
    ]
    (corrected,) = (one for one in pack.templates if one.template_id == "firing_corrected")
    (task,) = expand_template(corrected, sources, settings, range(1))
    assert task.fixture_refs == ('["firings","F-12"]', '["firings","F-13"]')


def test_followers_are_not_examined_beside_their_leader(tmp_path: Path) -> None:
    pack = loaded(tmp_path, held_out({"kilns": ["K-3"]}), templates=("kiln_in_zone",))
    found = lost(pack.templates, sources_of(pack))
    assert (found.attempts, found.refs) == (3, {K3})
