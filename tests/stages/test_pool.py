"""Pools against their plain reading, pinned orders, and the pool that is kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.records.ids import TemplateId
from bfcl.stages.candidates import Candidates
from bfcl.stages.pool import Key, LastPool, Pool, permutation
from tests.stages.plain_pool import canonical, permuted, plain_pool
from tests.stages.studio import studio

_VALUES = st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b", "1", "é", 1.0, True, False]))
_RANGES = st.builds(range, st.integers(-2, 2), st.integers(3, 6), st.integers(1, 2))
_LISTS = st.one_of(st.lists(_VALUES, min_size=1, max_size=6), _RANGES)


@st.composite
def pools(draw: st.DrawFn) -> list[tuple[list[Any], int | None]]:
    keys: list[tuple[Any, int | None]] = [(draw(_LISTS), None) for _ in range(draw(st.integers(0, 3)))]
    in_force = list(range(len(keys)))
    for _ in range(draw(st.integers(0, 3)) if keys else 0):
        slot = draw(st.integers(0, len(in_force) - 1))
        values = draw(st.one_of(_LISTS, st.just(keys[in_force[slot]][0]), st.just([keys[in_force[slot]][0][0]])))
        keys.append((values, in_force[slot]))
        in_force[slot] = len(keys) - 1
    return keys


def pool_of(keys: list[tuple[Any, int | None]], limit: int, seed: int) -> Pool:
    made = [Key(str(index), Candidates(values), base=base) for index, (values, base) in enumerate(keys)]
    return Pool(made, limit=limit, seed=seed, template_id=TemplateId("fire"))


@settings(max_examples=400, deadline=None)
@given(pools(), st.integers(1, 60), st.integers(0, 3))
def test_pool_equals_the_plain_reading(keys: list[tuple[Any, int | None]], limit: int, seed: int) -> None:
    pool = pool_of(keys, limit, seed)
    expected = plain_pool(keys, limit, seed, "fire")
    assert len(pool) == len(expected)
    assert [list(pool[index]) for index in range(len(pool))] == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 400), st.binary(min_size=1, max_size=8))
def test_permutation_is_a_bijection(count: int, material: bytes) -> None:
    start, step = permutation(material, count)
    assert sorted((start + k * step) % count for k in range(count)) == list(range(count))


def test_permutation_pins_its_order() -> None:
    material = {"seed": {"template_id": "fire", "seed": 7, "position": 1}, "kind": "combinations"}
    start, step = permutation(canonical(material), 17)
    assert [(start + k * step) % 17 for k in range(17)] == permuted(list(range(17)), material)
    assert [(start + k * step) % 17 for k in range(17)] == PINNED_ORDER


PINNED_ORDER = [12, 8, 4, 0, 13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3, 16]


def test_pool_lists_nothing_of_a_product_far_above_the_limit() -> None:
    pool = pool_of([(range(10**9), None), (range(10**9), None), (range(10**9), 0)], 10**12, 0)
    assert len(pool) == 10**12
    assert len({pool[index] for index in (0, 1, 2, 10**12 - 1)}) == 4
    with pytest.raises(IndexError):
        pool[10**12]


def test_last_pool_builds_one_pool_for_all_chunks_of_a_template() -> None:
    templates = list(studio().templates.values())
    built: list[Pool] = []

    def asked(template: Any, limit: int, seed: int) -> Pool:
        def build() -> Pool:
            built.append(pool_of([(range(9), None)], limit, seed))
            return built[-1]

        return last.of(template, limit=limit, seed=seed, build=build)

    last = LastPool()
    first = asked(templates[0], 5, 0)
    assert asked(templates[0], 5, 0) is first
    others = [
        asked(templates[1], 5, 0),
        asked(templates[1], 6, 0),
        asked(templates[1], 6, 1),
        asked(templates[0], 5, 0),
    ]
    assert built == [first, *others]
