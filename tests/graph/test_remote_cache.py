"""A shared cache: results read through and written back, verified on the way in, and never needed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.asyn import AsyncFileSystem

from bfcl.errors import ConfigError, DriftError
from bfcl.graph import remote_cache
from bfcl.graph.layout import BuildTree
from bfcl.graph.remote_cache import RemoteCache, open_cache
from bfcl.graph.store import Entry, Key, Store

URLS = ("memory://sha[r]ed *", "afar://sha[r]ed *", "{directory}/sha[r]ed *")


class Afar(AsyncFileSystem):
    """Objects that are asked for and sent at once, as those of an object store. Knows neither listing nor globs."""

    protocol = "afar"
    objects: ClassVar[dict[str, bytes]] = {}
    under_way = 0
    most = 0
    """So many answers were waited for at once."""

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: object) -> bytes:
        await self._on_the_way()
        try:
            return self.objects[path][start:end]
        except KeyError:
            raise FileNotFoundError(path) from None

    async def _pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: object) -> None:
        await self._on_the_way()
        self.objects[path] = value

    async def _on_the_way(self) -> None:
        Afar.under_way += 1
        Afar.most = max(Afar.most, Afar.under_way)
        await asyncio.sleep(0)
        Afar.under_way -= 1


fsspec.register_implementation("afar", Afar)


def key(number: int) -> Key:
    return Key(stage="expand", shard=f"t{number}", code="c", params={"limit": number}, inputs={})


def filled(project: Path, count: int = 3) -> tuple[Store, list[Entry]]:
    store = Store(BuildTree(project))
    results = [(key(number), {"rows.jsonl": b'{"a":%d}\n' % number, "empty": b""}) for number in range(count)]
    return store, store.put(results)


@pytest.fixture(params=URLS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    yield request.param.format(directory=tmp_path)
    fsspec.filesystem("memory").store.clear()
    Afar.objects.clear()
    Afar.most = 0


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def cache(url: str, said: list[str]) -> RemoteCache:
    return open_cache(url, said.append)


def raw(cache: RemoteCache, fp: str) -> tuple[Any, str]:
    return cache._filesystem, cache._place(fp)


def test_results_travel_to_another_build_and_verify_there(cache: RemoteCache, tmp_path: Path, said: list[str]) -> None:
    _, entries = filled(tmp_path / "here")
    cache.send(entries)
    there = Store(BuildTree(tmp_path / "there"))
    fps = [entry.fp for entry in entries]
    cache.fetch(there, [*fps, "0" * 64])
    for entry in entries:
        found = there.find(entry.fp)
        assert found is not None
        assert found.record_digest == entry.record_digest
        assert {name: found.file(name).read_bytes() for name in found.files} == {
            name: entry.file(name).read_bytes() for name in entry.files
        }
    assert Store(BuildTree(tmp_path / "there")).find(fps[0]) is not None
    assert (cache.traffic.read, cache.traffic.written, said) == (3, 3, [])
    assert not [path for path in (tmp_path / "there" / "build").iterdir() if path.name.startswith(".tmp-")]


def test_what_is_there_already_is_neither_read_nor_written_again(cache: RemoteCache, tmp_path: Path) -> None:
    store, entries = filled(tmp_path / "here")
    cache.send(entries)
    cache.send(entries)
    cache.fetch(store, [entry.fp for entry in entries])
    assert (cache.traffic.read, cache.traffic.written) == (0, 3)


def test_an_object_with_other_bytes_is_refused_by_name(cache: RemoteCache, tmp_path: Path) -> None:
    _, entries = filled(tmp_path / "here", 1)
    cache.send(entries)
    filesystem, place = raw(cache, entries[0].fp)
    filesystem.pipe_file(place, filesystem.cat_file(place).replace(b'{"a":0}', b'{"a":9}'))
    there = Store(BuildTree(tmp_path / "there"))
    with pytest.raises(DriftError) as caught:
        cache.fetch(there, [entries[0].fp])
    fp = entries[0].fp
    assert str(caught.value) == (
        f"build_cache_tampered: {cache._shown}/bfcl-build-1/{fp[:2]}/{fp}: {fp}/rows.jsonl has changed since it was "
        "stored\n  fix: delete that object, or run without `cache=`; then find out who wrote it"
    )
    assert not there.holds(fp)
    assert list((tmp_path / "there" / "build").iterdir()) == []


def test_an_object_of_another_address_is_refused(cache: RemoteCache, tmp_path: Path) -> None:
    _, entries = filled(tmp_path / "here", 2)
    cache.send(entries)
    filesystem, place = raw(cache, entries[0].fp)
    filesystem.pipe_file(place, filesystem.cat_file(raw(cache, entries[1].fp)[1]))
    there = Store(BuildTree(tmp_path / "there"))
    with pytest.raises(DriftError, match=rf"record\.json belongs to build/{entries[1].fp}"):
        cache.fetch(there, [entries[0].fp])
    assert not there.holds(entries[0].fp)


def test_an_object_that_names_a_file_outside_is_refused_and_writes_nothing(cache: RemoteCache, tmp_path: Path) -> None:
    _, entries = filled(tmp_path / "here", 1)
    cache.send(entries)
    filesystem, place = raw(cache, entries[0].fp)
    head = json.dumps({"files": [["../../escaped", 1]]}).encode()
    filesystem.pipe_file(place, head + b"\nx")
    with pytest.raises(DriftError, match=r"holds a file named '\.\./\.\./escaped'"):
        cache.fetch(Store(BuildTree(tmp_path / "there")), [entries[0].fp])
    assert not list(tmp_path.rglob("escaped"))


@pytest.mark.parametrize("kept", [0, 10, -1])
def test_a_torn_object_counts_as_absent(cache: RemoteCache, tmp_path: Path, kept: int) -> None:
    _, entries = filled(tmp_path / "here", 1)
    cache.send(entries)
    filesystem, place = raw(cache, entries[0].fp)
    filesystem.pipe_file(place, filesystem.cat_file(place)[:kept])
    there = Store(BuildTree(tmp_path / "there"))
    cache.fetch(there, [entries[0].fp])
    assert not there.holds(entries[0].fp)
    cache.send(entries)
    cache.fetch(there, [entries[0].fp])
    assert there.holds(entries[0].fp)


def test_a_cache_that_fails_is_told_once_a_direction(cache: RemoteCache, tmp_path: Path, said: list[str]) -> None:
    class Broken:
        protocol = "broken"

        def cat_ranges(self, *_: object, **__: object) -> None:
            raise PermissionError("secret")

    cache._filesystem, cache._is_local = Broken(), False
    store, entries = filled(tmp_path / "here")
    cache.fetch(store, ["0" * 64])
    cache.fetch(store, ["1" * 64])
    cache.send(entries)
    cache.send(entries)
    assert said == [
        f"warning: cannot {what} the cache {cache._shown}: PermissionError; this run goes on without it"
        for what in ("read from", "write to")
    ]


def test_a_cache_that_may_only_be_read_is_still_read(
    cache: RemoteCache, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, entries = filled(tmp_path / "here", 2)
    cache.send(entries[:1])

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(cache, "_write", refuse)
    cache.send(entries[1:])
    there = Store(BuildTree(tmp_path / "there"))
    cache.fetch(there, [entries[0].fp])
    assert there.holds(entries[0].fp)
    assert said == [f"warning: cannot write to the cache {cache._shown}: PermissionError; this run goes on without it"]


def test_objects_are_asked_for_and_sent_at_once_where_the_filesystem_can(tmp_path: Path) -> None:
    cache = open_cache("afar://at once", print)
    _, entries = filled(tmp_path / "here", 20)
    for step in (
        lambda: cache._there([entry.fp for entry in entries]),
        lambda: cache.send(entries),
        lambda: cache.fetch(Store(BuildTree(tmp_path / "there")), [entry.fp for entry in entries]),
    ):
        Afar.most = 0
        step()
        assert Afar.most == 20
    Afar.objects.clear()


@pytest.mark.parametrize(("held", "portions"), [(20, [2, 2, 1]), (1, [1] * 5), (10**6, [5])])
def test_objects_are_sent_in_portions_that_fit_in_memory(
    cache: RemoteCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int, portions: list[int]
) -> None:
    _, entries = filled(tmp_path / "here", 5)
    assert {entry.file("rows.jsonl").stat().st_size for entry in entries} == {8}
    write, sent = cache._write, list[int]()

    def noted(blobs: Mapping[str, bytes]) -> int:
        sent.append(len(blobs))
        return write(blobs)

    monkeypatch.setattr(remote_cache, "HELD_BYTES", held)
    monkeypatch.setattr(cache, "_write", noted)
    cache.send(entries)
    assert (sent, cache.traffic.written) == (portions, 5)


def test_what_is_wrong_with_our_own_store_is_no_failure_of_the_cache(
    cache: RemoteCache, tmp_path: Path, said: list[str]
) -> None:
    _, entries = filled(tmp_path / "here", 1)
    entries[0].file("rows.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"rows\.jsonl"):
        cache.send(entries)
    assert said == []


def test_result_that_somebody_stored_meanwhile_is_not_counted_as_read(
    cache: RemoteCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, entries = filled(tmp_path / "here", 1)
    cache.send(entries)
    with monkeypatch.context() as blind:
        blind.setattr(store, "holds", lambda _: False)
        cache.fetch(store, [entries[0].fp])
    assert cache.traffic.read == 0
    assert store.find(entries[0].fp) == entries[0]


@pytest.mark.parametrize(
    "url", ["nowhere://k:p@SECRETPW@bk/x", "ftp://user:ab/SECRETPW@127.0.0.1:1/x", "nowhere://bk/x#SECRETPW"]
)
def test_password_with_signs_of_a_url_in_it_is_not_told(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_cache(url, print)
    assert caught.value.problems[0].code == "cache_unavailable"
    assert "SECRETPW" not in str(caught.value)


def test_unknown_filesystem_is_refused_without_its_secrets() -> None:
    with pytest.raises(ConfigError) as caught:
        open_cache("nowhere://me:word@host/path?token=1", print)
    assert str(caught.value) == (
        "cache_unavailable: cache: no filesystem answers to `nowhere://host/path`: refused with ValueError\n"
        "  fix: install the library fsspec names for it, or name a directory or another URL"
    )


def test_missing_library_is_one_clear_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ConfigError) as caught:
        open_cache("memory://x", print)
    assert str(caught.value) == (
        "extra_not_installed: cache: `fsspec`, which reads and writes a shared cache, is not installed\n"
        "  fix: pip install 'bfcl-build[cache]'"
    )
