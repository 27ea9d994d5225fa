"""The lexical finder: equal texts always meet, near ones are found, order and threads decide nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from math import sqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

from bfcl.records.ids import TaskId
from bfcl.stages.balancing.finder import effective_clusters, likeness
from bfcl.stages.balancing.lexical import LexicalFinder

FINDER = LexicalFinder()
_WORDS = st.lists(st.sampled_from(["fire", "kiln", "at", "cone", "please", "now", "đốt", "lò"]), max_size=5)
_TEXTS = st.lists(_WORDS.map(lambda words: "[user] " + " ".join(words)), min_size=2, max_size=10)


def _rows(texts: list[str]) -> dict[TaskId, str]:
    return {TaskId(f"t{number:02}"): text for number, text in enumerate(texts)}


@settings(max_examples=15, deadline=None)
@given(_TEXTS, st.integers(1, 5), st.sampled_from([1e-12, 0.05, 0.5]))
def test_equal_texts_are_duplicates_at_any_eps_in_any_number_of_clusters(
    texts: list[str], clusters: int, eps: float
) -> None:
    found = likeness(FINDER, _rows(texts), clusters, eps)
    component = {task_id: number for number, one in enumerate(found.components) for task_id in one}
    places: dict[str, TaskId] = {}
    for task_id, text in _rows(texts).items():
        first = places.setdefault(text, task_id)
        assert component[task_id] == component[first]
        if first != task_id:
            assert found.rows[task_id].is_duplicate
            assert found.rows[task_id].similarity == 1.0


@settings(max_examples=15, deadline=None)
@given(_TEXTS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_answer_does_not_depend_on_the_order_of_rows(texts: list[str], partitions: int, random: Any) -> None:
    rows = list(_rows(texts).items())
    found = FINDER.find(dict(rows), partitions)
    random.shuffle(rows)
    assert FINDER.find(dict(rows), partitions) == found


def _hashed(text: str) -> dict[int, int]:
    row = HashingVectorizer(analyzer="char", ngram_range=(3, 5), n_features=1 << 18, norm=None).transform([text])
    return {column: int(count) for column, count in zip(row.indices.tolist(), row.data.tolist(), strict=True)}


def _cosine(left: dict[int, int], right: dict[int, int]) -> float:
    product = sum(count**2 for count in left.values()) * sum(count**2 for count in right.values())
    return sum(count * right.get(column, 0) for column, count in left.items()) / sqrt(product)


@settings(max_examples=25, deadline=None)
@given(_TEXTS)
def test_one_partition_finds_the_best_predecessor_of_all_pairs(texts: list[str]) -> None:
    rows = _rows(texts)
    found = FINDER.find(rows, 1).matches
    ids = list(rows)
    vectors = [_hashed(text) for text in texts]
    assert (found[ids[0]].predecessor_id, found[ids[0]].similarity) == (None, None)
    for number, task_id in enumerate(ids[1:], start=1):
        scores = [_cosine(vectors[number], vectors[other]) for other in range(number)]
        assert found[task_id].similarity == max(scores)
        assert found[task_id].predecessor_id == ids[scores.index(max(scores))]


def test_similarity_is_that_of_the_ngram_counts() -> None:
    left, right = "[user] fire kiln <kiln_id> at cone <cone>.", "[user] fire the kiln <kiln_id> at cone <cone>!"

    def counts(text: str) -> Counter[str]:
        return Counter(text[at : at + size] for size in (3, 4, 5) for at in range(len(text) - size + 1))

    numbers = {gram: number for number, gram in enumerate(sorted({*counts(left), *counts(right)}))}
    spelt = [{numbers[gram]: count for gram, count in counts(text).items()} for text in (left, right)]
    similarity = FINDER.find(_rows([left, right]), 1).matches[TaskId("t01")].similarity
    assert similarity == pytest.approx(_cosine(*spelt), abs=1e-3)


def test_near_duplicates_are_linked_and_other_texts_are_not() -> None:
    texts = [
        "[user] Please fire kiln <kiln_id> at cone <cone> this evening.",
        "[user] Which glazes are on the shelf for stoneware?",
        "[user] Please fire kiln <kiln_id> at cone <cone> this evening!",
        "[user] please fire  kiln <kiln_id> at cone <cone> this evening.",
        "[user] Cancel my booking of <date>.\n[user] Yes, cancel it.",
    ]
    found = likeness(FINDER, _rows(texts), 1, 0.1)
    assert found.components == (("t00", "t02", "t03"), ("t01",), ("t04",))
    assert found.rows[TaskId("t02")].predecessor_id == "t00"
    # Case and runs of blanks are no difference in spelling.
    assert found.rows[TaskId("t03")].similarity == 1.0


def test_clusters_are_honoured_and_part_unlike_texts() -> None:
    texts = [f"[user] {subject} number <n>, {extra}" for extra in ("now", "please", "thanks") for subject in _SUBJECTS]
    found = FINDER.find(_rows(texts), effective_clusters(3, len(texts)))
    used = {match.partition for match in found.matches.values()}
    assert used <= {0, 1, 2}
    assert len(used) > 1


_SUBJECTS = ("Fire the big gas kiln", "Order twelve bags of stoneware clay", "Who teaches on Thursday evenings")


def test_texts_too_short_for_any_ngram_are_alike_to_nothing_but_themselves() -> None:
    found = FINDER.find(_rows(["a", "b", "", "a"]), 1).matches
    assert [found[TaskId(f"t0{number}")].similarity for number in range(4)] == [None, 0.0, 0.0, 1.0]
    assert found[TaskId("t03")].predecessor_id == "t00"


PINNED = ["[user] Fire kiln <kiln> at cone <cone>.", "[user] Đốt lò <kiln>.", "[user] Fire kiln <kiln>."]


def test_signature_and_scores_are_pinned() -> None:
    found = FINDER.find(_rows(PINNED), 1)
    assert found.embedding_signature == "sha256:b1799ce8857a997313f4b2b32e5f75330fcd36c7de0de325dd5e3afba6fb0e9e"
    assert found.embedded == ("t00", "t01", "t02")
    assert [match.similarity for match in found.matches.values()] == [None, 0.33541019662496846, 0.7253185207353657]


def test_answer_is_the_same_in_another_process_with_one_thread_and_another_hash_seed() -> None:
    script = (
        "from bfcl.stages.balancing.lexical import LexicalFinder\n"
        "texts = {f't{n:03}': f'[user] {chr(97 + n % 7) * 9} kiln {n % 13} cone {n * n % 31}' for n in range(120)}\n"
        "shown = repr(LexicalFinder().find(texts, 7))"
    )
    space: dict[str, Any] = {}
    exec(script, space)
    other = subprocess.run(
        [sys.executable, "-c", f"{script}\nprint(shown)"],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert other.stdout == space["shown"] + "\n"
    assert "np." not in space["shown"]
