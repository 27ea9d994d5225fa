"""What the build log says of replays: matched by address, the latest counts, a broken record is passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bfcl.canonical import Json, readable_json
from bfcl.cli.replay_seconds import replay_timing
from bfcl.release.report.facts import Timing

SHARDS = {"one": "a" * 64, "two/0": "b" * 64, "two/1": "c" * 64}
MANIFEST: dict[str, Json] = {"build": {"stages": {"executable_replay": {"fp": "d" * 64, "shards": SHARDS}}}}


def event(fp: str, seconds: Any, action: str = "computed", shard: str | None = "one") -> Json:
    return {"fp": fp, "seconds": seconds, "action": action, "shard": shard}


def write(log: Path, invocation: str, events: Json, task: str = "executable_replay") -> None:
    path = log / invocation / f"{task}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(readable_json({"task": task, "seconds": 1.0, "events": events}))


def test_seconds_of_a_template_are_those_of_its_shards(tmp_path: Path) -> None:
    write(tmp_path, "1", [event("a" * 64, 0.5), event("b" * 64, 0.25), event("c" * 64, 2)])
    assert replay_timing(tmp_path, MANIFEST) == Timing(seconds={"one": 0.5, "two": 2.25}, templates=2)


def test_latest_computation_counts_and_hits_do_not(tmp_path: Path) -> None:
    write(tmp_path, "1", [event("a" * 64, 0.5)])
    write(tmp_path, "2", [event("a" * 64, 0.75)])
    write(tmp_path, "3", [event("a" * 64, 0.0, "hit")])
    assert replay_timing(tmp_path, MANIFEST).seconds == {"one": 0.75}


def test_template_with_a_shard_that_is_not_on_record_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, "1", [event("b" * 64, 0.25), event("e" * 64, 9.0), event("a" * 64, 1.0, shard=None)])
    write(tmp_path, "2", [event("c" * 64, 0.25)], task="expand")
    assert replay_timing(tmp_path, MANIFEST) == Timing(seconds={}, templates=2)


def test_record_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "1", [event("a" * 64, 0.5)])
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "executable_replay.json").write_bytes(b"{")
    write(tmp_path, "3", "none")
    write(tmp_path, "4", [1, event("a" * 64, "long")])
    assert replay_timing(tmp_path, MANIFEST).seconds == {"one": 0.5}


def test_no_log_and_no_shards_are_no_timing(tmp_path: Path) -> None:
    assert replay_timing(tmp_path / "log", {"build": {}}) == Timing(seconds={}, templates=0)
