"""doit's database: kept where there is a build, forgotten wherever it breaks."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from doit.dependency import JsonDB
from doit.globals import Globals
from hypothesis import given
from hypothesis import strategies as st

from bfcl.graph.memory import ForgivingCodec, database, remember_this_run


def test_memory_comes_back() -> None:
    codec = ForgivingCodec()
    memory = {"expand": {"a": "b", "checker:": "x"}}
    assert codec.decode(codec.encode(memory)) == memory


@given(st.text(max_size=20) | st.sampled_from(["[1]", "7", "null", '{"a": 1}', '{"a": {"b"', "[" * 100_000]))
def test_any_text_is_memory_or_nothing(text: str) -> None:
    remembered = ForgivingCodec().decode(text)
    assert all(isinstance(one, dict) for one in remembered.values())


def test_database_is_nowhere_until_there_is_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert database() == os.devnull
    (tmp_path / "build").mkdir()
    assert database() == "build/.doit.db"


def running(monkeypatch: pytest.MonkeyPatch) -> JsonDB:
    backend = JsonDB(database(), ForgivingCodec())
    monkeypatch.setattr(Globals, "dep_manager", SimpleNamespace(backend=backend))
    remember_this_run()
    return backend


def test_run_on_a_fresh_checkout_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    backend = running(monkeypatch)
    backend.set("expand", "result", "x")
    backend.dump()
    again = JsonDB(database(), ForgivingCodec())
    assert again.get("expand", "result") == "x"


def test_memory_that_cannot_be_written_is_lost_quietly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build" / ".doit.db").mkdir(parents=True)
    monkeypatch.setattr(JsonDB, "_load", lambda self: {})
    backend = JsonDB("build/.doit.db", ForgivingCodec())
    monkeypatch.setattr(Globals, "dep_manager", SimpleNamespace(backend=backend))
    remember_this_run()
    backend.dump()
    assert (tmp_path / "build" / ".doit.db").is_dir()
