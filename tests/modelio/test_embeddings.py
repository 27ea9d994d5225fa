"""Vectors: asked once, in batches, refused whole where one is unusable, and read back to the last bit."""

from __future__ import annotations

import json
import math
import struct
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bfcl.digest import sha256_json
from bfcl.errors import ModelError
from bfcl.modelio.attempts import Clock
from bfcl.modelio.cache import RoleCache
from bfcl.modelio.client import LiveClient
from bfcl.modelio.embeddings import RecordedEmbeddings, UnusableAnswer, packed, read_answer, unpacked
from bfcl.modelio.providers import Provider, Route
from bfcl.modelio.transport import HttpTransport
from tests.embedding_server import Server, embeddings, refusing, saying, serving, vector, well


def recorded(
    path: Path, server: Server, transport: HttpTransport, *, batch_size: int = 2, model: str = "e5"
) -> RecordedEmbeddings:
    provider = Provider(name="vendor", endpoint=server.url, provider_type="openai", api_key=None)
    client = LiveClient(Route(provider, model), None, transport, clock=Clock(pause=lambda _: None))
    return RecordedEmbeddings(model, RoleCache(path), client, batch_size)


def vectors(one: RecordedEmbeddings, texts: Iterable[str]) -> list[list[float]]:
    return [list(each) for each in one.vectors(list(texts))]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "embedding_io_cache.jsonl"


def test_each_text_is_asked_once_in_batches_and_in_order(path: Path, transport: HttpTransport) -> None:
    with serving() as server:
        one = recorded(path, server, transport)
        one.fill(["cc", "aa", "bb", "aa", "ee", "dd"])
        assert [seen.texts for seen in server.seen] == [["aa", "bb"], ["cc", "dd"], ["ee"]]
        one.fill(["ff", "aa"])
        assert server.seen[-1].texts == ["ff"]


def test_recorded_vectors_need_nobody_and_have_the_same_digest(path: Path, transport: HttpTransport) -> None:
    texts = ["fire kiln", "cool kiln", "thanks"]
    with serving() as server:
        digest = recorded(path, server, transport, batch_size=2).fill(texts)
        before = path.read_bytes()
        again = recorded(path, server, transport, batch_size=7)
        assert again.fill(reversed(texts)) == digest
        assert vectors(again, texts) == [vector(text) for text in texts]
        assert len(server.seen) == 2
    assert path.read_bytes() == before


def test_digest_covers_exactly_the_responses_used(path: Path, tmp_path: Path, transport: HttpTransport) -> None:
    with serving() as server:
        one = recorded(path, server, transport)
        some = one.fill(["ab", "bc"])
        assert one.fill(["ab", "bc", "cd"]) != some
        assert one.fill(["ab", "bc"]) == some
        other = recorded(tmp_path / "other", server, transport, model="e6")
        assert other.fill(["ab", "bc"]) != some
    lines = [json.loads(line) for line in path.read_bytes().splitlines()][:2]
    assert some == sha256_json(sorted([line["request_hash"], line["response_hash"]] for line in lines))
    assert {line["model_canonical"] for line in lines} == {"e5"}


def test_batches_answered_before_a_failure_stay(path: Path, transport: HttpTransport) -> None:
    with serving(well, refusing(401), well) as server:
        one = recorded(path, server, transport)
        with pytest.raises(ModelError, match="authentication_failed"):
            one.fill(["aa", "bb", "cc"])
        assert len(RoleCache(path)) == 2
        recorded(path, server, transport).fill(["aa", "bb", "cc"])
        assert server.seen[-1].texts == ["cc"]


def test_unusable_answer_is_refused_and_nothing_of_it_is_kept(path: Path, transport: HttpTransport) -> None:
    with serving(saying(embeddings([[1.0, 2.0], [0.0, 0.0]]))) as server, pytest.raises(ModelError) as caught:
        recorded(path, server, transport).fill(["secret words", "b"])
    assert str(caught.value) == (
        "malformed_response: e5: answered what cannot be used: `data[1].embedding` is all zero, or holds a number that "
        "is not finite\n"
        "  fix: nothing of it was kept; check that the model serves this kind of request, then run again"
    )
    assert not path.exists()


def test_vectors_of_another_length_than_those_known_are_refused(path: Path, transport: HttpTransport) -> None:
    with serving(saying(embeddings([[1.0, 2.0]])), saying(embeddings([[1.0]]))) as server:
        recorded(path, server, transport).fill(["a"])
        with pytest.raises(ModelError) as caught:
            recorded(path, server, transport).fill(["a", "b"])
        assert "`data[0].embedding` has 1 numbers, others have 2\n" in str(caught.value)
        recorded(path, server, transport).fill(["b"])
        with pytest.raises(ModelError) as caught:
            vectors(recorded(path, server, transport), ["a", "b"])
    assert str(caught.value).startswith(
        f"{path}: model_io_cache_invalid: holds vectors of 2 and of 1 numbers under `e5`, at sha256:"
    )
    assert str(caught.value).endswith(
        "\n  fix: delete the lines of this model, so that all of its vectors are asked for again"
    )


def answer(*items: Any) -> Any:
    return {"data": list(items)}


def item(index: Any, *numbers: Any) -> Any:
    return {"index": index, "embedding": list(numbers)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "`data` is no list"),
        ({"data": {}}, "`data` is no list"),
        (answer(item(0, 1.0)), "1 vectors for 2 texts"),
        (answer(item(0, 1.0), item(1, 1.0), item(2, 1.0)), "3 vectors for 2 texts"),
        (answer(item(0, 1.0), item(0, 1.0)), "`data[1].index` is no unused number from 0 to 1"),
        (answer(item(0, 1.0), item(2, 1.0)), "`data[1].index` is no unused number from 0 to 1"),
        (answer(item(0, 1.0), item(True, 1.0)), "`data[1].index` is no unused number from 0 to 1"),
        (answer(item(0, 1.0), 1), "`data[1].index` is no unused number from 0 to 1"),
        (answer(item(0, 1.0), {"index": 1}), "`data[1].embedding` is no list of 1 to 65536 numbers"),
        (answer(item(0, 1.0), item(1)), "`data[1].embedding` is no list of 1 to 65536 numbers"),
        (
            answer(item(0, 1.0), {"index": 1, "embedding": "AAAA"}),
            "`data[1].embedding` is no list of 1 to 65536 numbers",
        ),
        (answer(item(0, 1.0), item(1, "1")), "`data[1].embedding` holds something that is no number"),
        (answer(item(0, 1.0), item(1, True)), "`data[1].embedding` holds something that is no number"),
        (answer(item(0, 1.0), item(1, None)), "`data[1].embedding` holds something that is no number"),
        (answer(item(0, 1.0), item(1, 10**400)), "`data[1].embedding` holds a number that is not finite"),
        (
            answer(item(0, 1.0), item(1, math.inf)),
            "`data[1].embedding` is all zero, or holds a number that is not finite",
        ),
        (
            answer(item(0, 1.0), item(1, 0, -0.0)),
            "`data[1].embedding` is all zero, or holds a number that is not finite",
        ),
        (answer(item(0, 1.0), item(1, 1, 2)), "`data[1].embedding` has 2 numbers, others have 1"),
    ],
)
def test_answer_that_breaks_a_rule_is_unusable(given: Any, message: str) -> None:
    with pytest.raises(UnusableAnswer) as caught:
        read_answer(given, 2, None)
    assert str(caught.value) == message


def test_vectors_stand_by_their_index() -> None:
    found = read_answer(answer(item(1, 1, 2), item(0, 3, 4.5)), 2, 2)
    assert [list(each) for each in found] == [[3.0, 4.5], [1.0, 2.0]]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20).filter(any))
def test_packed_vector_reads_back_to_the_last_bit(numbers: list[float]) -> None:
    back = unpacked(packed(array("d", numbers)))
    assert back is not None
    assert struct.pack(f"<{len(numbers)}d", *back) == struct.pack(f"<{len(numbers)}d", *numbers)


def test_packed_form_is_pinned() -> None:
    assert packed(array("d", [1.0, -0.5])) == {"dimensions": 2, "float64_le": "AAAAAAAA8D8AAAAAAADgvw=="}


@pytest.mark.parametrize(
    "response",
    [
        None,
        {},
        {"float64_le": 1, "dimensions": 1},
        {"float64_le": "!", "dimensions": 1},
        {"float64_le": "đ", "dimensions": 1},
        {"float64_le": "", "dimensions": 0},
        {"float64_le": "AAAA", "dimensions": 1},
        {"float64_le": "AAAAAAAA8D8=", "dimensions": 2},
        {"float64_le": "AAAAAAAAAAA=", "dimensions": 1},
        {"float64_le": "AAAAAAAA8H8=", "dimensions": 1},
    ],
)
def test_response_that_is_no_vector_is_none(response: Any) -> None:
    assert unpacked(response) is None


def test_recorded_response_that_is_no_vector_is_refused(path: Path, transport: HttpTransport) -> None:
    with serving() as server:
        one = recorded(path, server, transport)
        request = one._request("a")
        RoleCache(path).put([(request, {"dimensions": 1})])
        with pytest.raises(ModelError) as caught:
            recorded(path, server, transport).fill(["a"])
    assert str(caught.value) == (
        f"{path}: model_io_cache_invalid: holds a response that is no vector under `e5`, at {request.request_hash}\n"
        "  fix: delete the lines of this model, so that all of its vectors are asked for again"
    )
    assert server.seen == []
