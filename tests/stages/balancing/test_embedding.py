"""The finder `endpoint:<model>`: what the model answered decides, equal texts meet, and nobody is asked for nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.canonical import canonical_json
from bfcl.digest import Digest, sha256_json
from bfcl.errors import StageError
from bfcl.modelio.embeddings import packed
from bfcl.records.ids import TaskId
from bfcl.stages.balancing import embedding as room
from bfcl.stages.balancing.embedding import EndpointFinder
from bfcl.stages.balancing.finder import Finder, embedding_signature, likeness
from bfcl.stages.balancing.lexical import LexicalFinder
from tests.embedding_server import vector

_TEXTS = st.lists(
    st.sampled_from(["fire kiln", "fire the kiln", "cool it", "thanks", "đốt lò"]), min_size=2, max_size=9
)


class Model:
    """A model in this process, which gives letter pairs."""

    def __init__(self) -> None:
        self.filled: set[str] = set()

    def fill(self, texts: Iterable[str]) -> Digest:
        wanted = set(texts)
        self.filled |= wanted
        return sha256_json([[text, vector(text)] for text in sorted(wanted)])

    def vectors(self, texts: Sequence[str]) -> Iterator[list[float]]:
        assert self.filled.issuperset(texts)
        return map(vector, texts)


def _rows(texts: Sequence[str]) -> dict[TaskId, str]:
    return {TaskId(f"t{number:02}"): text for number, text in enumerate(texts)}


def _finder() -> EndpointFinder:
    return EndpointFinder("e5", Model())


def test_finder_names_model_and_library() -> None:
    finder: Finder = _finder()
    assert finder.identifier == "endpoint:e5"
    assert finder.version.startswith("numpy ")


def test_preparation_fills_in_and_tells_the_answers() -> None:
    rows = _rows(["a kiln", "a cone", "a kiln"])
    model = Model()
    finder = EndpointFinder("e5", model)
    assert finder.prepare(lambda: rows) == f"{finder.version}, responses {model.fill(rows.values())}"
    assert model.filled == {"a kiln", "a cone"}


def test_preparation_of_the_lexical_finder_looks_at_no_text() -> None:
    finder = LexicalFinder()

    def texts() -> dict[TaskId, str]:
        raise AssertionError("texts are dear")

    assert finder.prepare(texts) == finder.version


@pytest.mark.parametrize("texts", [[], ["a kiln"]])
def test_fewer_than_two_rows_touch_no_model(texts: list[str]) -> None:
    model = Model()
    finder = EndpointFinder("e5", model)
    assert finder.prepare(lambda: _rows(texts)) == finder.version
    assert likeness(finder, _rows(texts), 3, 0.1).embedding_signature is None
    assert model.filled == set()


def test_near_duplicates_are_linked_and_other_texts_are_not() -> None:
    texts = ["please fire the kiln at cone six", "who teaches on thursday?", "please fire the kiln at cone six!"]
    found = likeness(_finder(), _rows(texts), 1, 0.1)
    assert found.components == (("t00", "t02"), ("t01",))
    assert found.rows[TaskId("t02")].predecessor_id == "t00"


@settings(max_examples=25, deadline=None)
@given(_TEXTS, st.integers(1, 4), st.sampled_from([1e-12, 0.05]))
def test_equal_texts_are_duplicates_at_any_eps_in_any_number_of_clusters(
    texts: list[str], clusters: int, eps: float
) -> None:
    found = likeness(_finder(), _rows(texts), clusters, eps)
    component = {task_id: number for number, one in enumerate(found.components) for task_id in one}
    places: dict[str, TaskId] = {}
    for task_id, text in _rows(texts).items():
        first = places.setdefault(text, task_id)
        assert component[task_id] == component[first]
        if first != task_id:
            assert found.rows[task_id].similarity == 1.0


@settings(max_examples=25, deadline=None)
@given(_TEXTS, st.integers(1, 4), st.randoms(use_true_random=False))
def test_answer_does_not_depend_on_the_order_of_rows(texts: list[str], partitions: int, random: Any) -> None:
    rows = list(_rows(texts).items())
    found = _finder().find(dict(rows), partitions)
    random.shuffle(rows)
    assert _finder().find(dict(rows), partitions) == found


def test_signature_is_that_of_the_vectors_as_given() -> None:
    rows = _rows(["b", "ab", "bc", "ab"])
    rows[TaskId("t00")] = "cd"
    found = _finder().find(rows, 2)
    assert found.embedded == tuple(rows)
    assert found.embedding_signature == embedding_signature(
        (task_id, canonical_json(packed(vector(text)))) for task_id, text in rows.items()
    )


def test_missing_library_is_refused_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room.util, "find_spec", lambda name: None)
    with pytest.raises(StageError) as caught:
        EndpointFinder("e5", Model())
    assert str(caught.value) == (
        "dedup_backend_unavailable: semantic_deduplication_config.model_identifier: `endpoint:e5` cannot be used: "
        "numpy is not installed\n  fix: pip install 'bfcl-build[balance]'"
    )


def test_nothing_heavy_is_loaded_with_the_finder_and_its_client() -> None:
    script = (
        "import sys\n"
        "from bfcl.modelio import cache, client, embeddings, opening, transport\n"
        "from bfcl.stages.balancing.embedding import EndpointFinder\n"
        "EndpointFinder('e5', None).version\n"
        "transport.HttpTransport().close()\n"
        "print(sorted({'numpy', 'scipy', 'httpx', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
