"""What stage 11 selected, as it was stored."""

from __future__ import annotations

from pathlib import Path

from bfcl.canonical import canonical_json
from bfcl.graph.layout import BuildTree
from bfcl.graph.selected import RANKED_FILE, ranked_ids
from bfcl.graph.store import Key, Store


def test_selected_ids_come_back_by_rank(tmp_path: Path) -> None:
    store = Store(BuildTree(tmp_path / "build"))
    key = Key(stage="dedup_balancing", shard=None, code="", params={}, inputs={})
    (entry,) = store.put([(key, {RANKED_FILE: canonical_json(["b", "a", "c"])})])
    assert ranked_ids(entry) == ("b", "a", "c")
