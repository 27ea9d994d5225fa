"""Expansion against a second, plain reading of generation.md §3.1 and §3.9, plus pinned ids, seeds and orders."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import StageError
from bfcl.pack.model import Confirmation, Manifest
from bfcl.records.ids import TemplateId
from bfcl.records.template import Milestone, Paraphrase, SimulatorTurn, Slot, SlotUpdate, Template
from bfcl.stages.bindings import Sources
from bfcl.stages.expand import (
    ExpandSettings,
    allocate,
    budget_problems,
    duplicate_problems,
    expand_template,
    pool_size,
    settings_of,
)
from tests.packs import run_config
from tests.stages.plain_pool import canonical, plain_pool


def manifest(**fields: Any) -> Manifest:
    values: dict[str, Any] = {
        "pack_id": "kiln_studio",
        "version": "1.0",
        "languages": ("en",),
        "default_language": "en",
        "clock": None,
        "primary_keys": {},
        "absent_ids": {},
        "system_prompt": None,
        "assistant_turn_templates": {},
        "confirmation": Confirmation(),
        "tool_names_exempt": (),
        "values": {},
    }
    return Manifest(**{**values, **fields})


def template(**fields: Any) -> Template:
    values: dict[str, Any] = {
        "template_id": TemplateId("fire"),
        "intent": "start",
        "category": "firings",
        "difficulty": "easy",
        "turn_policy": "single_turn",
        "mutates": False,
        "call_order": "strict",
        "call_order_prefix": None,
        "required_tools": ("get_kiln",),
        "tools_present": ("get_kiln", "get_firing"),
        "slots": {},
        "success_assertions": ("assert_read",),
        "user_turn_templates": {"en": "Fire it."},
        "assistant_milestones": (Milestone(type="tool_call", id="tool_call@0", tool="get_kiln"),),
        "user_simulator_turns": (),
        "assistant_turn_templates": {},
        "paraphrase": Paraphrase(),
        "edge_signatures": ("rare",),
    }
    return Template(**{**values, **fields})


def slots(**sources: str) -> dict[str, Slot]:
    return {name: Slot(name=name, source=source, visible_in_first_turn=True) for name, source in sources.items()}


def correcting(*entries: dict[str, str], **sources: str) -> Template:
    """A correction template: each entry maps slots to replacement sources, delivered last entry first."""
    turns = tuple(
        SimulatorTurn(
            after=f"ask{number}",
            content_template={"en": "No."},
            slot_updates=tuple(
                SlotUpdate(slot=slot, source=source, bind_as=f"new_{slot}") for slot, source in sorted(entry.items())
            ),
        )
        for number, entry in enumerate(entries)
    )
    questions = tuple(Milestone(type="ask_confirm", id=f"ask{number}") for number in reversed(range(len(entries))))
    call = Milestone(type="tool_call", id="call", tool="get_kiln")
    return template(
        turn_policy="correction",
        slots=slots(**sources),
        assistant_milestones=(*questions, call),
        user_simulator_turns=turns,
    )


FIXTURES: dict[str, Any] = {
    "kilns": [
        {"kiln_id": "K-1", "zone": "north"},
        {"kiln_id": "K-2", "zone": "south"},
        {"kiln_id": "K-3", "zone": "south"},
    ]
}


def sources(fixtures: dict[str, Any] = FIXTURES, **fields: Any) -> Sources:
    return Sources((), fixtures, manifest(**fields))


def budget(limit: int = 100, seed: int = 0) -> ExpandSettings:
    return ExpandSettings(limit=limit, seed=seed, pack_id="kiln_studio", pack_version="1.0")


# --- tasks ----------------------------------------------------------------------------------------------------------


def test_expand_binds_slots_by_name_in_candidate_order() -> None:
    drawn = template(slots=slots(kiln="fixture:kilns.kiln_id", cone="range:{min: 4, max: 5}"))
    tasks = expand_template(drawn, sources(), budget(), range(6))
    assert [(task.slots["cone"], task.slots["kiln"]) for task in tasks] == [
        (4, "K-1"),
        (4, "K-2"),
        (4, "K-3"),
        (5, "K-1"),
        (5, "K-2"),
        (5, "K-3"),
    ]
    assert tasks[1].fixture_refs == ('["kilns","K-2"]',)
    assert all(task.slots is task.slots_initial and task.slot_updates == () for task in tasks)
    assert pool_size(drawn, sources(), budget()) == 6


def test_expand_takes_exactly_the_limit_by_rounds() -> None:
    drawn = template(slots=slots(kiln="fixture:kilns.kiln_id", cone="range:{min: 1, max: 5}"))
    tasks = expand_template(drawn, sources(), budget(7, seed=3), range(7))
    values = [list(range(1, 6)), ["K-1", "K-2", "K-3"]]
    expected = plain_pool([(values[0], None), (values[1], None)], 7, 3, "fire")
    bound = [(task.slots["cone"], task.slots["kiln"]) for task in tasks]
    assert bound == [(values[0][a], values[1][b]) for a, b in expected]
    assert bound == PINNED_ROUNDS


PINNED_ROUNDS = [(3, "K-1"), (2, "K-3"), (1, "K-3"), (5, "K-3"), (4, "K-3"), (3, "K-2"), (2, "K-1")]


def test_expand_ids_and_seeds_follow_the_formula() -> None:
    drawn = template(slots=slots(kiln="fixture:kilns.kiln_id", cone="literal:[4]"))
    (task,) = expand_template(drawn, sources(), budget(seed=11), range(1))
    identity = {
        "pack_id": "kiln_studio",
        "pack_version": "1.0",
        "template_id": "fire",
        "fixture_refs": ['["kilns","K-1"]'],
        "slot_bindings": {"cone": 4, "kiln": "K-1"},
        "variant_index": 0,
    }
    assert task.task_id == "kiln_studio__fire__" + hashlib.sha256(canonical(identity)).hexdigest()[:16]
    seeded = hashlib.sha256(canonical({**identity, "global_seed": 11})).digest()
    assert task.seed == int.from_bytes(seeded[:8], "big")
    assert (task.task_id, task.seed) == PINNED_TASK
    assert (task.base_task_id, task.variant_index) == (task.task_id, 0)


PINNED_TASK = ("kiln_studio__fire__d588391e3ed8e5aa", 4874456628393248855)


def test_expand_id_does_not_depend_on_the_seed_but_on_the_pack_version() -> None:
    drawn = template(slots=slots(kiln="fixture:kilns.kiln_id"))
    one, other = (expand_template(drawn, sources(), budget(seed=seed), range(3)) for seed in (0, 1))
    assert [task.task_id for task in one] == [task.task_id for task in other]
    assert [task.seed for task in one] != [task.seed for task in other]
    newer = ExpandSettings(limit=100, seed=0, pack_id="kiln_studio", pack_version="1.1")
    assert expand_template(drawn, sources(), newer, range(1))[0].task_id != one[0].task_id


def test_expand_copies_the_template_to_the_task() -> None:
    (task,) = expand_template(template(), sources(), budget(), range(1))
    assert (task.pack_id, task.pack_version, task.template_id) == ("kiln_studio", "1.0", "fire")
    assert (task.intent, task.category, task.difficulty) == ("start", "firings", "easy")
    assert (task.turn_policy, task.call_order, task.call_order_prefix, task.mutates) == (
        "single_turn",
        "strict",
        None,
        False,
    )
    assert (task.required_tools, task.tools_present) == (("get_kiln",), ("get_kiln", "get_firing"))
    assert (task.success_assertions, task.edge_signatures) == (("assert_read",), ("rare",))
    assert (task.slots, task.fixture_refs) == ({}, ())


def test_expand_delivers_corrections_in_conversation_order_with_all_references() -> None:
    drawn = correcting(
        {"kiln": "fixture:kilns.kiln_id"},
        {"kiln": "fixture:kilns.kiln_id", "cone": "literal:[9]"},
        kiln="fixture:kilns.kiln_id",
        cone="literal:[4]",
    )
    tasks = expand_template(drawn, sources(), budget(), range(pool_size(drawn, sources(), budget())))
    assert len(tasks) == 3 * 2 * 2
    first = tasks[0]
    assert first.slots_initial == {"cone": 4, "kiln": "K-1"}
    assert [update.to_json() for update in first.slot_updates] == [
        {"entry_index": 1, "values": {"cone": 9, "kiln": "K-2"}, "aliases": {"new_cone": 9, "new_kiln": "K-2"}},
        {"entry_index": 0, "values": {"kiln": "K-1"}, "aliases": {"new_kiln": "K-1"}},
    ]
    assert first.slots == {"cone": 9, "kiln": "K-1"}
    assert first.fixture_refs == ('["kilns","K-1"]', '["kilns","K-2"]')
    for task in tasks:
        in_force = task.slots_initial["kiln"]
        for update in task.slot_updates:
            assert update.values["kiln"] != in_force
            in_force = update.values["kiln"]
    identity = {
        "pack_id": "kiln_studio",
        "pack_version": "1.0",
        "template_id": "fire",
        "fixture_refs": ['["kilns","K-1"]', '["kilns","K-2"]'],
        "slot_bindings": {
            "cone": 4,
            "kiln": "K-1",
            "cone@correction1": 9,
            "kiln@correction1": "K-2",
            "kiln@correction0": "K-1",
        },
        "variant_index": 0,
    }
    assert first.task_id == "kiln_studio__fire__" + hashlib.sha256(canonical(identity)).hexdigest()[:16]


def test_expand_skips_instances_in_which_no_slot_changes() -> None:
    drawn = correcting({"cone": "literal:[5]"}, cone="literal:[4, 5, 6]")
    tasks = expand_template(drawn, sources(), budget(), range(pool_size(drawn, sources(), budget())))
    assert [task.slots_initial["cone"] for task in tasks] == [4, 6]


def test_expand_tells_value_types_apart_in_corrections() -> None:
    drawn = correcting({"cone": 'literal:[4, 4.0, "4"]'}, cone="literal:[4]")
    tasks = expand_template(drawn, sources(), budget(), range(2))
    assert [task.slots["cone"] for task in tasks] == [4.0, "4"]


def test_expand_refuses_a_correction_template_whose_drawn_instances_change_nothing() -> None:
    drawn = correcting({"cone": "literal:[5]"}, cone="literal:[5, 4]")
    # A budget of one draws the binding that the correction repeats.
    seed = next(seed for seed in range(50) if plain_pool([([5, 4], None), ([5], 0)], 1, seed, "fire") == [])
    with pytest.raises(StageError) as caught:
        pool_size(drawn, sources(), budget(1, seed))
    (problem,) = caught.value.problems
    assert problem.field == "user_simulator_turns"
    assert str(problem) == (
        "slot_correction_declaration_invalid: fire: no drawn correction changes a value; expected one instance at"
        " least that does\n  fix: draw the replacement from a source that differs from the slot's own"
    )


def test_expand_refuses_with_every_slot_problem() -> None:
    drawn = template(slots=slots(kiln="fixture:klns.kiln_id", cone="absent:kilns"))
    with pytest.raises(StageError) as caught:
        expand_template(drawn, sources(), budget(), range(1))
    assert [problem.code for problem in caught.value.problems] == ["unknown_collection", "absent_ids_missing"]


def test_expand_refuses_two_tasks_of_one_id() -> None:
    drawn = template(slots=slots(cone="literal:[4, 5, 4]"))
    with pytest.raises(StageError) as caught:
        expand_template(drawn, sources(), budget(), range(3))
    (problem,) = caught.value.problems
    twice = expand_template(drawn, sources(), budget(), range(1))[0].task_id
    assert str(problem) == (
        f'duplicate_task_id: fire: two tasks bind {{"cone":4}} from the same rows and share the id `{twice}`\n'
        "  fix: remove the repeated value, or filter the slots so that no two bindings are equal"
    )


def test_duplicate_problems_finds_them_across_chunks() -> None:
    drawn = template(slots=slots(cone="literal:[4, 5, 4]"))
    known = sources()
    tasks = [task for index in range(3) for task in expand_template(drawn, known, budget(), range(index, index + 1))]
    assert [problem.code for problem in duplicate_problems(tasks)] == ["duplicate_task_id"]
    assert duplicate_problems(tasks[:2]) == []


def test_settings_are_the_packs_under_the_runs_budget_and_seed(tmp_path: Path) -> None:
    config = run_config(tmp_path, task_generation__candidate_tasks_per_category=40)
    made = ExpandSettings(limit=40, seed=7, pack_id="kiln_studio", pack_version="1.0")
    assert settings_of(config, manifest()) == made
    assert settings_of(run_config(tmp_path, random_seed=None), manifest()).seed == 0


def test_expand_in_chunks_equals_expand_at_once() -> None:
    drawn = correcting({"kiln": "literal:[K-1, K-3]"}, kiln="literal:[K-1, K-2]", cone="range:{min: 1, max: 40}")
    known = sources()
    size = pool_size(drawn, known, budget(70))
    whole = expand_template(drawn, known, budget(70), range(size))
    parts = [range(start, min(start + 16, size)) for start in range(0, size, 16)]
    assert [task for part in parts for task in expand_template(drawn, sources(), budget(70), part)] == whole
    assert len(whole) == 70


def test_kept_pool_is_not_mistaken_for_another_templates() -> None:
    known = sources()
    assert pool_size(template(slots=slots(cone="literal:[1]")), known, budget()) == 1
    assert pool_size(template(slots=slots(cone="literal:[1, 2]")), known, budget()) == 2
    assert pool_size(template(slots=slots(cone="literal:[1, 2]")), known, budget(1)) == 1


# --- budget ---------------------------------------------------------------------------------------------------------


def of(*categories: str) -> list[Template]:
    return [template(template_id=TemplateId(f"t{n}"), category=category) for n, category in enumerate(categories)]


def test_allocate_goes_round_by_category_until_limit_or_exhaustion() -> None:
    sizes = {TemplateId("t0"): 1, TemplateId("t1"): 9, TemplateId("t2"): 3, TemplateId("t3"): 2}
    assert allocate(of("b", "a", "b", "b"), sizes, 5) == [
        ("t0", 0),
        ("t2", 0),
        ("t3", 0),
        ("t2", 1),
        ("t3", 1),
        ("t1", 0),
        ("t1", 1),
        ("t1", 2),
        ("t1", 3),
        ("t1", 4),
    ]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 7)), max_size=9), st.integers(1, 20))
def test_allocate_fills_each_category_with_prefixes_of_its_pools(drawn: list[tuple[str, int]], limit: int) -> None:
    templates = of(*(category for category, _ in drawn))
    sizes = {each.template_id: size for each, (_, size) in zip(templates, drawn, strict=True)}
    order = allocate(templates, sizes, limit)
    home = {each.template_id: each.category for each in templates}
    for category in {category for category, _ in drawn}:
        taken = [pair for pair in order if home[pair[0]] == category]
        assert len(taken) == min(limit, sum(size for name, size in drawn if name == category))
        assert taken == sorted(taken, key=lambda pair: (pair[1], list(home).index(pair[0])))
    for template_id, size in sizes.items():
        positions = [position for name, position in order if name == template_id]
        assert positions == list(range(len(positions)))
        assert len(positions) <= size
    seen = [home[template_id] for template_id, _ in order]
    assert [c for n, c in enumerate(seen) if n == 0 or seen[n - 1] != c] == list(dict.fromkeys(seen))


def test_budget_problems_name_each_category_above_the_budget() -> None:
    problems = budget_problems(of("a", "b", "a", "a", "b", "c"), 1)
    assert [str(problem) for problem in problems] == [
        (
            "category_budget_too_small: task_generation.tasks_per_category: category `a` has 3 templates, but"
            " its budget is"
            " 1 tasks\n  fix: set `task_generation.tasks_per_category` to at least 3"
        ),
        (
            "category_budget_too_small: task_generation.tasks_per_category: category `b` has 2 templates, but"
            " its budget is"
            " 1 tasks\n  fix: set `task_generation.tasks_per_category` to at least 3"
        ),
    ]
    assert budget_problems(of("a", "b", "a"), 2) == []
