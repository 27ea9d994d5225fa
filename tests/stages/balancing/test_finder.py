"""Links and clusters drawn from a finder's answer, and every way in which an answer is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.digest import Digest
from bfcl.errors import StageError
from bfcl.records.ids import TaskId
from bfcl.stages.balancing.finder import (
    Found,
    Match,
    cluster_id,
    effective_clusters,
    embedding_signature,
    likeness,
)

A, B, C, D, E = (TaskId(name) for name in "abcde")


@dataclass
class Scripted:
    """A finder that answers what it is told to."""

    matches: dict[TaskId, Match]
    embedded: tuple[TaskId, ...] | None = None
    asked: int = 0
    identifier: str = "scripted:one"
    version: str = "1"

    def find(self, texts: Mapping[TaskId, str], partitions: int) -> Found:
        self.asked = partitions
        ids = tuple(sorted(self.matches)) if self.embedded is None else self.embedded
        return Found(embedding_signature=Digest("sha256:0"), embedded=ids, matches=self.matches)


def match(predecessor: TaskId | None = None, similarity: float | None = None, partition: int = 0) -> Match:
    return Match(partition=partition, predecessor_id=predecessor, similarity=similarity)


GOOD = {A: match(), B: match(A, 0.95), C: match(B, 0.9), D: match(A, 0.89), E: match(partition=1)}
TEXTS = {task_id: f"text {task_id}" for task_id in GOOD}


def refusals(matches: Mapping[TaskId, Match], embedded: tuple[TaskId, ...] | None = None) -> list[str]:
    with pytest.raises(StageError) as caught:
        likeness(Scripted(dict(matches), embedded), TEXTS, 5, 0.1)
    assert {(one.code, one.subject) for one in caught.value.problems} == {("dedup_finder_invalid", "scripted:one")}
    return [one.message for one in caught.value.problems]


def test_likeness_links_rows_at_least_one_minus_eps_alike() -> None:
    found = likeness(Scripted(GOOD), TEXTS, 5, 0.1)
    assert found.components == ((A, B, C), (D,), (E,))
    assert [found.rows[task_id].is_duplicate for task_id in TEXTS] == [False, True, True, False, False]
    name = "curator-" + hashlib.sha256(b'["a","b","c"]').hexdigest()[:20]
    assert [found.rows[task_id].cluster_id for task_id in TEXTS] == [name, name, name, None, None]
    assert (found.rows[D].predecessor_id, found.rows[D].similarity) == (A, 0.89)
    assert (found.effective_n_clusters, found.embedding_signature) == (2, "sha256:0")


def test_likeness_asks_for_no_more_partitions_than_rows_are_worth() -> None:
    finder = Scripted(GOOD)
    likeness(finder, TEXTS, 5, 0.1)
    assert finder.asked == 2
    assert [effective_clusters(5, rows) for rows in (0, 1, 2, 3, 4, 9, 10, 99)] == [1, 1, 1, 1, 2, 4, 5, 5]


@pytest.mark.parametrize("texts", [{}, {A: "one"}])
def test_likeness_of_fewer_than_two_rows_asks_nobody(texts: dict[TaskId, str]) -> None:
    finder = Scripted({})
    found = likeness(finder, texts, 5, 0.1)
    assert finder.asked == 0
    assert (found.effective_n_clusters, found.embedding_signature) == (1, None)
    assert found.components == tuple((task_id,) for task_id in texts)
    assert [(one.cluster_id, one.is_duplicate, one.predecessor_id) for one in found.rows.values()] == [
        (None, False, None) for _ in texts
    ]


def test_answer_that_misses_or_invents_rows_is_refused() -> None:
    short = {task_id: one for task_id, one in GOOD.items() if task_id not in (A, B, C, D)}
    assert refusals({**short, TaskId("x"): match()}) == [
        "rows a, b, c and 1 more are missing from the matches",
        "row x is in the matches but was not asked about",
        "rows a, b, c and 1 more are missing from the vectors",
        "row x is in the vectors but was not asked about",
    ]


def test_answer_whose_parts_cover_other_rows_is_refused() -> None:
    assert refusals(GOOD, (A, B, C, D)) == ["row e is missing from the vectors"]
    assert refusals(GOOD, (A, B, C, D, E, TaskId("f"))) == ["row f is in the vectors but was not asked about"]
    assert refusals(GOOD, (*GOOD, TaskId("f"), TaskId("g"))) == [
        "rows f and g are in the vectors but were not asked about"
    ]
    assert refusals(GOOD, (A, B, C, D, E, E)) == ["the signature covers a row twice"]


@pytest.mark.parametrize(
    ("matches", "messages"),
    [
        ({B: match(B, 1.0)}, ["row b is its own predecessor"]),
        ({B: match(B, 1.0), C: match(C, 1.0)}, ["rows b and c are their own predecessors"]),
        (
            {B: match(B, 1.0), C: match(C, 1.0), D: match(D, 1.0)},
            ["rows b, c and d are their own predecessors"],
        ),
        ({B: match(A, float("nan"))}, ["row b has a score that is no number from -1 to 1"]),
        (
            {B: match(A, float("inf")), C: match(A, 1.0001)},
            ["rows b and c have a score that is no number from -1 to 1"],
        ),
        ({B: match(A, None)}, ["row b has a predecessor but no score, or a score but no predecessor"]),
        ({A: match(None, 0.4)}, ["row a has a predecessor but no score, or a score but no predecessor"]),
        ({E: match(partition=2)}, ["row e is in no partition from 0 to 1"]),
        ({E: match(A, 0.9, partition=1)}, ["row e has a predecessor in another partition, or in none"]),
        ({B: match(TaskId("x"), 0.9)}, ["row b has a predecessor in another partition, or in none"]),
        ({D: match()}, ["2 rows of partition 0 have no predecessor; expected one, its first"]),
        ({A: match(C, 0.95)}, ["row a comes before itself, by way of its predecessors"]),
        (
            {A: match(B, 0.1), B: match(A, 0.1), C: match(D, 0.1), D: match(C, 0.1)},
            ["rows a and c come before themselves, by way of their predecessors"],
        ),
        ({C: match(partition=2), E: match(partition=2)}, ["rows c and e are in no partition from 0 to 1"]),
        (
            {A: match(D, 0.1), D: match(A, 0.1)},
            ["row a comes before itself, by way of its predecessors"],
        ),
    ],
)
def test_answer_that_disagrees_with_itself_is_refused(matches: dict[TaskId, Match], messages: list[str]) -> None:
    assert refusals({**GOOD, **matches}) == messages


def test_refusal_of_an_answer_reads_in_full() -> None:
    with pytest.raises(StageError) as caught:
        likeness(Scripted({**GOOD, B: match(B, 1.0)}), TEXTS, 5, 0.1)
    assert str(caught.value.problems[0]) == (
        "dedup_finder_invalid: scripted:one: row b is its own predecessor\n"
        "  fix: nothing was selected; report it to whoever maintains this finder, or name another `model_identifier`"
    )


def test_embedding_signature_is_that_of_the_sorted_pairs() -> None:
    vectors = {A: [1, 2.5], B: [[0, 3]]}
    signed = embedding_signature((task_id, canonical_json(vectors[task_id])) for task_id in (A, B))
    assert signed == "sha256:" + hashlib.sha256(b'[["a",[1,2.5]],["b",[[0,3]]]]').hexdigest()
    assert embedding_signature([]) == "sha256:" + hashlib.sha256(b"[]").hexdigest()


@pytest.mark.parametrize("order", [(B, A), (A, A)])
def test_embedding_signature_refuses_ids_out_of_order(order: tuple[TaskId, TaskId]) -> None:
    with pytest.raises(ValueError, match=f"{order[1]} is signed after {order[0]}"):
        embedding_signature((task_id, b"[]") for task_id in order)


def test_cluster_id_is_pinned_and_hangs_on_the_set_of_members() -> None:
    assert cluster_id("dedup", [B, A]) == cluster_id("dedup", [A, B]) == "dedup-0473ef2dc0d324ab659d"


# --- laws ------------------------------------------------------------------------------------------------------------

_SCORES = st.sampled_from([-1.0, 0.0, 0.5, 0.9, 0.95, 1.0])


@st.composite
def answers(draw: st.DrawFn) -> dict[TaskId, Match]:
    """Rows in some order, each in a partition and after the rows before it there."""
    names = draw(st.permutations([TaskId(f"t{number}") for number in range(draw(st.integers(2, 9)))]))
    made: dict[TaskId, Match] = {}
    for name in names:
        partition = draw(st.integers(0, effective_clusters(3, len(names)) - 1))
        before = [other for other, one in made.items() if one.partition == partition]
        made[name] = match(partition=partition)
        if before:
            made[name] = match(draw(st.sampled_from(before)), draw(_SCORES), partition)
    return made


@given(answers(), st.sampled_from([0.05, 0.1, 0.5]), st.randoms(use_true_random=False))
def test_each_component_has_one_row_that_is_no_duplicate(matches: Any, eps: float, random: Any) -> None:
    texts = dict.fromkeys(matches, "")
    found = likeness(Scripted(matches), texts, 3, eps)
    assert sorted(task_id for component in found.components for task_id in component) == sorted(texts)
    for component in found.components:
        kin = [found.rows[task_id] for task_id in component]
        assert sum(not one.is_duplicate for one in kin) == 1
        assert len({one.cluster_id for one in kin}) == 1
        assert (kin[0].cluster_id is None) == (len(component) == 1)
        assert {matches[task_id].partition for task_id in component} == {matches[component[0]].partition}
    for one in found.rows.values():
        assert one.is_duplicate == (one.similarity is not None and one.similarity >= 1 - eps)
    shuffled = list(matches.items())
    random.shuffle(shuffled)
    again = likeness(Scripted(dict(shuffled)), dict.fromkeys(sorted(texts), ""), 3, eps)
    assert again.components == found.components
    assert dict(again.rows) == dict(found.rows)
