"""What each task did, kept below `build/log/`."""

from __future__ import annotations

from pathlib import Path

from bfcl.graph.evidence import KEPT_INVOCATIONS, Evidence, invocations, read_invocation


def test_events_are_written_task_by_task(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path / "log")
    evidence.start("render")
    evidence.add("render", "kiln", "a" * 64, "computed", 0.25)
    evidence.add("render", None, "b" * 64, "hit")
    evidence.add("expand", None, None, "verified")
    evidence.write("render")
    assert [path.name for path in evidence.directory.iterdir()] == ["render.json"]
    evidence.write_all()
    told = read_invocation(evidence.directory)
    assert list(told) == ["expand", "render"]
    assert told["expand"] == {
        "task": "expand",
        "seconds": None,
        "events": [
            {"task": "expand", "stage": "expand", "shard": None, "fp": None, "action": "verified", "seconds": 0.0}
        ],
    }
    rendered = told["render"]
    assert isinstance(rendered, dict)
    assert isinstance(rendered["seconds"], float)
    assert rendered["events"] == [
        {"task": "render", "stage": "render", "shard": "kiln", "fp": "a" * 64, "action": "computed", "seconds": 0.25},
        {"task": "render", "stage": "render", "shard": None, "fp": "b" * 64, "action": "hit", "seconds": 0.0},
    ]


def test_count_is_of_shards_not_of_merges(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    for shard in ("one", "two", None):
        evidence.add("render", shard, None, "computed")
    evidence.add("render", "three", None, "hit")
    assert evidence.count("render", "computed") == 2
    assert evidence.count("render", "hit") == 1
    assert evidence.count("expand", "hit") == 0
    assert evidence.tasks() == ["render"]


def test_newest_invocations_are_kept(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for number in range(KEPT_INVOCATIONS + 5):
        (log / f"20260101T{number:06}").mkdir(parents=True)
    (log / "a file").write_bytes(b"")
    Evidence(log).prune()
    kept = [path.name for path in invocations(log)]
    assert kept == [f"20260101T{number:06}" for number in range(5, KEPT_INVOCATIONS + 5)]


def test_no_log_is_no_invocation(tmp_path: Path) -> None:
    assert invocations(tmp_path / "absent") == []
    Evidence(tmp_path / "absent").prune()


def test_directories_sort_by_time(tmp_path: Path) -> None:
    first, second = Evidence(tmp_path), Evidence(tmp_path)
    assert first.directory.name <= second.directory.name
