"""What templates become, told without Gold and without writing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bfcl.authoring.preview import Previewed, Wanted, document, preview
from bfcl.authoring.workbench import workbench
from bfcl.errors import ConfigError
from tests.packs import ALL_POLICIES, held_out, put_template, write_config, write_pack


def shown(root: Path, wanted: Wanted) -> list[Previewed]:
    with workbench(root, jobs=1) as bench:
        return preview(bench, wanted)


def test_template_a_stage_refuses_is_told_beside_the_others(tmp_path: Path) -> None:
    edit = put_template("kiln_status", ["slots", "kiln_id", "source"], "fixture:kiln.kiln_id")
    first, second, *_ = shown(write_pack(tmp_path / "pack", edit), Wanted(count=1))
    assert (first.good, len(first.shown), second.good) == (False, 0, True)
    assert [problem.code for problem in first.problems] == ["unknown_collection"]


def test_count_takes_the_first_instances_and_no_more_than_the_budget_reaches(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack")
    [one] = shown(root, Wanted(templates=("kiln_status",), count=2))
    [all_] = shown(root, Wanted(templates=("kiln_status",), count=1000))
    assert (len(all_.shown), all_.bindings) == (2, 3)
    assert [each.task.task_id for each in one.shown] == [each.task.task_id for each in all_.shown][:2]


def test_one_template_of_each_policy(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", templates=ALL_POLICIES)
    found = shown(root, Wanted(count=1, one_per_policy=True))
    policies = [one.template.turn_policy for one in found]
    assert len(policies) == len(set(policies)) == 9
    assert all(one.good for one in found)


def test_unknown_template_is_refused_with_the_closest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        shown(write_pack(tmp_path / "pack"), Wanted(templates=("kiln_statsu",)))
    assert str(caught.value) == (
        "unknown_template: kiln_statsu: the pack has no such template; it has 4\n  fix: did you mean `kiln_status`?"
    )


def test_language_the_templates_lack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        shown(write_pack(tmp_path / "pack"), Wanted(language="fi"))
    assert caught.value.problems[0].code == "generation_config_invalid"


def test_document_says_what_would_be_published(tmp_path: Path) -> None:
    found = document(shown(write_pack(tmp_path / "pack"), Wanted(templates=("out_of_scope",), count=1)))
    assert isinstance(found, dict)
    assert (found["status"], found["schema_version"]) == ("pass", "1.0")
    [template] = found["templates"]
    [conversation_] = template["conversations"]
    assert conversation_["would_be_published"] is True
    assert [turn["kind"] for turn in conversation_["turns"]] == ["user", "assistant_text"]


def test_preview_writes_nothing_into_the_pack(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack")
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    shown(root, Wanted(count=1))
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before


def test_task_beyond_the_budget_of_its_category_would_not_be_published(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack", held_out(templates=["kiln_and_firing"]))
    budget = {"task_generation__tasks_per_category": 2, "task_generation__candidate_tasks_per_category": 2}
    write_config(root / "validate.yaml", root, output_dir="../runs", **budget)
    previewed = shown(root, Wanted(templates=("kiln_status", "kiln_and_firing", "start_confirmed"), count=3))
    assert all(one.good for one in previewed)
    found = document(previewed)
    assert isinstance(found, dict)
    told = {
        template["template_id"]: [
            (one["within_budget"], one["would_be_published"]) for one in template["conversations"]
        ]
        for template in found["templates"]
    }
    assert told == {
        "kiln_status": [(True, True), (True, True)],
        "start_confirmed": [(True, True), (True, True)],
        "kiln_and_firing": [(False, False), (False, False)],
    }


def test_budget_is_shared_among_the_templates_of_a_category(tmp_path: Path) -> None:
    root = write_pack(tmp_path / "pack")
    budget = {"task_generation__tasks_per_category": 3, "task_generation__candidate_tasks_per_category": 3}
    write_config(root / "validate.yaml", root, output_dir="../runs", **budget)
    [status] = shown(root, Wanted(templates=("kiln_status",), count=3))
    [both] = shown(root, Wanted(templates=("kiln_and_firing",), count=3))
    assert [one.within_budget for one in status.shown] == [True, True, False]
    assert [one.within_budget for one in both.shown] == [True, False, False]
