"""Private tasks bind reserved rows under free templates and free rows under reserved ones, chosen by a seed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from bfcl.evaluate.held_out.choice import Chosen, chosen
from bfcl.pack.held_out import reserved_refs
from bfcl.stages.task_identity import identity_of
from tests.evaluate.held_out.bench import HELD_OUT, RESERVED, Bench, section_of, studio
from tests.packs import held_out


def ids(found: list[Chosen]) -> dict[str, list[str]]:
    return {one.template.template_id: [task.task_id for task in one.tasks] for one in found}


def test_chosen_binds_reserved_rows_under_free_templates_and_free_rows_under_reserved_ones(bench: Bench) -> None:
    refs = reserved_refs(bench.pack.held_out)
    found = chosen(bench.pack, section_of(bench.pack), 7)
    uses = {
        one.template.template_id: [bool(refs.intersection(task.fixture_refs)) for task in one.tasks] for one in found
    }
    assert uses == {
        "kiln_status": [True],
        "start_confirmed": [True, True],
        "kiln_and_firing": [True, True],
        "kiln_unnamed": [False, False],
        "kiln_corrected": [True],
        "cone_corrected": [True, True],
        "last_firing": [False, False],
        "kiln_unclear": [True],
    }


def test_chosen_gives_no_task_that_is_published(bench: Bench) -> None:
    found = chosen(bench.pack, section_of(bench.pack, max_tasks_per_template=100), 7)
    assert not {task_id for each in ids(found).values() for task_id in each} & set(bench.verified.task_ids)


def test_chosen_depends_on_the_seed_of_the_section_where_there_is_a_choice(bench: Bench) -> None:
    one, same, other = (ids(chosen(bench.pack, section_of(bench.pack, seed=seed), 7)) for seed in (5, 5, 11))
    assert one == same
    assert one.keys() == other.keys()
    assert one["kiln_status"] == other["kiln_status"]
    assert one["kiln_and_firing"] != other["kiln_and_firing"]


def test_chosen_gives_tasks_the_seeds_of_the_run(bench: Bench) -> None:
    tasks = [task for one in chosen(bench.pack, section_of(bench.pack), 41) for task in one.tasks]
    assert [task.seed for task in tasks] == [identity_of(task).seed(41) for task in tasks]


def test_chosen_leaves_out_rows_that_the_oracle_lacks(tmp_path: Path) -> None:
    pack = studio(tmp_path, held_out({"kilns": ["K-8"]}, RESERVED, fixtures_in_backend_state=False))
    assert [one.template.template_id for one in chosen(pack, section_of(pack), 7)] == list(RESERVED)


def test_chosen_leaves_out_a_reserved_template_whose_rows_are_all_reserved(tmp_path: Path) -> None:
    pack = studio(tmp_path, held_out({"kilns": ["K-1", "K-2", "K-3", "K-8"]}, ["kiln_unnamed"]))
    assert "kiln_unnamed" not in ids(chosen(pack, section_of(pack), 7))


def test_chosen_is_nothing_without_a_policy(tmp_path: Path) -> None:
    pack = studio(tmp_path, HELD_OUT)
    assert chosen(dataclasses.replace(pack, held_out=None), section_of(pack), 7) == []
