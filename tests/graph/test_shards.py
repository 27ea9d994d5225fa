"""Cutting a stage into shards and putting its rows together again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfcl.errors import DriftError
from bfcl.graph.layout import BuildTree
from bfcl.graph.pointers import Shard
from bfcl.graph.shards import CHUNK_TASKS, ROWS_FILE, Order, RowReader, chunks, join_rows, split_rows, template_of
from bfcl.graph.store import Key, Store
from bfcl.records.ids import TemplateId

ONE, TWO = TemplateId("one"), TemplateId("two")


def test_small_template_is_one_shard_named_by_it() -> None:
    (chunk,) = chunks(ONE, CHUNK_TASKS)
    assert (chunk.label, chunk.start, chunk.stop) == ("one", 0, CHUNK_TASKS)
    assert chunks(ONE, 0) == []


@given(st.integers(0, 5000))
def test_chunks_cover_every_task_once_in_order(count: int) -> None:
    found = chunks(ONE, count)
    assert [index for chunk in found for index in range(chunk.start, chunk.stop)] == list(range(count))
    assert all(0 < chunk.stop - chunk.start <= CHUNK_TASKS for chunk in found)
    assert len({chunk.label for chunk in found}) == len(found)
    assert {template_of(chunk.label) for chunk in found} <= {"one"}


def test_large_templates_chunks_are_numbered() -> None:
    assert [(chunk.label, chunk.start, chunk.stop) for chunk in chunks(ONE, 300)] == [
        ("one/0", 0, 128),
        ("one/1", 128, 256),
        ("one/2", 256, 300),
    ]


def test_order_comes_back_and_its_digest_is_pinned() -> None:
    order = Order(template_ids=(ONE, TWO), sequence=[0, 1, 0])
    assert order.to_bytes() == b'{"sequence":[0,1,0],"template_ids":["one","two"]}'
    assert Order.from_bytes(order.to_bytes()) == order
    assert order.digest == "7bff9c1ef9546aab7934ed8f85e60330cf8cfc656be9782841325a9d2f3f7ac3"


@given(st.lists(st.binary(max_size=9).filter(lambda line: b"\n" not in line and b"\r" not in line)))
def test_rows_survive_the_way_through_a_file(lines: list[bytes]) -> None:
    assert split_rows(join_rows(lines)) == lines


def stored(store: Store, label: str, lines: list[bytes]) -> Shard:
    key = Key(stage="render", shard=label, code="", params={}, inputs={})
    (entry,) = store.put([(key, {ROWS_FILE: join_rows(lines)})])
    return Shard(label=label, fp=entry.fp, digest=entry.files[ROWS_FILE], rows=len(lines))


@given(counts=st.lists(st.integers(0, 9), min_size=1, max_size=4), data=st.data())
def test_reader_gives_every_row_in_task_order_whatever_the_batch(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], data: st.DataObject
) -> None:
    store = Store(BuildTree(tmp_path_factory.mktemp("rows")))
    ids = tuple(TemplateId(f"t{number}") for number in range(len(counts)))
    sequence = data.draw(st.permutations([index for index, count in enumerate(counts) for _ in range(count)]))
    shards = []
    for index, count in enumerate(counts):
        cut = data.draw(st.integers(0, count))
        for part, (start, stop) in enumerate(((0, cut), (cut, count))):
            if stop > start:
                lines = [f"{index}:{number}".encode() for number in range(start, stop)]
                shards.append(stored(store, f"{ids[index]}/{part}", lines))
    seen = [0] * len(counts)
    expected = []
    for index in sequence:
        expected.append(f"{index}:{seen[index]}".encode())
        seen[index] += 1
    size = data.draw(st.integers(1, 8))
    batches = list(RowReader(store, "render", shards, Order(template_ids=ids, sequence=sequence)).batches(size))
    assert [line for batch in batches for line in batch] == expected
    assert all(len(batch) <= size for batch in batches)


def test_reader_names_a_shard_that_went_away(tmp_path: Path) -> None:
    tree = BuildTree(tmp_path)
    shard = stored(Store(tree), "one", [b"1"])
    shutil.rmtree(tree.entry(shard.fp))
    reader = RowReader(Store(tree), "render", [shard], Order(template_ids=(ONE,), sequence=[0]))
    with pytest.raises(DriftError) as caught:
        list(reader.batches())
    assert str(caught.value).startswith(
        f"build_cache_tampered: build/{shard.fp}: is gone though render still names it\n"
    )
