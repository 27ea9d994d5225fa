"""A release claims no better isolation than any result in it had, wherever that was computed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bfcl.canonical import canonical_json
from bfcl.errors import DriftError
from bfcl.graph.checkpoint_files import clear
from bfcl.graph.layout import BuildTree
from bfcl.graph.levels import weakest
from bfcl.graph.publish import withdraw
from bfcl.graph.store import LEVEL_FILE, Key, Store
from tests.graph.chains import Chain, opened, run

STAGE = "executable_replay"


def manifest(chain: Chain) -> dict[str, Any]:
    return dict(json.loads(chain.run.manifest.read_bytes()))


def store_again(chain: Chain, fp: str, level: Mapping[str, Any] | None) -> None:
    """The result as another machine would have stored it, which reached this level, or told none."""
    store = Store(chain.tree)
    entry = store.get(fp)
    files = {name: entry.file(name).read_bytes() for name in entry.files if name != LEVEL_FILE}
    given: Any = {name: value for name, value in entry.key.items() if name != "contract"}
    store.remove(fp)
    (made,) = store.put([(Key(**given), files | ({} if level is None else {LEVEL_FILE: canonical_json(dict(level))}))])
    assert made.fp == fp


def publish_anew(chain: Chain, **given: str) -> dict[str, int]:
    """Publish from what is stored; how many shards of each kind there were in replay."""
    withdraw(chain.run.root)
    clear(chain.run)
    with opened(chain.project, "all", **given) as session:
        run(session)
        return {action: session.evidence.count(STAGE, action) for action in ("hit", "computed")}


def test_every_replay_is_stored_with_the_level_of_its_worlds(chain: Chain) -> None:
    reached = manifest(chain)["runtime"]["isolation"]
    assert reached.keys() == {"landlock", "network_namespace", "rlimits"}
    store = Store(chain.tree)
    shards = manifest(chain)["build"]["stages"][STAGE]["shards"]
    assert shards
    for fp in shards.values():
        assert json.loads(store.get(fp).file(LEVEL_FILE).read_bytes()) == reached
    for fp in manifest(chain)["build"]["stages"]["render"]["shards"].values():
        assert LEVEL_FILE not in store.get(fp).files


@pytest.mark.parametrize("level", [{"landlock": None, "network_namespace": False, "rlimits": True}, None])
def test_replay_taken_from_the_store_lowers_what_is_claimed_and_is_still_a_hit(
    chain: Chain, level: Mapping[str, Any] | None
) -> None:
    reached = manifest(chain)["runtime"]["isolation"]
    shards = manifest(chain)["build"]["stages"][STAGE]["shards"]
    store_again(chain, next(iter(shards.values())), level)
    assert publish_anew(chain) == {"hit": len(shards), "computed": 0}
    told = manifest(chain)["runtime"]["isolation"]
    assert told == weakest([reached, level or {}])
    assert not told["network_namespace"]
    assert manifest(chain)["build"]["stages"][STAGE]["shards"] == shards


def test_replay_computed_anew_is_claimed_at_the_level_of_this_run(chain: Chain) -> None:
    reached = manifest(chain)["runtime"]["isolation"]
    shards = manifest(chain)["build"]["stages"][STAGE]["shards"]
    store_again(chain, next(iter(shards.values())), None)
    assert publish_anew(chain, replay="full") == {"hit": 0, "computed": len(shards)}
    assert manifest(chain)["runtime"]["isolation"] == reached


def test_level_of_a_result_computed_again_is_no_difference_and_the_stored_one_stays(tmp_path: Path) -> None:
    store = Store(BuildTree(tmp_path))
    key = Key(stage="s", shard=None, code="c", params={}, inputs={})
    (first,) = store.put([(key, {"rows.jsonl": b"1\n", LEVEL_FILE: b'{"landlock":4}'})])
    (again,) = Store(BuildTree(tmp_path)).put([(key, {"rows.jsonl": b"1\n", LEVEL_FILE: b'{"landlock":7}'})])
    assert again.record_digest == first.record_digest
    assert again.file(LEVEL_FILE).read_bytes() == b'{"landlock":4}'
    with pytest.raises(DriftError) as caught:
        store.put([(key, {"rows.jsonl": b"2\n", LEVEL_FILE: b'{"landlock":4}'})])
    assert caught.value.problems[0].message == (
        f"computed again from the same inputs, rows.jsonl of build/{key.fp} differs; the stored entry stays"
    )


def test_weakest_level_is_what_every_place_reached() -> None:
    here = {"landlock": 7, "network_namespace": True, "rlimits": True}
    there = {"landlock": 4, "network_namespace": False, "rlimits": True}
    bare = {"landlock": None, "network_namespace": True, "rlimits": True}
    assert weakest([here]) == here
    assert weakest([here, there]) == there
    assert weakest([here, there, bare]) == {"landlock": None, "network_namespace": False, "rlimits": True}
    assert weakest([here, {}]) == dict.fromkeys(here)
