"""What the runner takes from the store, and what it forgets."""

from __future__ import annotations

from pathlib import Path

from bfcl.graph.layout import BuildTree
from bfcl.graph.runner import TRANSIENT, lasting
from bfcl.graph.store import Key, Store

KEY = Key(stage="executable_replay", shard="kiln", code="c", params={}, inputs={})


def test_stored_result_is_taken(tmp_path: Path) -> None:
    store = Store(BuildTree(tmp_path))
    (entry,) = store.put([(KEY, {"rows.jsonl": b"{}\n"})])
    assert lasting(store, KEY) == entry


def test_result_of_a_bad_moment_is_forgotten_and_not_held_against_the_next(tmp_path: Path) -> None:
    store = Store(BuildTree(tmp_path))
    store.put([(KEY, {"rows.jsonl": b"late\n", TRANSIENT: b""})])
    assert lasting(store, KEY) is None
    (entry,) = store.put([(KEY, {"rows.jsonl": b"in time\n"})])
    assert lasting(store, KEY) == entry
